/* What the variants of attention share: the table of extents and strides, which keys a run of queries may see, rows and
 * how they end. */

/* `shape`: these. */
enum {
  QUERIES,
  KEYS,
  DEPTH,
  VALUE_DEPTH,
  HEADS,
  GROUP,
  Q_BATCH,
  Q_HEAD,
  Q_ROW,
  Q_COLUMN,
  K_BATCH,
  K_HEAD,
  K_ROW,
  K_COLUMN,
  V_BATCH,
  V_HEAD,
  V_ROW,
  V_COLUMN,
  Y_BATCH,
  Y_HEAD,
  Y_ROW,
  Y_COLUMN,
  LSE_BATCH,
  LSE_HEAD,
  LSE_ROW
};

/* The keys that query `first` or `last`, or one between them, may see by place and lengths: from .x on, before .y. */
static long2 visible_keys(long batch, long first, long last, RULE_PARAMETERS) {
  long2 low = keys_of_query(batch, first, RULE_ARGUMENTS), high = keys_of_query(batch, last, RULE_ARGUMENTS);
  return (long2)(low.x, max(low.x, high.y));
}

/* Whether a score may be changed by more than the place of its key. */
#if defined(HAS_MASK) || defined(HAS_KEY_MASK) || defined(RING) || defined(ALIBI)
#define ALWAYS_BIASED 1
#else
#define ALWAYS_BIASED 0
#endif

/* ---- rows ---- */

/* Query heads that share a key head have their rows one after the other: the queries of the first, of the second .. */
typedef struct row_place {
  long head, query;
} row_place;

static row_place place_of(long row, long key_head, __global const long *shape) {
  row_place at = {key_head * shape[GROUP] + row / shape[QUERIES], row % shape[QUERIES]};
  return at;
}

/* -inf where there is none. */
static float sink_of(long head, __global const TYPE(IN7) * sinks, ulong sinks_first, long sinks_stride) {
#ifdef HAS_SINKS
  return LOAD(IN7, sinks, sinks_first + (ulong)(head * sinks_stride));
#else
  return -INFINITY;
#endif
}

typedef struct row_end {
  float inverse, lse; /* of the sum, and the log of the sum */
} row_end;

/* `total` is the sum of e^(score - maximum).  A sink is one more term of it, but not in the maximum. */
static row_end end_row(float maximum, float total, float sink) {
  bool empty = maximum == -INFINITY && total == 0.0f, bad = isnan(sink) || sink == INFINITY || isnan(total);
  float top = fmax(maximum, sink);
  row_end end;
  end.inverse = bad ? NAN : empty ? 0.0f : 1.0f / (total + exp(sink - maximum));
  end.lse = bad ? NAN : empty ? sink : top + log(total * exp(maximum - top) + exp(sink - top));
  return end;
}
