/* Rows: linear, fused_linear, matmul, split_heads, concat_heads. */
#include <string.h>

#include "base/dtype.h"
#include "graph/op_rows.h"
#include "graph/steps.h"

static double flops_linear(const ph_net *net, const ph_net_node *node) {
  const ph_type *x = ph_node_role_type(net, node, 0);
  return 2 * ph_node_elements(net, node) * (double)x->dims[x->rank - 1].value;
}

static ph_status infer_linear(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x"), *weight = ph_infer_input(infer, "weight");
  PH_TRY(ph_infer_rank(infer, "x", 1, PH_MAX_RANK, "[.., in]"));
  PH_TRY(ph_infer_rank(infer, "weight", 2, 2, "a weight of rank 2"));
  bool out_in = ph_infer_is(infer, "layout", "out_in");
  uint32_t in_axis = out_in ? 1 : 0;
  int64_t in = x->dims[x->rank - 1].value;
  if (weight->dims[in_axis].value != in) {
    bool other_fits = weight->dims[1 - in_axis].value == in;
    return ph_fail(infer->error, PH_INVALID, "weight is %s but layout %s needs %s%lld%s, as x is %s%s",
                   ph_type_text(weight), out_in ? "out_in" : "in_out", out_in ? "[.., " : "[", (long long)in,
                   out_in ? "]" : ", ..]", ph_type_text(x),
                   !other_fits ? ""
                   : out_in    ? "; with layout: in_out it would fit"
                               : "; with layout: out_in it would fit");
  }
  ph_dim out = weight->dims[1 - in_axis];
  PH_TRY(ph_infer_dims(infer, "bias", 1, &out, "[out]"));
  infer->outputs[0] = *x;
  infer->outputs[0].dims[x->rank - 1] = out;
  return PH_OK;
}

static const char *const layouts[] = {"out_in", "in_out", NULL};
static const ph_op_role linear_roles[] = {
    {.name = "x", .types = PH_TYPES_REAL, .doc = "[.., in]"},
    {.name = "weight", .types = PH_TYPES_REAL, .doc = "[out, in], or [in, out] with layout: in_out"},
    {.name = "bias", .flags = PH_ROLE_OPTIONAL, .types = PH_TYPES_REAL, .doc = "[out]"},
};
#define ATTR_LAYOUT                                                                                                    \
  {                                                                                                                    \
    .name = "layout", .type = PH_ATTR_TYPE_CHOICE, .initial = "out_in", .choices = layouts,                            \
    .doc = "how the weight lies: out_in (PyTorch's Linear) or in_out (as in books: x W; GPT-2's Conv1D)"               \
  }
static const ph_op_attr linear_attrs[] = {ATTR_LAYOUT};
const ph_op ph_op_linear = {.name = "linear",
                            .version = 1,
                            .doc = "x times a weight, plus a bias: a linear projection",
                            PH_ROLES(linear_roles),
                            PH_ATTRS(linear_attrs),
                            PH_OUTPUTS(ph_single_output),
                            .spreads = true,
                            .heavy = true,
                            .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                            .infer = infer_linear,
                            .flops = flops_linear};

/* ---- linear with what follows it ---- */

static double flops_fused_linear(const ph_net *net, const ph_net_node *node) {
  double elements = ph_node_elements(net, node);
  bool active = strcmp(ph_net_node_attr(node, "activation")->value.as.string, "none") != 0;
  return flops_linear(net, node) + (active ? elements : 0) + (node->inputs[3] != PH_NONE ? elements : 0);
}

static ph_status infer_fused_linear(ph_infer *infer) {
  PH_TRY(infer_linear(infer));
  const ph_type *residual = ph_infer_input(infer, "residual"), *y = &infer->outputs[0];
  PH_TRY(ph_infer_dims(infer, "residual", y->rank, y->dims, "the dims of the result"));
  if (residual != NULL && residual->dtype != y->dtype)
    return ph_fail(infer->error, PH_INVALID, "residual is %s and x is %s: cast one of them",
                   ph_dtype_name(residual->dtype), ph_dtype_name(y->dtype));
  bool gelu = ph_infer_is(infer, "activation", "gelu"), form = ph_infer_attr(infer, "form")->present;
  if (gelu && !form) return ph_fail(infer->error, PH_INVALID, "activation gelu needs a form: erf or tanh");
  if (!gelu && form) return ph_fail(infer->error, PH_INVALID, "form belongs to activation: gelu");
  return PH_OK;
}

