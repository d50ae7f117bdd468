/* The products of product.cl, made for CPUs:
 *
 *     y[g, m, n] = activation(scale * sum over k of a[g, m, k] * b[g, k, n] + bias[n]) + residual[g, m, n]
 *
 * One work-item is one tile, since a core runs a work-group as a loop: there is nobody to share with, and no barrier.
 * A tile is TILE_ROWS rows by TILE_VECTORS vectors of columns, one sum each in a register (named variables: compilers
 * keep arrays in memory).  A step along k loads TILE_VECTORS vectors of b and broadcasts TILE_ROWS elements of a, for
 * TILE_ROWS * TILE_VECTORS multiply-adds (6 * 4 for 10 loads): enough to keep two units busy.
 *
 * b is read from panels of PANEL columns, in which the columns of one k lie side by side and those of the next k
 * follow: one stream, whatever the layout of the weight, and zeros where the last panel has no column.  pack() makes
 * them, for a constant once per program.  With -DIN_PLACE a b that is dense along its columns is read as it lies.
 *
 * A work-group takes GROUP_TILES tiles, one below the other, and goes along k in blocks: BLOCK steps of b stay in
 * the second-level cache while all its tiles pass over them (Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", 2008, keep a block of a instead).  Between blocks the sums wait in local memory; so they are sums of
 * sums, whose error grows with BLOCK + depth / BLOCK instead of the depth.  A shorter BLOCK costs time: sums are kept
 * and added more often (256 steps: 2 % slower, 128: 4).  While a tile is worked on, the rows of the next one and its
 * share of the next block of b are fetched from memory; a tile alone that has to convert b fetches what it will read
 * soon. */

/* `shape`: these, then the axes of the batch with the strides of a, b, y and the residual. */
enum {
  ROWS,
  COLUMNS,
  DEPTH,
  A_ROW,
  B_PANEL, /* from one panel to the next */
  B_DEPTH, /* of a b in place */
  BIAS_COLUMN,
  Y_ROW,
  Y_COLUMN,
  RESIDUAL_ROW,
  RESIDUAL_COLUMN,
  GROUP_TILES,
  BATCH_RANK,
  BATCH_AXES
};
enum { A, B, Y, RESIDUAL };

#define BLOCK 1024

/* As the host counts, too: as many vectors as leave room in the registers. */
#if WIDTH == 16
#define TILE_VECTORS 4
#else
#define TILE_VECTORS 2
#endif
#define TILE_COLUMNS (TILE_VECTORS * WIDTH)
#define PANEL        TILE_COLUMNS

#if TILE_ROWS == 1
#define EACH_ROW(DO) DO(0)
#elif TILE_ROWS == 6
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#endif
#if TILE_VECTORS == 2
#define EACH_VECTOR(DO, i) DO(i, 0) DO(i, 1)
#else
#define EACH_VECTOR(DO, i) DO(i, 0) DO(i, 1) DO(i, 2) DO(i, 3)
#endif

#ifdef SKIP_ZEROS
/* A weight of exactly 0 contributes nothing, whatever b holds: it is not multiplied. */
#define IF_COUNTS(x) if (x != 0.0f)
#else
#define IF_COUNTS(x)
#endif

