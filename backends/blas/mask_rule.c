#include "blas/mask_rule.h"

#include <math.h>

enum { MASK, KEY_MASK, LENGTHS, OFFSET }; /* roles, from the first on */

/* Slope of head h of n (Press et al. 2022, section 3, and its authors' code where n is no power of two): a geometric
 * series for the largest power of two up to n, then every second slope of the series for twice as many heads. */
static double slope_of(int64_t h, int64_t n) {
  int64_t power = 1;
  while (power <= n / 2) power *= 2;
  double exponent = h < power ? (double)(h + 1) / (double)power : (double)(2 * (h - power) + 1) / (double)(2 * power);
  return exp2(-8 * exponent);
}

ph_status blas_mask_rule_read(blas_planner *planner, uint32_t first_role, int64_t heads, int64_t queries, int64_t keys,
                              blas_mask_rule *out, ph_error *error) {
  const ph_node *node = planner->source;
  *out = (blas_mask_rule){.first_role = first_role,
                          .queries = queries,
                          .keys = keys,
                          .causal = ph_node_int(node, "causal", 0) != 0,
                          .ring = ph_node_int(node, "ring", 0) != 0,
                          .ignore = ph_node_is(node, "polarity", "ignore"),
                          .left = -1,
                          .right = -1,
                          .shift = ph_node_is(node, "align", "bottom_right") ? keys - queries : 0};
  const ph_attr *window = ph_node_attr(node, "window");
  if (window != NULL && window->kind == PH_ATTR_I64_LIST && window->as.list.count == 2) {
    out->left = window->as.list.items[0];
    out->right = window->as.list.items[1];
  }
  if (ph_node_int(node, "alibi", 0) == 0) return PH_OK;
  double *slopes = ph_arena_array(planner->arena, (size_t)heads, sizeof(*slopes));
  if (slopes == NULL) return ph_fail_memory(error);
  for (int64_t h = 0; h < heads; h++) slopes[h] = slope_of(h, heads);
  out->slopes = slopes;
  return PH_OK;
}

static const blas_operand *role(const blas_mask_rule *rule, const blas_call *call, uint32_t which) {
  return &call->node->in[rule->first_role + which];
}

static const void *data(const blas_mask_rule *rule, const blas_call *call, uint32_t which) {
  return call->in[rule->first_role + which];
}

/* Where the first query of this sample stands. */
static int64_t first_position(const blas_mask_rule *rule, const blas_call *call, int64_t sample) {
  return blas_per_sample(role(rule, call, OFFSET), data(rule, call, OFFSET), sample, rule->shift);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

void blas_mask_span(const blas_mask_rule *rule, const blas_call *call, blas_mask_row row, int64_t *first,
                    int64_t *last) {
  *first = 0;
  *last =
      least(rule->keys, blas_per_sample(role(rule, call, LENGTHS), data(rule, call, LENGTHS), row.sample, INT64_MAX));
  if (!rule->ring) {
    int64_t position = blas_add_clamped(row.query, first_position(rule, call, row.sample));
    if (rule->causal) *last = least(*last, blas_add_clamped(position, 1));
    if (rule->right >= 0) *last = least(*last, blas_add_clamped(blas_add_clamped(position, rule->right), 1));
    if (rule->left >= 0) {
      int64_t start = blas_sub_clamped(position, rule->left);
      if (start > *first) *first = start;
    }
  }
  if (*last < *first) *last = *first = 0;
}

/* One mask's element as a bias; -inf: not allowed. */
typedef struct mask_cursor {
  const float *floats;
  const unsigned char *bools;
  int64_t step;
  bool ignore;
} mask_cursor;

static mask_cursor cursor_of(const blas_mask_rule *rule, const blas_call *call, uint32_t which, int64_t at,
                             int64_t step) {
  mask_cursor cursor = {.step = step, .ignore = rule->ignore};
  if (role(rule, call, which)->dtype == PH_BOOL)
    cursor.bools = (const unsigned char *)data(rule, call, which) + at;
  else
    cursor.floats = (const float *)data(rule, call, which) + at;
  return cursor;
}

static double bias_at(const mask_cursor *cursor, int64_t key) {
  if (cursor->floats != NULL) return cursor->floats[key * cursor->step];
  return (cursor->bools[key * cursor->step] != 0) != cursor->ignore ? 0 : -INFINITY;
}

/* The position that slot `slot` of a ring holds: the newest one up to `newest` that is `slot` modulo the slots. */
static int64_t ring_position(int64_t newest, int64_t slot, int64_t slots) {
  int64_t behind = blas_sub_clamped(newest, slot) % slots;
  return blas_sub_clamped(newest, behind < 0 ? behind + slots : behind);
}

static bool ring_allows(const blas_mask_rule *rule, int64_t position, int64_t key) {
  int64_t behind = blas_sub_clamped(position, key);
  if (key < 0 || (rule->causal && behind < 0)) return false;
  if (rule->left >= 0 && behind > rule->left) return false;
  return rule->right < 0 || behind >= -rule->right;
}

void blas_mask_apply(const blas_mask_rule *rule, const blas_call *call, blas_mask_row row, int64_t first, int64_t last,
                     float *scores) {
  const blas_operand *mask = role(rule, call, MASK), *key_mask = role(rule, call, KEY_MASK);
  mask_cursor masks[2];
  int mask_count = 0;
  if (first == last) return;
  if (blas_present(mask))
    masks[mask_count++] = cursor_of(
        rule, call, MASK, row.sample * mask->strides[0] + row.head * mask->strides[1] + row.query * mask->strides[2],
        mask->strides[3]);
  if (blas_present(key_mask))
    masks[mask_count++] = cursor_of(rule, call, KEY_MASK, row.sample * key_mask->strides[0], key_mask->strides[3]);
  if (mask_count == 0 && !rule->ring && rule->slopes == NULL) return;

  int64_t shift = first_position(rule, call, row.sample), position = blas_add_clamped(row.query, shift);
  int64_t newest = blas_add_clamped(shift, rule->queries - 1);
  for (int64_t key = first; key < last; key++) {
    /* Once a key is not allowed it stays so, whatever the other masks hold there. */
    float *score = &scores[key - first];
    int64_t stands = rule->ring ? ring_position(newest, key, rule->keys) : key;
    bool allowed = !rule->ring || ring_allows(rule, position, stands);
    double bias = rule->slopes != NULL ? -rule->slopes[row.head] * (double)blas_sub_clamped(position, stands) : 0;
    for (int i = 0; i < mask_count; i++) {
      double value = bias_at(&masks[i], key);
      allowed = allowed && value != -INFINITY;
      bias += value;
    }
    *score = allowed ? (float)(*score + bias) : -INFINITY;
  }
}
