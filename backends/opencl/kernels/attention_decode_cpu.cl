/* attention for CPUs where queries are few and keys are many: a step of generation.
 *
 * Nothing is reused but the cache itself, so this is about reading K and V once, at the memory's speed.  Lanes are
 * columns.  All query heads that share a key head, and all their queries, are the rows of one work-item; while a block
 * of keys is in the first cache every row has its turn:
 *
 *     scores    4 keys at a time; the lanes of a product are added up four sums together
 *     weights   e^(score - max), a running maximum and sum per row (as in attention_flash_cpu.cl)
 *     mix       4 vectors of columns at a time
 *
 * While a row of K or V is read, its counterpart in the next block is fetched; after the last block comes the next
 * head, as a rule.
 *
 * Where heads are too few to keep all cores busy, the keys are split, each split leaves its maximum, sum and mix in
 * `parts`, and attention_join puts them together in order.
 *
 * -DHEAD_SIZE, -DVALUE_SIZE: columns of q and of v.  -DROWS: rows at a time, 1 or 4.  -DMOST_ROWS: of a work-item. */

#define BLOCK 64 /* keys */
enum { Q_VECTORS = (HEAD_SIZE + WIDTH - 1) / WIDTH, V_VECTORS = (VALUE_SIZE + WIDTH - 1) / WIDTH };

/* Vectors of columns are read where they lie only if they are whole; else from a tile. */
#if HEAD_SIZE % WIDTH != 0 && !defined(K_TILE)
#define K_TILE
#endif
#if VALUE_SIZE % WIDTH != 0 && !defined(V_TILE)
#define V_TILE
#endif
#ifdef K_TILE
typedef const float *key_row;
#define K_LANES(row, d) WIDE(vload)(d, row)
#else
typedef __global const TYPE(IN1) * key_row;
#define K_LANES(row, d) LOAD_WIDE(IN1, row, (d)*WIDTH)
#endif
#ifdef V_TILE
typedef const float *value_row;
#define V_LANES(row, d) WIDE(vload)(d, row)
#else
typedef __global const TYPE(IN2) * value_row;
#define V_LANES(row, d) LOAD_WIDE(IN2, row, (d)*WIDTH)
#endif

/* M(r, c) for four c and every row at hand. */
#define EACH_OF_FOUR(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)
#if ROWS == 4
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#define EACH(M)     EACH_OF_FOUR(M, 0) EACH_OF_FOUR(M, 1) EACH_OF_FOUR(M, 2) EACH_OF_FOUR(M, 3)
#else
#define EACH_ROW(M) M(0)
#define EACH(M)     EACH_OF_FOUR(M, 0)
#endif
#define START_SUM(r, c)     floats sum##r##c = (floats)(0.0f);
#define ADD_PRODUCT(r, c)   sum##r##c = lanes##c * factor##r + sum##r##c;
#define ADD_IF_WEIGHT(r, c) sum##r##c = factor##r != 0.0f ? lanes##c * factor##r + sum##r##c : sum##r##c;

/* The lanes of four vectors, each added up. */
static float4 sums_of_four(floats v0, floats v1, floats v2, floats v3) {
  float4 a = fold(v0), b = fold(v1), c = fold(v2), d = fold(v3);
  TURN_FOUR(float4, a, b, c, d)
  return (a + b) + (c + d);
}

