/* linear, matmul, scaled_scores and weighted_sum:
 *
 *     y[g, m, n] = scale * sum over k of a[g, m, k] * b[g, n, k]  (+ bias[n])
 *
 * for each batch g.  What a, b and y are, and which way they lie, is in their strides: q k^T and p v differ in nothing else.
 * With -DSKIP_ZEROS an a of exactly 0 (a weight) contributes nothing, whatever b holds: selected, not multiplied. */

#ifndef HAS_BIAS
#define IN2 F32
#endif

/* `shape`: these, then the axes of the batch with the strides of a, b and y. */
enum { ROWS, COLUMNS, DEPTH, A_ROW, A_DEPTH, B_COLUMN, B_DEPTH, BIAS_COLUMN, Y_ROW, Y_COLUMN, BATCHES, BATCH_RANK, BATCH_AXES };
enum { A, B, Y };

#ifdef SKIP_ZEROS
#define ADD_PRODUCT(sum, a, b) sum = (a) != 0.0f ? sum + (a) * (b) : sum
#else
#define ADD_PRODUCT(sum, a, b) sum += (a) * (b)
#endif

/* Sums are made of sums over BLOCK, so that their error grows with BLOCK + depth / BLOCK instead of the depth. */
#define BLOCK 128

#define PARAMETERS                                                                                                     \
  __global const TYPE(IN0) * a, ulong a_first, __global const TYPE(IN1) * b, ulong b_first,                            \
      __global const TYPE(IN2) * bias, ulong bias_first, __global TYPE(OUT0) * y, ulong y_first,                       \
      __global const long *shape, ulong shape_first, float scale

/* Moves the first elements to batch `batch`. */
#define GO_TO_BATCH(batch)                                                                                             \
  a_first += offset_of(shape + BATCH_AXES, (int)shape[BATCH_RANK], A, batch);                                          \
  b_first += offset_of(shape + BATCH_AXES, (int)shape[BATCH_RANK], B, batch);                                          \
  y_first += offset_of(shape + BATCH_AXES, (int)shape[BATCH_RANK], Y, batch)

/* Scales, adds the bias and stores element (m, n). */
static void finish(float sum, ulong m, ulong n, __global const TYPE(IN2) *bias, ulong bias_first,
                   __global TYPE(OUT0) *y, ulong y_first, __global const long *shape, float scale) {
  float value = scale * sum;
#ifdef HAS_BIAS
  value += LOAD(IN2, bias, bias_first + n * shape[BIAS_COLUMN]);
#endif
  STORE(OUT0, value, y, y_first + m * shape[Y_ROW] + n * shape[Y_COLUMN]);
}

/* One element per work-item, any strides. */
__kernel void plain(PARAMETERS) {
  ulong n = get_global_id(0), m = get_global_id(1), batch = get_global_id(2);
  shape += shape_first;
  if (n >= (ulong)shape[COLUMNS] || m >= (ulong)shape[ROWS] || batch >= (ulong)shape[BATCHES]) return;
  GO_TO_BATCH(batch);
  ulong depth = shape[DEPTH], a_row = a_first + m * shape[A_ROW], b_column = b_first + n * shape[B_COLUMN];
  float sum = 0.0f;
  for (ulong start = 0; start < depth; start += BLOCK) {
    float part = 0.0f;
    for (ulong k = start; k < min(start + BLOCK, depth); k++) {
      float a_value = LOAD(IN0, a, a_row + k * shape[A_DEPTH]), b_value = LOAD(IN1, b, b_column + k * shape[B_DEPTH]);
      ADD_PRODUCT(part, a_value, b_value);
    }
    sum += part;
  }
  finish(sum, m, n, bias, bias_first, y, y_first, shape, scale);
}

#ifdef BLOCKED
DEFINE_LOAD_EIGHT(eight_of_a, IN0)
DEFINE_LOAD_EIGHT(eight_of_b, IN1)

/* `rows` rows by four columns, eight products at a time along the depth.  Columns past the end repeat the last one and are not
 * stored.  `rows` is a constant at every call, so that the loops unroll and the sums stay in registers. */
