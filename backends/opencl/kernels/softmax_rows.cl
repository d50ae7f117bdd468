/* softmax for CPUs over a dense axis: a row per work-item, in vectors (softmax.cl says what is computed).
 *
 * The row comes from memory once, for its maximum; it is short enough for the caches afterwards.  Powers are kept in y
 * and divided there, unless y is of a half type: then they are made again.  While the maximum is looked for, y is
 * fetched, while powers are made, the next row. */

/* Sums are made of lanes and of blocks, so that their error stays small over long rows. */
#define BLOCK       (64 * WIDTH)
#define F32_IS_KEPT (sizeof(TYPE(OUT0)) == sizeof(float))

enum { X, Y, LSE, SINKS }; /* operands of the axes */

DEFINE_LOAD_PART(part_of_x, IN0)
DEFINE_LOAD_PART(part_of_y, OUT0)
DEFINE_STORE_PART(store_part, OUT0)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
softmax_rows(__global const TYPE(IN0) *restrict x, ulong x_first, __global const TYPE(IN1) * sinks, ulong sinks_first,
             __global TYPE(OUT0) *restrict y, ulong y_first, __global TYPE(OUT1) * lses, ulong lses_first,
             __global const long *axes, ulong axes_first, int rank, ulong count) {
  ulong row = get_global_id(0);
  axes += axes_first;
  ulong x_row = x_first + offset_of(axes, rank, X, row), y_row = y_first + offset_of(axes, rank, Y, row);
  ulong x_next = x_row + step_of(axes, rank, X);
  float sink = -INFINITY;
#ifdef HAS_SINKS
  sink = LOAD(IN1, sinks, sinks_first + offset_of(axes, rank, SINKS, row));
#endif

  floats maxima = (floats)(-INFINITY);
  ints bad = (ints)(0); /* NaN or +inf */
  for (ulong i = 0; i < count; i += WIDTH) {
    floats values = part_of_x(x, x_row + i, count - i, -INFINITY);
    bad |= !(values < INFINITY);
    maxima = values > maxima ? values : maxima;
    if (i < NEAR) FETCH(y + y_row + i);
  }
  float maximum = largest_of(maxima);
  if (any(bad) || isnan(sink) || sink == INFINITY) maximum = NAN;
  bool empty = maximum == -INFINITY;

  float keys = 0.0f;
  for (ulong start = 0; start < count && !empty; start += BLOCK) {
    floats lanes = (floats)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, count); i += WIDTH) {
      floats values = part_of_x(x, x_row + i, count - i, -INFINITY);
      floats powers = values == -INFINITY ? (floats)(0.0f) : exp_of(values - maximum);
      if (F32_IS_KEPT) store_part(powers, y, y_row + i, count - i);
      lanes += powers;
      if (i < NEAR) FETCH(x + x_next + i);
    }
    keys += sum_of(lanes);
  }
  float factor = empty ? 0.0f : 1.0f / (keys + exp(sink - maximum));
  for (ulong i = 0; i < count; i += WIDTH) {
    floats powers = (floats)(0.0f);
    if (!empty) {
      if (F32_IS_KEPT) {
        powers = part_of_y(y, y_row + i, count - i, 0.0f);
      } else {
        floats values = part_of_x(x, x_row + i, count - i, -INFINITY);
        powers = values == -INFINITY ? (floats)(0.0f) : exp_of(values - maximum);
      }
    }
    store_part(powers == 0.0f ? (floats)(0.0f) : powers * factor, y, y_row + i, count - i);
  }
#ifdef HAS_LSE
  /* Relative to the larger of maximum and sink, so that neither exponential overflows. */
  float top = isnan(maximum) ? NAN : fmax(maximum, sink);
  float total = keys * exp(maximum - top) + exp(sink - top);
  STORE(OUT1, empty ? sink : top + log(total), lses, lses_first + offset_of(axes, rank, LSE, row));
#endif
}
