/* Rows: mean, argmax, l2_normalize, one_hot, cross_entropy, mse, dropout. */
#include "graph/op_rows.h"

/* One operation or so for each element of x. */
static double flops_reduction(const ph_net *net, const ph_net_node *node) {
  const ph_type *x = ph_node_role_type(net, node, 0);
  double count = 1;
  for (uint32_t i = 0; i < x->rank; i++) count *= (double)x->dims[i].value;
  return count;
}

static double flops_square(const ph_net *net, const ph_net_node *node) {
  return 3 * flops_reduction(net, node);
}

static double flops_cross_entropy(const ph_net *net, const ph_net_node *node) {
  return 4 * flops_reduction(net, node);
}

/* x without one of its axes. */
static ph_type without_axis(const ph_type *x, uint32_t axis) {
  ph_type y = {.dtype = x->dtype};
  for (uint32_t i = 0; i < x->rank; i++)
    if (i != axis) y.dims[y.rank++] = x->dims[i];
  return y;
}

#define ROLE_REDUCED                                                                                                   \
  { .name = "x", .types = PH_TYPES_REAL, .doc = "any shape of rank 1 or more" }

/* ---- mean ---- */

static ph_status infer_mean(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  PH_TRY(ph_infer_dims(infer, "mask", axis + 1, x->dims, "the axes of x up to `axis`"));
  infer->outputs[0] = without_axis(x, axis);
  return PH_OK;
}

static const ph_op_role mean_roles[] = {
    ROLE_REDUCED,
    {.name = "mask",
     .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED,
     .types = PH_TYPES_BOOL,
     .doc = "the axes of x up to `axis`: true counts; where none is true the mean is 0"}};
static const ph_op_attr mean_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .doc = "over which axis; it is dropped"}};
const ph_op ph_op_mean = {.name = "mean",
                          .version = 1,
                          .doc = "the mean along an axis, of what a mask selects; of nothing it is 0",
                          PH_ROLES(mean_roles),
                          PH_ATTRS(mean_attrs),
                          PH_OUTPUTS(ph_single_output),
                          .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                          .infer = infer_mean,
                          .flops = flops_reduction};

/* ---- argmax ---- */

static ph_status infer_argmax(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  if (x->dims[axis].value == 0)
    return ph_fail(infer->error, PH_INVALID, "x is %s: axis %u has nothing to choose from", ph_type_text(x), axis);
  infer->outputs[0] = without_axis(x, axis);
  infer->outputs[0].dtype = PH_I64;
  return PH_OK;
}

static const ph_op_role argmax_roles[] = {ROLE_REDUCED};
static const ph_op_attr argmax_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "-1", .doc = "along which axis; it is dropped"}};
const ph_op ph_op_argmax = {.name = "argmax",
                            .version = 1,
                            .doc = "where the first maximum lies: i64; NaN counts as the maximum",
                            PH_ROLES(argmax_roles),
                            PH_ATTRS(argmax_attrs),
                            PH_OUTPUTS(ph_single_output),
                            .exact = true,
                            .infer = infer_argmax};

/* ---- l2_normalize ---- */

static ph_status infer_l2_normalize(ph_infer *infer) {
  if (!(ph_infer_attr(infer, "eps")->value.as.f64 >= 0))
    return ph_fail(infer->error, PH_INVALID, "eps must not be negative");
  infer->outputs[0] = *ph_infer_input(infer, "x");
  return PH_OK;
}

static const ph_op_attr l2_normalize_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "-1", .doc = "the axis that the vectors lie along"},
    {.name = "eps", .type = PH_ATTR_TYPE_REAL, .initial = "1e-12", .doc = "a shorter vector is divided by this"}};
const ph_op ph_op_l2_normalize = {.name = "l2_normalize",
                                  .version = 1,
                                  .doc = "x / max(sqrt(sum of squares), eps); zeros stay zeros",
                                  PH_ROLES(argmax_roles),
                                  PH_ATTRS(l2_normalize_attrs),
                                  PH_OUTPUTS(ph_single_output),
                                  .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                                  .infer = infer_l2_normalize,
                                  .flops = flops_square};

/* ---- one_hot ---- */

static ph_status infer_one_hot(ph_infer *infer) {
  const ph_net_attr *size = ph_infer_attr(infer, "size");
  if (size->value.as.i64 < 1)
    return ph_fail(infer->error, PH_INVALID, "size is %lld, but must be at least 1", (long long)size->value.as.i64);
  PH_TRY(ph_infer_rank(infer, "ids", 0, PH_MAX_RANK - 1, "ids of rank 7 at most"));
  infer->outputs[0] = *ph_infer_input(infer, "ids");
  infer->outputs[0].dtype = PH_F32;
  infer->outputs[0].dims[infer->outputs[0].rank++] = (ph_dim){.value = size->value.as.i64, .varies = size->varies};
  return PH_OK;
}

