/* attention for CPUs: one pass over the keys with a running softmax (Milakov and Gimelshein 2018; Dao et al. 2022).
 *
 * A lane is a query.  One work-item does a tile of TILE = VECTORS x WIDTH queries of one head, turned on the way in, so
 * that a register holds one column of WIDTH queries.  Blocks of keys then go through three stages:
 *
 *     scores    S^T = K Q^T          4 keys x VECTORS registers of queries at a time
 *     weights   P^T = e^(S^T - max)  maximum and sum of a query are those of its lane: nothing goes across lanes
 *     mix       O^T += V^T P^T       4 columns of v x VECTORS registers
 *
 * K and V are read as they lie, a number at a time, which an FMA spreads over its lanes.  Where they are no f32, or not
 * dense along the head, a block of them is first copied to a tile (-DK_TILE, -DV_TILE).  q is multiplied by the scale
 * once.
 *
 * A weight of exactly 0 contributes nothing, whatever v holds.  0 times a finite number is 0; so a tile is done as if
 * all of v were finite, and only where the result is not, it is done again, passing over weights of 0 (`careful`).
 *
 * -DHEAD_SIZE, -DVALUE_SIZE: columns of q and of v.  -DMOST_QUERIES: what a tile should hold.  -DSOFTCAP: there is a
 * cap. */

/* 4 x 4 sums fill half of 32 registers, 4 x 2 half of 16. */
#if WIDTH == 16 && MOST_QUERIES >= 64
#define VECTORS 4
#elif MOST_QUERIES >= 2 * WIDTH
#define VECTORS 2
#else
#define VECTORS 1
#endif
enum { TILE = VECTORS * WIDTH, COLUMNS = (VALUE_SIZE + 3) / 4 * 4 };

/* Keys in a block: its scores and its rows of k or v should stay in a first cache that others use, too. */
#define BLOCK 64

/* M(r, c) for every vector c; for four rows r and every vector. */
#if VECTORS == 4
#define EACH_VECTOR(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)
#elif VECTORS == 2
#define EACH_VECTOR(M, r) M(r, 0) M(r, 1)
#else
#define EACH_VECTOR(M, r) M(r, 0)
#endif
#define EACH(M) EACH_VECTOR(M, 0) EACH_VECTOR(M, 1) EACH_VECTOR(M, 2) EACH_VECTOR(M, 3)

/* The product of four rows of numbers and VECTORS registers, summed in named variables: arrays end up in memory. */
#define START_SUM(r, c)      floats sum##r##c = (floats)(0.0f);
#define LOAD_VECTOR(from, c) floats lanes##c = (from)[c];
#define ADD_PRODUCT(r, c)    sum##r##c = lanes##c * (floats)(number##r) + sum##r##c;
#define ADD_IF_WEIGHT(r, c)  sum##r##c = lanes##c != 0.0f ? lanes##c * (floats)(number##r) + sum##r##c : sum##r##c;

/* ---- biases ---- */

#define LANE_NUMBER(i) i

static int near(long lane) { /* beside lanes of a tile */
  return (int)clamp(lane, -1L - TILE, 2L * TILE);
}

typedef struct tile_place {
  long batch, head, query, last; /* of its queries */
} tile_place;

