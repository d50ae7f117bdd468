/* Rows: scaled_scores, softcap, mask, softmax, hardmax, log_softmax, weighted_sum, attention, multi_head_attention.
 * What they compute, and in which order: NUMERICS section 2; Vaswani et al. 2017, section 3.2. */
#include <string.h>

#include "graph/op_rows.h"
#include "graph/steps.h"

/* The axes of q, k, v, scores: [B, H, S, D], [B, S, D] with one head, [S, D] with one head and one sample. */
typedef struct attention_axes {
  ph_dim batch, heads, rows, columns;
} attention_axes;

static attention_axes axes_of(const ph_type *type) {
  const ph_dim *end = type->dims + type->rank;
  return (attention_axes){.batch = type->rank >= 3 ? type->dims[0] : ph_dim_of(1),
                          .heads = type->rank == 4 ? type->dims[1] : ph_dim_of(1),
                          .rows = end[-2],
                          .columns = end[-1]};
}

static ph_type type_of(ph_dtype dtype, uint32_t rank, attention_axes axes) {
  ph_type type = {.dtype = dtype, .rank = rank};
  if (rank >= 3) type.dims[0] = axes.batch;
  if (rank == 4) type.dims[1] = axes.heads;
  type.dims[rank - 2] = axes.rows;
  type.dims[rank - 1] = axes.columns;
  return type;
}

/* Scores of half types are kept in f32 (CONFIG, dtypes). */
static ph_dtype score_dtype(ph_dtype dtype) {
  return dtype == PH_F16 || dtype == PH_BF16 ? PH_F32 : dtype;
}

/* Two operands of the attention family: same rank, same batch, query heads a multiple of key heads. */
static ph_status check_pair(ph_infer *infer, const char *query_role, const char *key_role) {
  const ph_type *q = ph_infer_input(infer, query_role), *k = ph_infer_input(infer, key_role);
  PH_TRY(ph_infer_rank(infer, query_role, 2, 4, "[B, H, S, D], [B, S, D] or [S, D]"));
  PH_TRY(ph_infer_rank(infer, key_role, 2, 4, "[B, H, S, D], [B, S, D] or [S, D]"));
  if (q->rank != k->rank)
    return ph_fail(infer->error, PH_INVALID, "%s is %s and %s is %s: both need the same rank", query_role,
                   ph_type_text(q), key_role, ph_type_text(k));
  attention_axes a = axes_of(q), b = axes_of(k);
  if (a.batch.value != b.batch.value)
    return ph_fail(infer->error, PH_INVALID, "%s is %s and %s is %s: their batches differ", query_role, ph_type_text(q),
                   key_role, ph_type_text(k));
  if (a.heads.value < 1 || b.heads.value < 1 || a.heads.value % b.heads.value != 0)
    return ph_fail(infer->error, PH_INVALID,
                   "%s has %lld heads and %s has %lld: the first must be a multiple of the second", query_role,
                   (long long)a.heads.value, key_role, (long long)b.heads.value);
  return PH_OK;
}

/* ---- scaled_scores ---- */

static double flops_scores(const ph_net *net, const ph_net_node *node) {
  const ph_type *q = ph_node_role_type(net, node, 0);
  return 2 * ph_node_elements(net, node) * (double)q->dims[q->rank - 1].value;
}

static ph_status check_depth(ph_infer *infer) {
  const ph_type *q = ph_infer_input(infer, "q"), *k = ph_infer_input(infer, "k");
  int64_t depth = q->dims[q->rank - 1].value;
  if (depth < 1) return ph_fail(infer->error, PH_INVALID, "q is %s: the head size must be at least 1", ph_type_text(q));
  if (k->dims[k->rank - 1].value != depth)
    return ph_fail(infer->error, PH_INVALID, "q is %s and k is %s: the last extents, the head size, must be the same",
                   ph_type_text(q), ph_type_text(k));
  return PH_OK;
}

static ph_status infer_scaled_scores(ph_infer *infer) {
  PH_TRY(check_pair(infer, "q", "k"));
  PH_TRY(check_depth(infer));
  const ph_type *q = ph_infer_input(infer, "q"), *k = ph_infer_input(infer, "k");
  attention_axes axes = axes_of(q);
  axes.columns = axes_of(k).rows;
  infer->outputs[0] = type_of(score_dtype(q->dtype), q->rank, axes);
  return PH_OK;
}