DEFINE_COPY_TILE(copy_q, IN0)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
attention_decode_cpu(__global const TYPE(IN0) *restrict q, ulong q_first, __global const TYPE(IN1) *restrict k,
                     ulong k_first, __global const TYPE(IN2) *restrict v, ulong v_first, RULE_PARAMETERS,
                     __global const TYPE(IN7) * sinks, ulong sinks_first, long sinks_stride,
                     __global TYPE(OUT0) *restrict y, ulong y_first, __global TYPE(OUT1) *restrict lses,
                     ulong lses_first, __global const long *shape, ulong shape_first, float scale, float cap,
                     int splits, __global float *restrict parts, ulong parts_first) {
  floats queries[MOST_ROWS * Q_VECTORS], scores[MOST_ROWS * BLOCK / WIDTH], mixed[MOST_ROWS * V_VECTORS];
  floats totals[MOST_ROWS], shrink[MOST_ROWS];
  float maxima[MOST_ROWS];
  int low[MOST_ROWS], high[MOST_ROWS];
  shape += shape_first;
  rules += rules_first;

  /* The rows of a key head are the queries of its first query head, then those of the next one .. */
  long key_heads = shape[HEADS] / shape[GROUP], head_rows = shape[GROUP] * shape[QUERIES];
  long split = (long)get_group_id(0), first_row = (long)get_group_id(1) * MOST_ROWS, unit = (long)get_group_id(2);
  long batch = unit / key_heads, key_head = unit % key_heads;
  int rows = (int)min(head_rows - first_row, (long)MOST_ROWS), padded_rows = (rows + ROWS - 1) / ROWS * ROWS;
  ulong k_at = k_first + (ulong)(batch * shape[K_BATCH] + key_head * shape[K_HEAD]), k_row = (ulong)shape[K_ROW];
  ulong v_at = v_first + (ulong)(batch * shape[V_BATCH] + key_head * shape[V_HEAD]), v_row = (ulong)shape[V_ROW];

  int from = (int)shape[KEYS], to = 0;
  for (int i = 0; i < padded_rows; i++) {
    row_place at = place_of(first_row + min(i, rows - 1), key_head, shape);
    copy_q((float *)(queries + i * Q_VECTORS), Q_VECTORS * WIDTH, q,
           q_first + (ulong)(batch * shape[Q_BATCH] + at.head * shape[Q_HEAD] + at.query * shape[Q_ROW]), 0,
           (ulong)shape[Q_COLUMN], 1, HEAD_SIZE);
    long2 seen = keys_of_query(batch, at.query, RULE_ARGUMENTS);
    low[i] = (int)seen.x;
    high[i] = (int)seen.y;
    from = min(from, low[i]);
    to = max(to, high[i]);
  }
  int share = (max(to - from, 0) + splits - 1) / splits;
  from = min(from + (int)split * share, to);
  to = min(from + share, to);

  bool careful = false;
  for (;;) {
    for (int i = 0; i < padded_rows; i++) {
      maxima[i] = -INFINITY;
      totals[i] = (floats)(0.0f);
      for (int c = 0; c < V_VECTORS; c++) mixed[i * V_VECTORS + c] = (floats)(0.0f);
    }
    for (int start = from; start < to; start += BLOCK) {
      int count = min(BLOCK, to - start);
#ifdef K_TILE
      floats tile_of_k[BLOCK * Q_VECTORS];
      key_row keys = (key_row)tile_of_k;
      const ulong k_pitch = Q_VECTORS * WIDTH;
      copy_k((float *)tile_of_k, (int)k_pitch, k, k_at + (ulong)start * k_row, k_row, (ulong)shape[K_COLUMN], count,
             HEAD_SIZE);
#else
      key_row keys = k + (k_at + (ulong)start * k_row);
      const ulong k_pitch = k_row;
#endif
#ifdef V_TILE
      floats tile_of_v[BLOCK * V_VECTORS];
      value_row values = (value_row)tile_of_v;
      const ulong v_pitch = V_VECTORS * WIDTH;
      copy_v((float *)tile_of_v, (int)v_pitch, v, v_at + (ulong)start * v_row, v_row, (ulong)shape[V_COLUMN], count,
             VALUE_SIZE);
#else
      value_row values = v + (v_at + (ulong)start * v_row);
      const ulong v_pitch = v_row;
#endif
      for (int i = 0; i < padded_rows; i += ROWS) {
        float *s = (float *)(scores + i * (BLOCK / WIDTH));
        for (int j = 0; j < count; j += 4) {
          /* Where each row lies is worked out before the loop: inside, compilers do it in vectors, slowly. */
#define KEY_ROW(r, c) key_row key##c = keys + (ulong)min(j + c, count - 1) * k_pitch;
          EACH_OF_FOUR(KEY_ROW, 0)
#ifndef K_TILE
          if (i == 0) {
#define FETCH_KEY(r, c) FETCH_ALL(IN1, key##c + BLOCK * k_pitch, HEAD_SIZE)
            EACH_OF_FOUR(FETCH_KEY, 0)
          }
#endif
          EACH(START_SUM)
          for (int d = 0; d < Q_VECTORS; d++) {
            floats lanes0 = K_LANES(key0, d), lanes1 = K_LANES(key1, d);
            floats lanes2 = K_LANES(key2, d), lanes3 = K_LANES(key3, d);
#define LOAD_QUERY(r) floats factor##r = queries[(i + r) * Q_VECTORS + d];
            EACH_ROW(LOAD_QUERY)
            EACH(ADD_PRODUCT)
          }
#define KEEP_SCORES(r) vstore4(scale *sums_of_four(sum##r##0, sum##r##1, sum##r##2, sum##r##3), 0, s + r * BLOCK + j);
          EACH_ROW(KEEP_SCORES)
        }
      }

      for (int i = 0; i < padded_rows; i++) {
        floats *s = scores + i * (BLOCK / WIDTH);
#ifdef SOFTCAP
        for (int c = 0; c < BLOCK / WIDTH; c++) s[c] = cap * tanh_of_floats(s[c] / cap);
#endif
        if (ALWAYS_BIASED || start < low[i] || start + count > high[i] || count < BLOCK) {
          row_place at = place_of(first_row + min(i, rows - 1), key_head, shape);
          for (int j = 0; j < BLOCK; j++) {
            float *score = (float *)s + j;
            bool seen = j < count && start + j >= low[i] && start + j < high[i];
            if (!seen)
              *score = -INFINITY;
            else if (ALWAYS_BIASED)
              *score = ruled_score(*score, batch, at.head, at.query, start + j, RULE_ARGUMENTS);
          }
        }
        floats top = s[0];
        for (int c = 1; c < BLOCK / WIDTH; c++) top = s[c] > top ? s[c] : top;
        float maximum = fmax(maxima[i], largest_of(top)), base = maximum == -INFINITY ? 0.0f : maximum;
        shrink[i] = exp_of((floats)(maxima[i] - base));
        maxima[i] = maximum;
        floats total = (floats)(0.0f);
        for (int c = 0; c < BLOCK / WIDTH; c++) {
          s[c] = exp_of(s[c] - base);
          total += s[c];
        }
        totals[i] = totals[i] * shrink[i] + total;
      }

      for (int i = 0; i < padded_rows; i += ROWS)
        for (int d = 0; d < V_VECTORS; d += 4) {
          const float *weight = (const float *)(scores + i * (BLOCK / WIDTH));
          const int rest = V_VECTORS % 4 == 0 ? 3 : V_VECTORS - 1 - d; /* vectors past the end repeat the last */
          const int at1 = d + min(1, rest), at2 = d + min(2, rest), at3 = d + min(3, rest);
#define VALUE_LANES                                                                                                    \
  floats lanes0 = V_LANES(value, d), lanes1 = V_LANES(value, at1);                                                     \
  floats lanes2 = V_LANES(value, at2), lanes3 = V_LANES(value, at3);
          if (careful) { /* seldom: a row at a time, which is sooner compiled */
            for (int row = i; row < i + ROWS; row++, weight += BLOCK) {
              EACH_OF_FOUR(START_SUM, 0)
              value_row value = values;
              for (int j = 0; j < count; j++, value += v_pitch) {
                VALUE_LANES
                float factor0 = weight[j];
                EACH_OF_FOUR(ADD_IF_WEIGHT, 0)
              }
              floats *mix = mixed + row * V_VECTORS + d;
#define ADD_ROW_TO_MIX(r, c) \
  if (c <= rest) mix[c] = mix[c] * shrink[row] + sum##r##c;
              EACH_OF_FOUR(ADD_ROW_TO_MIX, 0)
            }
            continue;
          }
          EACH(START_SUM)
#define LOAD_WEIGHT(r) floats factor##r = (floats)(weight[r * BLOCK + j]);
          value_row value = values;
          for (int j = 0; j < count; j++, value += v_pitch) {
            VALUE_LANES
#ifndef V_TILE
            if (i == 0) {
              FETCH_ALL(IN2, value + BLOCK * v_pitch + d * WIDTH, min(4 * WIDTH, VALUE_SIZE - d * WIDTH))
            }
#endif
            EACH_ROW(LOAD_WEIGHT)
            EACH(ADD_PRODUCT)
          }
#define ADD_TO_MIX(r, c)                                                                                               \
  if (c <= rest) {                                                                                                     \
    floats *to##r##c = mixed + (i + r) * V_VECTORS + d + c;                                                            \
    *to##r##c = *to##r##c * shrink[i + r] + sum##r##c;                                                                 \
  }
          EACH(ADD_TO_MIX)
        }
    }
    if (careful || all_finite(mixed, padded_rows * V_VECTORS)) break;
    careful = true;
  }

  for (int i = 0; i < rows; i++) {
    const float *mix = (const float *)(mixed + i * V_VECTORS);
    row_place at = place_of(first_row + i, key_head, shape);
    float total = sum_of(totals[i]);
    if (splits > 1) {
      ulong to_part = parts_first + part_of(unit, split, splits, first_row + i, shape);
      for (int d = 0; d < VALUE_SIZE; d++) parts[to_part + d] = mix[d];
      parts[to_part + VALUE_SIZE] = maxima[i];
      parts[to_part + VALUE_SIZE + 1] = total;
      continue;
    }
    row_end end = end_row(maxima[i], total, sink_of(at.head, sinks, sinks_first, sinks_stride));
    ulong to_y = y_first + (ulong)(batch * shape[Y_BATCH] + at.head * shape[Y_HEAD] + at.query * shape[Y_ROW]);
    for (int d = 0; d < VALUE_SIZE; d++) STORE(OUT0, end.inverse * mix[d], y, to_y + (ulong)d * (ulong)shape[Y_COLUMN]);
#ifdef HAS_LSE
    STORE(OUT1, end.lse, lses,
          lses_first + (ulong)(batch * shape[LSE_BATCH] + at.head * shape[LSE_HEAD] + at.query * shape[LSE_ROW]));
#endif
  }
}