/* Adds the mask to the biases of `count` (1 to 4) keys from `key` on. */
#ifdef HAS_MASK
static void add_mask(floats *biases, tile_place place, long key, int count, RULE_PARAMETERS) {
  ulong stride = (ulong)rules[RULE_MASK_STRIDES + 3];
#if IS_BOOL(MASK)
  uint words[TILE]; /* the four bytes of a lane */
  for (int i = 0; i < TILE; i++) {
    ulong at =
        mask_row(place.batch, place.head, min(place.query + i, place.last), mask_first, rules) + (ulong)key * stride;
    words[i] = stride == 1 && count == 4 ? as_uint(vload4(0, mask + at))
                                         : as_uint((uchar4)(mask[at], mask[at + (ulong)min(1, count - 1) * stride],
                                                            mask[at + (ulong)min(2, count - 1) * stride],
                                                            mask[at + (ulong)min(3, count - 1) * stride]));
  }
  for (int i = 0; i < 4 * VECTORS; i++) {
    ints element = WIDE(as_int)(WIDE(vload)(i % VECTORS, words) >> (uint)(8 * (i / VECTORS)) & 0xffu);
    biases[i] = ATTENDS(element) ? biases[i] : (floats)(-INFINITY);
  }
#else
  float values[4 * TILE];
  for (int i = 0; i < TILE; i++) {
    ulong at =
        mask_row(place.batch, place.head, min(place.query + i, place.last), mask_first, rules) + (ulong)key * stride;
    for (int r = 0; r < 4; r++) values[r * TILE + i] = LOAD(MASK, mask, at + (ulong)min(r, count - 1) * stride);
  }
  for (int i = 0; i < 4 * VECTORS; i++) {
    floats value = WIDE(vload)(i, values);
    biases[i] = biases[i] == -INFINITY || value == -INFINITY ? (floats)(-INFINITY) : value + biases[i];
  }
#endif
}
#endif

/* What is added to the scores of `count` keys from `start` on, and to those that fill up a row of four: -inf where a
 * query may not attend.  `low` and `high` are what keys_of_query() gives for each lane. */
static void find_biases(floats *biases, tile_place place, int start, int count, const ints *low, const ints *high,
                        RULE_PARAMETERS) {
#if defined(ALIBI) || defined(RING)
  long position = position_of(place.batch, place.query, offset, offset_first, rules);
#endif
#ifdef RING
  long newest = position_of(place.batch, rules[RULE_QUERIES] - 1, offset, offset_first, rules);
#endif
  for (int j = 0; j < (count + 3) / 4 * 4; j++) {
    int key = start + j;
    float of_key = 0.0f;
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
      ints hidden = key < low[c] || key >= high[c];
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
      biases[j * VECTORS + c] = hidden ? (floats)(-INFINITY) : bias;
    }
  }
#ifdef HAS_MASK
  for (int j = 0; j < count; j += 4)
    add_mask(biases + j * VECTORS, place, start + j, min(count - j, 4), RULE_ARGUMENTS);
#endif
}