#define ROLE_Q                                                                                                         \
  { .name = "q", .types = PH_TYPES_REAL, .doc = "[B, Hq, Sq, D], [B, Sq, D] or [Sq, D]" }
#define ROLE_K                                                                                                         \
  { .name = "k", .types = PH_TYPES_REAL, .doc = "[B, Hk, Sk, D], [B, Sk, D] or [Sk, D]; Hq is a multiple of Hk" }
#define ROLE_V                                                                                                         \
  { .name = "v", .types = PH_TYPES_REAL, .doc = "[B, Hk, Sk, Dv], [B, Sk, Dv] or [Sk, Dv]" }
#define ATTR_SCALE                                                                                                     \
  {                                                                                                                    \
    .name = "scale", .type = PH_ATTR_TYPE_REAL, .may_be_absent = true,                                                 \
    .doc = "factor on q k; absent: 1 / sqrt(D); an explicit value, 0 too, is used as it is"                            \
  }

static const ph_op_role scaled_scores_roles[] = {ROLE_Q, ROLE_K};
static const ph_op_attr scaled_scores_attrs[] = {ATTR_SCALE};
const ph_op ph_op_scaled_scores = {.name = "scaled_scores",
                                   .version = 1,
                                   .doc = "q times k, scaled",
                                   .source = "Vaswani et al. 2017, section 3.2.1",
                                   PH_ROLES(scaled_scores_roles),
                                   PH_ATTRS(scaled_scores_attrs),
                                   PH_OUTPUTS(ph_single_output),
                                   .layout = PH_LAYOUT_ATTENTION,
                                   .heavy = true,
                                   .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                                   .infer = infer_scaled_scores,
                                   .flops = flops_scores};

/* ---- softcap ---- */

static ph_status check_positive(ph_infer *infer, const char *name) {
  const ph_net_attr *attr = ph_infer_attr(infer, name);
  if (!attr->present || attr->value.as.f64 > 0) return PH_OK;
  return ph_fail(infer->error, PH_INVALID, "%s is %g, but must be above 0", name, attr->value.as.f64);
}

static ph_status infer_softcap(ph_infer *infer) {
  PH_TRY(check_positive(infer, "cap"));
  infer->outputs[0] = infer->inputs[0];
  return PH_OK;
}

static const ph_op_role softcap_roles[] = {{.name = "scores", .types = PH_TYPES_REAL, .doc = "any shape"}};
static const ph_op_attr softcap_attrs[] = {
    {.name = "cap", .type = PH_ATTR_TYPE_REAL, .doc = "above 0: scores end up between -cap and cap"}};
const ph_op ph_op_softcap = {.name = "softcap",
                             .version = 1,
                             .doc = "cap * tanh(scores / cap)",
                             PH_ROLES(softcap_roles),
                             PH_ATTRS(softcap_attrs),
                             PH_OUTPUTS(ph_single_output),
                             .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL},
                             .infer = infer_softcap,
                             .flops = ph_node_elements};

/* ---- mask ---- */

