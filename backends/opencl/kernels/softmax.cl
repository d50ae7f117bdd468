/* softmax, log_softmax and hardmax over one axis; one work-item per row.
 *
 * A score of -inf is a key that is not allowed.  softmax:  p = exp(x - max) / sum,  lse = max + log(sum), where a sink
 * is one more logit in maximum and sum of lse.  The maximum starts at -inf; p of a key that is not allowed is 0,
 * always; a row with nothing allowed is all 0, its lse -inf or the sink; NaN or +inf among the scores makes the allowed
 * ones NaN. */

/* Sums are made of eight lanes and of blocks, so that their error stays small over long rows. */
#define BLOCK 512

enum { X, Y, LSE, SINKS }; /* operands of the axes */

DEFINE_LOAD_EIGHT(eight_of_x, IN0)
DEFINE_STORE_EIGHT(store_eight, OUT0)

#ifndef HARD
/* The largest of a row; -inf where nothing is allowed, NaN where the row holds a NaN or +inf. */
static float row_maximum(__global const TYPE(IN0) * x, ulong x_row, ulong count, ulong stride) {
  float8 maxima = (float8)(-INFINITY);
  bool bad = false;
  for (ulong i = 0; i < count; i += 8) {
    float8 values = eight_of_x(x, x_row + i * stride, stride, count - i, -INFINITY);
    bad = bad || any(isnan(values) || values == INFINITY);
    maxima = values > maxima ? values : maxima;
  }
  return bad ? NAN : max_of_eight(maxima);
}

static float row_sum(__global const TYPE(IN0) * x, ulong x_row, ulong count, ulong stride, float maximum) {
  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float8 lanes = (float8)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, count); i += 8)
      lanes += exp(eight_of_x(x, x_row + i * stride, stride, count - i, -INFINITY) - maximum);
    sum += sum_of_eight(lanes);
  }
  return sum;
}
#endif

#ifdef SOFT
__kernel void softmax(__global const TYPE(IN0) * x, ulong x_first, __global const TYPE(IN1) * sinks, ulong sinks_first,
                      __global TYPE(OUT0) * y, ulong y_first, __global TYPE(OUT1) * lses, ulong lses_first,
                      __global const long *axes, ulong axes_first, int rank, ulong rows, ulong count, ulong x_stride,
                      ulong y_stride) {
  ulong row = get_global_id(0);
  if (row >= rows) return;
  axes += axes_first;
  ulong x_row = x_first + offset_of(axes, rank, X, row), y_row = y_first + offset_of(axes, rank, Y, row);
  float sink = -INFINITY;
#ifdef HAS_SINKS
  sink = LOAD(IN1, sinks, sinks_first + offset_of(axes, rank, SINKS, row));
#endif
  float maximum = row_maximum(x, x_row, count, x_stride);
  if (isnan(sink) || sink == INFINITY) maximum = NAN;
  bool empty = maximum == -INFINITY;
  float keys = empty ? 0.0f : row_sum(x, x_row, count, x_stride, maximum);
  float sum = keys + (empty ? 0.0f : exp(sink - maximum));
  for (ulong i = 0; i < count; i += 8) {
    float8 values = eight_of_x(x, x_row + i * x_stride, x_stride, count - i, -INFINITY);
    float8 weights = values == -INFINITY ? (float8)(0.0f) : exp(values - maximum) / sum;
    store_eight(weights, y, y_row + i * y_stride, y_stride, count - i);
  }
#ifdef HAS_LSE
  /* Relative to the larger of maximum and sink, so that neither exponential overflows. */
  float top = isnan(maximum) ? NAN : fmax(maximum, sink);
  float total = keys * exp(maximum - top) + exp(sink - top);
  STORE(OUT1, empty ? sink : top + log(total), lses, lses_first + offset_of(axes, rank, LSE, row));
#endif
}
#endif

#ifdef LOGARITHM
/* y = (x - max) - log(sum); -inf stays -inf. */
__kernel void log_softmax(__global const TYPE(IN0) * x, ulong x_first, __global TYPE(OUT0) * y, ulong y_first,
                          __global const long *axes, ulong axes_first, int rank, ulong rows, ulong count,
                          ulong x_stride, ulong y_stride) {
  ulong row = get_global_id(0);
  if (row >= rows) return;
  axes += axes_first;
  ulong x_row = x_first + offset_of(axes, rank, X, row), y_row = y_first + offset_of(axes, rank, Y, row);
  float maximum = row_maximum(x, x_row, count, x_stride);
  float logarithm = maximum == -INFINITY ? 0.0f : log(row_sum(x, x_row, count, x_stride, maximum));
  for (ulong i = 0; i < count; i += 8) {
    float8 values = eight_of_x(x, x_row + i * x_stride, x_stride, count - i, -INFINITY);
    float8 results = values == -INFINITY ? (float8)(-INFINITY) : values - maximum - logarithm;
    store_eight(results, y, y_row + i * y_stride, y_stride, count - i);
  }
}
#endif

#ifdef HARD
/* 1 for the first maximum, 0 elsewhere; NaN counts as the maximum; a row of -inf has none. */
__kernel void hardmax(__global const TYPE(IN0) * x, ulong x_first, __global TYPE(OUT0) * y, ulong y_first,
                      __global const long *axes, ulong axes_first, int rank, ulong rows, ulong count, ulong x_stride,
                      ulong y_stride) {
  ulong row = get_global_id(0);
  if (row >= rows) return;
  axes += axes_first;
  ulong x_row = x_first + offset_of(axes, rank, X, row), y_row = y_first + offset_of(axes, rank, Y, row);
  float maximum = -INFINITY;
  ulong winner = count;
  for (ulong i = 0; i < count; i += 8) {
    float values[8];
    vstore8(eight_of_x(x, x_row + i * x_stride, x_stride, count - i, -INFINITY), 0, values);
    for (int j = 0; j < 8; j++) {
      bool better = !isnan(maximum) && (isnan(values[j]) || values[j] > maximum);
      maximum = better ? values[j] : maximum;
      winner = better ? i + j : winner;
    }
  }
  for (ulong i = 0; i < count; i += 8) {
    float values[8];
    for (int j = 0; j < 8; j++) values[j] = i + j == winner ? 1.0f : 0.0f;
    store_eight(vload8(0, values), y, y_row + i * y_stride, y_stride, count - i);
  }
}
#endif
