/* layer_norm:  y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias
 * rms_norm (-DRMS):  y = x / sqrt(mean(x^2) + eps) * weight
 * over the inner axes of x; one work-item for each of the other, outer, elements. */

#ifndef HAS_WEIGHT
#define IN1 F32
#endif
#ifndef HAS_BIAS
#define IN2 F32
#endif
#ifndef HAS_MEAN
#define OUT1 F32
#endif
#ifndef HAS_INV_STD
#define OUT2 F32
#endif

/* Sums are made of short sums, so that their error grows with BLOCK + n / BLOCK instead of n. */
#define BLOCK 64

enum { X, Y, MEAN, INV_STD };      /* operands of the outer axes */
enum { WEIGHT = 2, BIAS = 3 };     /* operands 0 and 1 of the inner axes are x and y, too */

__kernel void norm(__global const TYPE(IN0) *x, ulong x_first, __global const TYPE(IN1) *weight, ulong weight_first,
                   __global const TYPE(IN2) *bias, ulong bias_first, __global TYPE(OUT0) *y, ulong y_first,
                   __global TYPE(OUT1) *means, ulong means_first, __global TYPE(OUT2) *inv_stds, ulong inv_stds_first,
                   __global const long *outer, ulong outer_first, int outer_rank, __global const long *inner,
                   ulong inner_first, int inner_rank, ulong rows, ulong count, float eps) {
  ulong row = get_global_id(0);
  if (row >= rows) return;
  outer += outer_first;
  inner += inner_first;
  ulong x_row = x_first + offset_of(outer, outer_rank, X, row);
  float n = fmax(convert_float(count), 1.0f);

  float mean = 0.0f;
#ifndef RMS
  /* The mean is found relative to the first element: a constant row then has exactly its own value as mean, and a large
   * mean costs no digits. */
  float origin = count > 0 ? LOAD(IN0, x, x_row) : 0.0f;
  if (!isfinite(origin)) origin = 0.0f;
  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK, count); i++)
      part += LOAD(IN0, x, x_row + offset_of(inner, inner_rank, X, i)) - origin;
    sum += part;
  }
  mean = origin + sum / n;
#endif

  /* Deviations from a rounded mean do not quite add up to 0: `rest` is what the mean lacks (the corrected two-pass algorithm of
   * Chan, Golub and LeVeque 1983). */
  float squares = 0.0f, rest = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float square_part = 0.0f, rest_part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK, count); i++) {
      float distance = LOAD(IN0, x, x_row + offset_of(inner, inner_rank, X, i)) - mean;
      square_part += distance * distance;
      rest_part += distance;
    }
    squares += square_part;
    rest += rest_part;
  }
  float variance = squares / n;
#ifdef RMS
  rest = 0.0f;
#else
  rest /= n;
  variance -= rest * rest;
#endif
  float inv_std = 1.0f / sqrt(variance + eps);

  ulong y_row = y_first + offset_of(outer, outer_rank, Y, row);
  for (ulong i = 0; i < count; i++) {
    float distance = LOAD(IN0, x, x_row + offset_of(inner, inner_rank, X, i)) - mean - rest;
    float value = distance * inv_std;
#ifndef RMS
    if (distance == 0.0f) value = 0.0f; /* for eps = 0, too */
#endif
#ifdef HAS_WEIGHT
    value *= LOAD(IN1, weight, weight_first + offset_of(inner, inner_rank, WEIGHT, i));
#endif
#ifdef HAS_BIAS
    value += LOAD(IN2, bias, bias_first + offset_of(inner, inner_rank, BIAS, i));
#endif
    STORE(OUT0, value, y, y_row + offset_of(inner, inner_rank, Y, i));
  }
#ifdef HAS_MEAN
  STORE(OUT1, isfinite(mean) ? mean + rest : mean, means, means_first + offset_of(outer, outer_rank, MEAN, row));
#endif
#ifdef HAS_INV_STD
  STORE(OUT2, inv_std, inv_stds, inv_stds_first + offset_of(outer, outer_rank, INV_STD, row));
#endif
}
