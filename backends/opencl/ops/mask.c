/* mask: biases added to scores, and -inf where a query may not attend. */
#include "opencl/ops/ops.h"

static ph_status plan_mask(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *scores = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  int64_t heads = y->dims[1], queries = y->dims[2], keys = y->dims[3], count = y->dims[0] * heads;
  cl_rules rules = cl_rules_table(plan, graph, node, 1, heads, queries, keys);
  int64_t strides[8];
  memcpy(strides, scores->strides, 4 * sizeof(int64_t));
  memcpy(strides + 4, y->strides, 4 * sizeof(int64_t));

  cl_launch *l = cl_launch_items(plan, "mask", keys, queries, count);
  cl_arg_input(l, node, 0);
  cl_arg_rules(l, node, &rules);
  cl_arg_output(l, node, 0);
  cl_arg_table(l, cl_plan_table(plan, strides, 8));
  cl_arg_long(l, heads);
  cl_arg_long(l, queries);
  cl_arg_long(l, keys);
  cl_arg_long(l, count);
  return cl_plan_done(plan, error);
}

static void options_mask(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_rules_options(graph, node, 1, out);
}

static const cl_variant mask_variants[] = {{.name = "plain",
                                            .file = "mask.cl",
                                            .profiles = CL_PROFILE_ALL,
                                            .stages = {[PH_STAGE_ACCUM] = PH_F32},
                                            .options = options_mask,
                                            .plan = plan_mask}};
const cl_op cl_op_mask = CL_OP(mask);
