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

/* The same where both sides are walked in runs of `length` neighbours: an item moves up to PIECE of them, so that axes
 * are worked out once for all.  For CPUs, where an item is a loop; side by side, items of a GPU would miss each other's
 * lines. Heads of 64 that are taken apart go six times as fast as one by one. */
#define PIECE 1024

DEFINE_ANYWHERE(sixteen, WIDE_(BITS(IN0), 16), BITS(IN0))

__kernel void copy_runs(__global const BITS(IN0) * x, ulong x_first, __global BITS(IN0) * y, ulong y_first,
                        __global const long *x_axes, ulong x_axes_first, int x_rank, ulong x_start,
                        __global const long *y_axes, ulong y_axes_first, int y_rank, ulong y_start, ulong runs,
                        ulong length) {
  ulong run = get_global_id(0), at = get_global_id(1) * PIECE, end = min(at + PIECE, length);
  if (run >= runs) return;
  x += x_first + x_start + offset_of(x_axes + x_axes_first, x_rank, 0, run * length);
  y += y_first + y_start + offset_of(y_axes + y_axes_first, y_rank, 0, run * length);
  for (; at + 16 <= end; at += 16) store_sixteen(load_sixteen(x + at), y + at);
  for (; at < end; at++) y[at] = x[at];
}