static inline __attribute__((always_inline)) void dot_tile(const int rows, ulong m, ulong n, PARAMETERS) {
  ulong depth = shape[DEPTH], columns = shape[COLUMNS];
  ulong a_at = a_first + m * shape[A_ROW], b_at[4];
  for (int j = 0; j < 4; j++) b_at[j] = b_first + min(n + j, columns - 1) * shape[B_COLUMN];
  float8 sums[4][4];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < 4; j++) sums[i][j] = (float8)(0.0f);
  for (ulong k = 0; k < depth; k += 8) {
    float8 b_values[4];
    for (int j = 0; j < 4; j++) b_values[j] = eight_of_b(b, b_at[j] + k * shape[B_DEPTH], shape[B_DEPTH], depth - k, 0.0f);
    for (int i = 0; i < rows; i++) {
      float8 a_values = eight_of_a(a, a_at + i * shape[A_ROW] + k * shape[A_DEPTH], shape[A_DEPTH], depth - k, 0.0f);
      for (int j = 0; j < 4; j++) ADD_PRODUCT(sums[i][j], a_values, b_values[j]);
    }
  }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < 4; j++)
      if (n + j < columns)
        finish(sum_of_eight(sums[i][j]), m + i, n + j, bias, bias_first, y, y_first, shape, scale);
}

/* `rows` rows by eight columns, which b holds side by side. */
static inline __attribute__((always_inline)) void outer_tile(const int rows, ulong m, ulong n, PARAMETERS) {
  ulong depth = shape[DEPTH], columns = shape[COLUMNS], a_at = a_first + m * shape[A_ROW];
  float8 sums[4];
  for (int i = 0; i < rows; i++) sums[i] = (float8)(0.0f);
  for (ulong start = 0; start < depth; start += BLOCK) {
    float8 parts[4];
    for (int i = 0; i < rows; i++) parts[i] = (float8)(0.0f);
    for (ulong k = start; k < min(start + BLOCK, depth); k++) {
      float8 b_values = eight_of_b(b, b_first + n * shape[B_COLUMN] + k * shape[B_DEPTH], shape[B_COLUMN], columns - n, 0.0f);
      for (int i = 0; i < rows; i++) {
        float a_value = LOAD(IN0, a, a_at + i * shape[A_ROW] + k * shape[A_DEPTH]);
        ADD_PRODUCT(parts[i], a_value, b_values);
      }
    }
    for (int i = 0; i < rows; i++) sums[i] += parts[i];
  }
  for (int i = 0; i < rows; i++) {
    float values[8];
    vstore8(sums[i], 0, values);
    for (int j = 0; j < 8; j++)
      if (n + j < columns) finish(values[j], m + i, n + j, bias, bias_first, y, y_first, shape, scale);
  }
}

#define BLOCKED_KERNEL(NAME, TILE, WIDTH)                                                                              \
  __kernel void NAME(PARAMETERS) {                                                                                     \
    ulong n = get_global_id(0) * WIDTH, m = get_global_id(1) * 4, batch = get_global_id(2);                            \
    shape += shape_first;                                                                                              \
    ulong rows = shape[ROWS];                                                                                          \
    if (n >= (ulong)shape[COLUMNS] || m >= rows || batch >= (ulong)shape[BATCHES]) return;                             \
    GO_TO_BATCH(batch);                                                                                                \
    if (m + 4 <= rows)                                                                                                 \
      TILE(4, m, n, a, a_first, b, b_first, bias, bias_first, y, y_first, shape, shape_first, scale);                  \
    else                                                                                                               \
      for (; m < rows; m++)                                                                                            \
        TILE(1, m, n, a, a_first, b, b_first, bias, bias_first, y, y_first, shape, shape_first, scale);                \
  }

/* Four rows by four columns per work-item: for operands dense along the depth (q k^T, a weight that lies out_in). */
BLOCKED_KERNEL(dot_blocked, dot_tile, 4)
/* Four rows by eight columns per work-item: for a b dense along the columns (p v, a weight that lies in_out). */
BLOCKED_KERNEL(outer_blocked, outer_tile, 8)
#endif