/* Statements about row i and vector j of a tile. */
#define LINE_START(i)   __global const TYPE(IN0) *a##i = a + min(m + i, rows - 1) * a_row;
#define SUM_START(i, j) WIDE(float) sum##i##_##j = (WIDE(float))(0.0f);
#define SUMS_START(i)   EACH_VECTOR(SUM_START, i)
#ifdef IN_PLACE
#define COLUMN_START(i, j) __global const TYPE(IN1) *b##j = b + min(n + j * WIDTH, columns - WIDTH);
#define COLUMN_LOAD(i, j)  WIDE(float) b_##j = LOAD_WIDE(IN1, b##j, b_at);
#define NEXT_LINE          b_at += b_depth
#else
#define COLUMN_START(i, j)
#define COLUMN_LOAD(i, j) WIDE(float) b_##j = LOAD_WIDE(IN1, line, j * WIDTH);
#define NEXT_LINE         line += PANEL
#endif
#define MULTIPLY_ADD(i, j) sum##i##_##j += x * b_##j;
#define ROW_STEP(i)                                                                                                    \
  {                                                                                                                    \
    float x = LOAD(IN0, a##i, k);                                                                                      \
    IF_COUNTS(x) {                                                                                                     \
      EACH_VECTOR(MULTIPLY_ADD, i)                                                                                     \
    }                                                                                                                  \
  }
#define STEP                                                                                                           \
  {                                                                                                                    \
    EACH_VECTOR(COLUMN_LOAD, 0)                                                                                        \
    EACH_ROW(ROW_STEP)                                                                                                 \
    k++;                                                                                                               \
    NEXT_LINE;                                                                                                         \
  }
#define SUM_KEEP(i, j) WIDE(vstore)(sum##i##_##j, j, total + i * TILE_COLUMNS);
#define SUMS_KEEP(i)   EACH_VECTOR(SUM_KEEP, i)
#define SUM_ADD(i, j)  sum##i##_##j += WIDE(vload)(j, total + i * TILE_COLUMNS);
#define SUMS_ADD(i)    EACH_VECTOR(SUM_ADD, i)

#define FETCH_BELOW(i) FETCH(a##i + below + k);
/* Steps between two fetches; elements in a line of the caches, and lines of b that a round reads. */
enum { ROUND = 16, SOON = 64, LINE = 64 / sizeof(TYPE(IN1)), LINES = ROUND * PANEL / LINE };

#define SHAPE_PARAMETERS __global const long *shape, ulong shape_first

/* `left` lanes from element `index` on, `stride` apart, of which the first `skipped` are not touched: those are 0. */
#define DEFINE_GATHER(NAME, role)                                                                                      \
  static WIDE(float) NAME(__global const TYPE(role) * pointer, ulong index, ulong stride, ulong skipped, ulong left) { \
    if (stride == 1 && skipped == 0 && left == WIDTH) return LOAD_WIDE(role, pointer, index);                          \
    float lanes[WIDTH];                                                                                                \
    for (ulong i = 0; i < WIDTH; i++)                                                                                  \
      lanes[i] = i >= skipped && i < left ? LOAD(role, pointer, index + i * stride) : 0.0f;                            \
    return WIDE(vload)(0, lanes);                                                                                      \
  }
#ifdef HAS_BIAS
DEFINE_GATHER(gather_bias, IN2)
#endif
#ifdef HAS_RESIDUAL
DEFINE_GATHER(gather_residual, IN3)
#endif

/* Stores lanes `skipped` .. `left` - 1. */
static void scatter(WIDE(float) value, __global TYPE(OUT0) * y, ulong index, ulong stride, ulong skipped, ulong left) {
  if (stride == 1 && skipped == 0 && left == WIDTH) {
    STORE_WIDE(OUT0, value, y, index);
    return;
  }
  float lanes[WIDTH];
  WIDE(vstore)(value, 0, lanes);
  for (ulong i = skipped; i < left; i++) STORE(OUT0, lanes[i], y, index + i * stride);
}

/* One tile group.  b comes as floats, whatever its panels hold: they may lie in the workspace. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
tiles(__global const TYPE(IN0) * a, ulong a_first,
#ifdef IN_PLACE
      __global const TYPE(IN1) * b, ulong b_first,
#else
      __global const float *panels, ulong panels_first,
#endif
      __global const TYPE(IN2) * bias, ulong bias_first, __global const TYPE(IN3) * residual, ulong residual_first,
      __global TYPE(OUT0) * y, ulong y_first, SHAPE_PARAMETERS, float scale, __local float *totals) {
  shape += shape_first;
  ulong batch = get_global_id(2);
  __global const long *axes = shape + BATCH_AXES;
  int rank = (int)shape[BATCH_RANK];
  a += a_first + offset_of(axes, rank, A, batch);
  y_first += offset_of(axes, rank, Y, batch);
#ifdef HAS_RESIDUAL /* else the table has no strides of it */
  residual_first += offset_of(axes, rank, RESIDUAL, batch);
#endif
  ulong n = get_global_id(1) * TILE_COLUMNS;
#ifdef IN_PLACE
  b += b_first + offset_of(axes, rank, B, batch);
#else
  __global const TYPE(IN1) *b = (__global const TYPE(IN1) *)(panels + panels_first);
  b += offset_of(axes, rank, B, batch) + get_global_id(1) * (ulong)shape[B_PANEL];
#endif

  ulong rows = shape[ROWS], columns = shape[COLUMNS], depth = shape[DEPTH];
  ulong a_row = shape[A_ROW];
#ifdef IN_PLACE
  ulong b_depth = shape[B_DEPTH];
#endif
  ulong first_row = get_global_id(0) * (ulong)shape[GROUP_TILES] * TILE_ROWS;
  ulong end_row = min(rows, first_row + (ulong)shape[GROUP_TILES] * TILE_ROWS);
  EACH_VECTOR(COLUMN_START, 0)
#ifndef IN_PLACE
  ulong tile_count = (end_row - first_row + TILE_ROWS - 1) / TILE_ROWS;
  const bool alone = tile_count == 1, converts = sizeof(TYPE(IN1)) < sizeof(float);
  ulong ahead = alone ? SOON : BLOCK; /* steps, to what is fetched, and lines of it in a round */
  ulong lines = alone ? (converts ? LINES : 0) : (LINES + tile_count - 1) / tile_count;
#endif

  for (ulong block = 0; block < depth; block += BLOCK) {
    __local float *total = totals;
#ifndef IN_PLACE
    ulong next = (block + ahead) * PANEL, next_end = min(block + 2 * BLOCK, depth) * PANEL;
#endif
    for (ulong m = first_row; m < end_row; m += TILE_ROWS, total += TILE_ROWS * TILE_COLUMNS) {
      EACH_ROW(LINE_START)
      EACH_ROW(SUMS_START)
#ifdef IN_PLACE
      ulong b_at = block * b_depth;
#else
      __global const TYPE(IN1) *line = b + block * PANEL;
#endif
      ulong k = block, end = min(block + BLOCK, depth);
      ulong below = m + 2 * TILE_ROWS <= rows ? TILE_ROWS * a_row : 0;
      while (k + ROUND <= end) {
        EACH_ROW(FETCH_BELOW)
#ifndef IN_PLACE
        for (ulong i = 0; i < lines && next < next_end; i++, next += LINE) FETCH(b + next);
#endif
#pragma unroll 1
        for (ulong stop = k + ROUND; k < stop;) {
          STEP;
          STEP;
          STEP;
          STEP;
        }
      }
      while (k < end) STEP;
      if (block > 0) {
        EACH_ROW(SUMS_ADD)
      }
      EACH_ROW(SUMS_KEEP)
    }
  }

  for (ulong m = first_row; m < end_row; m++, totals += TILE_COLUMNS)
    for (ulong j = 0; j < TILE_VECTORS && n + j * WIDTH < columns; j++) {
      ulong column = n + j * WIDTH, skipped = 0;
#ifdef IN_PLACE
      skipped = column - min(column, columns - WIDTH);
      column -= skipped;
#endif
      ulong left = min((ulong)WIDTH, columns - column);
      WIDE(float) value = scale * WIDE(vload)(j, totals);
#ifdef HAS_BIAS
      value += gather_bias(bias, bias_first + column * (ulong)shape[BIAS_COLUMN], shape[BIAS_COLUMN], skipped, left);
#endif
#ifdef ACTIVATION
      value = ACTIVATION(value);
#endif
#ifdef HAS_RESIDUAL
      value += gather_residual(residual,
                               residual_first + m * (ulong)shape[RESIDUAL_ROW] + column * (ulong)shape[RESIDUAL_COLUMN],
                               shape[RESIDUAL_COLUMN], skipped, left);
#endif
      scatter(value, y, y_first + m * (ulong)shape[Y_ROW] + column * (ulong)shape[Y_COLUMN], shape[Y_COLUMN], skipped,
              left);
    }
}

