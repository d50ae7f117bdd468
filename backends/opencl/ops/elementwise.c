/* Element by element: activations, softcap, cast; add, sub, mul, div. */
#include <stdio.h>

#include "opencl/ops/ops.h"

/* ---- in runs (runs.cl) ---- */

enum { CHUNK = 8192 }; /* elements of a work-item, as in runs.cl */

static bool is_real(const ph_tensor_desc *desc) {
  return desc->dtype == PH_F32 || desc->dtype == PH_F16 || desc->dtype == PH_BF16;
}

static cl_axes axes_of(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *tensors[3] = {0};
  for (uint32_t i = 0; i < node->input_count; i++) tensors[i] = ph_node_input(graph, node, i);
  tensors[node->input_count] = ph_node_output(graph, node, 0);
  cl_axes axes = cl_axes_of(tensors, node->input_count + 1, 0, tensors[0]->rank);
  cl_axes_fold(&axes);
  return axes;
}

static bool runs_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  cl_axes axes = axes_of(graph, node);
  uint32_t last = axes.rank - 1;
  bool real = is_real(ph_node_output(graph, node, 0)), neighbours = axes.strides[node->input_count][last] == 1;
  for (uint32_t i = 0; i < node->input_count; i++) {
    real = real && is_real(ph_node_input(graph, node, i));
    neighbours = neighbours && axes.strides[i][last] <= (node->input_count > 1 ? 1 : axes.strides[i][last] == 1);
  }
  if (!real)
    snprintf(reason, 192, "made for real types");
  else if (axes.dims[last] < limits->width)
    snprintf(reason, 192, "runs of %lld elements are shorter than a vector", (long long)axes.dims[last]);
  else if (!neighbours)
    snprintf(reason, 192, "elements do not lie beside each other");
  else
    return true;
  return false;
}

static cl_launch *launch_runs(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, const char *kernel) {
  cl_axes axes = axes_of(graph, node);
  int64_t count = cl_axes_count(&axes), run = axes.dims[axes.rank - 1];
  const size_t global[3] = {(size_t)((count + CHUNK - 1) / CHUNK), 1, 1}, local[3] = {1, 1, 1};
  cl_launch *l = cl_plan_launch(plan, kernel, 1, global, local, true);
  for (uint32_t i = 0; i < node->input_count; i++) cl_arg_input(l, node, i);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, count);
  cl_arg_long(l, run);
  return l;
}

static ph_status plan_unary_runs(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_launch *l = launch_runs(plan, graph, node, "unary_runs");
  cl_arg_float(l, (float)ph_node_real(node, "cap", 0.0));
  return cl_plan_done(plan, error);
}

static ph_status plan_binary_runs(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  launch_runs(plan, graph, node, "binary_runs");
  return cl_plan_done(plan, error);
}

/* ---- one operand ---- */

static ph_status plan_unary(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  cl_axes axes = cl_axes_of((const ph_tensor_desc *const[]){x, y}, 2, 0, x->rank);
  int64_t count = cl_axes_count(&axes);
  bool is_cast = strcmp(node->op, "cast") == 0;
  cl_launch *l = cl_launch_items(plan, is_cast ? "cast" : "unary", count, 1, 1);
  cl_arg_input(l, node, 0);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, count);
  if (!is_cast) cl_arg_float(l, (float)ph_node_real(node, "cap", 0.0));
  return cl_plan_done(plan, error);
}

/* -D<option>=<the name of the function in the kernels>: that of its op, in capitals, and the form of a gelu. */
static void option_function(ph_text *out, const char *option, const char *op, const ph_node *node) {
  ph_text_add(out, " -D%s=", option);
  for (const char *c = op; *c != '\0'; c++) ph_text_add(out, "%c", *c - 'a' + 'A');
  if (strcmp(op, "gelu") == 0) ph_text_add(out, ph_node_is(node, "form", "tanh") ? "_TANH" : "_ERF");
}

