/* embedding and gather: rows of a table picked by index. */
#include "opencl/ops/ops.h"

static ph_status plan_pick(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, uint32_t table_role,
                           uint32_t indices_role, int64_t axis, ph_error *error) {
  const ph_tensor_desc *table = ph_node_input(graph, node, table_role);
  const ph_tensor_desc *indices = ph_node_input(graph, node, indices_role), *y = ph_node_output(graph, node, 0);
  cl_axes of_table = {.operand_count = 1}, of_indices = cl_axes_of(&indices, 1, 0, indices->rank);
  cl_axes of_y = cl_axes_of(&y, 1, 0, y->rank);
  int64_t after = 1, indexed = cl_axes_count(&of_indices), count = cl_axes_count(&of_y);
  for (uint32_t i = 0; i < table->rank; i++) {
    if (i != axis) cl_axes_add(&of_table, table->dims[i], &table->strides[i]);
    if (i > axis) after *= table->dims[i];
  }
  /* The kernel finds the three lists one behind the other. */
  int32_t table_rank, indices_rank, y_rank;
  uint64_t axes = cl_axes_table(plan, &of_table, &table_rank);
  cl_axes_table(plan, &of_indices, &indices_rank);
  cl_axes_table(plan, &of_y, &y_rank);

  cl_launch *l = cl_launch_items(plan, "gather", count, 1, 1);
  cl_arg_input(l, node, table_role);
  cl_arg_input(l, node, indices_role);
  cl_arg_output(l, node, 0);
  cl_arg_table(l, axes);
  cl_arg_int(l, table_rank);
  cl_arg_int(l, indices_rank);
  cl_arg_int(l, y_rank);
  cl_arg_long(l, table->dims[axis]);
  cl_arg_long(l, table->strides[axis]);
  cl_arg_long(l, count);
  cl_arg_long(l, indexed);
  cl_arg_long(l, after);
  return cl_plan_done(plan, error);
}

static ph_status plan_embedding(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  return plan_pick(plan, graph, node, 1, 0, 0, error);
}

static ph_status plan_gather(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  return plan_pick(plan, graph, node, 0, 1, ph_node_int(node, "axis", 0), error);
}

static void options_embedding(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph, (void)node;
  ph_text_add(out, " -DTABLE=IN1");
}

static void options_gather(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph, (void)node;
  ph_text_add(out, " -DTABLE=IN0 -DFROM_END");
}

static const cl_variant embedding_variants[] = {{.name = "plain",
                                                 .file = "gather.cl",
                                                 .profiles = CL_PROFILE_ALL,
                                                 .options = options_embedding,
                                                 .plan = plan_embedding}};
static const cl_variant gather_variants[] = {
    {.name = "plain", .file = "gather.cl", .profiles = CL_PROFILE_ALL, .options = options_gather, .plan = plan_gather}};
const cl_op cl_op_embedding = CL_OP(embedding), cl_op_gather = CL_OP(gather);
