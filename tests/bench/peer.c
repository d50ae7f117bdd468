/* The conversation of peer.h. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_WORKS = 16, MOST_WORDS = 16, MOST_RUNS = 100000 };

typedef struct named_work {
  char name[64];
  peer_work *work;
} named_work;
static named_work works[MOST_WORKS];

double peer_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

float *peer_numbers(size_t count, unsigned seed) {
  float *numbers = malloc((count + 1) * sizeof(*numbers));
  unsigned state = seed * 2654435761u + 1;
  for (size_t i = 0; numbers != NULL && i < count; i++) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
  }
  return numbers;
}

static named_work *find(const char *name) {
  for (int i = 0; i < MOST_WORKS; i++)
    if (works[i].work != NULL && strcmp(works[i].name, name) == 0) return &works[i];
  return NULL;
}

static void open_work(char **words, int count) {
  named_work *slot = works;
  const char *reason = "out of memory";
  while (slot < works + MOST_WORKS && slot->work != NULL) slot++;
  if (slot == works + MOST_WORKS) {
    printf("no too much is open\n");
    return;
  }
  slot->work = peer_open(words + 1, count - 1, &reason);
  snprintf(slot->name, sizeof(slot->name), "%s", words[0]);
  if (slot->work != NULL)
    printf("ok\n");
  else
    printf("no %s\n", reason);
}

/* All ways in turn, for a few runs; the fastest goes on. */
static const char *choose_way(peer_work *work, int *out) {
  double best = 0;
  *out = 0;
  for (int way = 0; way < peer_ways(work); way++)
    for (int i = 0; i < 3; i++) {
      double start = peer_now();
      const char *reason = peer_run(work, way);
      double seconds = peer_now() - start;
      if (reason != NULL) return reason;
      if (best != 0 && seconds >= best) continue;
      best = seconds;
      *out = way;
    }
  return NULL;
}

static void run_work(peer_work *work, double seconds, int least) {
  static double times[MOST_RUNS];
  int way = 0, count = 0;
  const char *reason = peer_ways(work) > 1 ? choose_way(work, &way) : peer_run(work, 0);
  double begin = peer_now();
  while (reason == NULL && count < MOST_RUNS && (count < least || peer_now() - begin < seconds)) {
    double start = peer_now();
    reason = peer_run(work, way);
    times[count++] = peer_now() - start;
  }
  if (reason != NULL) {
    printf("no %s\n", reason);
    return;
  }
  printf("times");
  for (int i = 0; i < count; i++) printf(" %.9f", times[i]);
  printf("\n");
}

static void answer(char **words, int count) {
  named_work *named = count > 1 ? find(words[1]) : NULL;
  if (count > 2 && strcmp(words[0], "open") == 0) {
    open_work(words + 1, count - 1);
  } else if (named == NULL) {
    printf("no such work\n");
  } else if (count > 3 && strcmp(words[0], "run") == 0) {
    run_work(named->work, atof(words[2]), atoi(words[3]));
  } else if (strcmp(words[0], "ask") == 0) {
    printf("facts ");
    peer_tell(named->work);
    printf("\n");
  } else if (strcmp(words[0], "close") == 0) {
    peer_close(named->work);
    *named = (named_work){.work = NULL};
    printf("ok\n");
  } else {
    printf("no such order\n");
  }
}

int main(void) {
  char line[4096];
  while (fgets(line, sizeof(line), stdin) != NULL) {
    char *words[MOST_WORDS];
    int count = 0;
    for (char *word = strtok(line, " \n"); word != NULL && count < MOST_WORDS; word = strtok(NULL, " \n"))
      words[count++] = word;
    if (count == 0) continue;
    answer(words, count);
    fflush(stdout);
  }
  for (int i = 0; i < MOST_WORKS; i++)
    if (works[i].work != NULL) peer_close(works[i].work);
  return 0;
}