/* Everything that mask and attention share: operands and attributes against the shape of the scores. */
static ph_status check_mask(ph_infer *infer, const ph_type *scores) {
  attention_axes axes = axes_of(scores);
  const ph_type *mask = ph_infer_input(infer, "mask"), *key_mask = ph_infer_input(infer, "key_mask");
  bool lengths = ph_infer_input(infer, "lengths") != NULL, offset = ph_infer_input(infer, "offset") != NULL;
  if (mask != NULL) {
    PH_TRY(ph_infer_rank(infer, "mask", 1, 4, "[Sk], [Sq, Sk], [H, Sq, Sk] or [B, H, Sq, Sk]"));
    PH_TRY(ph_infer_fits(infer, "mask", mask, scores));
  }
  ph_dim keys[] = {axes.batch, axes.columns};
  PH_TRY(ph_infer_dims(infer, "key_mask", 2, keys, "[B, Sk]"));
  PH_TRY(ph_infer_per_sample(infer, "lengths", axes.batch.value, false));
  PH_TRY(ph_infer_per_sample(infer, "offset", axes.batch.value, true));

  bool has_bool = (mask != NULL && mask->dtype == PH_BOOL) || (key_mask != NULL && key_mask->dtype == PH_BOOL);
  if (has_bool && !ph_infer_attr(infer, "polarity")->present)
    return ph_fail(infer->error, PH_INVALID,
                   "a bool mask needs polarity: attend (true attends) or ignore (true is ignored)");

  const ph_net_attr *window = ph_infer_attr(infer, "window");
  if (window->present) {
    const int64_t *sides = window->value.as.list.items;
    if (window->value.as.list.count != 2 || sides[0] < -1 || sides[1] < -1)
      return ph_fail(infer->error, PH_INVALID, "window must be [left, right], each -1 (unbounded) or more");
  }
  bool positions = ph_infer_int(infer, "causal") || ph_infer_int(infer, "alibi") || window->present;
  bool align = ph_infer_attr(infer, "align")->present, ring = ph_infer_int(infer, "ring") != 0;
  if (align && offset)
    return ph_fail(infer->error, PH_INVALID,
                   "align and the input offset exclude each other: both say where the first query stands");
  if (positions && !align && !offset)
    return ph_fail(infer->error, PH_INVALID,
                   "causal, window and alibi need to know where the first query stands: give align: "
                   "top_left, align: bottom_right or the input offset");
  if (lengths && ph_infer_is(infer, "align", "bottom_right"))
    return ph_fail(infer->error, PH_INVALID,
                   "align: bottom_right together with lengths means two things: give the input offset instead");
  if (ring) {
    if (!window->present || window->value.as.list.items[0] < 0 || !offset)
      return ph_fail(infer->error, PH_INVALID,
                     "ring: true needs a window with a bounded left side and the input offset");
    int64_t left = window->value.as.list.items[0];
    if (axes.columns.value < axes.rows.value || axes.columns.value - axes.rows.value < left)
      return ph_fail(infer->error, PH_INVALID,
                     "a ring of %lld slots is too small for %lld queries that look %lld back: it needs "
                     "slots >= queries + left",
                     (long long)axes.columns.value, (long long)axes.rows.value, (long long)left);
  }
  return PH_OK;
}

static ph_status infer_mask(ph_infer *infer) {
  const ph_type *scores = ph_infer_input(infer, "scores");
  PH_TRY(ph_infer_rank(infer, "scores", 2, 4, "[B, H, Sq, Sk], [B, Sq, Sk] or [Sq, Sk]"));
  PH_TRY(check_mask(infer, scores));
  infer->outputs[0] = *scores;
  return PH_OK;
}

static const char *const aligns[] = {"top_left", "bottom_right", NULL};
static const char *const polarities[] = {"attend", "ignore", NULL};

#define ROLE_MASK(flags_)                                                                                              \
  {                                                                                                                    \
    .name = "mask", .flags = (flags_), .types = PH_TYPES_REAL | PH_TYPES_BOOL,                                         \
    .doc = "broadcasts to the scores from the right; a float mask is added, a bool mask needs polarity"                \
  }
#define ROLE_KEY_MASK                                                                                                  \
  {                                                                                                                    \
    .name = "key_mask", .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED, .types = PH_TYPES_REAL | PH_TYPES_BOOL,             \
    .doc = "[B, Sk]: a mask over keys"                                                                                 \
  }
#define ROLE_LENGTHS(of_)                                                                                              \
  {                                                                                                                    \
    .name = "lengths", .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED | PH_ROLE_INDEX, .types = PH_TYPES_INTEGER,           \
    .rule = PH_INDEX_LENGTH, .of = (of_), .doc = "[B]: keys j < lengths[b] are allowed"                                \
  }
#define ROLE_OFFSET                                                                                                    \
  {                                                                                                                    \
    .name = "offset", .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED | PH_ROLE_INDEX, .types = PH_TYPES_INTEGER,            \
    .doc = "[1] or [B]: the position of the first query"                                                               \
  }
