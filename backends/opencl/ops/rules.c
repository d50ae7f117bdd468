/* Who may attend to whom: the operands and attributes that mask and attention share, as tables for ruled_score() in
 * common.cl (NUMERICS section 2). */
#include <math.h>
#include <stdlib.h>

#include "opencl/ops/ops.h"

enum { MASK, KEY_MASK, LENGTHS, OFFSET, RULE_ROLES };

void cl_rules_options(const ph_graph *graph, const ph_node *node, uint32_t first, ph_text *out) {
  ph_text_add(out, " -DRULES -DMASK=IN%u -DKEY_MASK=IN%u", first + MASK, first + KEY_MASK);
  cl_option_input(out, graph, node, first + MASK, "MASK");
  cl_option_input(out, graph, node, first + KEY_MASK, "KEY_MASK");
  cl_option_input(out, graph, node, first + LENGTHS, "LENGTHS");
  cl_option_input(out, graph, node, first + OFFSET, "OFFSET");
  if (ph_node_int(node, "causal", 0) != 0) ph_text_add(out, " -DCAUSAL");
  if (ph_node_attr(node, "window") != NULL) ph_text_add(out, " -DWINDOW");
  if (ph_node_int(node, "ring", 0) != 0) ph_text_add(out, " -DRING");
  if (ph_node_int(node, "alibi", 0) != 0) ph_text_add(out, " -DALIBI");
  if (ph_node_is(node, "polarity", "attend")) ph_text_add(out, " -DTRUE_ATTENDS");
}

/* ALiBi, Press et al. 2022: 2^(-8 h / n) for h = 1 .. n where n is a power of two; else those of the power of two
 * below, then every other one of the power of two above. */
static double alibi_slope(int64_t head, int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  if (head < power) return exp2(-8.0 * (double)(head + 1) / (double)power);
  return exp2(-8.0 * (double)(2 * (head - power) + 1) / (double)(2 * power));
}

static int64_t stride_or_0(const ph_tensor_desc *desc, uint32_t axis) {
  return desc == NULL || desc->dims[axis] == 1 ? 0 : desc->strides[axis];
}

cl_rules cl_rules_table(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, uint32_t first, int64_t heads,
                        int64_t queries, int64_t keys) {
  const ph_tensor_desc *mask = ph_node_input(graph, node, first + MASK);
  const ph_tensor_desc *key_mask = ph_node_input(graph, node, first + KEY_MASK);
  const ph_attr *window = ph_node_attr(node, "window");
  bool alibi = ph_node_int(node, "alibi", 0) != 0;
  /* In the order of RULE_KEYS .. in common.cl. */
  const int64_t values[] = {keys,
                            queries,
                            ph_node_is(node, "align", "bottom_right") ? keys - queries : 0,
                            window == NULL ? -1 : window->as.list.items[0],
                            window == NULL ? -1 : window->as.list.items[1],
                            stride_or_0(mask, 0),
                            stride_or_0(mask, 1),
                            stride_or_0(mask, 2),
                            stride_or_0(mask, 3),
                            stride_or_0(key_mask, 0),
                            stride_or_0(key_mask, 3),
                            cl_sample_stride(ph_node_input(graph, node, first + LENGTHS)),
                            cl_sample_stride(ph_node_input(graph, node, first + OFFSET))};
  cl_rules rules = {.first = first, .rules = cl_plan_table(plan, values, sizeof(values) / sizeof(values[0]))};
  const float none = 0.0f;
  rules.slopes = cl_plan_real_table(plan, &none, alibi ? 0 : 1);
  for (int64_t head = 0; alibi && head < heads; head++) {
    float slope = (float)alibi_slope(head, heads);
    cl_plan_real_table(plan, &slope, 1);
  }
  return rules;
}

void cl_arg_rules(cl_launch *launch, const ph_node *node, const cl_rules *rules) {
  for (uint32_t role = 0; role < RULE_ROLES; role++) cl_arg_input(launch, node, rules->first + role);
  cl_arg_table(launch, rules->rules);
  cl_arg_real_table(launch, rules->slopes);
}
