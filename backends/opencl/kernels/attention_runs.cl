/* Blocks of keys against a tile of queries (attention_queries.cl), as three products of numbers and registers: scores,
 * weights, mix. */

/* Keys in a block: its scores and its rows of k or v should stay in a first cache that others use, too. */
#define BLOCK 64
#define GROUP_OF_KEYS 8 /* runs begin and end at multiples of it */

/* Do registers of one tile see different keys? */
#if (defined(CAUSAL) || defined(WINDOW)) && !defined(RING) && VECTORS > 1
#define EDGES
#endif

static int padded_count(int count) {
  return (count + GROUP_OF_KEYS - 1) / GROUP_OF_KEYS * GROUP_OF_KEYS;
}

/* Keys `from` to `to` of a block, and `count` registers of the tile from `first` on that see them: all, or one. */
typedef struct run {
  int first, count, from, to;
} run;

/* Cuts a block of `count` keys into runs.  Neither low nor high falls from one lane to the next. */
static int find_runs(run *runs, int start, int count, const ints *low, const ints *high) {
  run shared = {0, VECTORS, 0, padded_count(count)};
  int found = 0;
#ifdef EDGES
  int from[VECTORS], to[VECTORS];
  for (int c = 0; c < VECTORS; c++) {
    from[c] = clamp(((const int *)low)[c * WIDTH] - start, 0, count) / GROUP_OF_KEYS * GROUP_OF_KEYS;
    to[c] = padded_count(clamp(((const int *)high)[c * WIDTH + WIDTH - 1] - start, 0, count));
  }
  shared.from = from[VECTORS - 1];
  shared.to = max(shared.from, to[0]);
  for (int c = 0; c < VECTORS; c++) {
    run before = {c, 1, from[c], min(shared.from, to[c])}, after = {c, 1, max(shared.to, from[c]), to[c]};
    if (before.from < before.to) runs[found++] = before;
    if (after.from < after.to) runs[found++] = after;
  }
#endif
  if (shared.from < shared.to) runs[found++] = shared;
  return found;
}

#ifdef K_TILE
typedef const float *k_numbers;
#else
typedef __global const float *k_numbers;
#endif
#ifdef V_TILE
typedef const float *v_numbers;
#else
typedef __global const float *v_numbers;
#endif

/* M for each of N things; M(r, c) for R numbers r and N registers c. */
#define EACH_1(M)      M(0)
#define EACH_2(M)      M(0) M(1)
#define EACH_4(M)      M(0) M(1) M(2) M(3)
#define EACH_8(M)      EACH_4(M) M(4) M(5) M(6) M(7)
#define ACROSS_1(M, r) M(r, 0)
#define ACROSS_2(M, r) M(r, 0) M(r, 1)
#define ACROSS_4(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)
#define PAIRS_4(N, M)  ACROSS_##N(M, 0) ACROSS_##N(M, 1) ACROSS_##N(M, 2) ACROSS_##N(M, 3)
#define PAIRS_8(N, M)  PAIRS_4(N, M) ACROSS_##N(M, 4) ACROSS_##N(M, 5) ACROSS_##N(M, 6) ACROSS_##N(M, 7)

/* The product of numbers and registers, summed in named variables: arrays end up in memory. */
#define START_SUM(r, c)   floats sum##r##c = (floats)(0.0f);
#define ADD_PRODUCT(r, c) sum##r##c = lanes##c * (floats)(number##r) + sum##r##c;
#define ADD_IF_WEIGHT(r, c)                                                                                            \
  sum##r##c = lanes##c != 0.0f ? lanes##c * (floats)(number##r) + sum##r##c : sum##r##c;

/* ---- scores ---- */

/* Of a run, each in place of its bias (attention_bias.cl).  Where no rule needs biases, `biased` says that some keys
 * are hidden from some lanes by their place. */
