/* y = scores + biases, -inf where a query may not attend to a key: ruled_score() for every score. */

enum { BATCH, HEAD, QUERY, KEY };

__kernel void mask(__global const TYPE(IN0) * scores, ulong scores_first, RULE_PARAMETERS, __global TYPE(OUT0) * y,
                   ulong y_first, __global const long *strides, ulong strides_first, ulong heads, ulong queries,
                   ulong keys, ulong count) {
  ulong key = get_global_id(0), query = get_global_id(1), head = get_global_id(2) % heads;
  ulong batch = get_global_id(2) / heads;
  if (key >= keys || query >= queries || get_global_id(2) >= count) return;
  rules += rules_first;
  __global const long *x = strides + strides_first, *out = x + 4;
  ulong x_at = scores_first + batch * x[BATCH] + head * x[HEAD] + query * x[QUERY] + key * x[KEY];
  ulong y_at = y_first + batch * out[BATCH] + head * out[HEAD] + query * out[QUERY] + key * out[KEY];
  float score = LOAD(IN0, scores, x_at);
  STORE(OUT0, ruled_score(score, batch, head, query, key, RULE_ARGUMENTS), y, y_at);
}
