/* Rows that move elements: concat, split, slice, gather, transpose, reshape, expand, cast, cache_write. */
#include <string.h>

#include "base/dtype.h"
#include "graph/op_rows.h"

static const ph_op_role any_x[] = {{.name = "x", .types = PH_TYPES_ANY, .doc = "any shape"}};

/* ---- concat, split, slice ---- */

static ph_status infer_concat(ph_infer *infer) {
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  ph_type *y = &infer->outputs[0];
  *y = infer->inputs[0];
  for (uint32_t i = 1; i < infer->input_count; i++) {
    const ph_type *x = &infer->inputs[i];
    bool fits = x->rank == y->rank && x->dtype == y->dtype;
    for (uint32_t d = 0; fits && d < y->rank; d++) fits = d == axis || x->dims[d].value == y->dims[d].value;
    if (!fits)
      return ph_fail(infer->error, PH_INVALID, "input %u is %s %s, which does not fit behind %s %s along axis %u", i,
                     ph_dtype_name(x->dtype), ph_type_text(x), ph_dtype_name(y->dtype), ph_type_text(y), axis);
    PH_TRY(ph_infer_sum(infer, y->dims[axis], x->dims[axis], &y->dims[axis]));
  }
  return PH_OK;
}

static const ph_op_role concat_roles[] = {{.name = "x",
                                           .flags = PH_ROLE_VARIADIC,
                                           .types = PH_TYPES_ANY,
                                           .doc = "one or more, alike but for the extent of the axis"}};
static const ph_op_attr required_axis[] = {{.name = "axis", .type = PH_ATTR_TYPE_AXIS, .doc = "along which axis"}};
const ph_op ph_op_concat = {.name = "concat",
                            .version = 1,
                            .doc = "tensors one after the other along an axis",
                            PH_ROLES(concat_roles),
                            PH_ATTRS(required_axis),
                            PH_OUTPUTS(ph_single_output),
                            .exact = true,
                            .infer = infer_concat};

static ph_status infer_split(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  const ph_net_attr *into = ph_infer_attr(infer, "into");
  int64_t sum = 0;
  for (uint32_t i = 0; i < infer->output_count; i++) {
    int64_t extent = into->value.as.list.items[i];
    if (extent < 0 || !ph_add_i64(sum, extent, &sum))
      return ph_fail(infer->error, PH_INVALID, "into holds an extent of %lld", (long long)extent);
    infer->outputs[i] = *x;
    infer->outputs[i].dims[axis] = (ph_dim){.value = extent, .varies = into->varies};
  }
  if (sum != x->dims[axis].value)
    return ph_fail(infer->error, PH_INVALID, "the parts add up to %lld, but x is %s and axis %u has %lld",
                   (long long)sum, ph_type_text(x), axis, (long long)x->dims[axis].value);
  return PH_OK;
}

static const ph_op_attr split_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .doc = "along which axis"},
    {.name = "into", .type = PH_ATTR_TYPE_EXTENTS, .doc = "{name: extent}: each part is the output NODE.name"}};
const ph_op ph_op_split = {.name = "split",
                           .version = 1,
                           .doc = "cuts a tensor into named parts along an axis",
                           PH_ROLES(any_x),
                           PH_ATTRS(split_attrs),
                           .exact = true,
                           .moves = true,
                           .infer = infer_split};

/* Fills in what is absent and makes negative bounds positive, as Python's slices do. */
static ph_status infer_slice(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  ph_dim extent = x->dims[axis];
  ph_net_attr *start = &infer->attrs[ph_op_attr_index(infer->op, "start")];
  ph_net_attr *stop = &infer->attrs[ph_op_attr_index(infer->op, "stop")];
  if (!stop->present)
    *stop = (ph_net_attr){.present = true,
                          .varies = extent.varies,
                          .value = {.kind = PH_ATTR_I64, .as.i64 = extent.value, .name = "stop"}};
  ph_net_attr *bounds[] = {start, stop};
  for (uint32_t i = 0; i < 2; i++) {
    int64_t *bound = &bounds[i]->value.as.i64, written = *bound;
    if (written < 0) {
      *bound += extent.value;
      bounds[i]->varies = bounds[i]->varies || extent.varies;
    }
    if (*bound < 0 || *bound > extent.value)
      return ph_fail(infer->error, PH_INVALID, "%s is %lld, but axis %u of x, %s, has %lld", i == 0 ? "start" : "stop",
                     (long long)written, axis, ph_type_text(x), (long long)extent.value);
  }
  if (start->value.as.i64 > stop->value.as.i64)
    return ph_fail(infer->error, PH_INVALID, "start is %lld and stop %lld: nothing lies between",
                   (long long)start->value.as.i64, (long long)stop->value.as.i64);
  infer->outputs[0] = *x;
  infer->outputs[0].dims[axis] =
      (ph_dim){.value = stop->value.as.i64 - start->value.as.i64,
               .varies = start->varies || stop->varies,
               .name = stop->value.as.i64 - start->value.as.i64 == extent.value ? extent.name : NULL};
  return PH_OK;
}

