/* Products on GPUs; goes after product.cl.
 *
 * Reading an element costs far more than multiplying it.  A tile of 4 SIDE x 4 SIDE results needs 4 SIDE rows of a and
 * 4 SIDE columns of b, and each element of those 4 SIDE times: so a work-group brings them to local memory once.
 */

#define FINISH(sum, row, column) finish(sum, row, column, bias, bias_first, y, y_first, shape, scale RESIDUAL_ARGUMENTS)

#ifdef TILED
/* For GPUs: SIDE x SIDE items make a tile of 4 SIDE x 4 SIDE elements.  Each step of the sum, SIDE products deep, is
 * brought to local memory once and read from there by SIDE items each; an item keeps 4 x 4 sums in registers, its rows
 * and columns SIDE apart, so that neighbours store neighbours.  What lies past an end is read as zero. */
#define DEFINE_TILED(name, SIDE)                                                                                       \
  __kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void name(PARAMETERS) {                                \
    __local float a_tile[SIDE][4 * SIDE + 1], b_tile[SIDE][4 * SIDE + 1];                                              \
    int x = (int)get_local_id(0), y_item = (int)get_local_id(1);                                                       \
    ulong n = get_group_id(0) * 4 * SIDE, m = get_group_id(1) * 4 * SIDE, batch = get_global_id(2);                    \
    shape += shape_first;                                                                                              \
    ulong rows = shape[ROWS], columns = shape[COLUMNS], depth = shape[DEPTH];                                          \
    GO_TO_BATCH(batch);                                                                                                \
    float sums[4][4], parts[4][4];                                                                                     \
    for (int i = 0; i < 4; i++)                                                                                        \
      for (int j = 0; j < 4; j++) sums[i][j] = parts[i][j] = 0.0f;                                                     \
    for (ulong k = 0; k < depth; k += SIDE) {                                                                          \
      /* Neighbours read along the axis that is dense. */                                                              \
      FILL_TILE(IN0, a_tile, a, a_first, SIDE, m, rows, k, depth, shape[A_ROW], shape[A_DEPTH], x, y_item);            \
      FILL_TILE(IN1, b_tile, b, b_first, SIDE, n, columns, k, depth, shape[B_COLUMN], shape[B_DEPTH], x, y_item);      \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                    \
      for (int step = 0; step < SIDE; step++) {                                                                        \
        float b_values[4];                                                                                             \
        for (int j = 0; j < 4; j++) b_values[j] = b_tile[step][x + SIDE * j];                                          \
        for (int i = 0; i < 4; i++) {                                                                                  \
          float a_value = a_tile[step][y_item + SIDE * i];                                                             \
          for (int j = 0; j < 4; j++) ADD_PRODUCT(parts[i][j], a_value, b_values[j]);                                  \
        }                                                                                                              \
      }                                                                                                                \
      if ((k + SIDE) % BLOCK == 0 || k + SIDE >= depth)                                                                \
        for (int i = 0; i < 4; i++)                                                                                    \
          for (int j = 0; j < 4; j++) {                                                                                \
            sums[i][j] += parts[i][j];                                                                                 \
            parts[i][j] = 0.0f;                                                                                        \
          }                                                                                                            \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                    \
    }                                                                                                                  \
    for (int i = 0; i < 4; i++)                                                                                        \
      for (int j = 0; j < 4; j++) {                                                                                    \
        ulong row = m + y_item + SIDE * i, column = n + x + SIDE * j;                                                  \
        if (row < rows && column < columns) FINISH(sums[i][j], row, column);                                           \
      }                                                                                                                \
  }

/* tile[step][line]: elements (line, k + step) of a matrix, whose lines are a's rows or b's columns. */
#define FILL_TILE(T, tile, from, first, SIDE, line, lines, k, depth, line_stride, depth_stride, x, y)                  \
  for (int i = 0; i < 4; i++) {                                                                                        \
    int at_line = (depth_stride == 1 ? y : x) + SIDE * i, at_step = depth_stride == 1 ? x : y;                         \
    bool inside = line + at_line < lines && k + at_step < depth;                                                       \
    ulong place = first + (inside ? (line + at_line) * line_stride + (k + at_step) * depth_stride : 0);                \
    tile[at_step][at_line] = inside ? LOAD(T, from, place) : 0.0f;                                                     \
  }

DEFINE_TILED(tiled_16, 16)
DEFINE_TILED(tiled_8, 8)
#endif

#ifdef EPILOGUE
/* What a BLAS leaves to do: bias, activation and residual, in place. */
__kernel void epilogue(PARAMETERS) {
  ulong n = get_global_id(0), m = get_global_id(1), batch = get_global_id(2);
  shape += shape_first;
  if (n >= (ulong)shape[COLUMNS] || m >= (ulong)shape[ROWS] || batch >= (ulong)shape[BATCHES]) return;
  GO_TO_BATCH(batch);
  FINISH(LOAD(OUT0, y, y_first + m * shape[Y_ROW] + n * shape[Y_COLUMN]), m, n);
}
#endif