static const ph_op_role one_hot_roles[] = {{.name = "ids",
                                            .flags = PH_ROLE_INDEX,
                                            .types = PH_TYPES_INTEGER,
                                            .rule = PH_INDEX_BELOW_SIZE,
                                            .doc = "any shape; an id outside 0 .. size - 1 is an error"}};
static const ph_op_attr one_hot_attrs[] = {
    {.name = "size", .type = PH_ATTR_TYPE_INTEGER, .doc = "how many different ids there are"}};
const ph_op ph_op_one_hot = {.name = "one_hot",
                             .version = 1,
                             .doc = "a row of zeros with a 1 at each id: f32 [.., size]",
                             PH_ROLES(one_hot_roles),
                             PH_ATTRS(one_hot_attrs),
                             PH_OUTPUTS(ph_single_output),
                             .exact = true,
                             .infer = infer_one_hot};

/* ---- losses ---- */

static ph_status infer_cross_entropy(ph_infer *infer) {
  const ph_type *logits = ph_infer_input(infer, "logits");
  ph_type rest = without_axis(logits, (uint32_t)ph_infer_int(infer, "axis"));
  PH_TRY(ph_infer_dims(infer, "targets", rest.rank, rest.dims, "the axes of logits but `axis`"));
  infer->outputs[0] = (ph_type){.dtype = logits->dtype};
  return PH_OK;
}

static const ph_op_role cross_entropy_roles[] = {
    {.name = "logits", .types = PH_TYPES_REAL, .doc = "any shape of rank 1 or more"},
    {.name = "targets",
     .flags = PH_ROLE_INDEX,
     .types = PH_TYPES_INTEGER,
     .rule = PH_INDEX_BELOW_AXIS,
     .of = "logits",
     .doc = "the axes of logits but `axis`: the right class of each; one outside the axis is an error"}};
static const ph_op_attr cross_entropy_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "-1", .doc = "the axis of the classes"}};
const ph_op ph_op_cross_entropy = {.name = "cross_entropy",
                                   .version = 1,
                                   .doc = "the mean of -log_softmax(logits) at the targets: rank 0; of nothing it is 0",
                                   PH_ROLES(cross_entropy_roles),
                                   PH_ATTRS(cross_entropy_attrs),
                                   PH_OUTPUTS(ph_single_output),
                                   .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL, [PH_STAGE_ACCUM] = PH_STAGE_FULL},
                                   .infer = infer_cross_entropy,
                                   .flops = flops_cross_entropy};

static ph_status infer_mse(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x"), *target = ph_infer_input(infer, "target");
  if (x->dtype != target->dtype)
    return ph_fail(infer->error, PH_INVALID, "x and target must have the same type: cast one of them");
  PH_TRY(ph_infer_dims(infer, "target", x->rank, x->dims, "the dims of x"));
  infer->outputs[0] = (ph_type){.dtype = x->dtype};
  return PH_OK;
}

static const ph_op_role mse_roles[] = {{.name = "x", .types = PH_TYPES_REAL, .doc = "any shape"},
                                       {.name = "target", .types = PH_TYPES_REAL, .doc = "the dims of x"}};
const ph_op ph_op_mse = {.name = "mse",
                         .version = 1,
                         .doc = "the mean of (x - target)^2 over all elements: rank 0; of nothing it is 0",
                         PH_ROLES(mse_roles),
                         PH_OUTPUTS(ph_single_output),
                         .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                         .infer = infer_mse,
                         .flops = flops_square};

/* ---- dropout ---- */

static ph_status infer_dropout(ph_infer *infer) {
  double rate = ph_infer_attr(infer, "rate")->value.as.f64;
  if (!(rate >= 0 && rate <= 1))
    return ph_fail(infer->error, PH_INVALID, "rate is %g, but must lie between 0 and 1", rate);
  infer->outputs[0] = *ph_infer_input(infer, "x");
  return PH_OK;
}

static const ph_op_role dropout_roles[] = {{.name = "x", .types = PH_TYPES_REAL, .doc = "any shape"}};
static const ph_op_attr dropout_attrs[] = {
    {.name = "rate", .type = PH_ATTR_TYPE_REAL, .doc = "the share that training drops; no effect here"}};
const ph_op ph_op_dropout = {.name = "dropout",
                             .version = 1,
                             .doc = "x as it is: dropout acts in training only",
                             .source = "Srivastava et al. 2014, section 4",
                             PH_ROLES(dropout_roles),
                             PH_ATTRS(dropout_attrs),
                             PH_OUTPUTS(ph_single_output),
                             .exact = true,
                             .infer = infer_dropout};
