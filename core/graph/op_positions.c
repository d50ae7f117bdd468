/* Rows: embedding, positions, sinusoidal_position, rotary. */
#include "graph/op_rows.h"

static ph_status infer_embedding(ph_infer *infer) {
  const ph_type *ids = ph_infer_input(infer, "ids"), *weight = ph_infer_input(infer, "weight");
  PH_TRY(ph_infer_rank(infer, "ids", 0, PH_MAX_RANK - 1, "ids of rank 7 at most"));
  PH_TRY(ph_infer_rank(infer, "weight", 2, 2, "a table [rows, width]"));
  infer->outputs[0] = *ids;
  infer->outputs[0].dtype = weight->dtype;
  infer->outputs[0].dims[infer->outputs[0].rank++] = weight->dims[1];
  return PH_OK;
}

static const ph_op_role embedding_roles[] = {{.name = "ids",
                                              .flags = PH_ROLE_INDEX,
                                              .types = PH_TYPES_INTEGER,
                                              .rule = PH_INDEX_IN_TABLE,
                                              .of = "weight",
                                              .doc = "any shape; an id outside the table is an error"},
                                             {.name = "weight", .types = PH_TYPES_REAL, .doc = "[rows, width]"}};
const ph_op ph_op_embedding = {.name = "embedding",
                               .version = 1,
                               .doc = "the row of a table for each id",
                               PH_ROLES(embedding_roles),
                               PH_OUTPUTS(ph_single_output),
                               .exact = true,
                               .infer = infer_embedding};

static ph_status infer_positions(ph_infer *infer) {
  const ph_type *like = ph_infer_input(infer, "like");
  PH_TRY(ph_infer_rank(infer, "like", 1, PH_MAX_RANK, "[B, .., extent, ..]"));
  PH_TRY(ph_infer_per_sample(infer, "offset", like->dims[0].value, true));
  infer->outputs[0] =
      (ph_type){.dtype = PH_I64, .rank = 2, .dims = {like->dims[0], like->dims[ph_infer_int(infer, "axis")]}};
  return PH_OK;
}

#define ROLE_FIRST_POSITION                                                                                            \
  {                                                                                                                    \
    .name = "offset", .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED | PH_ROLE_INDEX, .types = PH_TYPES_INTEGER,            \
    .doc = "[1] or [B]: added to every position"                                                                       \
  }

static const ph_op_role positions_roles[] = {{.name = "like",
                                              .flags = PH_ROLE_NAMED,
                                              .types = PH_TYPES_ANY,
                                              .doc = "[B, .., extent, ..]: only its shape counts"},
                                             ROLE_FIRST_POSITION};
static const ph_op_attr positions_attrs[] = {
    {.name = "start", .type = PH_ATTR_TYPE_INTEGER, .initial = "0", .doc = "the first position"},
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "1", .doc = "the axis of `like` that is counted"}};
const ph_op ph_op_positions = {.name = "positions",
                               .version = 1,
                               .doc = "start, start + 1, ..: i64 [B, extent of the axis]",
                               PH_ROLES(positions_roles),
                               PH_ATTRS(positions_attrs),
                               PH_OUTPUTS(ph_single_output),
                               .exact = true,
                               .infer = infer_positions};

static ph_status infer_sinusoidal_position(ph_infer *infer) {
  const ph_net_attr *size = ph_infer_attr(infer, "size");
  int64_t width = size->value.as.i64, least = ph_infer_int(infer, "endpoint") ? 4 : 2;
  if (width < least || width % 2 != 0)
    return ph_fail(infer->error, PH_INVALID, "size is %lld, but must be even and at least %lld", (long long)width,
                   (long long)least);
  if (!(ph_infer_attr(infer, "base")->value.as.f64 > 0))
    return ph_fail(infer->error, PH_INVALID, "base must be above 0");
  PH_TRY(ph_infer_rank(infer, "positions", 0, PH_MAX_RANK - 1, "positions of rank 7 at most"));
  infer->outputs[0] = infer->inputs[0];
  infer->outputs[0].dtype = PH_F32;
  infer->outputs[0].dims[infer->outputs[0].rank++] = (ph_dim){.value = width, .varies = size->varies};
  return PH_OK;
}

static const char *const pair_layouts[] = {"interleaved", "half", NULL};
static const ph_op_role sinusoidal_roles[] = {
    {.name = "positions", .flags = PH_ROLE_INDEX, .types = PH_TYPES_INTEGER, .doc = "any shape"}};
static const ph_op_attr sinusoidal_attrs[] = {
    {.name = "size", .type = PH_ATTR_TYPE_INTEGER, .doc = "the width of the signal; even"},
    {.name = "pairs",
     .type = PH_ATTR_TYPE_CHOICE,
     .choices = pair_layouts,
     .doc = "sine and cosine side by side (interleaved), or all sines, then all cosines (half)"},
    {.name = "base", .type = PH_ATTR_TYPE_REAL, .initial = "10000", .doc = "frequencies are base^-(m / count)"},
    {.name = "endpoint",
     .type = PH_ATTR_TYPE_BOOL,
     .initial = "false",
     .doc = "count is size / 2 (false), or size / 2 - 1, so that the last frequency is 1 / base (true)"}};
const ph_op ph_op_sinusoidal_position = {.name = "sinusoidal_position",
                                         .version = 1,
                                         .doc = "sines and cosines of positions: f32 [.., size]",
                                         .source = "Vaswani et al. 2017, section 3.5",
                                         PH_ROLES(sinusoidal_roles),
                                         PH_ATTRS(sinusoidal_attrs),
                                         PH_OUTPUTS(ph_single_output),
                                         .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL},
                                         .infer = infer_sinusoidal_position,
                                         .flops = ph_node_elements};