#define MASK_ATTRS                                                                                                     \
  {.name = "causal",                                                                                                   \
   .type = PH_ATTR_TYPE_BOOL,                                                                                          \
   .initial = "false",                                                                                                 \
   .doc = "key j is allowed for j <= the query's position"},                                                           \
      {.name = "align",                                                                                                \
       .type = PH_ATTR_TYPE_CHOICE,                                                                                    \
       .may_be_absent = true,                                                                                          \
       .choices = aligns,                                                                                              \
       .doc = "query i stands at i (top_left) or at i + Sk - Sq (bottom_right); excludes the input offset"},           \
      {.name = "window",                                                                                               \
       .type = PH_ATTR_TYPE_INTEGERS,                                                                                  \
       .may_be_absent = true,                                                                                          \
       .doc = "[left, right] around the query's position, which it includes; -1: unbounded"},                          \
      {.name = "alibi",                                                                                                \
       .type = PH_ATTR_TYPE_BOOL,                                                                                      \
       .initial = "false",                                                                                             \
       .doc = "adds -slope * (position - j), slopes as in Press et al. 2022"},                                         \
      {.name = "polarity",                                                                                             \
       .type = PH_ATTR_TYPE_CHOICE,                                                                                    \
       .may_be_absent = true,                                                                                          \
       .choices = polarities,                                                                                          \
       .doc = "what true means in a bool mask: attend or ignore; required with one"},                                  \
  {                                                                                                                    \
    .name = "ring", .type = PH_ATTR_TYPE_BOOL, .initial = "false",                                                     \
    .doc = "keys lie in a ring: slot j holds the newest position that is j modulo the slots"                           \
  }

static const ph_op_role mask_roles[] = {
    {.name = "scores", .types = PH_TYPES_REAL, .doc = "[B, H, Sq, Sk], [B, Sq, Sk] or [Sq, Sk]"},
    ROLE_MASK(PH_ROLE_OPTIONAL),
    ROLE_KEY_MASK,
    ROLE_LENGTHS("scores"),
    ROLE_OFFSET};
static const ph_op_attr mask_attrs[] = {MASK_ATTRS};
const ph_op ph_op_mask = {.name = "mask",
                          .version = 1,
                          .doc = "adds biases to scores and sets to -inf what is not allowed",
                          .source = "NUMERICS section 2",
                          PH_ROLES(mask_roles),
                          PH_ATTRS(mask_attrs),
                          PH_OUTPUTS(ph_single_output),
                          .layout = PH_LAYOUT_ATTENTION,
                          .stage_types = {[PH_STAGE_ACCUM] = PH_STAGE_FULL},
                          .infer = infer_mask,
                          .flops = ph_node_elements};

/* ---- softmax and its kin ---- */

static double flops_softmax(const ph_net *net, const ph_net_node *node) {
  return 4 * ph_node_elements(net, node);
}

static ph_status infer_softmax(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  int64_t axis = ph_infer_int(infer, "axis");
  infer->outputs[0] = *x;
  if (infer->op->output_count < 2) return PH_OK;
  const ph_type *sinks = ph_infer_input(infer, "sinks");
  if (sinks != NULL) {
    PH_TRY(ph_infer_rank(infer, "x", 2, 4, "[B, H, Sq, Sk], [B, Sq, Sk] or [Sq, Sk] where there are sinks"));
    if (axis != x->rank - 1) return ph_fail(infer->error, PH_INVALID, "sinks need axis -1");
    ph_dim heads = axes_of(x).heads;
    PH_TRY(ph_infer_dims(infer, "sinks", 1, &heads, "[heads]"));
  }
  ph_type *lse = &infer->outputs[1];
  *lse = *x;
  lse->rank--;
  for (uint32_t i = (uint32_t)axis; i < lse->rank; i++) lse->dims[i] = x->dims[i + 1];
  return PH_OK;
}

#define ROLE_SINKS                                                                                                     \
  {                                                                                                                    \
    .name = "sinks", .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED, .types = PH_TYPES_REAL,                                \
    .doc = "[Hq]: an extra logit per head in maximum and sum, with no value"                                           \
  }
#define ATTR_AXIS                                                                                                      \
  { .name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "-1", .doc = "over which axis" }

static const ph_op_role softmax_roles[] = {{.name = "x", .types = PH_TYPES_REAL, .doc = "any shape of rank 1 or more"},
                                           ROLE_SINKS};