static const char *const activations[] = {"none", "relu", "gelu", "silu", "tanh", "sigmoid", NULL};
static const char *const forms[] = {"erf", "tanh", NULL};
static const ph_op_role fused_linear_roles[] = {
    {.name = "x", .types = PH_TYPES_REAL, .doc = "[.., in]"},
    {.name = "weight", .types = PH_TYPES_REAL, .doc = "[out, in], or [in, out] with layout: in_out"},
    {.name = "bias", .flags = PH_ROLE_OPTIONAL, .types = PH_TYPES_REAL, .doc = "[out]"},
    {.name = "residual",
     .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED,
     .types = PH_TYPES_REAL,
     .doc = "the dims and the type of the result"},
};
static const ph_op_attr fused_linear_attrs[] = {
    ATTR_LAYOUT,
    {.name = "activation",
     .type = PH_ATTR_TYPE_CHOICE,
     .initial = "none",
     .choices = activations,
     .doc = "what the product with its bias goes through before the residual is added"},
    {.name = "form",
     .type = PH_ATTR_TYPE_CHOICE,
     .may_be_absent = true,
     .choices = forms,
     .doc = "of gelu, and given with it alone: exact, with erf, or the approximation with tanh"}};
static const char *const fused_linear_inner[] = {"product", "active", NULL};
const ph_op ph_op_fused_linear = {.name = "fused_linear",
                                  .version = 1,
                                  .doc = "activation(x times a weight, plus a bias) + residual, rounded once",
                                  PH_ROLES(fused_linear_roles),
                                  PH_ATTRS(fused_linear_attrs),
                                  PH_OUTPUTS(ph_single_output),
                                  .spreads = true,
                                  .heavy = true,
                                  .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL, [PH_STAGE_ACCUM] = PH_STAGE_FULL},
                                  .infer = infer_fused_linear,
                                  .flops = flops_fused_linear,
                                  .expand = ph_expand_fused_linear,
                                  .inner_names = fused_linear_inner};

/* ---- matmul: NumPy's rules, rank 1 included ---- */

static double flops_matmul(const ph_net *net, const ph_net_node *node) {
  const ph_type *a = ph_node_role_type(net, node, 0);
  bool transposed = ph_net_node_attr(node, "transpose_a")->value.as.i64 != 0;
  return 2 * ph_node_elements(net, node) * (double)a->dims[a->rank - 1 - (transposed ? 1 : 0)].value;
}

static ph_status infer_matmul(ph_infer *infer) {
  const ph_type *a = ph_infer_input(infer, "a"), *b = ph_infer_input(infer, "b");
  PH_TRY(ph_infer_rank(infer, "a", 1, PH_MAX_RANK, "rank 1 or more"));
  PH_TRY(ph_infer_rank(infer, "b", 1, PH_MAX_RANK, "rank 1 or more"));
  bool transpose_a = ph_infer_int(infer, "transpose_a") != 0, transpose_b = ph_infer_int(infer, "transpose_b") != 0;
  if ((transpose_a && a->rank == 1) || (transpose_b && b->rank == 1))
    return ph_fail(infer->error, PH_INVALID, "a vector cannot be transposed: a is %s, b is %s", ph_type_text(a),
                   ph_type_text(b));
  ph_dim m = a->rank == 1 ? ph_dim_of(1) : a->dims[a->rank - (transpose_a ? 1 : 2)];
  ph_dim k = a->dims[a->rank - (transpose_a ? 2 : 1)];
  ph_dim k_b = b->rank == 1 ? b->dims[0] : b->dims[b->rank - (transpose_b ? 1 : 2)];
  ph_dim n = b->rank == 1 ? ph_dim_of(1) : b->dims[b->rank - (transpose_b ? 2 : 1)];
  if (k.value != k_b.value)
    return ph_fail(infer->error, PH_INVALID, "a is %s and b is %s: %lld columns of a meet %lld rows of b",
                   ph_type_text(a), ph_type_text(b), (long long)k.value, (long long)k_b.value);
  ph_type batch_a = *a, batch_b = *b;
  batch_a.rank = a->rank > 2 ? a->rank - 2 : 0;
  batch_b.rank = b->rank > 2 ? b->rank - 2 : 0;
  ph_type *y = &infer->outputs[0];
  PH_TRY(ph_infer_broadcast(infer, &batch_a, &batch_b, y));
  if (a->rank > 1) y->dims[y->rank++] = m;
  if (b->rank > 1) y->dims[y->rank++] = n;
  return PH_OK;
}

