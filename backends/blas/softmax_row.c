#include "blas/softmax_row.h"

#include <math.h>

static double spoil(float *x, int64_t count) {
  for (int64_t i = 0; i < count; i++) x[i] = x[i] == -INFINITY ? 0 : NAN;
  return (double)NAN;
}

double blas_softmax_row(float *x, int64_t count, float sink) {
  float max = sink;
  for (int64_t i = 0; i < count; i++)
    if (x[i] > max || isnan(x[i])) max = x[i]; /* once NaN it stays: no comparison with NaN is true */
  if (isnan(max) || max == INFINITY) return spoil(x, count);
  double sum = sink == -INFINITY ? 0 : expf(sink - max);
  for (int64_t i = 0; i < count; i++) {
    x[i] = x[i] == -INFINITY ? 0 : expf(x[i] - max);
    sum += x[i];
  }
  if (sum == 0) return -INFINITY;
  float inverse = (float)(1 / sum);
  for (int64_t i = 0; i < count; i++) x[i] *= inverse;
  return max + log(sum);
}