static const ph_op_role x_role[] = {{.name = "x", .types = PH_TYPES_REAL, .doc = "any shape of rank 1 or more"}};
static const ph_op_attr axis_attrs[] = {ATTR_AXIS};
static const ph_op_output softmax_outputs[] = {
    {.name = "y"}, {.name = "lse", .doc = "log of the sum of exponentials, the axis dropped", .optional = true}};
const ph_op ph_op_softmax = {.name = "softmax",
                             .version = 1,
                             .doc = "exponentials that sum to 1; a row of -inf gives zeros",
                             PH_ROLES(softmax_roles),
                             PH_ATTRS(axis_attrs),
                             PH_OUTPUTS(softmax_outputs),
                             .layout = PH_LAYOUT_ATTENTION,
                             .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL, [PH_STAGE_ACCUM] = PH_STAGE_FULL},
                             .infer = infer_softmax,
                             .flops = flops_softmax};
const ph_op ph_op_hardmax = {.name = "hardmax",
                             .version = 1,
                             .doc = "1 at the first maximum, else 0; a row of -inf gives zeros: hard attention",
                             PH_ROLES(x_role),
                             PH_ATTRS(axis_attrs),
                             PH_OUTPUTS(ph_single_output),
                             .exact = true,
                             .infer = infer_softmax,
                             .flops = ph_node_elements};
const ph_op ph_op_log_softmax = {.name = "log_softmax",
                                 .version = 1,
                                 .doc = "x minus the log of the sum of exponentials",
                                 PH_ROLES(x_role),
                                 PH_ATTRS(axis_attrs),
                                 PH_OUTPUTS(ph_single_output),
                                 .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL, [PH_STAGE_ACCUM] = PH_STAGE_FULL},
                                 .infer = infer_softmax,
                                 .flops = flops_softmax};

/* ---- weighted_sum ---- */

static double flops_weighted_sum(const ph_net *net, const ph_net_node *node) {
  const ph_type *weights = ph_node_role_type(net, node, 0);
  return 2 * ph_node_elements(net, node) * (double)weights->dims[weights->rank - 1].value;
}

static ph_status infer_weighted_sum(ph_infer *infer) {
  PH_TRY(check_pair(infer, "weights", "v"));
  const ph_type *weights = ph_infer_input(infer, "weights"), *v = ph_infer_input(infer, "v");
  attention_axes axes = axes_of(weights), values = axes_of(v);
  if (axes.columns.value != values.rows.value)
    return ph_fail(infer->error, PH_INVALID, "weights is %s and v is %s: %lld weights in a row meet %lld values",
                   ph_type_text(weights), ph_type_text(v), (long long)axes.columns.value, (long long)values.rows.value);
  axes.columns = values.columns;
  infer->outputs[0] = type_of(v->dtype, weights->rank, axes);
  return PH_OK;
}

static const ph_op_role weighted_sum_roles[] = {
    {.name = "weights", .types = PH_TYPES_REAL, .doc = "[B, Hq, Sq, Sk], [B, Sq, Sk] or [Sq, Sk]"}, ROLE_V};
const ph_op ph_op_weighted_sum = {.name = "weighted_sum",
                                  .version = 1,
                                  .doc = "weights times v; a weight of exactly 0 skips its value",
                                  PH_ROLES(weighted_sum_roles),
                                  PH_OUTPUTS(ph_single_output),
                                  .layout = PH_LAYOUT_ATTENTION,
                                  .spreads = true,
                                  .heavy = true,
                                  .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_HALF, [PH_STAGE_ACCUM] = PH_STAGE_FULL},
                                  .infer = infer_weighted_sum,
                                  .flops = flops_weighted_sum};

/* ---- attention ---- */

/* Pairs of a query and a key that causal and window leave, as far as they are known before a run: what is hidden need
 * not be computed, so it is no work done.  Masks, lengths and offsets are numbers of a run and leave all. */