#define START_MAXIMUM(c) floats maximum##c = maxima[c];
#define POINT_AT_KEY(r)  k_numbers key##r = k + (ulong)min(j + r, count - 1) * k_row;
#define FETCH_KEY(r)     FETCH_ALL(IN1, next + (ulong)(j + r) * next_row, HEAD_SIZE)
#define READ_KEY(r)      const float number##r = key##r[d];
#define READ_QUERIES(c)  const floats lanes##c = queries[d * VECTORS + c];
#ifdef SOFTCAP
#define CAP(r, c) sum##r##c = cap * tanh_of_floats(sum##r##c / cap);
#else
#define CAP(r, c)
#endif
#if ALWAYS_BIASED
#define ADD_BIAS(r, c)                                                                                                 \
  sum##r##c = s[r * VECTORS + c] == -INFINITY ? (floats)(-INFINITY) : sum##r##c + s[r * VECTORS + c];
#else
#define ADD_BIAS(r, c) sum##r##c = key + r < low[c] || key + r >= high[c] ? (floats)(-INFINITY) : sum##r##c;
#endif
#define KEEP_SCORE(r, c)                                                                                               \
  s[r * VECTORS + c] = sum##r##c;                                                                                      \
  maximum##c = sum##r##c > maximum##c ? sum##r##c : maximum##c;
#define KEEP_MAXIMUM(c) maxima[c] = maximum##c;

#define DEFINE_SCORES(NAME, N, R)                                                                                      \
  static void NAME(run it, floats *scores, const floats *queries, floats *maxima, k_numbers k, ulong k_row,            \
                   __global const TYPE(IN1) * next, ulong next_row, int start, int count, const ints *low,             \
                   const ints *high, float cap) {                                                                      \
    scores += it.first, queries += it.first, maxima += it.first, low += it.first, high += it.first;                    \
    const bool biased = ALWAYS_BIASED || start + it.from < ((const int *)low)[N * WIDTH - 1] ||                        \
                        start + it.to > ((const int *)high)[0];                                                        \
    EACH_##N(START_MAXIMUM)                                                                                            \
    for (int j = it.from; j < it.to; j += R) {                                                                         \
      int key = start + j;                                                                                             \
      floats *s = scores + j * VECTORS;                                                                                \
      EACH_##R(POINT_AT_KEY)                                                                                           \
      if (N == VECTORS) {                                                                                              \
        EACH_##R(FETCH_KEY)                                                                                            \
      }                                                                                                                \
      PAIRS_##R(N, START_SUM)                                                                                          \
      for (int d = 0; d < HEAD_SIZE; d++) {                                                                            \
        EACH_##R(READ_KEY)                                                                                             \
        EACH_##N(READ_QUERIES)                                                                                         \
        PAIRS_##R(N, ADD_PRODUCT)                                                                                      \
      }                                                                                                                \
      PAIRS_##R(N, CAP)                                                                                                \
      if (biased) {                                                                                                    \
        PAIRS_##R(N, ADD_BIAS)                                                                                         \
      }                                                                                                                \
      PAIRS_##R(N, KEEP_SCORE)                                                                                         \
    }                                                                                                                  \
    EACH_##N(KEEP_MAXIMUM)                                                                                             \
  }

/* ---- weights ---- */

/* Of a run in place of its scores; their sums are added to `totals`. */
#define START_TOTAL(c) floats total##c = (floats)(0.0f), top##c = tops[c];
#define MAKE_WEIGHT(c)                                                                                                 \
  floats weight##c = exp_of(s[c] - top##c);                                                                            \
  s[c] = weight##c;                                                                                                    \
  total##c += weight##c;
#define KEEP_TOTAL(c) totals[c] += total##c;

#define DEFINE_WEIGHTS(NAME, N)                                                                                        \
  static void NAME(run it, floats *scores, const floats *tops, floats *totals) {                                       \
    scores += it.first, tops += it.first, totals += it.first;                                                          \
    EACH_##N(START_TOTAL)                                                                                              \
    floats *s = scores + it.from * VECTORS;                                                                            \
    for (int j = it.to - it.from; j > 0; j--, s += VECTORS) {                                                          \
      EACH_##N(MAKE_WEIGHT)                                                                                            \
    }                                                                                                                  \
    EACH_##N(KEEP_TOTAL)                                                                                               \
  }