/* ---- in and out ---- */

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
      TURN_FOUR(a, b, c, e)
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
      TURN_FOUR(a, b, c, e)
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

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
attention_flash_cpu(__global const TYPE(IN0) *restrict q, ulong q_first, __global const TYPE(IN1) *restrict k,
                    ulong k_first, __global const TYPE(IN2) *restrict v, ulong v_first, RULE_PARAMETERS,
                    __global const TYPE(IN7) * sinks, ulong sinks_first, long sinks_stride,
                    __global TYPE(OUT0) *restrict y, ulong y_first, __global TYPE(OUT1) *restrict lses,
                    ulong lses_first, __global const long *shape, ulong shape_first, long tiles, float scale,
                    float cap) {
  floats queries[HEAD_SIZE * VECTORS], scores[BLOCK * VECTORS], mixed[COLUMNS * VECTORS];
  floats maxima[VECTORS], totals[VECTORS], shrink[VECTORS], inverses[VECTORS];
  ints low[VECTORS], high[VECTORS];
  shape += shape_first;
  rules += rules_first;

  /* Under a causal mask later tiles have more to do.  Late and early ones take turns, so that any run of work-groups
   * that a driver hands to a core is about as long as any other. */
  long item = (long)get_group_id(0), all_heads = item / tiles, turn = item % tiles;
  long tile = turn % 2 == 0 ? tiles - 1 - turn / 2 : turn / 2;
  tile_place place = {.batch = all_heads / shape[HEADS], .head = all_heads % shape[HEADS], .query = tile * TILE};
  place.last = min(place.query + TILE, shape[QUERIES]) - 1;
  long key_head = place.head / shape[GROUP];
  ulong k_at = k_first + (ulong)(place.batch * shape[K_BATCH] + key_head * shape[K_HEAD]);
  ulong v_at = v_first + (ulong)(place.batch * shape[V_BATCH] + key_head * shape[V_HEAD]);
  ulong k_row = (ulong)shape[K_ROW], v_row = (ulong)shape[V_ROW];

  turn_queries((float *)queries, q, q_first + (ulong)(place.batch * shape[Q_BATCH] + place.head * shape[Q_HEAD]), place,
               shape, scale);
  long2 visible = visible_keys(place.batch, place.query, place.last, RULE_ARGUMENTS);
  long2 shared = shared_keys(place.batch, place.query, place.last, RULE_ARGUMENTS);
  for (int i = 0; i < TILE; i++) {
    long2 seen = keys_of_query(place.batch, min(place.query + i, place.last), RULE_ARGUMENTS);
    ((int *)low)[i] = (int)seen.x;
    ((int *)high)[i] = (int)seen.y;
  }

  bool careful = false;
  for (;;) {
    for (int c = 0; c < VECTORS; c++) {
      maxima[c] = (floats)(-INFINITY);
      totals[c] = (floats)(0.0f);
    }
    for (int i = 0; i < COLUMNS * VECTORS; i++) mixed[i] = (floats)(0.0f);

    for (int start = (int)visible.x; start < (int)visible.y; start += BLOCK) {
      int count = min(BLOCK, (int)visible.y - start), padded = (count + 3) / 4 * 4;
      bool biased = ALWAYS_BIASED || start < shared.x || start + count > shared.y || count != padded;
      if (biased) find_biases(scores, place, start, count, low, high, RULE_ARGUMENTS);

        /* Scores. */
#ifdef K_TILE
      float k_tile[BLOCK * HEAD_SIZE];
      copy_k(k_tile, HEAD_SIZE, k, k_at + (ulong)start * k_row, k_row, (ulong)shape[K_COLUMN], count, HEAD_SIZE);
#define K_ROW_AT(r)   (const float *)k_tile + min(j + r, count - 1) * HEAD_SIZE
#define K_ROW_POINTER const float *
#else
#define K_ROW_AT(r)   k + k_at + (ulong)(start + min(j + r, count - 1)) * k_row
#define K_ROW_POINTER __global const float *
#endif
#define START_MAXIMUM(r, c) floats maximum##c = maxima[c];
      EACH_VECTOR(START_MAXIMUM, 0)
      for (int j = 0; j < padded; j += 4) {
        K_ROW_POINTER row0 = K_ROW_AT(0);
        K_ROW_POINTER row1 = K_ROW_AT(1);
        K_ROW_POINTER row2 = K_ROW_AT(2);
        K_ROW_POINTER row3 = K_ROW_AT(3);
        floats *s = scores + j * VECTORS;
        EACH(START_SUM)
        for (int d = 0; d < HEAD_SIZE; d++) {
          float number0 = row0[d], number1 = row1[d], number2 = row2[d], number3 = row3[d];
          EACH_VECTOR(LOAD_VECTOR, queries + d * VECTORS)
          EACH(ADD_PRODUCT)
        }
#ifdef SOFTCAP
#define APPLY_CAP(r, c) sum##r##c = cap * tanh_of_floats(sum##r##c / cap);
        EACH(APPLY_CAP)
#endif
#define ADD_BIAS(r, c)                                                                                                 \
  sum##r##c = s[r * VECTORS + c] == -INFINITY ? (floats)(-INFINITY) : sum##r##c + s[r * VECTORS + c];
        if (biased) {
          EACH(ADD_BIAS)
        }
#define KEEP_SCORE(r, c)                                                                                               \
  s[r * VECTORS + c] = sum##r##c;                                                                                      \
  maximum##c = sum##r##c > maximum##c ? sum##r##c : maximum##c;
        EACH(KEEP_SCORE)
      }

      /* Weights.  Where nothing was allowed yet the maximum is -inf, and 0 stands in for it, so that no -inf - -inf is
       * NaN.  A score of NaN or +inf makes the weight, then the sum, NaN. */
#define START_WEIGHTS(r, c)                                                                                            \
  floats top##c = maximum##c == -INFINITY ? (floats)(0.0f) : maximum##c, total##c = (floats)(0.0f);                    \
  shrink[c] = exp_of(maxima[c] - top##c);                                                                              \
  maxima[c] = maximum##c;
      EACH_VECTOR(START_WEIGHTS, 0)
      for (int j = 0; j < padded; j++) {
        floats *s = scores + j * VECTORS;
#define MAKE_WEIGHT(r, c)                                                                                              \
  floats weight##c = exp_of(s[c] - top##c);                                                                            \
  total##c += weight##c;                                                                                               \
  s[c] = weight##c;
        EACH_VECTOR(MAKE_WEIGHT, 0)
      }
#define END_WEIGHTS(r, c) totals[c] = totals[c] * shrink[c] + total##c;
      EACH_VECTOR(END_WEIGHTS, 0)

      /* Mix.  Each block is summed apart, so that errors stay small over many keys. */
#ifdef V_TILE
      float v_tile[BLOCK * COLUMNS];
      copy_v(v_tile, COLUMNS, v, v_at + (ulong)start * v_row, v_row, (ulong)shape[V_COLUMN], count, VALUE_SIZE);
#endif
      for (int d = 0; d < COLUMNS; d += 4) {
#ifdef V_TILE
        const float *row = v_tile + d;
        const int step = COLUMNS, rest = 3;
#else
        __global const float *row = v + v_at + (ulong)start * v_row + d;
        const ulong step = v_row;
        const int rest = VALUE_SIZE % 4 == 0 ? 3 : VALUE_SIZE - 1 - d; /* columns past the end repeat the last */
#endif
        if (careful) { /* seldom: a column at a time, which is sooner compiled */
          for (int column = 0; column < 4; column++) {
            EACH_VECTOR(START_SUM, 0)
            for (int j = 0; j < count; j++) {
              float number0 = row[j * step + min(column, rest)];
              EACH_VECTOR(LOAD_VECTOR, scores + j * VECTORS)
              EACH_VECTOR(ADD_IF_WEIGHT, 0)
            }
            floats *mix = mixed + (d + column) * VECTORS;
#define ADD_COLUMN_TO_MIX(r, c) mix[c] = mix[c] * shrink[c] + sum##r##c;
            EACH_VECTOR(ADD_COLUMN_TO_MIX, 0)
          }
          continue;
        }
        const int at1 = min(1, rest), at2 = min(2, rest), at3 = min(3, rest);
        EACH(START_SUM)
        for (int j = 0; j < count; j++, row += step) {
          float number0 = row[0], number1 = row[at1], number2 = row[at2], number3 = row[at3];
          EACH_VECTOR(LOAD_VECTOR, scores + j * VECTORS)
          EACH(ADD_PRODUCT)
        }
#define ADD_TO_MIX(r, c) mixed[(d + r) * VECTORS + c] = mixed[(d + r) * VECTORS + c] * shrink[c] + sum##r##c;
        EACH(ADD_TO_MIX)
      }
    }
    if (careful || all_finite(mixed, COLUMNS * VECTORS)) break;
    careful = true;
  }

#if defined(HAS_SINKS) || defined(HAS_LSE)
  float sink = sink_of(place.head, sinks, sinks_first, sinks_stride);
  for (int i = 0; place.query + i <= place.last; i++) {
    row_end end = end_row(((const float *)maxima)[i], ((const float *)totals)[i], sink);
    ((float *)inverses)[i] = end.inverse;
#ifdef HAS_LSE
    STORE(OUT1, end.lse, lses,
          lses_first + (ulong)(place.batch * shape[LSE_BATCH] + place.head * shape[LSE_HEAD] +
                               (place.query + i) * shape[LSE_ROW]));
#endif
  }
#else
  for (int c = 0; c < VECTORS; c++) inverses[c] = totals[c] == 0.0f ? (floats)(0.0f) : 1.0f / totals[c];
#endif
  turn_back((const float *)mixed, (const float *)inverses, y,
            y_first + (ulong)(place.batch * shape[Y_BATCH] + place.head * shape[Y_HEAD]), place, shape);
}
