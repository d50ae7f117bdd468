/* Who may look where, and what is added to a score: NUMERICS section 2. */
#include "oracle/ops.h"

/* Slope of head h of n (Press et al. 2022, section 3, and the authors' code for n that is no power of two): a geometric
 * series for the largest power of two below n, then every second slope of the series for twice as many heads. */
static double alibi_slope(int64_t h, int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  if (h < power) return exp2(-8.0 * (double)(h + 1) / (double)power);
  return exp2(-8.0 * (double)(2 * (h - power) + 1) / (double)(2 * power));
}

ph_status ph_mask_rule_open(const ph_oracle_call *call, uint32_t first_role, int64_t heads, int64_t queries,
                            int64_t keys, ph_mask_rule *out) {
  *out = (ph_mask_rule){.mask = ph_call_input(call, first_role),
                        .key_mask = ph_call_input(call, first_role + 1),
                        .lengths = ph_call_input(call, first_role + 2),
                        .offset = ph_call_input(call, first_role + 3),
                        .causal = ph_call_integer(call, "causal", 0) != 0,
                        .ring = ph_call_integer(call, "ring", 0) != 0,
                        .ignore = ph_call_is(call, "polarity", "ignore"),
                        .shift = ph_call_is(call, "align", "bottom_right") ? keys - queries : 0,
                        .queries = queries,
                        .keys = keys};
  uint32_t sides = 0;
  const int64_t *window = ph_call_list(call, "window", &sides);
  if (window != NULL) {
    if (sides != 2) return ph_fail(call->error, PH_INVALID, "node '%s': window needs two sides", call->node->id);
    out->window = true;
    out->left = window[0];
    out->right = window[1];
  }
  if (ph_call_integer(call, "alibi", 0) == 0) return PH_OK;
  double *slopes = ph_call_reals(call, heads);
  if (slopes == NULL) return ph_fail_memory(call->error);
  for (int64_t h = 0; h < heads; h++) slopes[h] = alibi_slope(h, heads);
  out->slopes = slopes;
  return PH_OK;
}

/* Applies one mask's element: false where it forbids. */
static bool apply(const ph_view *mask, int64_t at, bool ignore, double *bias, double *size) {
  if (mask->dtype == PH_BOOL) return (ph_view_integer(mask, at) != 0) != ignore;
  double value = ph_view_real(mask, at);
  *bias += value;
  *size += fabs(value);
  return value != -INFINITY;
}

/* The position that slot j holds in a ring: the newest one up to `newest` that is j modulo the slots. */
static int64_t ring_position(int64_t newest, int64_t j, int64_t slots) {
  int64_t behind = ph_subtract_clamped(newest, j) % slots;
  return ph_subtract_clamped(newest, behind < 0 ? behind + slots : behind);
}

bool ph_mask_rule_allows(const ph_mask_rule *rule, int64_t b, int64_t h, int64_t i, int64_t j, double *bias,
                         double *size) {
  *bias = *size = 0;
  if (rule->mask.present) {
    const int64_t *strides = rule->mask.strides;
    if (!apply(&rule->mask, b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3], rule->ignore, bias,
               size))
      return false;
  }
  if (rule->key_mask.present) {
    const int64_t *strides = rule->key_mask.strides;
    if (!apply(&rule->key_mask, b * strides[0] + j * strides[3], rule->ignore, bias, size)) return false;
  }
  if (j >= ph_view_per_sample(&rule->lengths, b, INT64_MAX)) return false;

  int64_t shift = ph_view_per_sample(&rule->offset, b, rule->shift);
  int64_t query = ph_add_clamped(i, shift), key = j;
  if (rule->ring) {
    key = ring_position(ph_add_clamped(shift, rule->queries - 1), j, rule->keys);
    if (key < 0) return false;
  }
  int64_t distance = ph_subtract_clamped(query, key); /* how far the key lies behind the query */
  if (rule->causal && distance < 0) return false;
  if (rule->window && rule->left >= 0 && distance > rule->left) return false;
  if (rule->window && rule->right >= 0 && distance < -rule->right) return false;
  if (rule->slopes != NULL) {
    double slope = rule->slopes[h] * (double)distance;
    *bias -= slope;
    *size += fabs(slope);
  }
  return true;
}

ph_status ph_oracle_mask(const ph_oracle_call *call) {
  ph_view scores = ph_call_input(call, 0);
  ph_oracle_output *y = ph_call_output(call, 0);
  const int64_t *dims = scores.dims;
  ph_mask_rule rule;
  PH_TRY(ph_mask_rule_open(call, 1, dims[1], dims[2], dims[3], &rule));
  int64_t index[PH_MAX_RANK] = {0};
  for (int64_t to = 0; to < y->count; to++) {
    double bias, size;
    bool allowed = ph_mask_rule_allows(&rule, index[0], index[1], index[2], index[3], &bias, &size);
    y->real[to] = allowed ? ph_view_real(&scores, ph_view_at(&scores, 4, index)) + bias : -INFINITY;
    if (y->magnitude[PH_MAGNITUDE_ACCUM] != NULL && allowed) y->magnitude[PH_MAGNITUDE_ACCUM][to] = size;
    ph_index_next(4, dims, index);
  }
  return PH_OK;
}
