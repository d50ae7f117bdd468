/* y = x in another type, rounded once.  To bool: is it other than 0?  To an integer: towards 0, NaN gives 0, and what
 * is too large the nearest there is. */

#define saturate_I32(value) convert_int_sat(value)
#define saturate_I64(value) convert_long_sat(value)

__kernel void cast(__global const TYPE(IN0) * x, ulong x_first, __global TYPE(OUT0) * y, ulong y_first,
                   __global const long *axes, ulong axes_first, int rank, ulong count) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  axes += axes_first;
  ulong x_at = x_first + offset_of(axes, rank, 0, i), y_at = y_first + offset_of(axes, rank, 1, i);
#if !IS_INTEGER(OUT0)
  STORE(OUT0, LOAD(IN0, x, x_at), y, y_at);
#elif IS_INTEGER(IN0)
  STORE_LONG(OUT0, LOAD_LONG(IN0, x, x_at), y, y_at);
#else
  float value = LOAD(IN0, x, x_at);
#if IS_BOOL(OUT0)
  y[y_at] = value != 0.0f;
#else
  y[y_at] = PASTE(saturate_, OUT0)(isnan(value) ? 0.0f : value);
#endif
#endif
}
