/* linear, fused_linear, matmul, scaled_scores and weighted_sum:
 *
 *     y[g, m, n] = f(scale * sum over k of a[g, m, k] * b[g, n, k]  (+ bias[n]))  (+ residual[g, m, n])
 *
 * for each batch g; f is -DACTIVATION=, if any.  What a, b and y are, and which way they lie, is in their strides: q
 * k^T and p v differ in nothing else. With -DSKIP_ZEROS an a of exactly 0 (a weight) contributes nothing, whatever b
 * holds: selected, not multiplied.
 */

/* `shape`: these, then the axes of the batch with the strides of a, b and y, and of the residual. */
enum {
  ROWS,
  COLUMNS,
  DEPTH,
  A_ROW,
  A_DEPTH,
  B_COLUMN,
  B_DEPTH,
  BIAS_COLUMN,
  Y_ROW,
  Y_COLUMN,
  RESIDUAL_ROW,
  RESIDUAL_COLUMN,
  BATCHES,
  BATCH_RANK,
  BATCH_AXES
};
enum { A, B, Y, RESIDUAL };

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
      __global const long *shape, ulong shape_first, float scale RESIDUAL_PARAMETERS

#ifdef HAS_RESIDUAL
#define RESIDUAL_PARAMETERS   , __global const TYPE(IN3) * residual, ulong residual_first
#define RESIDUAL_ARGUMENTS    , residual, residual_first
#define GO_TO_RESIDUAL(batch) residual_first += offset_of(shape + BATCH_AXES, (int)shape[BATCH_RANK], RESIDUAL, batch)
#else
#define RESIDUAL_PARAMETERS
#define RESIDUAL_ARGUMENTS
#define GO_TO_RESIDUAL(batch)
#endif

/* Moves the first elements to batch `batch`. */
#define GO_TO_BATCH(batch)                                                                                             \
  a_first += offset_of(shape + BATCH_AXES, (int)shape[BATCH_RANK], A, batch);                                          \
  b_first += offset_of(shape + BATCH_AXES, (int)shape[BATCH_RANK], B, batch);                                          \
  y_first += offset_of(shape + BATCH_AXES, (int)shape[BATCH_RANK], Y, batch);                                          \
  GO_TO_RESIDUAL(batch)

/* Scales, adds the bias, activates, adds the residual and stores element (m, n): rounded to y's type once. */
static void finish(float sum, ulong m, ulong n, __global const TYPE(IN2) * bias, ulong bias_first,
                   __global TYPE(OUT0) * y, ulong y_first, __global const long *shape,
                   float scale RESIDUAL_PARAMETERS) {
  float value = scale * sum;
#ifdef HAS_BIAS
  value += LOAD(IN2, bias, bias_first + n * shape[BIAS_COLUMN]);
#endif
#ifdef ACTIVATION
  value = ACTIVATION(value);
#endif
#ifdef HAS_RESIDUAL
  value += LOAD(IN3, residual, residual_first + m * shape[RESIDUAL_ROW] + n * shape[RESIDUAL_COLUMN]);
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
  finish(sum, m, n, bias, bias_first, y, y_first, shape, scale RESIDUAL_ARGUMENTS);
}

#ifdef BLOCKED
/* Four rows by four columns per work-item, eight products at a time: a and b are dense along the depth (q k^T, a weight
 * that lies out_in).  Rows and columns past the end repeat the last one and are not stored. */
__kernel void dot_blocked(PARAMETERS) {
  ulong n = get_global_id(0) * 4, m = get_global_id(1) * 4, batch = get_global_id(2);
  shape += shape_first;
  ulong rows = shape[ROWS], columns = shape[COLUMNS], depth = shape[DEPTH];
  if (n >= columns || m >= rows || batch >= (ulong)shape[BATCHES]) return;
  GO_TO_BATCH(batch);
  ulong a_at[4], b_at[4];
  float8 sums[4][4];
  for (int i = 0; i < 4; i++) {
    a_at[i] = a_first + min(m + i, rows - 1) * shape[A_ROW];
    b_at[i] = b_first + min(n + i, columns - 1) * shape[B_COLUMN];
    for (int j = 0; j < 4; j++) sums[i][j] = (float8)(0.0f);
  }

  ulong k = 0;
  for (; k + 8 <= depth; k += 8) {
    float8 b_values[4];
    for (int j = 0; j < 4; j++) b_values[j] = LOAD8(IN1, b, b_at[j] + k);
    for (int i = 0; i < 4; i++) {
      float8 a_values = LOAD8(IN0, a, a_at[i] + k);
      for (int j = 0; j < 4; j++) ADD_PRODUCT(sums[i][j], a_values, b_values[j]);
    }
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      float sum = sum_of_eight(sums[i][j]);
      for (ulong left = k; left < depth; left++) {
        float a_value = LOAD(IN0, a, a_at[i] + left), b_value = LOAD(IN1, b, b_at[j] + left);
        ADD_PRODUCT(sum, a_value, b_value);
      }
      if (m + i < rows && n + j < columns)
        finish(sum, m + i, n + j, bias, bias_first, y, y_first, shape, scale RESIDUAL_ARGUMENTS);
    }
}

DEFINE_LOAD_EIGHT(eight_of_b, IN1)

/* Four rows by sixteen columns per work-item, which fill a cache line: b is dense along the columns (p v, a weight that
 * lies in_out).  Rows past the end repeat the last one, and a second eight of columns the first; neither is stored. */
__kernel void outer_blocked(PARAMETERS) {
  ulong n = get_global_id(0) * 16, m = get_global_id(1) * 4, batch = get_global_id(2);
  shape += shape_first;
  ulong rows = shape[ROWS], columns = shape[COLUMNS], depth = shape[DEPTH];
  if (n >= columns || m >= rows || batch >= (ulong)shape[BATCHES]) return;
  GO_TO_BATCH(batch);
  ulong second = n + 8 < columns ? n + 8 : n;
  ulong a_at[4];
  float8 sums[4][2];
  for (int i = 0; i < 4; i++) {
    a_at[i] = a_first + min(m + i, rows - 1) * shape[A_ROW];
    sums[i][0] = sums[i][1] = (float8)(0.0f);
  }

  for (ulong start = 0; start < depth; start += BLOCK) {
    float8 parts[4][2];
    for (int i = 0; i < 4; i++) parts[i][0] = parts[i][1] = (float8)(0.0f);
    for (ulong k = start; k < min(start + BLOCK, depth); k++) {
      ulong b_at = b_first + k * shape[B_DEPTH];
      float8 b_values = eight_of_b(b, b_at + n, 1, columns - n, 0.0f);
      float8 b_second = eight_of_b(b, b_at + second, 1, columns - second, 0.0f);
      for (int i = 0; i < 4; i++) {
        float a_value = LOAD(IN0, a, a_at[i] + k * shape[A_DEPTH]);
        ADD_PRODUCT(parts[i][0], a_value, b_values);
        ADD_PRODUCT(parts[i][1], a_value, b_second);
      }
    }
    for (int i = 0; i < 4; i++)
      for (int half_tile = 0; half_tile < 2; half_tile++) sums[i][half_tile] += parts[i][half_tile];
  }
  for (int i = 0; i < 4; i++) {
    float values[16];
    vstore8(sums[i][0], 0, values);
    vstore8(sums[i][1], 1, values);
    for (int j = 0; j < 16; j++)
      if (m + i < rows && n + j < columns)
        finish(values[j], m + i, n + j, bias, bias_first, y, y_first, shape, scale RESIDUAL_ARGUMENTS);
  }
}
#endif
