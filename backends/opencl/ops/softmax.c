/* softmax, log_softmax, hardmax. */
#include <stdio.h>

#include "opencl/ops/ops.h"

static uint32_t axis_of(const ph_graph *graph, const ph_node *node) {
  return (uint32_t)ph_node_int(node, "axis", ph_node_input(graph, node, 0)->rank - 1);
}

/* The other axes, with x, y, lse (the axis dropped) and sinks (per head). */
static cl_axes rows_of(const ph_graph *graph, const ph_node *node, bool is_softmax) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *lse = is_softmax ? ph_node_output(graph, node, 1) : NULL;
  const ph_tensor_desc *sinks = is_softmax ? ph_node_input(graph, node, 1) : NULL;
  uint32_t axis = axis_of(graph, node);
  cl_axes axes = {.operand_count = 4};
  for (uint32_t i = 0; i < x->rank; i++) {
    if (i == axis) continue;
    const int64_t strides[] = {x->strides[i], y->strides[i], lse == NULL ? 0 : lse->strides[i < axis ? i : i - 1],
                               sinks != NULL && i == 1 ? sinks->strides[0] : 0};
    cl_axes_add(&axes, x->dims[i], strides);
  }
  return axes;
}

/* One work-item per row. */
static cl_launch *launch_rows(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, const char *kernel,
                              bool is_softmax) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  uint32_t axis = axis_of(graph, node);
  cl_axes axes = rows_of(graph, node, is_softmax);
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

/* In vectors, on a CPU. */
static bool rows_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  (void)limits;
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  uint32_t axis = axis_of(graph, node);
  bool dense = x->dims[axis] == 1 || (x->strides[axis] == 1 && y->strides[axis] == 1);
  if (!dense) snprintf(reason, 192, "the axis is not dense");
  return dense;
}

static ph_status plan_softmax_rows(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_axes axes = rows_of(graph, node, true);
  const size_t global[3] = {(size_t)cl_axes_count(&axes), 1, 1}, local[3] = {1, 1, 1};
  cl_launch *l = cl_plan_launch(plan, "softmax_rows", 1, global, local, true);
  for (uint32_t i = 0; i < 2; i++) cl_arg_input(l, node, i);
  for (uint32_t i = 0; i < 2; i++) cl_arg_output(l, node, i);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, ph_node_input(graph, node, 0)->dims[axis_of(graph, node)]);
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

#define STAGES                                                                                                         \
  { [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32 }
#define PLAIN(op, stages_)                                                                                             \
  {                                                                                                                    \
    .name = "plain", .file = "softmax.cl", .profiles = CL_PROFILE_ALL, .stages = stages_, .options = options_##op,     \
    .plan = plan_##op                                                                                                  \
  }

static const cl_variant softmax_variants[] = {{.name = "rows",
                                               .file = "vectors.cl softmax_rows.cl",
                                               .profiles = CL_PROFILE_CPU,
                                               .stages = STAGES,
                                               .can_run = rows_can_run,
                                               .options = options_softmax,
                                               .plan = plan_softmax_rows},
                                              PLAIN(softmax, STAGES)};
static const cl_variant log_softmax_variants[] = {PLAIN(log_softmax, STAGES)};
static const cl_variant hardmax_variants[] = {PLAIN(hardmax, {PH_DTYPE_NONE})};
const cl_op cl_op_softmax = CL_OP(softmax), cl_op_log_softmax = CL_OP(log_softmax), cl_op_hardmax = CL_OP(hardmax);
