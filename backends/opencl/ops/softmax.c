/* softmax, log_softmax, hardmax. */
#include "opencl/ops/ops.h"

/* One work-item per row; `x` [.., count, ..], the other axes with x, y, lse (the axis dropped) and sinks (per head). */
static cl_launch *launch_rows(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, const char *kernel,
                              bool is_softmax) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *lse = is_softmax ? ph_node_output(graph, node, 1) : NULL;
  const ph_tensor_desc *sinks = is_softmax ? ph_node_input(graph, node, 1) : NULL;
  uint32_t axis = (uint32_t)ph_node_int(node, "axis", x->rank - 1);
  cl_axes axes = {.operand_count = 4};
  for (uint32_t i = 0; i < x->rank; i++) {
    if (i == axis) continue;
    const int64_t strides[] = {x->strides[i], y->strides[i], lse == NULL ? 0 : lse->strides[i < axis ? i : i - 1],
                               sinks != NULL && i == 1 ? sinks->strides[0] : 0};
    cl_axes_add(&axes, x->dims[i], strides);
  }
  int64_t rows = cl_axes_count(&axes);
  cl_launch *l = cl_launch_items(plan, kernel, rows, 1, 1);
  cl_arg_input(l, node, 0);
  if (is_softmax) cl_arg_input(l, node, 1);
  cl_arg_output(l, node, 0);
  if (is_softmax) cl_arg_output(l, node, 1);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, rows);
  cl_arg_long(l, x->dims[axis]);
  cl_arg_long(l, x->strides[axis]);
  cl_arg_long(l, y->strides[axis]);
  return l;
}

static ph_status plan_softmax(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  launch_rows(plan, graph, node, "softmax", true);
  return cl_plan_done(plan, error);
}

static ph_status plan_log_softmax(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  launch_rows(plan, graph, node, "log_softmax", false);
  return cl_plan_done(plan, error);
}

static ph_status plan_hardmax(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  launch_rows(plan, graph, node, "hardmax", false);
  return cl_plan_done(plan, error);
}

static void options_softmax(const ph_graph *graph, const ph_node *node, ph_text *out) {
  ph_text_add(out, " -DSOFT");
  cl_option_input(out, graph, node, 1, "SINKS");
  cl_option_output(out, graph, node, 1, "LSE");
}

static void options_log_softmax(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph, (void)node;
  ph_text_add(out, " -DLOGARITHM");
}

static void options_hardmax(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph, (void)node;
  ph_text_add(out, " -DHARD");
}

#define ROWS(op, ...)                                                                                                  \
  static const cl_variant op##_variants[] = {{.name = "plain",                                                         \
                                              .file = "softmax.cl",                                                    \
                                              .profiles = CL_PROFILE_ALL,                                              \
                                              .stages = {__VA_ARGS__},                                                 \
                                              .options = options_##op,                                                 \
                                              .plan = plan_##op}};                                                     \
  const cl_op cl_op_##op = CL_OP(op)

ROWS(softmax, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32);
ROWS(log_softmax, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32);
ROWS(hardmax, PH_DTYPE_NONE);
