/* positions, sinusoidal_position and rotary.
 *
 * Angles are exact for positions of any size.  The host gives each frequency (radians per position, in double) as turns
 * per position times 2^64, rounded to an integer.  position * turns, wrapped to 64 bits, is then the angle in 2^-64ths
 * of a turn without the whole turns.  Its upper bits say which quarter of a turn is nearest; what is left lies within
 * an eighth of a turn, where sin and cos of f32 are good. */

typedef struct {
  float sine, cosine;
} turn;

static turn turn_of(long position, long turns) {
  ulong angle = (ulong)position * (ulong)turns;
  ulong quarter = (angle + (1UL << 61)) >> 62;
  float rest = convert_float((long)(angle - (quarter << 62))) * 3.40612158e-19f; /* 2 pi / 2^64 */
  float s = sin(rest), c = cos(rest);
  turn result;
  result.sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
  result.cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
  return result;
}

#ifdef POSITIONS
/* y[b, i] = start + i + offset[b] */
__kernel void positions(__global const long *offset, ulong offset_first, __global long *y, ulong y_first, ulong batches,
                        ulong extent, long start, long offset_stride, long y_batch, long y_stride) {
  ulong i = get_global_id(0), b = get_global_id(1);
  if (i >= extent || b >= batches) return;
  long first = start;
#ifdef HAS_OFFSET
  first = add_sat(first, offset[offset_first + b * (ulong)offset_stride]);
#endif
  y[y_first + b * (ulong)y_batch + i * (ulong)y_stride] = add_sat(first, (long)i);
}
#endif

#ifdef SINUSOIDAL
/* Signal m of a position: sin and cos of position * frequency[m], side by side (INTERLEAVED), or the cosines after all
 * sines.  Axes: the positions, then operand 1: the rows of y. */
__kernel void sinusoidal(__global const long *positions, ulong positions_first, __global float *y, ulong y_first,
                         __global const long *axes, ulong axes_first, int rank, __global const long *turns,
                         ulong turns_first, ulong count, ulong half_size, long y_stride) {
  ulong m = get_global_id(0), i = get_global_id(1);
  if (m >= half_size || i >= count) return;
  axes += axes_first;
  long position = positions[positions_first + offset_of(axes, rank, 0, i)];
  turn t = turn_of(position, turns[turns_first + m]);
  ulong row = y_first + offset_of(axes, rank, 1, i);
#ifdef INTERLEAVED
  ulong at_sin = 2 * m, at_cos = 2 * m + 1;
#else
  ulong at_sin = m, at_cos = m + half_size;
#endif
  y[row + at_sin * (ulong)y_stride] = t.sine;
  y[row + at_cos * (ulong)y_stride] = t.cosine;
}
#endif

#ifdef ROTARY
#ifndef HAS_TABLES
#define COS F32
#define SIN F32
#endif

enum {
  X_BATCH,
  X_HEAD,
  X_ROW,
  X_COLUMN,
  Y_BATCH,
  Y_HEAD,
  Y_ROW,
  Y_COLUMN,
  POSITION_BATCH,
  POSITION_ROW,
  COS_BATCH,
  COS_ROW,
  COS_COLUMN,
  SIN_BATCH,
  SIN_ROW,
  SIN_COLUMN
};

/* Turns the pairs (x1, x2) of a row by the angle of its position:  x1 cos - x2 sin,  x2 cos + x1 sin.  A pair lies side
 * by side (INTERLEAVED) or `pairs` elements apart; what is behind the pairs stays as it is.  The angle comes from the
 * row's position (`positions`, or row + offset, or the row), or cos and sin are given: READY as [batch, row, pair],
 * else as tables of `table_rows` rows that the position picks from; a position outside gives NaN. */
__kernel void rotary(__global const TYPE(IN0) * x, ulong x_first, __global const long *positions, ulong positions_first,
                     __global const long *offset, ulong offset_first, __global const TYPE(COS) * cosines,
                     ulong cosines_first, __global const TYPE(SIN) * sines, ulong sines_first, __global TYPE(OUT0) * y,
                     ulong y_first, __global const long *strides, ulong strides_first, __global const long *turns,
                     ulong turns_first, ulong batches, ulong heads, ulong rows, ulong pairs, ulong columns,
                     long table_rows, long offset_stride) {
  ulong item = get_global_id(0), row = get_global_id(1), head = get_global_id(2) % heads;
  ulong batch = get_global_id(2) / heads;
  if (item >= columns - pairs || row >= rows || batch >= batches) return;
  strides += strides_first;
  ulong x_row = x_first + batch * strides[X_BATCH] + head * strides[X_HEAD] + row * strides[X_ROW];
  ulong y_row = y_first + batch * strides[Y_BATCH] + head * strides[Y_HEAD] + row * strides[Y_ROW];

  if (item >= pairs) { /* behind the pairs */
    ulong column = item + pairs;
    float value = LOAD(IN0, x, x_row + column * strides[X_COLUMN]);
    STORE(OUT0, value, y, y_row + column * strides[Y_COLUMN]);
    return;
  }

  long position = (long)row;
#if defined(HAS_POSITIONS)
  position = positions[positions_first + batch * strides[POSITION_BATCH] + row * strides[POSITION_ROW]];
#elif defined(HAS_OFFSET)
  position = add_sat(position, offset[offset_first + batch * (ulong)offset_stride]);
#endif

#ifdef HAS_TABLES
#ifdef READY
  bool inside = true;
  ulong picked = row;
#else
  bool inside = position >= 0 && position < table_rows;
  ulong picked = inside ? (ulong)position : 0;
#endif
  float cosine = NAN, sine = NAN;
  if (inside) {
    cosine = LOAD(COS, cosines,
                  cosines_first + batch * strides[COS_BATCH] + picked * strides[COS_ROW] + item * strides[COS_COLUMN]);
    sine = LOAD(SIN, sines,
                sines_first + batch * strides[SIN_BATCH] + picked * strides[SIN_ROW] + item * strides[SIN_COLUMN]);
  }
#else
  turn t = turn_of(position, turns[turns_first + item]);
  float cosine = t.cosine, sine = t.sine;
#endif

#ifdef INTERLEAVED
  ulong first = 2 * item, second = 2 * item + 1;
#else
  ulong first = item, second = item + pairs;
#endif
  float x1 = LOAD(IN0, x, x_row + first * strides[X_COLUMN]), x2 = LOAD(IN0, x, x_row + second * strides[X_COLUMN]);
  STORE(OUT0, x1 * cosine - x2 * sine, y, y_row + first * strides[Y_COLUMN]);
  STORE(OUT0, x2 * cosine + x1 * sine, y, y_row + second * strides[Y_COLUMN]);
}
#endif
