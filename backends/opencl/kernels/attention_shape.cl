/* What the variants of attention share: the table of extents and strides, and which keys a run of queries may see. */

#ifndef HAS_SINKS
#define IN7 F32
#endif
#ifndef HAS_LSE
#define OUT1 F32
#endif

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

/* The keys that all of them may see by place and lengths. */
static long2 shared_keys(long batch, long first, long last, RULE_PARAMETERS) {
  long2 low = keys_of_query(batch, first, RULE_ARGUMENTS), high = keys_of_query(batch, last, RULE_ARGUMENTS);
  return (long2)(high.x, low.y);
}