#ifndef IN_PLACE
/* What pack() is told: these, then the axes of the batch with the strides of source and panels. */
enum { PACK_COLUMNS, PACK_DEPTH, PACK_COLUMN, PACK_ROW, PACK_BATCH_RANK, PACK_BATCH_AXES };
#define PACK_STEPS 64
#define FOUR       WIDE_(BITS(IN1), 4)

/* PACK_STEPS rows of one panel of b.  Bits are copied, not numbers. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pack(__global const BITS(IN1) * source, ulong source_first,
                                                                  __global float *panels, ulong panels_first,
                                                                  SHAPE_PARAMETERS) {
  shape += shape_first;
  ulong columns = shape[PACK_COLUMNS], depth = shape[PACK_DEPTH];
  ulong column_stride = shape[PACK_COLUMN], row_stride = shape[PACK_ROW];
  ulong n = get_global_id(0) * PANEL, k = get_global_id(1) * PACK_STEPS, batch = get_global_id(2);
  ulong width = min((ulong)PANEL, columns - n), steps = min((ulong)PACK_STEPS, depth - k);
  __global const long *axes = shape + PACK_BATCH_AXES;
  int rank = (int)shape[PACK_BATCH_RANK];
  __global const BITS(IN1) *from =
      source + source_first + offset_of(axes, rank, 0, batch) + n * column_stride + k * row_stride;
  __global BITS(IN1) *to =
      (__global BITS(IN1) *)(panels + panels_first) + offset_of(axes, rank, 1, batch) + n * depth + k * PANEL;
  if (width == PANEL && column_stride == 1) {
    for (ulong i = 0; i < steps; i++)
      for (ulong j = 0; j < PANEL; j++) to[i * PANEL + j] = from[i * row_stride + j];
    return;
  }
  ulong turned = 0; /* rows of which four by four elements were turned at a time: b is dense along k */
  if (width == PANEL && row_stride == 1) {
    turned = steps / 4 * 4;
    for (ulong j = 0; j < PANEL; j += 4)
      for (ulong i = 0; i < turned; i += 4) {
        __global const BITS(IN1) *corner = from + j * column_stride + i;
        FOUR c0 = vload4(0, corner), c1 = vload4(0, corner + column_stride);
        FOUR c2 = vload4(0, corner + 2 * column_stride), c3 = vload4(0, corner + 3 * column_stride);
        vstore4((FOUR)(c0.x, c1.x, c2.x, c3.x), 0, to + i * PANEL + j);
        vstore4((FOUR)(c0.y, c1.y, c2.y, c3.y), 0, to + (i + 1) * PANEL + j);
        vstore4((FOUR)(c0.z, c1.z, c2.z, c3.z), 0, to + (i + 2) * PANEL + j);
        vstore4((FOUR)(c0.w, c1.w, c2.w, c3.w), 0, to + (i + 3) * PANEL + j);
      }
  }
  for (ulong j = 0; j < PANEL; j++)
    for (ulong i = turned; i < steps; i++) to[i * PANEL + j] = j < width ? from[j * column_stride + i * row_stride] : 0;
}
#endif