static const ph_op_attr slice_attrs[] = {{.name = "axis", .type = PH_ATTR_TYPE_AXIS, .doc = "along which axis"},
                                         {.name = "start",
                                          .type = PH_ATTR_TYPE_INTEGER,
                                          .initial = "0",
                                          .doc = "the first one taken; negative: from the end"},
                                         {.name = "stop",
                                          .type = PH_ATTR_TYPE_INTEGER,
                                          .may_be_absent = true,
                                          .doc = "the first one not taken; negative: from the end; absent: the end"}};
const ph_op ph_op_slice = {.name = "slice",
                           .version = 1,
                           .doc = "a stretch of one axis",
                           PH_ROLES(any_x),
                           PH_ATTRS(slice_attrs),
                           PH_OUTPUTS(ph_single_output),
                           .exact = true,
                           .moves = true,
                           .infer = infer_slice};

/* ---- gather ---- */

static ph_status infer_gather(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x"), *indices = ph_infer_input(infer, "indices");
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  if (x->rank + indices->rank - 1 > PH_MAX_RANK)
    return ph_fail(infer->error, PH_INVALID, "x is %s and indices is %s: the result would have a rank above %d",
                   ph_type_text(x), ph_type_text(indices), PH_MAX_RANK);
  ph_type *y = &infer->outputs[0];
  *y = (ph_type){.dtype = x->dtype};
  for (uint32_t i = 0; i < axis; i++) y->dims[y->rank++] = x->dims[i];
  for (uint32_t i = 0; i < indices->rank; i++) y->dims[y->rank++] = indices->dims[i];
  for (uint32_t i = axis + 1; i < x->rank; i++) y->dims[y->rank++] = x->dims[i];
  return PH_OK;
}

static const ph_op_role gather_roles[] = {
    {.name = "x", .types = PH_TYPES_ANY, .doc = "any shape of rank 1 or more"},
    {.name = "indices",
     .flags = PH_ROLE_INDEX,
     .types = PH_TYPES_INTEGER,
     .rule = PH_INDEX_ON_AXIS,
     .of = "x",
     .doc = "any shape, which takes the place of the axis; negative: from the end"}};
static const ph_op_attr gather_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "0", .doc = "the axis that is indexed"}};
const ph_op ph_op_gather = {.name = "gather",
                            .version = 1,
                            .doc = "picks along an axis by index",
                            PH_ROLES(gather_roles),
                            PH_ATTRS(gather_attrs),
                            PH_OUTPUTS(ph_single_output),
                            .exact = true,
                            .infer = infer_gather};

/* ---- transpose, reshape, expand, cast ---- */

static ph_status infer_transpose(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  const ph_net_attr *axes = ph_infer_attr(infer, "axes");
  uint32_t seen = 0;
  infer->outputs[0] = *x;
  bool right = axes->value.as.list.count == x->rank;
  for (uint32_t i = 0; right && i < x->rank; i++) {
    uint32_t axis = (uint32_t)axes->value.as.list.items[i];
    right = !(seen >> axis & 1u);
    seen |= 1u << axis;
    infer->outputs[0].dims[i] = x->dims[axis];
  }
  if (!right)
    return ph_fail(infer->error, PH_INVALID, "axes must name each of the %u axes of x, %s, once", x->rank,
                   ph_type_text(x));
  return PH_OK;
}

static const ph_op_attr transpose_attrs[] = {
    {.name = "axes", .type = PH_ATTR_TYPE_AXES, .doc = "axis i of the result is axis axes[i] of x"}};
const ph_op ph_op_transpose = {.name = "transpose",
                               .version = 1,
                               .doc = "the axes in another order",
                               PH_ROLES(any_x),
                               PH_ATTRS(transpose_attrs),
                               PH_OUTPUTS(ph_single_output),
                               .exact = true,
                               .moves = true,
                               .infer = infer_transpose};

/* The type that the attribute `shape` asks for. */
static ph_status shape_attribute(ph_infer *infer, ph_dtype dtype, ph_type *out) {
  const ph_net_attr *shape = ph_infer_attr(infer, "shape");
  *out = (ph_type){.dtype = dtype, .rank = shape->value.as.list.count};
  if (out->rank > PH_MAX_RANK)
    return ph_fail(infer->error, PH_INVALID, "shape has %u axes; %d is the most", out->rank, PH_MAX_RANK);
  for (uint32_t i = 0; i < out->rank; i++) {
    int64_t extent = shape->value.as.list.items[i];
    if (extent < 0) return ph_fail(infer->error, PH_INVALID, "shape holds an extent of %lld", (long long)extent);
    out->dims[i] = (ph_dim){.value = extent, .varies = shape->varies};
  }
  return PH_OK;
}