static void options_unary(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph;
  option_function(out, "FUNCTION", node->op, node);
}

void cl_option_activation(ph_text *out, const ph_node *node) {
  const ph_attr *activation = ph_node_attr(node, "activation");
  if (!ph_node_is(node, "activation", "none")) option_function(out, "ACTIVATION", activation->as.string, node);
}

static void options_unary_runs(const ph_graph *graph, const ph_node *node, ph_text *out) {
  ph_text_add(out, " -DACTIVE_WIDE");
  options_unary(graph, node, out);
}

static void options_cast_runs(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph, (void)node;
  ph_text_add(out, " -DACTIVE_WIDE -DFUNCTION=IDENTITY");
}

#define RUNS(stages_, options_, plan_)                                                                                 \
  {                                                                                                                    \
    .name = "runs", .file = "vectors.cl runs.cl", .profiles = CL_PROFILE_CPU, .stages = {stages_},                     \
    .can_run = runs_can_run, .options = options_, .plan = plan_                                                        \
  }

#define UNARY(op, weight_stage)                                                                                        \
  static const cl_variant op##_variants[] = {                                                                          \
      RUNS([PH_STAGE_WEIGHT] = (weight_stage), options_unary_runs, plan_unary_runs),                                   \
      {.name = "plain",                                                                                                \
       .file = "unary.cl",                                                                                             \
       .profiles = CL_PROFILE_ALL,                                                                                     \
       .stages = {[PH_STAGE_WEIGHT] = (weight_stage)},                                                                 \
       .options = options_unary,                                                                                       \
       .plan = plan_unary}};                                                                                           \
  const cl_op cl_op_##op = CL_OP(op)

UNARY(relu, PH_DTYPE_NONE);
UNARY(gelu, PH_F32);
UNARY(silu, PH_F32);
UNARY(tanh, PH_F32);
UNARY(sigmoid, PH_F32);
UNARY(erf, PH_F32);
UNARY(exp, PH_F32);
UNARY(softcap, PH_F32);

static const cl_variant cast_variants[] = {
    RUNS(PH_DTYPE_NONE, options_cast_runs, plan_unary_runs),
    {.name = "plain", .file = "cast.cl", .profiles = CL_PROFILE_ALL, .plan = plan_unary}};
const cl_op cl_op_cast = CL_OP(cast);

/* ---- two operands, both with the dims of the result ---- */

static ph_status plan_binary(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *a = ph_node_input(graph, node, 0), *b = ph_node_input(graph, node, 1);
  const ph_tensor_desc *y = ph_node_output(graph, node, 0);
  cl_axes axes = cl_axes_of((const ph_tensor_desc *const[]){a, b, y}, 3, 0, y->rank);
  int64_t count = cl_axes_count(&axes);
  cl_launch *l = cl_launch_items(plan, "binary", count, 1, 1);
  cl_arg_input(l, node, 0);
  cl_arg_input(l, node, 1);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, count);
  return cl_plan_done(plan, error);
}

static void options_binary(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph;
  const char *sign = strcmp(node->op, "add") == 0   ? "+"
                     : strcmp(node->op, "sub") == 0 ? "-"
                     : strcmp(node->op, "mul") == 0 ? "*"
                                                    : "/";
  ph_text_add(out, " -DOPERATOR=%s", sign);
}

#define BINARY(op)                                                                                                     \
  static const cl_variant op##_variants[] = {RUNS(PH_DTYPE_NONE, options_binary, plan_binary_runs),                    \
                                             {.name = "plain",                                                         \
                                              .file = "binary.cl",                                                     \
                                              .profiles = CL_PROFILE_ALL,                                              \
                                              .options = options_binary,                                               \
                                              .plan = plan_binary}};                                                   \
  const cl_op cl_op_##op = CL_OP(op)

BINARY(add);
BINARY(sub);
BINARY(mul);
BINARY(div);
