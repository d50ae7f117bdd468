/* Moves elements bit by bit.  split_heads, concat_heads, transpose, reshape, expand, slice, split and concat are all
 * this one copy: the host gives the axes of either side, in the order in which they are walked, and where each begins.
 */

__kernel void copy(__global const BITS(IN0) * x, ulong x_first, __global BITS(IN0) * y, ulong y_first,
                   __global const long *x_axes, ulong x_axes_first, int x_rank, ulong x_start,
                   __global const long *y_axes, ulong y_axes_first, int y_rank, ulong y_start, ulong count) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  y[y_first + y_start + offset_of(y_axes + y_axes_first, y_rank, 0, i)] =
      x[x_first + x_start + offset_of(x_axes + x_axes_first, x_rank, 0, i)];
}
