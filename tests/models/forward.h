/* The layers of a Transformer in plain double precision, written from the papers: what the tests hold the library
 * against. Matrices are [rows, width]; results lie in a pool and are never freed. */
#ifndef POLYHEAD_TESTS_MODELS_FORWARD_H
#define POLYHEAD_TESTS_MODELS_FORWARD_H

#include "weights.h"

double *forward_room(int64_t count); /* zeroed */

/* x W + b with NAME.weight and NAME.bias. */
double *forward_linear(const weights *w, const char *name, const double *x, int64_t rows, bool in_out);
/* Over the last axis, with NAME.weight and NAME.bias. */
double *forward_norm(const weights *w, const char *name, const double *x, int64_t rows, double eps);
double *forward_add(const double *a, const double *b, int64_t count);
double *forward_gelu(const double *x, int64_t count, bool by_tanh);

/* Rows of q, k and v lie `stride` apart and hold the heads one after the other; `seen` [samples, words] says which
 * words may be looked at, NULL: all; `causal`: none that comes later. */
typedef struct forward_heads {
  int64_t samples, words, heads, depth, stride;
  const bool *seen;
  bool causal;
} forward_heads;
double *forward_attention(const forward_heads *of, const double *q, const double *k, const double *v);

#endif
