/* layer_norm:  y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias
 * rms_norm (-DRMS):  y = x / sqrt(mean(x^2) + eps) * weight
 * over the inner axes of x; one work-item for each of the other, outer, elements. */

/* Sums are made of eight lanes and of blocks, so that their error stays small over long rows. */
#define BLOCK 512

enum { X, Y, MEAN, INV_STD };  /* operands of the outer axes */
enum { WEIGHT = 2, BIAS = 3 }; /* operands 0 and 1 of the inner axes are x and y, too */

/* Defines NAME(pointer, first, axes, rank, operand, i, count, filler): elements i, i + 1, .. of the inner axes as
 * float8. */
#define DEFINE_INNER(NAME, role)                                                                                       \
  DEFINE_LOAD_EIGHT(NAME##_in_line, role)                                                                              \
  static float8 NAME(__global const TYPE(role) * pointer, ulong first, __global const long *axes, int rank,            \
                     int operand, ulong i, ulong count, float filler) {                                                \
    if (rank == 1)                                                                                                     \
      return NAME##_in_line(pointer, first + i * axes[1 + operand], axes[1 + operand], count - i, filler);             \
    float values[8];                                                                                                   \
    for (int j = 0; j < 8; j++) {                                                                                      \
      float value = LOAD(role, pointer, first + offset_of(axes, rank, operand, min(i + j, count - 1)));                \
      values[j] = i + j < count ? value : filler;                                                                      \
    }                                                                                                                  \
    return vload8(0, values);                                                                                          \
  }
DEFINE_INNER(inner_x, IN0)
DEFINE_INNER(inner_weight, IN1)
DEFINE_INNER(inner_bias, IN2)
DEFINE_STORE_EIGHT(store_in_line, OUT0)

static void store_inner(float8 value, __global TYPE(OUT0) * y, ulong first, __global const long *axes, int rank,
                        ulong i, ulong count) {
  if (rank == 1) {
    store_in_line(value, y, first + i * axes[1 + Y], axes[1 + Y], count - i);
    return;
  }
  float values[8];
  vstore8(value, 0, values);
  for (int j = 0; j < 8; j++)
    if (i + j < count) STORE(OUT0, values[j], y, first + offset_of(axes, rank, Y, i + j));
}

__kernel void norm(__global const TYPE(IN0) * x, ulong x_first, __global const TYPE(IN1) * weight, ulong weight_first,
                   __global const TYPE(IN2) * bias, ulong bias_first, __global TYPE(OUT0) * y, ulong y_first,
                   __global TYPE(OUT1) * means, ulong means_first, __global TYPE(OUT2) * inv_stds, ulong inv_stds_first,
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
    float8 lanes = (float8)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, count); i += 8)
      lanes += inner_x(x, x_row, inner, inner_rank, X, i, count, origin) - origin;
    sum += sum_of_eight(lanes);
  }
  mean = origin + sum / n;
#endif

  /* Deviations from a rounded mean do not quite add up to 0: `rest` is what the mean lacks (the corrected two-pass
   * algorithm of Chan, Golub and LeVeque 1983). */
  float squares = 0.0f, rest = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float8 square_lanes = (float8)(0.0f), rest_lanes = (float8)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, count); i += 8) {
      float8 distance = inner_x(x, x_row, inner, inner_rank, X, i, count, mean) - mean;
      square_lanes += distance * distance;
      rest_lanes += distance;
    }
    squares += sum_of_eight(square_lanes);
    rest += sum_of_eight(rest_lanes);
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
  for (ulong i = 0; i < count; i += 8) {
    float8 distance = inner_x(x, x_row, inner, inner_rank, X, i, count, mean) - mean - rest;
    float8 value = distance * inv_std;
#ifndef RMS
    value = distance == 0.0f ? (float8)(0.0f) : value; /* for eps = 0, too */
#endif
#ifdef HAS_WEIGHT
    value *= inner_weight(weight, weight_first, inner, inner_rank, WEIGHT, i, count, 0.0f);
#endif
#ifdef HAS_BIAS
    value += inner_bias(bias, bias_first, inner, inner_rank, BIAS, i, count, 0.0f);
#endif
    store_inner(value, y, y_row, inner, inner_rank, i, count);
  }
#ifdef HAS_MEAN
  STORE(OUT1, isfinite(mean) ? mean + rest : mean, means, means_first + offset_of(outer, outer_rank, MEAN, row));
#endif
#ifdef HAS_INV_STD
  STORE(OUT2, inv_std, inv_stds, inv_stds_first + offset_of(outer, outer_rank, INV_STD, row));
#endif
}
