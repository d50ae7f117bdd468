/* Rows: layer_norm, rms_norm; add, sub, mul, div; relu, gelu, silu, tanh, sigmoid, erf, exp. */
#include "base/dtype.h"
#include "graph/op_rows.h"

/* ---- norms ---- */

static double flops_norm(const ph_net *net, const ph_net_node *node) {
  return 8 * ph_node_elements(net, node);
}

static ph_status infer_norm(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  if (!(ph_infer_attr(infer, "eps")->value.as.f64 >= 0))
    return ph_fail(infer->error, PH_INVALID, "eps must not be negative");
  PH_TRY(ph_infer_dims(infer, "weight", x->rank - axis, x->dims + axis, "the normalised axes of x"));
  PH_TRY(ph_infer_dims(infer, "bias", x->rank - axis, x->dims + axis, "the normalised axes of x"));
  infer->outputs[0] = *x;
  for (uint32_t output = 1; output < infer->output_count; output++) {
    infer->outputs[output] = *x;
    for (uint32_t i = axis; i < x->rank; i++) infer->outputs[output].dims[i] = ph_dim_of(1);
  }
  return PH_OK;
}

#define ROLE_NORM_X                                                                                                    \
  { .name = "x", .types = PH_TYPES_REAL, .doc = "any shape of rank 1 or more" }
#define ROLE_NORM(name_)                                                                                               \
  { .name = (name_), .flags = PH_ROLE_OPTIONAL, .types = PH_TYPES_REAL, .doc = "the dims of x from `axis` on" }

static const ph_op_role layer_norm_roles[] = {ROLE_NORM_X, ROLE_NORM("weight"), ROLE_NORM("bias")};
static const ph_op_role rms_norm_roles[] = {ROLE_NORM_X, ROLE_NORM("weight")};
static const ph_op_attr norm_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "-1", .doc = "over this axis and all after it"},
    {.name = "eps",
     .type = PH_ATTR_TYPE_REAL,
     .initial = "1e-5",
     .doc = "added to the variance, or to the mean square"}};
static const ph_op_output layer_norm_outputs[] = {
    {.name = "y"},
    {.name = "mean", .doc = "the normalised axes kept as 1", .optional = true},
    {.name = "inv_std", .doc = "1 / sqrt(variance + eps), the normalised axes kept as 1", .optional = true}};
const ph_op ph_op_layer_norm = {.name = "layer_norm",
                                .version = 1,
                                .doc = "(x - mean) / sqrt(variance + eps), times weight, plus bias",
                                .source = "Ba et al. 2016, section 3",
                                PH_ROLES(layer_norm_roles),
                                PH_ATTRS(norm_attrs),
                                PH_OUTPUTS(layer_norm_outputs),
                                .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                                .infer = infer_norm,
                                .flops = flops_norm};
const ph_op ph_op_rms_norm = {.name = "rms_norm",
                              .version = 1,
                              .doc = "x / sqrt(mean of squares + eps), times weight",
                              .source = "Zhang and Sennrich 2019, section 4",
                              PH_ROLES(rms_norm_roles),
                              PH_ATTRS(norm_attrs),
                              PH_OUTPUTS(ph_single_output),
                              .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                              .infer = infer_norm,
                              .flops = flops_norm};

/* ---- two operands ---- */

static ph_status infer_binary(ph_infer *infer) {
  const ph_type *a = ph_infer_input(infer, "a"), *b = ph_infer_input(infer, "b");
  if (a->dtype != b->dtype)
    return ph_fail(infer->error, PH_INVALID, "a is %s and b is %s: cast one of them", ph_dtype_name(a->dtype),
                   ph_dtype_name(b->dtype));
  return ph_infer_broadcast(infer, a, b, &infer->outputs[0]);
}

static const ph_op_role number_roles[] = {{.name = "a", .types = PH_TYPES_REAL | PH_TYPES_INTEGER, .doc = "any shape"},
                                          {.name = "b",
                                           .types = PH_TYPES_REAL | PH_TYPES_INTEGER,
                                           .doc = "any shape that broadcasts with a, from the right"}};
static const ph_op_role real_roles[] = {
    {.name = "a", .types = PH_TYPES_REAL, .doc = "any shape"},
    {.name = "b", .types = PH_TYPES_REAL, .doc = "any shape that broadcasts with a, from the right"}};

#define BINARY(name_, roles_, doc_)                                                                                    \
  const ph_op ph_op_##name_ = {.name = #name_,                                                                         \
                               .version = 1,                                                                           \
                               .doc = (doc_),                                                                          \
                               PH_ROLES(roles_),                                                                       \
                               PH_OUTPUTS(ph_single_output),                                                           \
                               .layout = PH_LAYOUT_BROADCAST,                                                          \
                               .infer = infer_binary,                                                                  \
                               .flops = ph_node_elements}
BINARY(add, number_roles, "a + b");
BINARY(sub, number_roles, "a - b");
BINARY(mul, number_roles, "a * b, element by element");
BINARY(div, real_roles, "a / b, element by element");

/* ---- one operand ---- */

static ph_status infer_unary(ph_infer *infer) {
  infer->outputs[0] = infer->inputs[0];
  return PH_OK;
}

static const ph_op_role unary_roles[] = {{.name = "x", .types = PH_TYPES_REAL, .doc = "any shape"}};
static const char *const gelu_forms[] = {"erf", "tanh", NULL};
static const ph_op_attr gelu_attrs[] = {{.name = "form",
                                         .type = PH_ATTR_TYPE_CHOICE,
                                         .choices = gelu_forms,
                                         .doc = "exact, with erf, or the approximation with tanh"}};

#define UNARY(name_, doc_)                                                                                             \
  const ph_op ph_op_##name_ = {.name = #name_,                                                                         \
                               .version = 1,                                                                           \
                               .doc = (doc_),                                                                          \
                               PH_ROLES(unary_roles),                                                                  \
                               PH_OUTPUTS(ph_single_output),                                                           \
                               .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL},                                     \
                               .infer = infer_unary,                                                                   \
                               .flops = ph_node_elements}
UNARY(silu, "x * sigmoid(x)");
UNARY(tanh, "the hyperbolic tangent");
UNARY(sigmoid, "1 / (1 + exp(-x))");
UNARY(erf, "the error function");
UNARY(exp, "e to the power of x");
const ph_op ph_op_relu = {.name = "relu",
                          .version = 1,
                          .doc = "max(x, 0)",
                          PH_ROLES(unary_roles),
                          PH_OUTPUTS(ph_single_output),
                          .infer = infer_unary,
                          .flops = ph_node_elements};
const ph_op ph_op_gelu = {.name = "gelu",
                          .version = 1,
                          .doc = "x * the normal distribution function of x",
                          .source = "Hendrycks and Gimpel 2016, section 2",
                          PH_ROLES(unary_roles),
                          PH_ATTRS(gelu_attrs),
                          PH_OUTPUTS(ph_single_output),
                          .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL},
                          .infer = infer_unary,
                          .flops = ph_node_elements};
