/* y = a OPERATOR b, element by element; operands that repeat have strides of 0.  Integers are computed in 64 bits. */

__kernel void binary(__global const TYPE(IN0) * a, ulong a_first, __global const TYPE(IN1) * b, ulong b_first,
                     __global TYPE(OUT0) * y, ulong y_first, __global const long *axes, ulong axes_first, int rank,
                     ulong count) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  axes += axes_first;
  ulong a_at = a_first + offset_of(axes, rank, 0, i), b_at = b_first + offset_of(axes, rank, 1, i);
  ulong y_at = y_first + offset_of(axes, rank, 2, i);
#if IS_INTEGER(OUT0)
  ulong a_value = LOAD_LONG(IN0, a, a_at), b_value = LOAD_LONG(IN1, b, b_at); /* unsigned: an overflow wraps */
  STORE_LONG(OUT0, (long)(a_value OPERATOR b_value), y, y_at);
#else
  float value = LOAD(IN0, a, a_at) OPERATOR LOAD(IN1, b, b_at);
  STORE(OUT0, value, y, y_at);
#endif
}
