/* Element by element: activations, softcap, cast; add, sub, mul, div. */
#include "opencl/ops/ops.h"

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

#define UNARY(op, weight_stage)                                                                                        \
  static const cl_variant op##_variants[] = {{.name = "plain",                                                         \
                                              .file = "unary.cl",                                                      \
                                              .profiles = CL_PROFILE_ALL,                                              \
                                              .stages = {[PH_STAGE_WEIGHT] = (weight_stage)},                          \
                                              .options = options_unary,                                                \
                                              .plan = plan_unary}};                                                    \
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
  static const cl_variant op##_variants[] = {{.name = "plain",                                                         \
                                              .file = "binary.cl",                                                     \
                                              .profiles = CL_PROFILE_ALL,                                              \
                                              .options = options_binary,                                               \
                                              .plan = plan_binary}};                                                   \
  const cl_op cl_op_##op = CL_OP(op)

BINARY(add);
BINARY(sub);
BINARY(mul);
BINARY(div);