/* ---- mix ---- */

/* Of a run, added to `shrink` times what was before.  Columns past the end repeat the last. */
#define POINT_AT_COLUMN(r) const int at##r = min(r, rest);
/* Of the next block's rows, with R of all columns. */
#define FETCH_SHARE(R)                                                                                                 \
  for (int j = d * BLOCK / VALUE_SIZE; j < min((d + R) * BLOCK / VALUE_SIZE, BLOCK); j++)                              \
    FETCH_ALL(IN2, next + (ulong)j * next_row, VALUE_SIZE)
#define READ_COLUMN(r)     const float number##r = value[at##r];
#define READ_WEIGHTS(c)    const floats lanes##c = weight[c];
#define ADD_TO_MIX(r, c)   mixed[(d + r) * VECTORS + c] = mixed[(d + r) * VECTORS + c] * shrink[c] + sum##r##c;

#define DEFINE_MIX(NAME, N, R, ADD)                                                                                    \
  static void NAME(run it, floats *mixed, const floats *shrink, const floats *weights, v_numbers v, ulong v_row,       \
                   __global const TYPE(IN2) * next, ulong next_row) {                                                  \
    mixed += it.first, shrink += it.first, weights += it.first;                                                        \
    for (int d = 0; d < VALUE_SIZE; d += R) {                                                                          \
      const floats *weight = weights + it.from * VECTORS;                                                              \
      v_numbers value = v + (ulong)it.from * v_row + d;                                                                \
      const int rest = VALUE_SIZE % R == 0 ? R - 1 : min(R, VALUE_SIZE - d) - 1;                                       \
      if (N == VECTORS) {                                                                                              \
        FETCH_SHARE(R)                                                                                                 \
      }                                                                                                                \
      EACH_##R(POINT_AT_COLUMN)                                                                                        \
      PAIRS_##R(N, START_SUM)                                                                                          \
      for (int j = it.to - it.from; j > 0; j--, value += v_row, weight += VECTORS) {                                   \
        EACH_##R(READ_COLUMN)                                                                                          \
        EACH_##N(READ_WEIGHTS)                                                                                         \
        PAIRS_##R(N, ADD)                                                                                              \
      }                                                                                                                \
      PAIRS_##R(N, ADD_TO_MIX)                                                                                         \
    }                                                                                                                  \
  }

#define DEFINE_STAGES(whom, N, R)                                                                                      \
  DEFINE_SCORES(scores_##whom, N, R)                                                                                   \
  DEFINE_WEIGHTS(weights_##whom, N)                                                                                    \
  DEFINE_MIX(mix_##whom, N, R, ADD_PRODUCT)

#if VECTORS == 1
DEFINE_STAGES(of_all, 1, 8)
#elif VECTORS == 2 && WIDTH == 16
DEFINE_STAGES(of_all, 2, 8)
#elif VECTORS == 2
DEFINE_STAGES(of_all, 2, 4)
#else
DEFINE_STAGES(of_all, 4, 4)
#endif
#ifdef EDGES
DEFINE_STAGES(of_one, 1, 8)
#define FOR_RUN(it, name, arguments)                                                                                   \
  if ((it).count == VECTORS) name##_of_all arguments;                                                                  \
  else name##_of_one arguments;
#else
#define FOR_RUN(it, name, arguments) name##_of_all arguments;
#endif

DEFINE_MIX(mix_of_one_carefully, 1, 8, ADD_IF_WEIGHT)

static void mix_carefully(run it, floats *mixed, const floats *shrink, const floats *weights, v_numbers v, ulong v_row,
                          __global const TYPE(IN2) *next, ulong next_row) {
  for (int c = it.first; c < it.first + it.count; c++) {
    run one = {c, 1, it.from, it.to};
    mix_of_one_carefully(one, mixed, shrink, weights, v, v_row, next, next_row);
  }
}
