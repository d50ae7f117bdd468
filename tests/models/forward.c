#include "forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double pool[1 << 18];
static int64_t used;

double *forward_room(int64_t count) {
  if (count > (int64_t)(sizeof(pool) / sizeof(pool[0])) - used) {
    fprintf(stderr, "the pool is too small\n");
    exit(1);
  }
  double *room = pool + used;
  memset(room, 0, (size_t)count * sizeof(*room));
  used += count;
  return room;
}

double *forward_linear(const weights *w, const char *name, const double *x, int64_t rows, bool in_out) {
  const ph_tensor *weight = weights_get(w, name, ".weight"), *bias = weights_get(w, name, ".bias");
  int64_t out = bias->dims[0], in = (int64_t)weight->count / out;
  const float *a = weight->data, *b = bias->data;
  double *y = forward_room(rows * out);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t o = 0; o < out; o++) {
      double sum = b[o];
      for (int64_t i = 0; i < in; i++) sum += x[r * in + i] * a[in_out ? i * out + o : o * in + i];
      y[r * out + o] = sum;
    }
  return y;
}

double *forward_norm(const weights *w, const char *name, const double *x, int64_t rows, double eps) {
  const ph_tensor *gain = weights_get(w, name, ".weight"), *bias = weights_get(w, name, ".bias");
  int64_t width = gain->dims[0];
  double *y = forward_room(rows * width);
  for (int64_t r = 0; r < rows; r++) {
    const double *row = x + r * width;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < width; i++) mean += row[i] / (double)width;
    for (int64_t i = 0; i < width; i++) variance += (row[i] - mean) * (row[i] - mean) / (double)width;
    for (int64_t i = 0; i < width; i++)
      y[r * width + i] = (row[i] - mean) / sqrt(variance + eps) * ((float *)gain->data)[i] + ((float *)bias->data)[i];
  }
  return y;
}

double *forward_add(const double *a, const double *b, int64_t count) {
  double *y = forward_room(count);
  for (int64_t i = 0; i < count; i++) y[i] = a[i] + b[i];
  return y;
}

double *forward_gelu(const double *x, int64_t count, bool by_tanh) {
  double *y = forward_room(count);
  for (int64_t i = 0; i < count; i++)
    y[i] =
        x[i] / 2 * (1 + (by_tanh ? tanh(sqrt(2 / acos(-1)) * (x[i] + 0.044715 * pow(x[i], 3))) : erf(x[i] / sqrt(2))));
  return y;
}

/* One query of one head: softmax(q k / sqrt(depth)) v. */
static void attend(const forward_heads *of, int64_t sample, int64_t query, const double *q, const double *k,
                   const double *v, double *y) {
  double sum = 0;
  for (int64_t word = 0; word < of->words; word++) {
    if ((of->seen != NULL && !of->seen[sample * of->words + word]) || (of->causal && word > query)) continue;
    int64_t at = (sample * of->words + word) * of->stride;
    double score = 0;
    for (int64_t d = 0; d < of->depth; d++) score += q[d] * k[at + d];
    double weight = exp(score / sqrt((double)of->depth));
    sum += weight;
    for (int64_t d = 0; d < of->depth; d++) y[d] += weight * v[at + d];
  }
  for (int64_t d = 0; d < of->depth; d++) y[d] /= sum;
}

double *forward_attention(const forward_heads *of, const double *q, const double *k, const double *v) {
  int64_t width = of->heads * of->depth;
  double *y = forward_room(of->samples * of->words * width);
  for (int64_t sample = 0; sample < of->samples; sample++)
    for (int64_t query = 0; query < of->words; query++)
      for (int64_t head = 0; head < of->heads; head++) {
        int64_t row = sample * of->words + query, first = head * of->depth;
        attend(of, sample, query, q + row * of->stride + first, k + first, v + first, y + row * width + first);
      }
  return y;
}