static ph_status infer_reshape(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  PH_TRY(shape_attribute(infer, x->dtype, &infer->outputs[0]));
  int64_t before, after;
  if (!ph_type_count(x, &before) || !ph_type_count(&infer->outputs[0], &after) || before != after)
    return ph_fail(infer->error, PH_INVALID, "x is %s, which has not as many elements as %s", ph_type_text(x),
                   ph_type_text(&infer->outputs[0]));
  return PH_OK;
}

static ph_status infer_expand(ph_infer *infer) {
  const ph_type *x = ph_infer_input(infer, "x");
  PH_TRY(shape_attribute(infer, x->dtype, &infer->outputs[0]));
  return ph_infer_fits(infer, "x", x, &infer->outputs[0]);
}

static const ph_op_attr shape_attrs[] = {{.name = "shape", .type = PH_ATTR_TYPE_INTEGERS, .doc = "the new dims"}};
const ph_op ph_op_reshape = {.name = "reshape",
                             .version = 1,
                             .doc = "the same elements in the same order under other dims",
                             PH_ROLES(any_x),
                             PH_ATTRS(shape_attrs),
                             PH_OUTPUTS(ph_single_output),
                             .exact = true,
                             .moves = true,
                             .infer = infer_reshape};
const ph_op ph_op_expand = {.name = "expand",
                            .version = 1,
                            .doc = "repeats axes of extent 1, aligned at the right",
                            PH_ROLES(any_x),
                            PH_ATTRS(shape_attrs),
                            PH_OUTPUTS(ph_single_output),
                            .exact = true,
                            .moves = true,
                            .infer = infer_expand};

static ph_status infer_cast(ph_infer *infer) {
  infer->outputs[0] = infer->inputs[0];
  infer->outputs[0].dtype = ph_dtype_named(ph_infer_attr(infer, "to")->value.as.string);
  return PH_OK;
}

static const ph_op_attr cast_attrs[] = {
    {.name = "to", .type = PH_ATTR_TYPE_DTYPE, .doc = "f32, f16, bf16, i64, i32 or bool"}};
const ph_op ph_op_cast = {.name = "cast",
                          .version = 1,
                          .doc = "the same values in another type, rounded once",
                          PH_ROLES(any_x),
                          PH_ATTRS(cast_attrs),
                          PH_OUTPUTS(ph_single_output),
                          .infer = infer_cast};

/* ---- cache_write ---- */

static ph_status infer_cache_write(ph_infer *infer) {
  const ph_type *cache = ph_infer_input(infer, "cache"), *x = ph_infer_input(infer, "x");
  uint32_t axis = (uint32_t)ph_infer_int(infer, "axis");
  bool fits = x->rank == cache->rank;
  for (uint32_t i = 0; fits && i < x->rank; i++)
    fits = i == axis ? x->dims[i].value <= cache->dims[i].value : x->dims[i].value == cache->dims[i].value;
  if (!fits)
    return ph_fail(infer->error, PH_INVALID, "x is %s, which does not fit into a cache of %s along axis %u",
                   ph_type_text(x), ph_type_text(cache), axis);
  if (axis == 0) return ph_fail(infer->error, PH_INVALID, "axis 0 is the batch, which a cache does not grow along");
  PH_TRY(ph_infer_per_sample(infer, "offset", cache->dims[0].value, true));
  infer->outputs[0] = *cache;
  return PH_OK;
}

static const ph_op_role cache_write_roles[] = {
    {.name = "cache", .types = PH_TYPES_REAL, .doc = "[B, H, slots, D], or any shape with the batch first"},
    {.name = "x", .types = PH_TYPES_REAL, .doc = "the dims of the cache, but shorter along the axis"},
    {.name = "offset",
     .flags = PH_ROLE_INDEX,
     .types = PH_TYPES_INTEGER,
     .rule = PH_INDEX_CACHE_OFFSET,
     .of = "cache",
     .doc = "[1] or [B]: the slot that the first row goes to"}};
static const ph_op_attr cache_write_attrs[] = {
    {.name = "axis", .type = PH_ATTR_TYPE_AXIS, .initial = "2", .doc = "the axis of the slots"},
    {.name = "ring",
     .type = PH_ATTR_TYPE_BOOL,
     .initial = "false",
     .doc = "a write past the end wraps (true), or is an error before anything runs (false)"}};
const ph_op ph_op_cache_write = {.name = "cache_write",
                                 .version = 1,
                                 .doc = "the cache with x written at offset",
                                 PH_ROLES(cache_write_roles),
                                 PH_ATTRS(cache_write_attrs),
                                 PH_OUTPUTS(ph_single_output),
                                 .infer = infer_cache_write};
