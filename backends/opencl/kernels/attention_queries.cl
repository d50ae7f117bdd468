/* The tile of queries of one work-item, for attention_flash_cpu.cl: its size, the keys it sees, its way in and out. */

/* 4 x 4 sums fill half of 32 registers, 4 x 2 half of 16. */
#if WIDTH == 16 && MOST_QUERIES >= 64
#define VECTORS 4
#elif MOST_QUERIES >= 2 * WIDTH
#define VECTORS 2
#else
#define VECTORS 1
#endif
enum { TILE = VECTORS * WIDTH, COLUMNS = (VALUE_SIZE + 7) / 8 * 8 };

#define LANE_NUMBER(i) i

typedef struct tile_place {
  long batch, head, query, last; /* of its queries */
} tile_place;

/* The keys that each lane may see by place and lengths, as keys_of_query() has them.  Lanes past the end repeat the
 * last query.  Neither `low` nor `high` falls from one lane to the next. */
static void find_keys(ints *low, ints *high, tile_place place, RULE_PARAMETERS) {
  const long keys = rules[RULE_KEYS], there = keys_there(place.batch, RULE_ARGUMENTS);
  const long2 seen = keys_at(position_of(place.batch, place.query, offset, offset_first, rules), rules);
  const int from = (int)clamp(seen.x, -(long)TILE, keys), to = (int)clamp(seen.y, -(long)TILE, there);
  /* Vectors as bounds, because Oclgrind loses scalar ones. */
  const ints last = (ints)((int)(place.last - place.query)), none = (ints)(0);
  for (int c = 0; c < VECTORS; c++) {
    ints lane = min((ints)LANES(LANE_NUMBER) + c * WIDTH, last);
    low[c] = clamp(from + lane, none, (ints)((int)keys));
    high[c] = clamp(to + lane, none, (ints)((int)there));
  }
}

/* The queries of the tile, turned: column d of lane i.  Lanes past the end repeat the last query. */
static void turn_queries(float *turned, __global const TYPE(IN0) * q, ulong head_at, tile_place place,
                         __global const long *shape, float factor) {
  ulong row = (ulong)shape[Q_ROW], column = (ulong)shape[Q_COLUMN];
  for (int i = 0; i < TILE; i += 4) {
    ulong at0 = head_at + (ulong)min(place.query + i, place.last) * row;
    ulong at1 = head_at + (ulong)min(place.query + i + 1, place.last) * row;
    ulong at2 = head_at + (ulong)min(place.query + i + 2, place.last) * row;
    ulong at3 = head_at + (ulong)min(place.query + i + 3, place.last) * row;
    int d = 0;
    for (; column == 1 && d + 4 <= HEAD_SIZE; d += 4) {
      float4 a = factor * LOAD4(IN0, q, at0 + (ulong)d), b = factor * LOAD4(IN0, q, at1 + (ulong)d);
      float4 c = factor * LOAD4(IN0, q, at2 + (ulong)d), e = factor * LOAD4(IN0, q, at3 + (ulong)d);
      TURN_FOUR(float4, a, b, c, e)
      vstore4(a, 0, turned + d * TILE + i);
      vstore4(b, 0, turned + (d + 1) * TILE + i);
      vstore4(c, 0, turned + (d + 2) * TILE + i);
      vstore4(e, 0, turned + (d + 3) * TILE + i);
    }
    for (; d < HEAD_SIZE; d++) {
      ulong to = (ulong)d * column;
      float4 a =
          (float4)(LOAD(IN0, q, at0 + to), LOAD(IN0, q, at1 + to), LOAD(IN0, q, at2 + to), LOAD(IN0, q, at3 + to));
      vstore4(factor * a, 0, turned + d * TILE + i);
    }
  }
}

/* The mix of the tile, divided by its sums, turned back into rows. */
static void turn_back(const float *mixed, const float *inverses, __global TYPE(OUT0) * y, ulong head_at,
                      tile_place place, __global const long *shape) {
  ulong row = (ulong)shape[Y_ROW], column = (ulong)shape[Y_COLUMN];
  for (int i = 0; place.query + i <= place.last; i += 4) {
    ulong at = head_at + (ulong)(place.query + i) * row;
    float4 inverse = vload4(0, inverses + i);
    int rows = (int)min(place.last - place.query - i + 1, 4L), d = 0;
    for (; column == 1 && d + 4 <= VALUE_SIZE; d += 4) {
      float4 a = inverse * vload4(0, mixed + d * TILE + i), b = inverse * vload4(0, mixed + (d + 1) * TILE + i);
      float4 c = inverse * vload4(0, mixed + (d + 2) * TILE + i), e = inverse * vload4(0, mixed + (d + 3) * TILE + i);
      TURN_FOUR(float4, a, b, c, e)
      STORE4(OUT0, a, y, at + (ulong)d);
      if (rows > 1) STORE4(OUT0, b, y, at + row + (ulong)d);
      if (rows > 2) STORE4(OUT0, c, y, at + 2 * row + (ulong)d);
      if (rows > 3) STORE4(OUT0, e, y, at + 3 * row + (ulong)d);
    }
    for (; d < VALUE_SIZE; d++)
      for (int r = 0; r < rows; r++)
        STORE(OUT0, inverses[i + r] * mixed[d * TILE + i + r], y, at + (ulong)r * row + (ulong)d * column);
  }
}
