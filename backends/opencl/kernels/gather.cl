/* y[before, i, after] = table[before, indices[i], after]: gather along an axis, and embedding, where nothing lies
 * before. TABLE and INDICES are the roles.  An index outside the table gives NaN, or 0 in integer types; -DFROM_END
 * lets negative ones count from the end. */

__kernel void gather(__global const BITS(TABLE) * table, ulong table_first, __global const long *indices,
                     ulong indices_first, __global BITS(OUT0) * y, ulong y_first, __global const long *axes,
                     ulong axes_first, int table_rank, int indices_rank, int y_rank, long extent, long stride,
                     ulong count, ulong indexed, ulong after) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  /* Three lists of axes: the table without the gathered one, the indices, y. */
  __global const long *table_axes = axes + axes_first;
  __global const long *indices_axes = table_axes + 2 * table_rank;
  __global const long *y_axes = indices_axes + 2 * indices_rank;

  ulong of_index = i / after % indexed, of_table = i / after / indexed * after + i % after;
  long index = indices[indices_first + offset_of(indices_axes, indices_rank, 0, of_index)];
#ifdef FROM_END
  index += index < 0 ? extent : 0;
#endif
  bool inside = index >= 0 && index < extent;
  /* A safe address, as some drivers execute both sides of a condition. */
  ulong picked = inside ? (ulong)(index * stride) : 0;
  BITS(OUT0) bits = NAN_BITS(OUT0);
  if (inside) bits = table[table_first + picked + offset_of(table_axes, table_rank, 0, of_table)];
  y[y_first + offset_of(y_axes, y_rank, 0, i)] = bits;
}
