/* mean, argmax, l2_normalize, one_hot, the losses cross_entropy and mse, and dropout. */
#include "opencl/ops/ops.h"

/* ---- lines along an axis ---- */

/* The axes of x but one; `y` and `other` have them too, `y` maybe with the axis among them, `other` maybe only the
 * first few. */
static cl_axes lines_of(const ph_tensor_desc *x, uint32_t axis, const ph_tensor_desc *y, const ph_tensor_desc *other) {
  cl_axes axes = {.operand_count = 3};
  for (uint32_t i = 0; i < x->rank; i++) {
    if (i == axis) continue;
    uint32_t in_y = y->rank == x->rank || i < axis ? i : i - 1;
    const int64_t strides[] = {x->strides[i], y->strides[in_y],
                               other != NULL && i < other->rank ? other->strides[i] : 0};
    cl_axes_add(&axes, x->dims[i], strides);
  }
  return axes;
}

static uint32_t axis_of(const ph_node *node, const ph_tensor_desc *x) {
  return (uint32_t)ph_node_int(node, "axis", x->rank - 1);
}

static ph_status plan_mean(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *mask = ph_node_input(graph, node, 1);
  uint32_t axis = axis_of(node, x);
  cl_axes axes = lines_of(x, axis, ph_node_output(graph, node, 0), mask);
  int64_t lines = cl_axes_count(&axes);
  cl_launch *l = cl_launch_items(plan, "mean", lines, 1, 1);
  cl_arg_input(l, node, 0);
  cl_arg_input(l, node, 1);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, lines);
  cl_arg_long(l, x->dims[axis]);
  cl_arg_long(l, x->strides[axis]);
  cl_arg_long(l, mask != NULL ? mask->strides[axis] : 0);
  return cl_plan_done(plan, error);
}

static ph_status plan_argmax(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0);
  uint32_t axis = axis_of(node, x);
  cl_axes axes = lines_of(x, axis, ph_node_output(graph, node, 0), NULL);
  int64_t lines = cl_axes_count(&axes);
  cl_launch *l = cl_launch_items(plan, "argmax", lines, 1, 1);
  cl_arg_input(l, node, 0);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, lines);
  cl_arg_long(l, x->dims[axis]);
  cl_arg_long(l, x->strides[axis]);
  return cl_plan_done(plan, error);
}

static ph_status plan_l2_normalize(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  uint32_t axis = axis_of(node, x);
  cl_axes axes = lines_of(x, axis, y, NULL);
  int64_t lines = cl_axes_count(&axes);
  cl_launch *l = cl_launch_items(plan, "l2_normalize", lines, 1, 1);
  cl_arg_input(l, node, 0);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, lines);
  cl_arg_long(l, x->dims[axis]);
  cl_arg_long(l, x->strides[axis]);
  cl_arg_long(l, y->strides[axis]);
  cl_arg_float(l, (float)ph_node_real(node, "eps", 1e-12));
  return cl_plan_done(plan, error);
}

static ph_status plan_one_hot(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *ids = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  cl_axes axes = cl_axes_of((const ph_tensor_desc *const[]){ids, y}, 2, 0, ids->rank);
  int64_t lines = cl_axes_count(&axes), size = y->dims[ids->rank];
  cl_launch *l = cl_launch_items(plan, "one_hot", size, lines, 1);
  cl_arg_input(l, node, 0);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, lines);
  cl_arg_long(l, size);
  cl_arg_long(l, y->strides[ids->rank]);
  return cl_plan_done(plan, error);
}

/* ---- losses: parts, then their mean ---- */

enum { MOST_PARTS = 1024 }; /* enough work-items for any device; one adds them up */

static void launch_finish(cl_plan_node *plan, const ph_node *node, uint64_t workspace, int64_t parts, int64_t n) {
  cl_launch *l = cl_launch_items(plan, "finish", 1, 1, 1);
  cl_arg_workspace(l, workspace);
  cl_arg_long(l, parts);
  cl_arg_long(l, n);
  cl_arg_output(l, node, 0);
}

static uint64_t reserve_parts(cl_plan_node *plan, int64_t parts) {
  return cl_plan_workspace(plan, (uint64_t)(parts > 0 ? parts : 1) * sizeof(float));
}