static double visible_pairs(const ph_net_node *node, int64_t queries, int64_t keys) {
  const ph_net_attr *causal = ph_net_node_attr(node, "causal"), *window = ph_net_node_attr(node, "window");
  const ph_net_attr *align = ph_net_node_attr(node, "align");
  if (!align->present) return (double)queries * (double)keys;
  int64_t shift = strcmp(align->value.as.string, "bottom_right") == 0 ? keys - queries : 0;
  bool has_window = window->present && window->value.as.list.count == 2;
  int64_t left = has_window ? window->value.as.list.items[0] : -1;
  int64_t right = has_window ? window->value.as.list.items[1] : -1;
  double pairs = 0;
  for (int64_t i = 0; i < queries; i++) {
    int64_t first = 0, last = keys - 1;
    if (causal->value.as.i64 != 0 && i + shift < last) last = i + shift;
    if (right >= 0 && i + shift + right < last) last = i + shift + right;
    if (left >= 0 && i + shift - left > first) first = i + shift - left;
    if (last >= first) pairs += (double)(last - first + 1);
  }
  return pairs;
}

static double flops_attention(const ph_net *net, const ph_net_node *node) {
  const ph_type *q = ph_node_role_type(net, node, 0), *v = ph_node_role_type(net, node, 2);
  attention_axes queries = axes_of(q), values = axes_of(v);
  return 2.0 * (double)queries.batch.value * (double)queries.heads.value *
         visible_pairs(node, queries.rows.value, values.rows.value) *
         (double)(queries.columns.value + values.columns.value);
}

static ph_status infer_attention(ph_infer *infer) {
  PH_TRY(check_pair(infer, "q", "k"));
  PH_TRY(check_depth(infer));
  PH_TRY(check_pair(infer, "q", "v"));
  PH_TRY(check_positive(infer, "softcap"));
  const ph_type *q = ph_infer_input(infer, "q"), *k = ph_infer_input(infer, "k"), *v = ph_infer_input(infer, "v");
  attention_axes axes = axes_of(q), keys = axes_of(k), values = axes_of(v);
  if (keys.rows.value != values.rows.value || keys.heads.value != values.heads.value)
    return ph_fail(infer->error, PH_INVALID, "k is %s and v is %s: heads and lengths must be the same", ph_type_text(k),
                   ph_type_text(v));
  ph_dim depth = values.columns;
  axes.columns = keys.rows;
  ph_type scores = type_of(score_dtype(q->dtype), q->rank, axes);
  PH_TRY(check_mask(infer, &scores));
  PH_TRY(ph_infer_dims(infer, "sinks", 1, &axes.heads, "[heads]"));
  axes.columns = depth;
  infer->outputs[0] = type_of(v->dtype, q->rank, axes);
  infer->outputs[1] = scores;
  infer->outputs[1].rank--;
  return PH_OK;
}

#define ATTR_SOFTCAP                                                                                                   \
  {                                                                                                                    \
    .name = "softcap", .type = PH_ATTR_TYPE_REAL, .may_be_absent = true,                                               \
    .doc = "cap * tanh(scores / cap) before biases and masks"                                                          \
  }

static const ph_op_role attention_roles[] = {
    ROLE_Q,      ROLE_K,    ROLE_V, ROLE_MASK(PH_ROLE_OPTIONAL | PH_ROLE_NAMED), ROLE_KEY_MASK, ROLE_LENGTHS("k"),
    ROLE_OFFSET, ROLE_SINKS};
static const ph_op_attr attention_attrs[] = {ATTR_SCALE, ATTR_SOFTCAP, MASK_ATTRS};
static const ph_op_output attention_outputs[] = {
    {.name = "y"}, {.name = "lse", .doc = "[B, Hq, Sq]: log of the sum of exponentials", .optional = true}};
static const char *const attention_inner[] = {"scores", "capped", "masked", "weights", NULL};
const ph_op ph_op_attention = {
    .name = "attention",
    .version = 1,
    .doc = "softmax(scale * q k, capped and masked) times v, without keeping the scores",
    .source = "Vaswani et al. 2017, section 3.2.1; NUMERICS section 2",
    PH_ROLES(attention_roles),
    PH_ATTRS(attention_attrs),
    PH_OUTPUTS(attention_outputs),
    .layout = PH_LAYOUT_ATTENTION,
    .spreads = true,
    .heavy = true,
    .rereads = true,
    .stage_types =
        {[PH_STAGE_SCORE] = PH_STAGE_FULL, [PH_STAGE_WEIGHT] = PH_STAGE_HALF, [PH_STAGE_ACCUM] = PH_STAGE_FULL},
    .infer = infer_attention,
    .flops = flops_attention,
    .expand = ph_expand_attention,
    .inner_names = attention_inner};

