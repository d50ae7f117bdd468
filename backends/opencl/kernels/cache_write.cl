/* y = cache, with the rows of x at slots offset, offset + 1, .. along an axis.  Where y is the cache itself, only
 * `write` runs. The axes of x are walked as [batch, between, rows, after]. */

__kernel void copy(__global const BITS(IN0) * cache, ulong cache_first, __global BITS(OUT0) * y, ulong y_first,
                   __global const long *axes, ulong axes_first, int rank, ulong count) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  axes += axes_first;
  y[y_first + offset_of(axes, rank, 1, i)] = cache[cache_first + offset_of(axes, rank, 0, i)];
}

/* A row that falls outside the slots is dropped; in a ring it wraps, and of rows that meet in a slot the last one
 * stays. */
__kernel void write(__global const TYPE(IN1) * x, ulong x_first, __global const long *offset, ulong offset_first,
                    __global TYPE(OUT0) * y, ulong y_first, __global const long *axes, ulong axes_first, int rank,
                    ulong count, ulong per_batch, ulong after, long rows, long slots, long slot_stride,
                    long offset_stride, int ring) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  axes += axes_first;
  ulong batch = i / per_batch;
  long row = (long)(i / after % (ulong)rows);
  long slot = add_sat(row, offset[offset_first + batch * (ulong)offset_stride]);
  if (slot < 0 || (ring ? row < rows - slots : slot >= slots)) return;
  if (ring) slot %= slots;

  /* Operand 1 of the axes is y with a stride of 0 for the rows. */
  ulong x_at = x_first + offset_of(axes, rank, 0, i);
  ulong y_at = y_first + (ulong)(slot * slot_stride) + offset_of(axes, rank, 1, i);
  STORE(OUT0, LOAD(IN1, x, x_at), y, y_at);
}
