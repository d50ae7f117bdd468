/* Biases of a block of keys for a tile of queries (attention_queries.cl): what masks, ALiBi and a ring's places add to
 * its scores. */

static int near(long lane) { /* beside lanes of a tile */
  return (int)clamp(lane, -1L - TILE, 2L * TILE);
}

/* What a mask says of MASK_KEYS keys, turned like scores: MASK_ROWS numbers for each lane; of a bool mask four keys to
 * a number, a byte each. */
#define MASK_KEYS 16
#if IS_BOOL(MASK)
typedef uint of_mask;
typedef uint4 four_of_mask;
#define MASK_ROWS (MASK_KEYS / 4)
#else
typedef float of_mask;
typedef float4 four_of_mask;
#define MASK_ROWS MASK_KEYS
#endif

#ifdef HAS_MASK
/* Row r of a query whose keys begin at `at`.  Past `count` keys the last is repeated. */
static of_mask row_of_mask(ulong at, int r, int count, ulong column, RULE_PARAMETERS) {
#if IS_BOOL(MASK)
#define MASK_BYTE(i) mask[at + (ulong)min(4 * r + i, count - 1) * column]
  return as_uint((uchar4)(MASK_BYTE(0), MASK_BYTE(1), MASK_BYTE(2), MASK_BYTE(3)));
#else
  return LOAD(MASK, mask, at + (ulong)min(r, count - 1) * column);
#endif
}

/* Of `count` keys from `key` on, 1 to MASK_KEYS. */
static void turn_mask(of_mask *turned, tile_place place, long key, int count, RULE_PARAMETERS) {
  const ulong row = (ulong)rules[RULE_MASK_STRIDES + 2], column = (ulong)rules[RULE_MASK_STRIDES + 3];
  const ulong first = mask_row(place.batch, place.head, place.query, mask_first, rules) + (ulong)key * column;
  const int last = (int)(place.last - place.query);
  for (int i = 0; i < TILE; i += 4) {
    ulong at0 = first + (ulong)min(i, last) * row, at1 = first + (ulong)min(i + 1, last) * row;
    ulong at2 = first + (ulong)min(i + 2, last) * row, at3 = first + (ulong)min(i + 3, last) * row;
    for (int r = 0; r < MASK_ROWS; r += 4) {
      four_of_mask a, b, c, d;
      if (column == 1 && count == MASK_KEYS) {
#if IS_BOOL(MASK)
#define FOUR_ROWS_AT(at) as_uint4(vload16(0, mask + at))
#else
#define FOUR_ROWS_AT(at) LOAD4(MASK, mask, at + (ulong)r)
#endif
        a = FOUR_ROWS_AT(at0), b = FOUR_ROWS_AT(at1), c = FOUR_ROWS_AT(at2), d = FOUR_ROWS_AT(at3);
        TURN_FOUR(four_of_mask, a, b, c, d)
      } else {
#define LANE_AT(at, r)   row_of_mask(at, r, count, column, RULE_ARGUMENTS)
#define FOUR_LANES_AT(r) (four_of_mask)(LANE_AT(at0, r), LANE_AT(at1, r), LANE_AT(at2, r), LANE_AT(at3, r))
        a = FOUR_LANES_AT(r), b = FOUR_LANES_AT(r + 1), c = FOUR_LANES_AT(r + 2), d = FOUR_LANES_AT(r + 3);
      }
      vstore4(a, 0, turned + r * TILE + i);
      vstore4(b, 0, turned + (r + 1) * TILE + i);
      vstore4(c, 0, turned + (r + 2) * TILE + i);
      vstore4(d, 0, turned + (r + 3) * TILE + i);
    }
  }
}
#endif

/* What is added to the scores of `count` keys from `start` on, and of those that fill up the last group: -inf where a
 * query may not attend.  `low` and `high` are those of find_keys().  False where no query sees any of the keys. */
static bool find_biases(floats *biases, tile_place place, int start, int count, const ints *low, const ints *high,
                        RULE_PARAMETERS) {
  ints seen = (ints)(0);
#if defined(ALIBI) || defined(RING)
  long position = position_of(place.batch, place.query, offset, offset_first, rules);
#endif
#ifdef RING
  long newest = position_of(place.batch, rules[RULE_QUERIES] - 1, offset, offset_first, rules);
#endif
#ifdef HAS_MASK
  of_mask turned[MASK_ROWS * TILE];
#endif
  for (int j = 0; j < padded_count(count); j++) {
    int key = start + j;
    float of_key = 0.0f;
#ifdef HAS_MASK
    if (j % MASK_KEYS == 0 && j < count)
      turn_mask(turned, place, key, min(count - j, MASK_KEYS), RULE_ARGUMENTS);
#endif
#ifdef HAS_KEY_MASK
    of_key = bias_of_key_mask(place.batch, start + min(j, count - 1), RULE_ARGUMENTS);
#endif
#ifdef RING
    long at = place_in_ring(newest, key, rules);
    of_key = at >= 0 ? of_key : -INFINITY;
#elif defined(ALIBI)
    long at = key;
#endif
#if defined(ALIBI) || defined(RING)
    long distance = sub_sat(position, at); /* of the first query */
#endif
    for (int c = 0; c < VECTORS; c++) {
      ints lane = (ints)LANES(LANE_NUMBER) + c * WIDTH;
      floats bias = (floats)(of_key);
      ints hidden = key < low[c] || key >= high[c] || bias == -INFINITY;
#ifdef ALIBI
      bias -= slopes[slopes_first + (ulong)place.head] * (convert_float(distance) + WIDE(convert_float)(lane));
#endif
#if defined(RING) && defined(CAUSAL)
      hidden = hidden || lane < near(-distance);
#endif
#if defined(RING) && defined(WINDOW)
      if (rules[RULE_LEFT] >= 0) hidden = hidden || lane > near(sub_sat(rules[RULE_LEFT], distance));
      if (rules[RULE_RIGHT] >= 0) hidden = hidden || lane < near(sub_sat(-rules[RULE_RIGHT], distance));
#endif
#if defined(HAS_MASK) && IS_BOOL(MASK)
      ints element = WIDE(as_int)(WIDE(vload)(j % MASK_KEYS / 4 * VECTORS + c, turned) & 0xffu << 8 * (j % 4));
      hidden = hidden || !ATTENDS(element);
#elif defined(HAS_MASK)
      floats value = WIDE(vload)(j % MASK_KEYS * VECTORS + c, turned);
      hidden = hidden || value == -INFINITY;
      bias += value;
#endif
      biases[j * VECTORS + c] = hidden ? (floats)(-INFINITY) : bias;
      seen |= !hidden;
    }
  }
  return any(seen);
}