/* ---- multi_head_attention: a composite, so only its roles and attributes are checked here; its steps check shapes
 * ---- */

static ph_status infer_multi_head_attention(ph_infer *infer) {
  PH_TRY(ph_infer_rank(infer, "x", 3, 3, "[B, S, model]"));
  PH_TRY(ph_infer_rank(infer, "memory", 3, 3, "[B, S, model]"));
  const ph_net_attr *heads = ph_infer_attr(infer, "heads"), *kv_heads = ph_infer_attr(infer, "kv_heads");
  if (heads->value.as.i64 < 1)
    return ph_fail(infer->error, PH_INVALID, "heads is %lld, but must be at least 1", (long long)heads->value.as.i64);
  if (kv_heads->present && (kv_heads->value.as.i64 < 1 || heads->value.as.i64 % kv_heads->value.as.i64 != 0))
    return ph_fail(infer->error, PH_INVALID,
                   "heads is %lld and kv_heads %lld: the first must be a multiple of the second",
                   (long long)heads->value.as.i64, (long long)kv_heads->value.as.i64);
  return PH_OK;
}

#define ROLE_PROJECTION(name_, doc_)                                                                                   \
  { .name = (name_), .flags = PH_ROLE_NAMED, .types = PH_TYPES_REAL, .doc = (doc_) }
#define ROLE_BIAS(name_)                                                                                               \
  { .name = (name_), .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED, .types = PH_TYPES_REAL, .doc = "[out]" }

static const ph_op_role multi_head_roles[] = {
    {.name = "x", .types = PH_TYPES_REAL, .doc = "[B, Sq, model]: where the queries come from"},
    {.name = "memory",
     .flags = PH_ROLE_OPTIONAL,
     .types = PH_TYPES_REAL,
     .doc = "[B, Sk, model]: where keys and values come from; absent: x"},
    ROLE_PROJECTION("w_q", "[heads * D, model]"),
    ROLE_PROJECTION("w_k", "[kv_heads * D, model]"),
    ROLE_PROJECTION("w_v", "[kv_heads * Dv, model]"),
    ROLE_PROJECTION("w_o", "[model, heads * Dv]"),
    ROLE_BIAS("b_q"),
    ROLE_BIAS("b_k"),
    ROLE_BIAS("b_v"),
    ROLE_BIAS("b_o"),
    ROLE_MASK(PH_ROLE_OPTIONAL | PH_ROLE_NAMED),
    ROLE_KEY_MASK,
    {.name = "lengths",
     .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED | PH_ROLE_INDEX,
     .types = PH_TYPES_INTEGER,
     .doc = "[B]: keys j < lengths[b] are allowed"},
    ROLE_OFFSET,
    ROLE_SINKS};
static const ph_op_attr multi_head_attrs[] = {{.name = "heads", .type = PH_ATTR_TYPE_INTEGER, .doc = "query heads"},
                                              {.name = "kv_heads",
                                               .type = PH_ATTR_TYPE_INTEGER,
                                               .may_be_absent = true,
                                               .doc = "key and value heads; absent: heads"},
                                              ATTR_SCALE,
                                              ATTR_SOFTCAP,
                                              MASK_ATTRS};
static const char *const multi_head_inner[] = {"q",      "k",      "v",       "q_heads", "k_heads", "v_heads", "scores",
                                               "capped", "masked", "weights", "mixed",   "merged",  NULL};
const ph_op ph_op_multi_head_attention = {
    .name = "multi_head_attention",
    .version = 1,
    .doc = "projections, attention in several heads, output projection; written out as its steps",
    .source = "Vaswani et al. 2017, section 3.2.2",
    PH_ROLES(multi_head_roles),
    PH_ATTRS(multi_head_attrs),
    PH_OUTPUTS(ph_single_output),
    .infer = infer_multi_head_attention,
    .expand = ph_expand_multi_head_attention,
    .composite = true,
    .inner_names = multi_head_inner};
