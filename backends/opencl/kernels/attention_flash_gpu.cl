/* attention for GPUs: one pass over the keys with a running softmax (Dao et al. 2022), by work-groups of 64 items.
 *
 * A work-group does a tile of ROWS rows of one key head (its query heads have their queries one after the other) and
 * goes through its keys 32 at a time.  Items stand 8 x 8: item (across, down) has the rows down R .. down R + R - 1 and
 * every eighth key, then every eighth column of v, so that neighbours read neighbouring words.
 *
 *     scores    Q of the tile stays in local memory; K comes 32 keys x 32 columns at a time; R x 4 sums in registers
 *     weights   one item per row finds the maximum, all make powers, one item per row adds them up
 *     mix       V comes 32 keys x 32 columns at a time; R x VALUE_SIZE / 8 sums in registers
 *
 * Few queries have tiles of 8 rows, and their keys are split among work-groups (attention_join.cl).  All barriers are
 * reached by all items: loops go by what is the same for the work-group.
 *
 * -DHEAD_SIZE, -DVALUE_SIZE: columns of q and of v.  -DROWS: 32 or 8.  -DSOFTCAP: there is a cap. */

enum {
  ITEMS = 64,
  R = ROWS / 8,            /* rows of an item */
  AT_ONCE = 32,            /* at a time */
  CHUNK = 32,              /* columns at a time */
  Q_PITCH = HEAD_SIZE + 1, /* odd, so that rows lie in different banks */
  PITCH = 33,
  CHUNKS = (VALUE_SIZE + CHUNK - 1) / CHUNK
};

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
attention_flash_gpu(__global const TYPE(IN0) * q, ulong q_first, __global const TYPE(IN1) * k, ulong k_first,
                    __global const TYPE(IN2) * v, ulong v_first, RULE_PARAMETERS, __global const TYPE(IN7) * sinks,
                    ulong sinks_first, long sinks_stride, __global TYPE(OUT0) * y, ulong y_first,
                    __global TYPE(OUT1) * lses, ulong lses_first, __global const long *shape, ulong shape_first,
                    float scale, float cap, long tiles, int splits, __global float *parts, ulong parts_first) {
  __local float queries[ROWS * Q_PITCH], block[AT_ONCE * PITCH], scores[ROWS * PITCH];
  __local float maxima[ROWS], totals[ROWS], shrink[ROWS];
  __local int low[ROWS], high[ROWS], careful;
  shape += shape_first;
  rules += rules_first;
  int item = (int)get_local_id(0), across = item % 8, first = item / 8 * R;

  /* The longest tiles under a causal mask, the last ones, begin first. */
  long group = (long)get_group_id(0), key_heads = shape[HEADS] / shape[GROUP],
       head_rows = shape[GROUP] * shape[QUERIES];
  long split = group % splits, tile = tiles - 1 - group / splits % tiles, unit = group / splits / tiles;
  long batch = unit / key_heads, key_head = unit % key_heads, first_row = tile * ROWS;
  int rows = (int)min(head_rows - first_row, (long)ROWS);
  ulong k_at = k_first + (ulong)(batch * shape[K_BATCH] + key_head * shape[K_HEAD]);
  ulong v_at = v_first + (ulong)(batch * shape[V_BATCH] + key_head * shape[V_HEAD]);

  /* Rows past the end repeat the last one. */
  for (int i = item; i < ROWS * HEAD_SIZE; i += ITEMS) {
    int row = i / HEAD_SIZE, column = i % HEAD_SIZE;
    row_place at = place_of(first_row + min(row, rows - 1), key_head, shape);
    queries[row * Q_PITCH + column] =
        scale * LOAD(IN0, q,
                     q_first + (ulong)(batch * shape[Q_BATCH] + at.head * shape[Q_HEAD] + at.query * shape[Q_ROW] +
                                       column * shape[Q_COLUMN]));
  }
  if (item < ROWS) {
    row_place at = place_of(first_row + min(item, rows - 1), key_head, shape);
    long2 seen = keys_of_query(batch, at.query, RULE_ARGUMENTS);
    low[item] = (int)seen.x;
    high[item] = (int)seen.y;
    maxima[item] = -INFINITY;
    totals[item] = 0.0f;
  }
  float mixed[R][CHUNKS * 4];
  for (int r = 0; r < R; r++)
    for (int c = 0; c < CHUNKS * 4; c++) mixed[r][c] = 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);

  /* The keys that any row, and that all rows may see by place and lengths; then those of this split. */
  int from = low[0], to = high[0], all_from = low[0], all_to = high[0];
  for (int i = 1; i < ROWS; i++) {
    from = min(from, low[i]);
    to = max(to, high[i]);
    all_from = max(all_from, low[i]);
    all_to = min(all_to, high[i]);
  }
  int share = (max(to - from, 0) + splits - 1) / splits;
  from = min(from + (int)split * share, to);
  to = min(from + share, to);

  for (int start = from; start < to; start += AT_ONCE) {
    int count = min((int)AT_ONCE, to - start);
    bool biased = ALWAYS_BIASED || start < all_from || start + AT_ONCE > all_to;

    /* Scores. */
    float sums[R][4];
    for (int r = 0; r < R; r++)
      for (int c = 0; c < 4; c++) sums[r][c] = 0.0f;
    for (int chunk = 0; chunk < HEAD_SIZE; chunk += CHUNK) {
      int columns = min((int)CHUNK, HEAD_SIZE - chunk);
      barrier(CLK_LOCAL_MEM_FENCE); /* nobody reads the block any more */
      for (int i = item; i < AT_ONCE * CHUNK; i += ITEMS) {
        int key = start + min(i / CHUNK, count - 1), column = chunk + min(i % CHUNK, columns - 1);
        block[i / CHUNK * PITCH + i % CHUNK] =
            LOAD(IN1, k, k_at + (ulong)(key * shape[K_ROW] + column * shape[K_COLUMN]));
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 0; d < columns; d++) {
        float a[R], b[4];
        for (int r = 0; r < R; r++) a[r] = queries[(first + r) * Q_PITCH + chunk + d];
        for (int c = 0; c < 4; c++) b[c] = block[(across + 8 * c) * PITCH + d];
        for (int r = 0; r < R; r++)
          for (int c = 0; c < 4; c++) sums[r][c] += a[r] * b[c];
      }
    }
    for (int r = 0; r < R; r++)
      for (int c = 0; c < 4; c++) {
        float score = sums[r][c];
        int key = start + across + 8 * c;
#ifdef SOFTCAP
        score = cap * tanh_of(score / cap);
#endif
        if (biased) {
          row_place at = place_of(first_row + min(first + r, rows - 1), key_head, shape);
          bool seen = key < to && key >= low[first + r] && key < high[first + r];
          if (ALWAYS_BIASED) /* a key past the end is looked at, but not seen */
            score = ruled_score(score, batch, at.head, at.query, min(key, to - 1), RULE_ARGUMENTS);
          score = seen ? score : -INFINITY;
        } else if (key >= to) {
          score = -INFINITY;
        }
        scores[(first + r) * PITCH + across + 8 * c] = score;
      }
    if (item == 0) careful = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Weights.  Where nothing was allowed yet 0 stands in for a maximum of -inf. */
    if (item < ROWS) {
      float maximum = maxima[item];
      for (int j = 0; j < AT_ONCE; j++) maximum = fmax(maximum, scores[item * PITCH + j]);
      float base = maximum == -INFINITY ? 0.0f : maximum;
      shrink[item] = exp(maxima[item] - base);
      maxima[item] = maximum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = 0; r < R; r++) {
      float maximum = maxima[first + r], base = maximum == -INFINITY ? 0.0f : maximum;
      for (int c = 0; c < 4; c++) {
        __local float *score = &scores[(first + r) * PITCH + across + 8 * c];
        *score = *score == -INFINITY ? 0.0f : exp(*score - base);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < ROWS) {
      float total = 0.0f;
      for (int j = 0; j < AT_ONCE; j++) total += scores[item * PITCH + j];
      totals[item] = totals[item] * shrink[item] + total;
    }

    /* Mix.  A weight of exactly 0 contributes nothing, whatever v holds: 0 times a number is 0, and where the block
     * holds anything else weights of 0 are passed over. */
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
      int columns = min((int)CHUNK, VALUE_SIZE - chunk * CHUNK);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = item; i < AT_ONCE * CHUNK; i += ITEMS) {
        int key = start + min(i / CHUNK, count - 1), column = chunk * CHUNK + min(i % CHUNK, columns - 1);
        float value = LOAD(IN2, v, v_at + (ulong)(key * shape[V_ROW] + column * shape[V_COLUMN]));
        if (!isfinite(value)) careful = 1;
        block[i / CHUNK * PITCH + i % CHUNK] = value;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      bool skip = careful != 0;
      float sum[R][4];
      for (int r = 0; r < R; r++)
        for (int c = 0; c < 4; c++) sum[r][c] = 0.0f;
      for (int j = 0; j < AT_ONCE; j++) {
        float a[R], b[4];
        for (int r = 0; r < R; r++) a[r] = scores[(first + r) * PITCH + j];
        for (int c = 0; c < 4; c++) b[c] = block[j * PITCH + across + 8 * c];
        for (int r = 0; r < R; r++)
          for (int c = 0; c < 4; c++) sum[r][c] = skip && a[r] == 0.0f ? sum[r][c] : sum[r][c] + a[r] * b[c];
      }
      for (int r = 0; r < R; r++)
        for (int c = 0; c < 4; c++) mixed[r][chunk * 4 + c] = mixed[r][chunk * 4 + c] * shrink[first + r] + sum[r][c];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE); /* the totals */

  for (int r = 0; r < R; r++) {
    int row = first + r;
    if (row >= rows) continue;
    row_place at = place_of(first_row + row, key_head, shape);
    row_end end = end_row(maxima[row], totals[row], sink_of(at.head, sinks, sinks_first, sinks_stride));
    ulong to_y = y_first + (ulong)(batch * shape[Y_BATCH] + at.head * shape[Y_HEAD] + at.query * shape[Y_ROW]);
    ulong to_part = parts_first + part_of(unit, split, splits, first_row + row, shape);
    for (int c = 0; c < CHUNKS * 4; c++) {
      int column = across + 8 * c;
      if (column >= VALUE_SIZE) continue;
      if (splits > 1)
        parts[to_part + column] = mixed[r][c];
      else
        STORE(OUT0, end.inverse * mixed[r][c], y, to_y + (ulong)column * (ulong)shape[Y_COLUMN]);
    }
    if (across > 0) continue;
    if (splits > 1) {
      parts[to_part + VALUE_SIZE] = maxima[row];
      parts[to_part + VALUE_SIZE + 1] = totals[row];
    }
#ifdef HAS_LSE
    else
      STORE(OUT1, end.lse, lses,
            lses_first + (ulong)(batch * shape[LSE_BATCH] + at.head * shape[LSE_HEAD] + at.query * shape[LSE_ROW]));
#endif
  }
}
