/* layer_norm and rms_norm for CPUs where the rows of all operands are dense: a row per work-item, in vectors (norm.cl
 * says what is computed and why so).  The row comes from memory once and stays in the first cache.  Four sums side by
 * side, because an addition takes as long as four begin.  While y is made, the next row is fetched. */

#define BLOCK (64 * WIDTH) /* as in softmax_rows.cl */

enum { X, Y, MEAN, INV_STD }; /* operands of the outer axes */

DEFINE_LOAD_PART(part_of_x, IN0)
DEFINE_LOAD_PART(part_of_weight, IN1)
DEFINE_LOAD_PART(part_of_bias, IN2)
DEFINE_STORE_PART(store_part, OUT0)

/* The sums of x - origin and of its square over a row. */
static float2 sums_of_row(__global const TYPE(IN0) * x, ulong x_row, ulong count, float origin) {
  float2 sums = (float2)(0.0f);
  for (ulong start = 0; start < count; start += BLOCK) {
    floats sum0 = (floats)(0.0f), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    floats square0 = sum0, square1 = sum0, square2 = sum0, square3 = sum0;
    ulong i = start, end = min(start + BLOCK, count);
    for (; i + 4 * WIDTH <= end; i += 4 * WIDTH) {
      floats d0 = LOAD_WIDE(IN0, x, x_row + i) - origin, d1 = LOAD_WIDE(IN0, x, x_row + i + WIDTH) - origin;
      floats d2 = LOAD_WIDE(IN0, x, x_row + i + 2 * WIDTH) - origin;
      floats d3 = LOAD_WIDE(IN0, x, x_row + i + 3 * WIDTH) - origin;
      sum0 += d0, sum1 += d1, sum2 += d2, sum3 += d3;
      square0 += d0 * d0, square1 += d1 * d1, square2 += d2 * d2, square3 += d3 * d3;
    }
    for (; i < end; i += WIDTH) {
      floats d0 = part_of_x(x, x_row + i, count - i, origin) - origin;
      sum0 += d0;
      square0 += d0 * d0;
    }
    sums += (float2)(sum_of((sum0 + sum1) + (sum2 + sum3)), sum_of((square0 + square1) + (square2 + square3)));
  }
  return sums;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
norm_rows(__global const TYPE(IN0) *restrict x, ulong x_first, __global const TYPE(IN1) *restrict weight,
          ulong weight_first, __global const TYPE(IN2) *restrict bias, ulong bias_first,
          __global TYPE(OUT0) *restrict y, ulong y_first, __global TYPE(OUT1) *restrict means, ulong means_first,
          __global TYPE(OUT2) *restrict inv_stds, ulong inv_stds_first, __global const long *outer, ulong outer_first,
          int outer_rank, ulong count, float eps) {
  ulong row = get_global_id(0);
  outer += outer_first;
  ulong x_row = x_first + offset_of(outer, outer_rank, X, row), y_row = y_first + offset_of(outer, outer_rank, Y, row);
  ulong x_next = x_row + step_of(outer, outer_rank, X), y_next = y_row + step_of(outer, outer_rank, Y);
  float n = fmax(convert_float(count), 1.0f);

  float mean = 0.0f;
#ifndef RMS
  /* Relative to the first element: a constant row has exactly its own value as mean, a large mean costs no digits. */
  float origin = count > 0 ? LOAD(IN0, x, x_row) : 0.0f;
  if (!isfinite(origin)) origin = 0.0f;
  mean = origin + sums_of_row(x, x_row, count, origin).x / n;
#endif
  float2 sums = sums_of_row(x, x_row, count, mean) / n;
#ifdef RMS
  float rest = 0.0f;
#else
  float rest = sums.x; /* what the rounded mean lacks */
#endif
  float inv_std = 1.0f / sqrt(sums.y - rest * rest + eps);

  for (ulong i = 0; i < count; i += WIDTH) {
    floats distance = part_of_x(x, x_row + i, count - i, mean) - mean - rest;
    floats value = distance * inv_std;
#ifndef RMS
    value = distance == 0.0f ? (floats)(0.0f) : value; /* for eps = 0, too */
#endif
#ifdef HAS_WEIGHT
    value *= part_of_weight(weight, weight_first + i, count - i, 0.0f);
#endif
#ifdef HAS_BIAS
    value += part_of_bias(bias, bias_first + i, count - i, 0.0f);
#endif
    store_part(value, y, y_row + i, count - i);
    if (i < NEAR) {
      FETCH(x + x_next + i);
      FETCH(y + y_next + i);
    }
  }
#ifdef HAS_MEAN
  STORE(OUT1, isfinite(mean) ? mean + rest : mean, means, means_first + offset_of(outer, outer_rank, MEAN, row));
#endif
#ifdef HAS_INV_STD
  STORE(OUT2, inv_std, inv_stds, inv_stds_first + offset_of(outer, outer_rank, INV_STD, row));
#endif
}
