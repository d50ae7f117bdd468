/* softmax, log_softmax and hardmax over one axis; one work-item per row.
 *
 * A score of -inf is a key that is not allowed.  softmax:  p = exp(x - max) / sum,  lse = max + log(sum), where a sink is one
 * more logit in maximum and sum of lse.  The maximum starts at -inf; p of a key that is not allowed is 0, always; a row with
 * nothing allowed is all 0, its lse -inf or the sink; NaN or +inf among the scores makes the allowed ones NaN. */

#ifndef HAS_SINKS
#define IN1 F32
#endif
#ifndef HAS_LSE
#define OUT1 F32
#endif

/* Sums are made of short sums, so that their error grows with BLOCK + n / BLOCK instead of n. */
#define BLOCK 64

enum { X, Y, LSE, SINKS }; /* operands of the axes */

#ifndef HARD
static float row_sum(__global const TYPE(IN0) *x, ulong x_row, ulong count, long stride, float maximum) {
  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK, count); i++)
      part += exp(LOAD(IN0, x, x_row + i * (ulong)stride) - maximum);
    sum += part;
  }
  return sum;
}

/* The largest of a row; -inf where nothing is allowed, NaN where the row holds a NaN or +inf. */
static float row_maximum(__global const TYPE(IN0) *x, ulong x_row, ulong count, long stride) {
  float maximum = -INFINITY;
  bool bad = false;
  for (ulong i = 0; i < count; i++) {
    float value = LOAD(IN0, x, x_row + i * (ulong)stride);
    bad = bad || isnan(value) || value == INFINITY;
    maximum = fmax(maximum, value);
  }
  return bad ? NAN : maximum;
}
#endif

#ifdef SOFT
__kernel void softmax(__global const TYPE(IN0) *x, ulong x_first, __global const TYPE(IN1) *sinks, ulong sinks_first,
                      __global TYPE(OUT0) *y, ulong y_first, __global TYPE(OUT1) *lses, ulong lses_first,
                      __global const long *axes, ulong axes_first, int rank, ulong rows, ulong count, long x_stride,
                      long y_stride) {
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
  for (ulong i = 0; i < count; i++) {
    float value = LOAD(IN0, x, x_row + i * (ulong)x_stride);
    float weight = value == -INFINITY ? 0.0f : exp(value - maximum) / sum;
    STORE(OUT0, weight, y, y_row + i * (ulong)y_stride);
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
__kernel void log_softmax(__global const TYPE(IN0) *x, ulong x_first, __global TYPE(OUT0) *y, ulong y_first,
                          __global const long *axes, ulong axes_first, int rank, ulong rows, ulong count,
                          long x_stride, long y_stride) {
  ulong row = get_global_id(0);
  if (row >= rows) return;
  axes += axes_first;
  ulong x_row = x_first + offset_of(axes, rank, X, row), y_row = y_first + offset_of(axes, rank, Y, row);
  float maximum = row_maximum(x, x_row, count, x_stride);
  float logarithm = maximum == -INFINITY ? 0.0f : log(row_sum(x, x_row, count, x_stride, maximum));
  for (ulong i = 0; i < count; i++) {
    float value = LOAD(IN0, x, x_row + i * (ulong)x_stride);
    STORE(OUT0, value == -INFINITY ? -INFINITY : value - maximum - logarithm, y, y_row + i * (ulong)y_stride);
  }
}
#endif

#ifdef HARD
/* 1 for the first maximum, 0 elsewhere; NaN counts as the maximum; a row of -inf has none. */
__kernel void hardmax(__global const TYPE(IN0) *x, ulong x_first, __global TYPE(OUT0) *y, ulong y_first,
                      __global const long *axes, ulong axes_first, int rank, ulong rows, ulong count, long x_stride,
                      long y_stride) {
  ulong row = get_global_id(0);
  if (row >= rows) return;
  axes += axes_first;
  ulong x_row = x_first + offset_of(axes, rank, X, row), y_row = y_first + offset_of(axes, rank, Y, row);
  float maximum = -INFINITY;
  ulong winner = count;
  for (ulong i = 0; i < count; i++) {
    float value = LOAD(IN0, x, x_row + i * (ulong)x_stride);
    bool better = !isnan(maximum) && (isnan(value) || value > maximum);
    maximum = better ? value : maximum;
    winner = better ? i : winner;
  }
  for (ulong i = 0; i < count; i++) STORE(OUT0, i == winner ? 1.0f : 0.0f, y, y_row + i * (ulong)y_stride);
}
#endif