static ph_status plan_cross_entropy(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *targets = ph_node_input(graph, node, 1);
  uint32_t axis = axis_of(node, x);
  cl_axes axes = lines_of(x, axis, targets, NULL);
  int64_t lines = cl_axes_count(&axes);
  uint64_t workspace = reserve_parts(plan, lines);
  if (lines > 0) {
    cl_launch *l = cl_launch_items(plan, "losses", lines, 1, 1);
    cl_arg_input(l, node, 0);
    cl_arg_input(l, node, 1);
    cl_arg_workspace(l, workspace);
    cl_arg_axes(l, plan, &axes);
    cl_arg_long(l, lines);
    cl_arg_long(l, x->dims[axis]);
    cl_arg_long(l, x->strides[axis]);
  }
  launch_finish(plan, node, workspace, lines, lines);
  return cl_plan_done(plan, error);
}

static ph_status plan_mse(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *target = ph_node_input(graph, node, 1);
  cl_axes axes = cl_axes_of((const ph_tensor_desc *const[]){x, target}, 2, 0, x->rank);
  int64_t count = cl_axes_count(&axes), parts = count < MOST_PARTS ? count : MOST_PARTS;
  uint64_t workspace = reserve_parts(plan, parts);
  if (parts > 0) {
    cl_launch *l = cl_launch_items(plan, "squares", parts, 1, 1);
    cl_arg_input(l, node, 0);
    cl_arg_input(l, node, 1);
    cl_arg_workspace(l, workspace);
    cl_arg_axes(l, plan, &axes);
    cl_arg_long(l, parts);
    cl_arg_long(l, count);
  }
  launch_finish(plan, node, workspace, parts, count);
  return cl_plan_done(plan, error);
}

/* ---- dropout: a copy ---- */

static ph_status plan_dropout(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  cl_axes of_x = cl_axes_of(&x, 1, 0, x->rank), of_y = cl_axes_of(&y, 1, 0, y->rank);
  int64_t count = cl_axes_count(&of_y);
  cl_launch *l = cl_launch_items(plan, "copy", count, 1, 1);
  cl_arg_input(l, node, 0);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &of_x);
  cl_arg_long(l, 0);
  cl_arg_axes(l, plan, &of_y);
  cl_arg_long(l, 0);
  cl_arg_long(l, count);
  return cl_plan_done(plan, error);
}

/* ---- the rows ---- */

/* Each op's kernel stands under a name of its own. */
static void options_reduce(const ph_graph *graph, const ph_node *node, ph_text *out) {
  static const char *const names[][2] = {
      {"mean", "MEAN"},       {"argmax", "ARGMAX"},         {"l2_normalize", "NORMALIZE"},
      {"one_hot", "ONE_HOT"}, {"cross_entropy", "ENTROPY"}, {"mse", "SQUARES"}};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (strcmp(node->op, names[i][0]) == 0) ph_text_add(out, " -D%s", names[i][1]);
  if (strcmp(node->op, "mean") == 0) cl_option_input(out, graph, node, 1, "MASK");
}

#define REDUCTION(op, file_, ...)                                                                                      \
  static const cl_variant op##_variants[] = {{.name = "plain",                                                         \
                                              .file = (file_),                                                         \
                                              .profiles = CL_PROFILE_ALL,                                              \
                                              .stages = {__VA_ARGS__},                                                 \
                                              .options = options_reduce,                                               \
                                              .plan = plan_##op}};                                                     \
  const cl_op cl_op_##op = CL_OP(op)

REDUCTION(mean, "reduce.cl", [PH_STAGE_ACCUM] = PH_F32);
REDUCTION(argmax, "reduce.cl", PH_DTYPE_NONE);
REDUCTION(l2_normalize, "reduce.cl", [PH_STAGE_ACCUM] = PH_F32);
REDUCTION(one_hot, "reduce.cl", PH_DTYPE_NONE);
REDUCTION(cross_entropy, "loss.cl", [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32);
REDUCTION(mse, "loss.cl", [PH_STAGE_ACCUM] = PH_F32);

static const cl_variant dropout_variants[] = {
    {.name = "plain", .file = "copy.cl", .profiles = CL_PROFILE_ALL, .plan = plan_dropout}};
const cl_op cl_op_dropout = CL_OP(dropout);
