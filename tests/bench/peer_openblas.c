/* OpenBLAS as a user would take it: sgemm and sgemv for products; attention from two products and a softmax, a head at
 * a time, the heads spread over threads. linear M N K | attention B H S D | decode H S D (one query) */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

enum { MOST_THREADS = 64 };

typedef struct share {
  struct peer_work *work;
  int first; /* head; the share goes on in steps of the number of threads */
  float *scores;
} share;

struct peer_work {
  bool is_linear;
  int m, n, k;          /* linear */
  int heads, q, s, d;   /* attention: heads of all samples, queries, keys */
  float *x, *w, *v, *y; /* linear: x, w, y; attention: q, k, v, y */
  share shares[MOST_THREADS];
  int threads;
};

static bool make(peer_work *work) {
  bool linear = work->is_linear;
  size_t x = linear ? (size_t)work->m * (size_t)work->k : (size_t)work->heads * (size_t)work->q * (size_t)work->d;
  size_t w = linear ? (size_t)work->n * (size_t)work->k : (size_t)work->heads * (size_t)work->s * (size_t)work->d;
  size_t y = linear ? (size_t)work->m * (size_t)work->n : x;
  work->x = peer_numbers(x, 1);
  work->w = peer_numbers(w, 2);
  work->v = peer_numbers(linear ? 1 : w, 3);
  work->y = peer_numbers(y, 4);
  for (int i = 0; i < work->threads && !linear; i++) {
    work->shares[i] = (share){.work = work, .first = i};
    work->shares[i].scores = peer_numbers((size_t)work->q * (size_t)work->s, 5);
    if (work->shares[i].scores == NULL) return false;
  }
  return work->x != NULL && work->w != NULL && work->v != NULL && work->y != NULL;
}

peer_work *peer_open(char **words, int count, const char **reason) {
  int numbers[4] = {0};
  for (int i = 1; i < count && i < 5; i++) numbers[i - 1] = atoi(words[i]);
  peer_work *work = calloc(1, sizeof(*work));
  if (work == NULL) return NULL;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  work->threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int)cores;
  if (count == 4 && strcmp(words[0], "linear") == 0) {
    work->is_linear = true;
    work->m = numbers[0], work->n = numbers[1], work->k = numbers[2];
  } else if (count == 5 && strcmp(words[0], "attention") == 0) {
    work->heads = numbers[0] * numbers[1];
    work->q = work->s = numbers[2];
    work->d = numbers[3];
  } else if (count == 4 && strcmp(words[0], "decode") == 0) {
    work->heads = numbers[0], work->q = 1, work->s = numbers[1], work->d = numbers[2];
  } else {
    *reason = "OpenBLAS is asked for linear, attention and decode";
    free(work);
    return NULL;
  }
  if (make(work)) return work;
  peer_close(work);
  return NULL;
}

void peer_close(peer_work *work) {
  for (int i = 0; i < work->threads; i++) free(work->shares[i].scores);
  free(work->x);
  free(work->w);
  free(work->v);
  free(work->y);
  free(work);
}

/* Linear: the weight as [n, k] or as [k, n]; for one row sgemv, too. */
int peer_ways(const peer_work *work) {
  return !work->is_linear ? 1 : work->m == 1 ? 4 : 2;
}

static void run_linear(peer_work *work, int way) {
  int m = work->m, n = work->n, k = work->k;
  openblas_set_num_threads(work->threads);
  if (way == 0)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, work->x, k, work->w, k, 0, work->y, n);
  else if (way == 1)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, work->x, k, work->w, n, 0, work->y, n);
  else if (way == 2)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, work->w, k, work->x, 1, 0, work->y, 1);
  else
    cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1, work->w, n, work->x, 1, 0, work->y, 1);
}

/* The C library has expf() in vectors, too, but declares it only to compilers that may reorder every sum. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
extern float expf(float) __attribute__((simd("notinbranch")));
#endif

/* Left unscaled: 1 / sum goes into the rows of the output, which are shorter. */
static float softmax_row(float *row, int count) {
  float most = row[0], sum = 0;
#pragma omp simd reduction(max : most)
  for (int i = 1; i < count; i++) most = row[i] > most ? row[i] : most;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < count; i++) {
    row[i] = expf(row[i] - most);
    sum += row[i];
  }
  return sum;
}

static void run_head(peer_work *work, int head, float *scores) {
  int q = work->q, s = work->s, d = work->d;
  const float *queries = work->x + (size_t)head * (size_t)q * (size_t)d;
  const float *keys = work->w + (size_t)head * (size_t)s * (size_t)d;
  const float *values = work->v + (size_t)head * (size_t)s * (size_t)d;
  float *y = work->y + (size_t)head * (size_t)q * (size_t)d, scale = 1 / sqrtf((float)d);
  if (q == 1)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, s, d, scale, keys, d, queries, 1, 0, scores, 1);
  else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, q, s, d, scale, queries, d, keys, d, 0, scores, s);
  float sum = 1;
  for (int i = 0; i < q; i++) {
    sum = softmax_row(scores + (size_t)i * (size_t)s, s);
    for (int j = 0; q > 1 && j < s; j++) scores[(size_t)i * (size_t)s + (size_t)j] /= sum;
  }
  if (q == 1)
    cblas_sgemv(CblasRowMajor, CblasTrans, s, d, 1 / sum, values, d, scores, 1, 0, y, 1);
  else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, q, d, s, 1, scores, s, values, d, 0, y, d);
}

static void *run_share(void *argument) {
  share *mine = argument;
  for (int head = mine->first; head < mine->work->heads; head += mine->work->threads)
    run_head(mine->work, head, mine->scores);
  return NULL;
}

const char *peer_run(peer_work *work, int way) {
  if (work->is_linear) {
    run_linear(work, way);
    return NULL;
  }
  pthread_t threads[MOST_THREADS];
  int started = 1;
  openblas_set_num_threads(1);
  for (; started < work->threads; started++)
    if (pthread_create(&threads[started], NULL, run_share, &work->shares[started]) != 0) break;
  for (int i = 0; i < work->threads; i++)
    if (i == 0 || i >= started) run_share(&work->shares[i]);
  for (int i = 1; i < started; i++) pthread_join(threads[i], NULL);
  return NULL;
}

void peer_tell(const peer_work *work) {
  printf("core=%s threads=%d", openblas_get_corename(), work->threads);
}
