/* Who may look where, and what is added to a score (NUMERICS section 2); the op mask. */
#include "kernels.h"

/* Beyond this an offset moves nothing any more, and sums of positions stay exact. */
#define FAR (INT64_C(1) << 52)

/* Press et al. 2022, section 3; in double, as a host would make them. */
static void fill_slopes(float *slopes, int64_t heads) {
  int64_t whole = 1;
  while (2 * whole <= heads) whole *= 2;
  for (int64_t h = 0; h < whole; h++) slopes[h] = (float)exp2(-8.0 * (double)(h + 1) / (double)whole);
  for (int64_t h = whole; h < heads; h++) slopes[h] = (float)exp2(-4.0 * (double)(2 * (h - whole) + 1) / (double)whole);
}

ph_status kernel_mask_open(kernel_run *run, uint32_t role, int64_t heads, int64_t queries, int64_t keys,
                           kernel_mask_rule *out) {
  const ph_node *node = run->node;
  *out = (kernel_mask_rule){.run = run,
                            .mask = &run->inputs[role],
                            .key_mask = &run->inputs[role + 1],
                            .lengths = &run->inputs[role + 2],
                            .offset = &run->inputs[role + 3],
                            .causal = ph_node_int(node, "causal", 0) != 0,
                            .ring = ph_node_int(node, "ring", 0) != 0,
                            .ignore = ph_node_is(node, "polarity", "ignore"),
                            .queries = queries,
                            .keys = keys,
                            .first = ph_node_is(node, "align", "bottom_right") ? keys - queries : 0};
  const ph_attr *window = ph_node_attr(node, "window");
  if (window != NULL) {
    out->window = true;
    out->left = window->as.list.items[0];
    out->right = window->as.list.items[1];
  }
  if (ph_node_int(node, "alibi", 0) == 0) return PH_OK;
  float *slopes = kernel_reals(run, heads);
  if (slopes == NULL) return ph_fail_memory(run->error);
  fill_slopes(slopes, heads);
  out->slopes = slopes;
  return PH_OK;
}

static int64_t per_sample(const kernel_array *array, int64_t b, int64_t absent) {
  return array->present ? array->integer[array->count > 1 ? b : 0] : absent;
}

/* One mask's word on one element. */
static bool mask_allows(const kernel_mask_rule *rule, const kernel_array *mask, int64_t at, float *bias) {
  if (mask->integer != NULL) return (mask->integer[at] != 0) != rule->ignore;
  *bias += mask->real[at];
  return mask->real[at] != -INFINITY;
}

/* The position of what lies in slot j: the newest one so far that is j modulo the slots. */
static int64_t position_in_ring(int64_t newest, int64_t j, int64_t slots) {
  int64_t lap = (newest - j) / slots;
  if ((newest - j) % slots < 0) lap--;
  return j + lap * slots;
}

bool kernel_mask_allows(const kernel_mask_rule *rule, int64_t b, int64_t h, int64_t i, int64_t j, float *bias) {
  *bias = 0;
  if (rule->mask->present && !mask_allows(rule, rule->mask, kernel_at(rule->mask, b, h, i, j), bias)) return false;
  if (rule->key_mask->present && !mask_allows(rule, rule->key_mask, kernel_at(rule->key_mask, b, 0, 0, j), bias))
    return false;
  if (j >= per_sample(rule->lengths, b, INT64_MAX)) return false;

  int64_t offset = per_sample(rule->offset, b, rule->first), key = j;
  offset = offset > FAR ? FAR : offset < -FAR ? -FAR : offset;
  int64_t position = offset + i;
  if (rule->ring) key = position_in_ring(offset + rule->queries - 1, j, rule->keys);
  if (key < 0) return false;
  if (rule->window && rule->left >= 0 && key < position - rule->left) return false;
  if (rule->window && rule->right >= 0 && key > position + rule->right) return false;
  if (rule->slopes != NULL) *bias -= rule->slopes[h] * (float)(position - key);
  return !rule->causal || KERNEL_LINE(rule->run, BUG_CAUSAL_SHIFTED, key <= position, key <= position + 1);
}

ph_status kernel_mask(kernel_run *run) {
  const kernel_array *x = &run->inputs[0];
  float *y = run->outputs[0].real;
  kernel_mask_rule rule;
  PH_TRY(kernel_mask_open(run, 1, x->dims[1], x->dims[2], x->dims[3], &rule));
  int64_t at = 0;
  for (int64_t b = 0; b < x->dims[0]; b++)
    for (int64_t h = 0; h < x->dims[1]; h++)
      for (int64_t i = 0; i < x->dims[2]; i++)
        for (int64_t j = 0; j < x->dims[3]; j++, at++) {
          float bias, score = x->real[at];
          bool allowed = kernel_mask_allows(&rule, b, h, i, j, &bias);
          y[at] = allowed ? score + bias : KERNEL_LINE(run, BUG_FINITE_MASK, -INFINITY, KERNEL_FINITE_MASK);
          y[at] = KERNEL_LINE(run, BUG_NAN_THROUGH_MASK, y[at], score + (allowed ? bias : -INFINITY));
        }
  return PH_OK;
}
