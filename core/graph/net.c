/* Building a net: values, constants, and nodes that are checked as they are added. */
#include "graph/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "graph/op_rows.h"

void ph_net_destroy(ph_net *net) {
  if (net == NULL) return;
  for (uint32_t i = 0; i < net->owned_count; i++) ph_tensor_release(net->owned[i]);
  ph_arena_free(&net->arena);
  free(net);
}

uint32_t ph_net_value_find(const ph_net *net, const char *path) {
  uint32_t declared = net->of_model != NULL ? ph_model_value_find(net->model, path) : PH_NONE;
  if (declared != PH_NONE && net->of_model[declared] != PH_NONE) return net->of_model[declared];
  for (uint32_t i = 0; i < net->value_count; i++)
    if (strcmp(net->values[i].path, path) == 0) return i;
  return PH_NONE;
}

const ph_net_attr *ph_net_node_attr(const ph_net_node *node, const char *name) {
  return &node->attrs[ph_op_attr_index(node->op, name)];
}

static ph_net_value *push_value(ph_net *net) {
  return ph_arena_push(&net->arena, &net->values, &net->value_count, &net->value_capacity, sizeof(ph_net_value));
}

ph_status ph_net_add_constant(ph_net *net, const char *path, ph_tensor *tensor, uint32_t *out, ph_error *error) {
  ph_tensor **slot = ph_arena_push(&net->arena, &net->owned, &net->owned_count, &net->owned_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(error);
  *slot = ph_tensor_retain(tensor);
  ph_net_value *value = push_value(net);
  if (value == NULL) return ph_fail_memory(error);
  *value = (ph_net_value){.path = path,
                          .kind = PH_TENSOR_CONSTANT,
                          .input = PH_NONE,
                          .tensor = tensor,
                          .type = {.dtype = tensor->dtype, .rank = tensor->rank}};
  for (uint32_t i = 0; i < tensor->rank; i++) value->type.dims[i].value = tensor->dims[i];
  *out = net->value_count - 1;
  return PH_OK;
}

ph_status ph_net_add_scalar(ph_net *net, double value, ph_dtype dtype, uint32_t *out, ph_error *error) {
  ph_tensor *tensor;
  PH_TRY(ph_tensor_create(dtype, 0, NULL, &tensor, error));
  if (ph_dtype_is_real(dtype))
    ph_write_real(dtype, tensor->data, 0, value);
  else
    ph_write_integer(dtype, tensor->data, 0, (int64_t)value);
  const char *path = ph_arena_text(&net->arena, "%g", value);
  ph_status status = path != NULL ? ph_net_add_constant(net, path, tensor, out, error) : ph_fail_memory(error);
  ph_tensor_release(tensor);
  return status;
}

/* ---- adding a node ---- */

static unsigned category(ph_dtype dtype) {
  if (ph_dtype_is_real(dtype)) return PH_TYPES_REAL;
  return dtype == PH_BOOL ? PH_TYPES_BOOL : PH_TYPES_INTEGER;
}

static const char *category_text(unsigned types) {
  switch (types) {
  case PH_TYPES_REAL:
    return "f32, f16 or bf16";
  case PH_TYPES_INTEGER:
    return "i64 or i32";
  case PH_TYPES_REAL | PH_TYPES_BOOL:
    return "f32, f16, bf16 or bool";
  case PH_TYPES_REAL | PH_TYPES_INTEGER:
    return "f32, f16, bf16, i64 or i32";
  default:
    return "any type";
  }
}

static const ph_op_role *role_of(const ph_op *op, uint32_t input) {
  return &op->roles[input < op->role_count ? input : op->role_count - 1]; /* a variadic role is the last one */
}

/* Widens an i32 index to i64 by a node of its own (backend.h: index inputs are PH_I64). */
static ph_status widen_index(ph_net *net, const ph_op_role *role, const char *path, ph_place place, uint32_t *input,
                             ph_error *error) {
  const char *cast_path = ph_arena_text(&net->arena, "%s.%s", path, role->name);
  if (cast_path == NULL) return ph_fail_memory(error);
  ph_net_attr_value to = {.name = "to", .value = {.kind = PH_ATTR_STRING, .as.string = "i64"}};
  return ph_net_add_node(net, ph_op_find("cast"), cast_path, place, input, 1, &to, 1, NULL, input, error);
}

static ph_status check_inputs(ph_net *net, const ph_op *op, const char *path, ph_place place, uint32_t *inputs,
                              uint32_t count, ph_type *types, ph_error *error) {
  for (uint32_t i = 0; i < count; i++) {
    const ph_op_role *role = role_of(op, i);
    if (inputs[i] == PH_NONE) {
      types[i] = (ph_type){.dtype = PH_DTYPE_NONE};
      if (!(role->flags & PH_ROLE_OPTIONAL)) return ph_fail(error, PH_INVALID, "input %s is missing", role->name);
      continue;
    }
    ph_dtype dtype = net->values[inputs[i]].type.dtype;
    if (!(category(dtype) & role->types))
      return ph_fail(error, PH_INVALID, "%s is %s, but %s takes %s there", role->name, ph_dtype_name(dtype), op->name,
                     category_text(role->types));
    if ((role->flags & PH_ROLE_INDEX) && dtype == PH_I32)
      PH_TRY(widen_index(net, role, path, place, &inputs[i], error));
    types[i] = net->values[inputs[i]].type;
  }
  return PH_OK;
}

static ph_status default_of(const ph_op_attr *row, ph_net_attr *out, ph_error *error) {
  if (row->initial == NULL) {
    if (!row->may_be_absent) return ph_fail(error, PH_INVALID, "attribute %s is missing: %s", row->name, row->doc);
    return PH_OK;
  }
  out->present = true;
  switch (row->type) {
  case PH_ATTR_TYPE_REAL:
    out->value.kind = PH_ATTR_F64;
    out->value.as.f64 = strtod(row->initial, NULL);
    break;
  case PH_ATTR_TYPE_BOOL:
    out->value.kind = PH_ATTR_I64;
    out->value.as.i64 = strcmp(row->initial, "true") == 0;
    break;
  case PH_ATTR_TYPE_CHOICE:
  case PH_ATTR_TYPE_DTYPE:
    out->value.kind = PH_ATTR_STRING;
    out->value.as.string = row->initial;
    break;
  default:
    out->value.kind = PH_ATTR_I64;
    out->value.as.i64 = strtoll(row->initial, NULL, 10);
    break;
  }
  return PH_OK;
}

static ph_status positive_axis(const ph_op_attr *row, const ph_type *first, int64_t *axis, ph_error *error) {
  if (*axis < -(int64_t)first->rank || *axis >= (int64_t)first->rank)
    return ph_fail(error, PH_INVALID, "%s is %lld, but the first input is %s", row->name, (long long)*axis,
                   ph_type_text(first));
  if (*axis < 0) *axis += first->rank;
  return PH_OK;
}

static ph_status make_attrs(ph_net *net, const ph_op *op, const ph_type *first, const ph_net_attr_value *given,
                            uint32_t given_count, ph_net_attr *out, ph_error *error) {
  for (uint32_t row = 0; row < op->attr_count; row++) {
    const ph_op_attr *spec = &op->attrs[row];
    const ph_net_attr_value *found = NULL;
    for (uint32_t i = 0; i < given_count; i++)
      if (strcmp(given[i].name, spec->name) == 0) found = &given[i];
    if (found != NULL)
      out[row] = (ph_net_attr){.value = found->value, .present = true, .varies = found->varies};
    else
      PH_TRY(default_of(spec, &out[row], error));
    out[row].value.name = spec->name;
    if (!out[row].present) continue;
    if (spec->type == PH_ATTR_TYPE_AXIS) PH_TRY(positive_axis(spec, first, &out[row].value.as.i64, error));
    if (spec->type == PH_ATTR_TYPE_AXES) {
      uint32_t count = out[row].value.as.list.count;
      int64_t *axes = ph_arena_array(&net->arena, count, sizeof(*axes));
      if (axes == NULL) return ph_fail_memory(error);
      for (uint32_t i = 0; i < count; i++) {
        axes[i] = out[row].value.as.list.items[i];
        PH_TRY(positive_axis(spec, first, &axes[i], error));
      }
      out[row].value.as.list.items = axes;
    }
  }
  return PH_OK;
}

/* Elements whose number or bytes pass 63 bits are refused here, before anyone plans for them. */
static ph_status check_size(const char *output, const ph_type *type, ph_error *error) {
  int64_t count, bytes;
  if (!ph_type_count(type, &count) || !ph_mul_i64(count, (int64_t)ph_dtype_size(type->dtype), &bytes))
    return ph_fail(error, PH_INVALID, "output %s of %s %s is too large: its size does not fit in 64 bits", output,
                   ph_dtype_name(type->dtype), ph_type_text(type));
  return PH_OK;
}

/* Two axes of the same extent that were written as different dims probably broadcast by accident. */
static void warn_of_mixed_axes(const ph_net *net, const ph_net_node *node) {
  if (net->notes == NULL || node->op->layout != PH_LAYOUT_BROADCAST) return;
  const ph_type *a = ph_node_role_type(net, node, 0), *b = ph_node_role_type(net, node, 1);
  for (uint32_t i = 1; i <= a->rank && i <= b->rank; i++) {
    ph_dim x = a->dims[a->rank - i], y = b->dims[b->rank - i];
    if (x.name == NULL || y.name == NULL || strcmp(x.name, y.name) == 0 || x.value != y.value || x.value == 1) continue;
    char text[512];
    snprintf(text, sizeof(text),
             "%s:%u:%u: warning: node '%s': axis %u from the right is '%s' in a and '%s' in b; they are both %lld "
             "now, but do they mean the same?",
             node->place.file, node->place.line, node->place.column, node->path, i, x.name, y.name, (long long)x.value);
    net->notes->warn(net->notes->user, text);
  }
}

static ph_status add_outputs(ph_net *net, ph_net_node *node, const ph_type *types, const char *const *names,
                             ph_error *error) {
  for (uint32_t i = 0; i < node->output_count; i++) {
    const char *name = names != NULL ? names[i] : node->op->outputs[i].name;
    PH_TRY(check_size(name, &types[i], error));
    ph_net_value *value = push_value(net);
    const char *path = i == 0 && names == NULL ? node->path : ph_arena_text(&net->arena, "%s.%s", node->path, name);
    if (value == NULL || path == NULL) return ph_fail_memory(error);
    *value = (ph_net_value){.path = path, .kind = PH_TENSOR_INNER, .type = types[i], .input = PH_NONE};
    node->outputs[i] = net->value_count - 1;
  }
  return PH_OK;
}

static ph_status add_node(ph_net *net, ph_net_node *node, const ph_net_attr_value *attrs, uint32_t attr_count,
                          const char *const *output_names, ph_error *error) {
  ph_type *types = ph_arena_array(&net->arena, node->input_count, sizeof(*types));
  ph_type *results = ph_arena_array(&net->arena, node->output_count, sizeof(*results));
  if (types == NULL || results == NULL) return ph_fail_memory(error);
  PH_TRY(check_inputs(net, node->op, node->path, node->place, node->inputs, node->input_count, types, error));
  PH_TRY(make_attrs(net, node->op, &types[0], attrs, attr_count, node->attrs, error));
  ph_infer infer = {.op = node->op,
                    .inputs = types,
                    .input_count = node->input_count,
                    .attrs = node->attrs,
                    .outputs = results,
                    .output_count = node->output_count,
                    .arena = &net->arena,
                    .error = error};
  PH_TRY(node->op->infer(&infer));
  if (node->op->composite) return node->op->expand(net, node, node->outputs, error);
  PH_TRY(add_outputs(net, node, results, output_names, error));
  ph_net_node **slot = ph_arena_push(&net->arena, &net->nodes, &net->node_count, &net->node_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(error);
  *slot = node;
  warn_of_mixed_axes(net, node);
  return PH_OK;
}

ph_status ph_net_add_node(ph_net *net, const ph_op *op, const char *path, ph_place place, const uint32_t *inputs,
                          uint32_t input_count, const ph_net_attr_value *attrs, uint32_t attr_count,
                          const char *const *output_names, uint32_t *out, ph_error *error) {
  uint32_t output_count = op->output_count;
  if (output_names != NULL)
    for (output_count = 0; output_names[output_count] != NULL;) output_count++;
  bool variadic = op->role_count > 0 && (op->roles[op->role_count - 1].flags & PH_ROLE_VARIADIC);
  uint32_t roles = variadic && input_count > op->role_count ? input_count : op->role_count;
  ph_net_node *node = ph_arena_alloc(&net->arena, sizeof(*node));
  if (node == NULL) return ph_fail_memory(error);
  *node = (ph_net_node){.op = op,
                        .path = path,
                        .place = place,
                        .input_count = roles,
                        .output_count = output_count,
                        .inputs = ph_arena_array(&net->arena, roles, sizeof(uint32_t)),
                        .outputs = ph_arena_array(&net->arena, output_count, sizeof(uint32_t)),
                        .attrs = ph_arena_array(&net->arena, op->attr_count, sizeof(ph_net_attr))};
  if (node->inputs == NULL || node->outputs == NULL || node->attrs == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < roles; i++) node->inputs[i] = i < input_count ? inputs[i] : PH_NONE;
  ph_status status = add_node(net, node, attrs, attr_count, output_names, error);
  if (status != PH_OK) {
    /* A step of a composite has named itself already. */
    if (error != NULL && strstr(error->message, ": error: ") == NULL) {
      ph_error_prefix(error, "node '%s': ", path);
      return ph_place_prefix(error, place, status);
    }
    return status;
  }
  *out = node->outputs[0];
  return PH_OK;
}

/* ---- rewriting ---- */

ph_status ph_net_splice(ph_net *net, uint32_t at, uint32_t tail, ph_error *error) {
  uint32_t added = net->node_count - tail;
  ph_net_node **moved = ph_new_array(added, sizeof(*moved));
  if (moved == NULL) return ph_fail_memory(error);
  memcpy(moved, net->nodes + tail, added * sizeof(*moved));
  memmove(net->nodes + at + added, net->nodes + at + 1, (tail - at - 1) * sizeof(*moved));
  memcpy(net->nodes + at, moved, added * sizeof(*moved));
  net->node_count--;
  free(moved);
  return PH_OK;
}

void ph_net_count_reads(const ph_net *net, uint32_t *out) {
  memset(out, 0, net->value_count * sizeof(*out));
  for (uint32_t n = 0; n < net->node_count; n++)
    for (uint32_t i = 0; i < net->nodes[n]->input_count; i++)
      if (net->nodes[n]->inputs[i] != PH_NONE) out[net->nodes[n]->inputs[i]]++;
}