static double flops_rotary(const ph_net *net, const ph_net_node *node) {
  return 3 * ph_node_elements(net, node);
}

static ph_status infer_rotary(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  PH_TRY(ph_infer_rank(infer, "x", 2, 4, "[B, H, S, D], [B, S, D] or [S, D]"));
  ph_dim one = ph_dim_of(1), batch = x->rank >= 3 ? x->dims[0] : one, rows = x->dims[x->rank - 2];
  int64_t depth = x->dims[x->rank - 1].value;
  ph_net_attr *rotary_dim = &infer->attrs[ph_op_attr_index(infer->op, "rotary_dim")];
  if (!rotary_dim->present) {
    rotary_dim->present = true;
    rotary_dim->varies = x->dims[x->rank - 1].varies;
    rotary_dim->value.kind = PH_ATTR_I64;
    rotary_dim->value.as.i64 = depth;
  }
  int64_t turned = rotary_dim->value.as.i64;
  if (turned < 2 || turned % 2 != 0 || turned > depth)
    return ph_fail(infer->error, PH_INVALID, "rotary_dim is %lld, but must be even, at least 2 and at most %lld",
                   (long long)turned, (long long)depth);
  if (!(ph_infer_attr(infer, "base")->value.as.f64 > 0))
    return ph_fail(infer->error, PH_INVALID, "base must be above 0");

  const ph_type *positions = ph_infer_input(infer, "positions"), *offset = ph_infer_input(infer, "offset");
  const ph_type *cosines = ph_infer_input(infer, "cos"), *sines = ph_infer_input(infer, "sin");
  if (positions != NULL && offset != NULL)
    return ph_fail(infer->error, PH_INVALID, "positions and offset exclude each other");
  if (positions != NULL) {
    ph_dim each[] = {batch, rows};
    if (positions->rank == 1)
      PH_TRY(ph_infer_dims(infer, "positions", 1, &rows, "[S]"));
    else
      PH_TRY(ph_infer_dims(infer, "positions", 2, each, "[B, S]"));
  }
  PH_TRY(ph_infer_per_sample(infer, "offset", batch.value, true));
  if ((cosines == NULL) != (sines == NULL))
    return ph_fail(infer->error, PH_INVALID, "cos and sin come together or not at all");
  if (cosines != NULL) {
    ph_dim half = {.value = turned / 2, .varies = rotary_dim->varies};
    ph_dim table[] = {cosines->dims[0], half}, ready[] = {batch, rows, half};
    bool is_table = cosines->rank == 2;
    PH_TRY(
        ph_infer_dims(infer, "cos", is_table ? 2 : 3, is_table ? table : ready, is_table ? "[P, R/2]" : "[B, S, R/2]"));
    PH_TRY(
        ph_infer_dims(infer, "sin", is_table ? 2 : 3, is_table ? table : ready, is_table ? "[P, R/2]" : "[B, S, R/2]"));
    if (!is_table && (positions != NULL || offset != NULL))
      return ph_fail(infer->error, PH_INVALID,
                     "cos and sin of [B, S, R/2] are used as they are: positions and offset have no place beside them");
    if (is_table && positions == NULL && offset == NULL && cosines->dims[0].value < rows.value)
      return ph_fail(infer->error, PH_INVALID, "cos is %s, which has fewer rows than x, %s", ph_type_text(cosines),
                     ph_type_text(x));
  }
  infer->outputs[0] = *x;
  return PH_OK;
}

static const ph_op_role rotary_roles[] = {
    {.name = "x", .types = PH_TYPES_REAL, .doc = "[B, H, S, D], [B, S, D] or [S, D]"},
    {.name = "positions",
     .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED | PH_ROLE_INDEX,
     .types = PH_TYPES_INTEGER,
     .rule = PH_INDEX_ROTARY,
     .of = "cos",
     .doc = "[B, S] or [S]; absent: 0, 1, .."},
    {.name = "offset",
     .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED | PH_ROLE_INDEX,
     .types = PH_TYPES_INTEGER,
     .rule = PH_INDEX_ROTARY,
     .of = "cos",
     .doc = "[1] or [B]: the position of the first row"},
    {.name = "cos",
     .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED,
     .types = PH_TYPES_REAL,
     .doc = "[P, R/2], picked by positions or offset; [B, S, R/2] is used as it is"},
    {.name = "sin", .flags = PH_ROLE_OPTIONAL | PH_ROLE_NAMED, .types = PH_TYPES_REAL, .doc = "as cos"}};
static const ph_op_attr rotary_attrs[] = {
    {.name = "pairs",
     .type = PH_ATTR_TYPE_CHOICE,
     .choices = pair_layouts,
     .doc = "element m turns with m + 1 (interleaved), or m with m + R/2 (half)"},
    {.name = "base", .type = PH_ATTR_TYPE_REAL, .initial = "10000", .doc = "the angle is position * base^(-2 m / R)"},
    {.name = "rotary_dim",
     .type = PH_ATTR_TYPE_INTEGER,
     .may_be_absent = true,
     .doc = "R: how many leading elements turn; absent: all"}};
const ph_op ph_op_rotary = {.name = "rotary",
                            .version = 1,
                            .doc = "turns pairs of elements by an angle that grows with position",
                            .source = "Su et al. 2021, section 3.2.2",
                            PH_ROLES(rotary_roles),
                            PH_ATTRS(rotary_attrs),
                            PH_OUTPUTS(ph_single_output),
                            .stage_types = {[PH_STAGE_WEIGHT] = PH_STAGE_FULL, [PH_STAGE_ACCUM] = PH_STAGE_FULL},
                            .infer = infer_rotary,
                            .flops = flops_rotary};
