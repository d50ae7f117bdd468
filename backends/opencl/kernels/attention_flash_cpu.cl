/* attention for CPUs: one pass over the keys with a running softmax (Milakov and Gimelshein 2018; Dao et al. 2022).
 *
 * A lane is a query.  One work-item does a tile of TILE = VECTORS x WIDTH queries of one head (attention_queries.cl),
 * turned on the way in, so that a register holds one column of WIDTH queries.  Blocks of keys then go through three
 * stages (attention_runs.cl):
 *
 *     scores    S^T = K Q^T          4 or 8 keys x VECTORS registers of queries at a time
 *     weights   P^T = e^(S^T - max)  maximum and sum of a query are those of its lane: nothing goes across lanes
 *     mix       O^T += V^T P^T       4 or 8 columns of v x VECTORS registers
 *
 * K and V are read as they lie, a number at a time, which an FMA spreads over its lanes.  Where they are no f32, or not
 * dense along the head, a block of them is first copied to a tile (-DK_TILE, -DV_TILE).  q is multiplied by the scale
 * once.
 *
 * Under a causal mask or a window the registers of a tile see different keys: what all of them see in a block is done
 * for all, what some see besides for each alone, and what a register does not see takes no time.
 *
 * A weight of exactly 0 contributes nothing, whatever v holds.  0 times a finite number is 0; so a tile is done as if
 * all of v were finite, and only where the result is not, it is done again, passing over weights of 0 (`careful`).
 *
 * -DHEAD_SIZE, -DVALUE_SIZE: columns of q and of v.  -DMOST_QUERIES: what a tile should hold.  -DSOFTCAP: there is a
 * cap. */

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
  find_keys(low, high, place, RULE_ARGUMENTS);
  const int first_key = ((const int *)low)[0], end_key = ((const int *)high)[TILE - 1];

  bool careful = false;
  for (;;) {
    for (int c = 0; c < VECTORS; c++) {
      maxima[c] = (floats)(-INFINITY);
      totals[c] = (floats)(0.0f);
    }
    for (int i = 0; i < COLUMNS * VECTORS; i++) mixed[i] = (floats)(0.0f);

    for (int start = first_key; start < end_key; start += BLOCK) {
      const int count = min(BLOCK, end_key - start);
      run runs[2 * VECTORS + 1];
      const int run_count = find_runs(runs, start, count, low, high);
#if ALWAYS_BIASED
      if (!find_biases(scores, place, start, count, low, high, RULE_ARGUMENTS)) continue;
#endif
#ifdef K_TILE
      float k_tile[BLOCK * HEAD_SIZE];
      copy_k(k_tile, HEAD_SIZE, k, k_at + (ulong)start * k_row, k_row, (ulong)shape[K_COLUMN], count, HEAD_SIZE);
      const k_numbers keys = k_tile;
      const ulong key_step = HEAD_SIZE;
#else
      const k_numbers keys = k + k_at + (ulong)start * k_row;
      const ulong key_step = k_row;
#endif
      const int next = start + BLOCK < end_key ? start + BLOCK : start;
      __global const TYPE(IN1) *next_keys = k + (k_at + (ulong)next * k_row);
      floats before[VECTORS];
      for (int c = 0; c < VECTORS; c++) before[c] = maxima[c];
      for (int i = 0; i < run_count; i++)
        FOR_RUN(runs[i], scores,
                (runs[i], scores, queries, maxima, keys, key_step, next_keys, k_row, start, count, low, high, cap))

      /* Weights.  Where nothing was allowed yet the maximum is -inf, and 0 stands in for it, so that no -inf - -inf is
       * NaN.  A score of NaN or +inf makes the weight, then the sum, NaN. */
      floats tops[VECTORS];
      for (int c = 0; c < VECTORS; c++) {
        tops[c] = maxima[c] == -INFINITY ? (floats)(0.0f) : maxima[c];
        shrink[c] = exp_of(before[c] - tops[c]);
        totals[c] *= shrink[c];
      }
      for (int i = 0; i < run_count; i++) FOR_RUN(runs[i], weights, (runs[i], scores, tops, totals))

      /* Mix.  Each run is summed apart, so that errors stay small over many keys. */
#ifdef V_TILE
      float v_tile[BLOCK * COLUMNS];
      copy_v(v_tile, COLUMNS, v, v_at + (ulong)start * v_row, v_row, (ulong)shape[V_COLUMN], count, VALUE_SIZE);
      const v_numbers values = v_tile;
      const ulong value_step = COLUMNS;
#else
      const v_numbers values = v + v_at + (ulong)start * v_row;
      const ulong value_step = v_row;
#endif
      __global const TYPE(IN2) *next_values = v + (v_at + (ulong)next * v_row);
      for (int i = 0; i < run_count; i++) {
        run it = runs[i];
        it.to = min(it.to, count);
        if (careful)
          mix_carefully(it, mixed, shrink, scores, values, value_step, next_values, v_row);
        else
          FOR_RUN(it, mix, (it, mixed, shrink, scores, values, value_step, next_values, v_row))
        for (int c = it.first; c < it.first + it.count; c++) shrink[c] = (floats)(1.0f);
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
