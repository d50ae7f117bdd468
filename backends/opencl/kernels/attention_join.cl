/* Where the keys of a row are split among work-items, each leaves its part in the workspace; this puts them together,
 * first to last.  Items along x share the columns. */

enum {
  PART = VALUE_SIZE + 2, /* of a row: the mix, the maximum, the sum */
  MOST_SPLITS = 64
};

/* Where the part of row `row` of key head `unit`, counted through the batches, begins. */
static ulong part_of(long unit, long split, long splits, long row, __global const long *shape) {
  return (ulong)(((unit * splits + split) * shape[GROUP] * shape[QUERIES] + row) * PART);
}

__kernel void attention_join(__global const TYPE(IN7) * sinks, ulong sinks_first, long sinks_stride,
                             __global TYPE(OUT0) * y, ulong y_first, __global TYPE(OUT1) * lses, ulong lses_first,
                             __global const long *shape, ulong shape_first, int splits, __global const float *parts,
                             ulong parts_first) {
  shape += shape_first;
  parts += parts_first;
  long row = (long)get_global_id(1), unit = (long)get_global_id(2), key_heads = shape[HEADS] / shape[GROUP];
  long batch = unit / key_heads;
  row_place at = place_of(row, unit % key_heads, shape);

  float weights[MOST_SPLITS], maximum = -INFINITY, total = 0.0f;
  for (int i = 0; i < splits; i++) maximum = fmax(maximum, parts[part_of(unit, i, splits, row, shape) + VALUE_SIZE]);
  for (int i = 0; i < splits; i++) {
    __global const float *part = parts + part_of(unit, i, splits, row, shape);
    weights[i] = part[VALUE_SIZE] == -INFINITY ? 0.0f : exp(part[VALUE_SIZE] - maximum);
    total += part[VALUE_SIZE] == -INFINITY ? part[VALUE_SIZE + 1] : weights[i] * part[VALUE_SIZE + 1];
  }
  row_end end = end_row(maximum, total, sink_of(at.head, sinks, sinks_first, sinks_stride));
  ulong to_y = y_first + (ulong)(batch * shape[Y_BATCH] + at.head * shape[Y_HEAD] + at.query * shape[Y_ROW]);
  for (int d = (int)get_global_id(0); d < VALUE_SIZE; d += (int)get_global_size(0)) {
    float mix = 0.0f;
    for (int i = 0; i < splits; i++) mix += weights[i] * parts[part_of(unit, i, splits, row, shape) + d];
    STORE(OUT0, end.inverse * mix, y, to_y + (ulong)d * (ulong)shape[Y_COLUMN]);
  }
#ifdef HAS_LSE
  if (get_global_id(0) == 0)
    STORE(OUT1, end.lse, lses,
          lses_first + (ulong)(batch * shape[LSE_BATCH] + at.head * shape[LSE_HEAD] + at.query * shape[LSE_ROW]));
#endif
}
