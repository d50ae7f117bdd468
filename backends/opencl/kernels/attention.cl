/* attention, in the steps of NUMERICS section 2, on a strip of rows at a time: the host launches
 *
 *     attention_scores    s = ruled(cap tanh(scale q k^T / cap))     into the workspace
 *     attention_weights   p = softmax(s), and lse                     in place
 *     attention_mix       y = p v
 *
 * for as many heads, or rows of one head, as the workspace holds.  Rows go in tiles of four, and a tile touches only
 * the keys between the first and the last that one of its rows may see. */

enum { TILE = 4 };
#define BLOCK 512 /* keys */

/* A strip is `heads` heads from `head_first` on (batch and head counted through), and of each `rows` rows from
 * `row_first` on, which is a multiple of TILE. */
#define STRIP __global const long *shape, ulong shape_first, ulong head_first, ulong heads, ulong row_first, ulong rows

DEFINE_LOAD_EIGHT(eight_of_v, IN2)
DEFINE_LOAD_EIGHT(eight_of_scores, F32)
DEFINE_STORE_EIGHT(store_eight_scores, F32)
DEFINE_STORE_EIGHT(store_eight_of_y, OUT0)

/* The keys that a row of the tile at `query` may see. */
static ulong2 tile_keys(ulong batch, ulong query, __global const long *shape, RULE_PARAMETERS) {
  long last = min((long)query + TILE, shape[QUERIES]) - 1;
  return convert_ulong2(visible_keys((long)batch, (long)query, last, RULE_ARGUMENTS));
}

/* A tile of four rows by four keys per work-item.  Rows and keys past the end repeat the last one and are not stored.
 */
__kernel void attention_scores(__global const TYPE(IN0) * q, ulong q_first, __global const TYPE(IN1) * k, ulong k_first,
                               RULE_PARAMETERS, __global float *scores, ulong scores_first, STRIP, float scale,
                               float cap) {
  ulong key = get_global_id(0) * 4, row = get_global_id(1) * TILE, strip_head = get_global_id(2);
  shape += shape_first;
  rules += rules_first;
  ulong keys = shape[KEYS], depth = shape[DEPTH];
  if (key >= keys || row >= rows || strip_head >= heads) return;
  ulong head = (head_first + strip_head) % (ulong)shape[HEADS], batch = (head_first + strip_head) / (ulong)shape[HEADS];
  ulong query = row_first + row;
  ulong2 visible = tile_keys(batch, query, shape, RULE_ARGUMENTS);
  if (key + 4 <= visible.x || key >= visible.y) return;

  ulong q_head = q_first + batch * shape[Q_BATCH] + head * shape[Q_HEAD];
  ulong k_head = k_first + batch * shape[K_BATCH] + head / (ulong)shape[GROUP] * shape[K_HEAD];
  ulong q_at[TILE], k_at[4];
  float8 sums[TILE][4];
  for (int i = 0; i < TILE; i++) {
    q_at[i] = q_head + (row_first + min(row + i, rows - 1)) * shape[Q_ROW];
    k_at[i] = k_head + min(key + i, keys - 1) * shape[K_ROW];
    for (int j = 0; j < 4; j++) sums[i][j] = (float8)(0.0f);
  }

  /* Eight products at a time where q and k are dense along the depth, then what is left. */
  ulong in_eights = shape[Q_COLUMN] == 1 && shape[K_COLUMN] == 1 ? depth / 8 * 8 : 0;
  for (ulong d = 0; d < in_eights; d += 8) {
    float8 k_values[4];
    for (int j = 0; j < 4; j++) k_values[j] = LOAD8(IN1, k, k_at[j] + d);
    for (int i = 0; i < TILE; i++) {
      float8 q_values = LOAD8(IN0, q, q_at[i] + d);
      for (int j = 0; j < 4; j++) sums[i][j] += q_values * k_values[j];
    }
  }
  for (int i = 0; i < TILE; i++)
    for (int j = 0; j < 4; j++) {
      float sum = sum_of_eight(sums[i][j]);
      for (ulong d = in_eights; d < depth; d++)
        sum += LOAD(IN0, q, q_at[i] + d * shape[Q_COLUMN]) * LOAD(IN1, k, k_at[j] + d * shape[K_COLUMN]);
      float score = scale * sum;
      if (cap > 0.0f) score = cap * tanh_of(score / cap);
      if (row + i < rows && key + j < keys)
        scores[scores_first + (strip_head * rows + row + i) * keys + key + j] =
            ruled_score(score, batch, head, query + i, key + j, RULE_ARGUMENTS);
    }
}

/* One row per work-item.  The maximum starts at -inf; NaN or +inf makes the row NaN, but a key that is not allowed has
 * weight 0 all the same; a row with nothing allowed is 0.  The sink is no part of the maximum of the weights, only of
 * lse's. */