static const ph_op_role matmul_roles[] = {
    {.name = "a", .types = PH_TYPES_REAL, .doc = "[.., M, K], or [K]"},
    {.name = "b", .types = PH_TYPES_REAL, .doc = "[.., K, N], or [K]"},
};
static const ph_op_attr matmul_attrs[] = {
    {.name = "transpose_a", .type = PH_ATTR_TYPE_BOOL, .initial = "false", .doc = "a comes as [.., K, M]"},
    {.name = "transpose_b", .type = PH_ATTR_TYPE_BOOL, .initial = "false", .doc = "b comes as [.., N, K]"},
};
const ph_op ph_op_matmul = {.name = "matmul",
                            .version = 1,
                            .doc = "a matrix product, batched, by NumPy's rules",
                            PH_ROLES(matmul_roles),
                            PH_ATTRS(matmul_attrs),
                            PH_OUTPUTS(ph_single_output),
                            .layout = PH_LAYOUT_MATMUL,
                            .spreads = true,
                            .heavy = true,
                            .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                            .infer = infer_matmul,
                            .flops = flops_matmul};

/* ---- heads ---- */

static ph_status infer_split_heads(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  PH_TRY(ph_infer_rank(infer, "x", 3, 3, "[B, S, heads * D]"));
  const ph_net_attr *heads = ph_infer_attr(infer, "heads");
  int64_t count = heads->value.as.i64, width = x->dims[2].value;
  if (count < 1) return ph_fail(infer->error, PH_INVALID, "heads is %lld, but must be at least 1", (long long)count);
  if (width == 0 || width % count != 0)
    return ph_fail(infer->error, PH_INVALID, "%lld heads do not divide the last extent of x, %s", (long long)count,
                   ph_type_text(x));
  infer->outputs[0] = (ph_type){.dtype = x->dtype,
                                .rank = 4,
                                .dims = {x->dims[0],
                                         {.value = count, .varies = heads->varies},
                                         x->dims[1],
                                         {.value = width / count, .varies = x->dims[2].varies || heads->varies}}};
  return PH_OK;
}

static ph_status infer_concat_heads(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  PH_TRY(ph_infer_rank(infer, "x", 4, 4, "[B, H, S, D]"));
  const ph_net_attr *heads = ph_infer_attr(infer, "heads");
  if (heads->present && heads->value.as.i64 != x->dims[1].value)
    return ph_fail(infer->error, PH_INVALID, "heads is %lld, but x is %s", (long long)heads->value.as.i64,
                   ph_type_text(x));
  ph_dim width;
  PH_TRY(ph_infer_product(infer, x->dims[1], x->dims[3], &width));
  infer->outputs[0] = (ph_type){.dtype = x->dtype, .rank = 3, .dims = {x->dims[0], x->dims[2], width}};
  return PH_OK;
}

static const ph_op_role split_heads_roles[] = {{.name = "x", .types = PH_TYPES_ANY, .doc = "[B, S, heads * D]"}};
static const ph_op_attr split_heads_attrs[] = {
    {.name = "heads", .type = PH_ATTR_TYPE_INTEGER, .doc = "how many heads the last axis holds, one after the other"}};
const ph_op ph_op_split_heads = {.name = "split_heads",
                                 .version = 1,
                                 .doc = "[B, S, heads * D] to [B, heads, S, D]",
                                 PH_ROLES(split_heads_roles),
                                 PH_ATTRS(split_heads_attrs),
                                 PH_OUTPUTS(ph_single_output),
                                 .exact = true,
                                 .moves = true,
                                 .infer = infer_split_heads};

static const ph_op_role concat_heads_roles[] = {{.name = "x", .types = PH_TYPES_ANY, .doc = "[B, H, S, D]"}};
static const ph_op_attr concat_heads_attrs[] = {
    {.name = "heads", .type = PH_ATTR_TYPE_INTEGER, .may_be_absent = true, .doc = "checked against x where given"}};
const ph_op ph_op_concat_heads = {.name = "concat_heads",
                                  .version = 1,
                                  .doc = "[B, H, S, D] to [B, S, H * D]",
                                  PH_ROLES(concat_heads_roles),
                                  PH_ATTRS(concat_heads_attrs),
                                  PH_OUTPUTS(ph_single_output),
                                  .exact = true,
                                  .moves = true,
                                  .infer = infer_concat_heads};