__kernel void attention_weights(RULE_PARAMETERS, __global const TYPE(IN7) * sinks, ulong sinks_first, long sinks_stride,
                                __global float *scores, ulong scores_first, __global TYPE(OUT1) * lses,
                                ulong lses_first, STRIP) {
  ulong row = get_global_id(0), strip_head = get_global_id(1);
  shape += shape_first;
  rules += rules_first;
  ulong keys = shape[KEYS];
  if (row >= rows || strip_head >= heads) return;
  ulong batch = (head_first + strip_head) / (ulong)shape[HEADS];
  ulong query = row_first + row;
  ulong2 visible = tile_keys(batch, query / TILE * TILE, shape, RULE_ARGUMENTS);
  __global float *s = scores + scores_first + (strip_head * rows + row) * keys;

  float sink = -INFINITY;
#ifdef HAS_SINKS
  sink = LOAD(IN7, sinks, sinks_first + (head_first + strip_head) % (ulong)shape[HEADS] * (ulong)sinks_stride);
#endif
  float8 maxima = (float8)(-INFINITY);
  bool bad = isnan(sink) || sink == INFINITY;
  for (ulong key = visible.x; key < visible.y; key += 8) {
    float8 score = eight_of_scores(s, key, 1, visible.y - key, -INFINITY);
    bad = bad || any(isnan(score) || score == INFINITY);
    maxima = score > maxima ? score : maxima;
  }
  float maximum = bad ? NAN : max_of_eight(maxima);
  bool empty = maximum == -INFINITY;

  /* Sums of eight lanes, in blocks, so that their error stays small over many keys. */
  float sum = 0.0f;
  for (ulong start = visible.x; start < visible.y; start += BLOCK) {
    float8 lanes = (float8)(0.0f);
    for (ulong key = start; key < min(start + BLOCK, visible.y); key += 8) {
      float8 score = eight_of_scores(s, key, 1, visible.y - key, -INFINITY);
      float8 power = score == -INFINITY ? (float8)(0.0f) : exp(score - maximum);
      lanes += power;
      store_eight_scores(power, s, key, 1, visible.y - key);
    }
    sum += sum_of_eight(lanes);
  }
  float factor = empty ? 0.0f : 1.0f / (sum + exp(sink - maximum));
  for (ulong key = visible.x; key < visible.y; key += 8) {
    float8 power = eight_of_scores(s, key, 1, visible.y - key, 0.0f);
    store_eight_scores(power == 0.0f ? (float8)(0.0f) : power * factor, s, key, 1, visible.y - key);
  }
#ifdef HAS_LSE
  ulong head = (head_first + strip_head) % (ulong)shape[HEADS];
  float top = isnan(maximum) ? NAN : fmax(maximum, sink);
  float total = sum * exp(maximum - top) + exp(sink - top);
  STORE(OUT1, empty ? sink : top + log(total), lses,
        lses_first + batch * shape[LSE_BATCH] + head * shape[LSE_HEAD] + query * shape[LSE_ROW]);
#endif
}

/* A tile of four rows by sixteen columns per work-item.  A weight of exactly 0 contributes nothing, whatever v holds.
 * Rows past the end repeat the last one, and a second eight of columns the first; neither is stored. */
__kernel void attention_mix(RULE_PARAMETERS, __global const TYPE(IN2) * v, ulong v_first, __global const float *weights,
                            ulong weights_first, __global TYPE(OUT0) * y, ulong y_first, STRIP) {
  ulong column = get_global_id(0) * 16, row = get_global_id(1) * TILE, strip_head = get_global_id(2);
  shape += shape_first;
  rules += rules_first;
  ulong columns = shape[VALUE_DEPTH], keys = shape[KEYS];
  if (column >= columns || row >= rows || strip_head >= heads) return;
  ulong head = (head_first + strip_head) % (ulong)shape[HEADS], batch = (head_first + strip_head) / (ulong)shape[HEADS];
  ulong query = row_first + row;
  ulong2 visible = tile_keys(batch, query, shape, RULE_ARGUMENTS);

  ulong v_at = v_first + batch * shape[V_BATCH] + head / (ulong)shape[GROUP] * shape[V_HEAD];
  ulong second = column + 8 < columns ? column + 8 : column;
  ulong weights_at[TILE];
  float8 sums[TILE][2];
  for (int i = 0; i < TILE; i++) {
    weights_at[i] = weights_first + (strip_head * rows + min(row + i, rows - 1)) * keys;
    sums[i][0] = sums[i][1] = (float8)(0.0f);
  }
  for (ulong start = visible.x; start < visible.y; start += BLOCK) {
    float8 parts[TILE][2];
    for (int i = 0; i < TILE; i++) parts[i][0] = parts[i][1] = (float8)(0.0f);
    for (ulong key = start; key < min(start + BLOCK, visible.y); key++) {
      ulong key_at = v_at + key * shape[V_ROW];
      float8 values = eight_of_v(v, key_at + column * shape[V_COLUMN], shape[V_COLUMN], columns - column, 0.0f);
      float8 seconds = eight_of_v(v, key_at + second * shape[V_COLUMN], shape[V_COLUMN], columns - second, 0.0f);
      for (int i = 0; i < TILE; i++) {
        float weight = weights[weights_at[i] + key];
        parts[i][0] = weight != 0.0f ? parts[i][0] + weight * values : parts[i][0];
        parts[i][1] = weight != 0.0f ? parts[i][1] + weight * seconds : parts[i][1];
      }
    }
    for (int i = 0; i < TILE; i++) {
      sums[i][0] += parts[i][0];
      sums[i][1] += parts[i][1];
    }
  }
  ulong y_at = y_first + batch * shape[Y_BATCH] + head * shape[Y_HEAD];
  for (int i = 0; i < TILE && row + i < rows; i++) {
    ulong row_at = y_at + (query + i) * shape[Y_ROW];
    store_eight_of_y(sums[i][0], y, row_at + column * shape[Y_COLUMN], shape[Y_COLUMN], columns - column);
    if (second > column)
      store_eight_of_y(sums[i][1], y, row_at + second * shape[Y_COLUMN], shape[Y_COLUMN], columns - second);
  }
}
