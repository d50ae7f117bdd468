/* From a model to a net: the dims get values, expressions are evaluated, nodes are added one after the other. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "graph/net.h"

/* ---- dims ---- */

typedef enum dim_state { DIM_UNKNOWN, DIM_BUSY, DIM_KNOWN } dim_state;

typedef struct dim_binder {
  const ph_model *model;
  ph_dim *dims;
  dim_state *states;
  const char **sources; /* the input that bound it, or NULL */
} dim_binder;

static uint32_t dim_find(const ph_model *model, const char *name) {
  for (uint32_t i = 0; i < model->dim_count; i++)
    if (strcmp(model->dims[i].name, name) == 0) return i;
  return PH_NONE;
}

static ph_status evaluate_dim(dim_binder *binder, uint32_t index, ph_error *error);

static ph_status binder_value(const void *user, const char *name, ph_dim *out, ph_error *error) {
  dim_binder *binder =
      (dim_binder *)(uintptr_t)user; /* a scope is const for those who evaluate in it; the binder fills itself in */
  uint32_t index = dim_find(binder->model, name);
  if (index == PH_NONE) return ph_fail(error, PH_INVALID, "there is no dim '%s'", name);
  PH_TRY(evaluate_dim(binder, index, error));
  *out = binder->dims[index];
  return PH_OK;
}

static ph_status evaluate_dim(dim_binder *binder, uint32_t index, ph_error *error) {
  const ph_model_dim *dim = &binder->model->dims[index];
  if (binder->states[index] == DIM_KNOWN) return PH_OK;
  if (binder->states[index] == DIM_BUSY) return ph_fail_at(error, dim->place, "dim '%s' depends on itself", dim->name);
  binder->states[index] = DIM_BUSY;
  ph_scope scope = {binder_value, binder};
  ph_status status = ph_expr_integer(dim->expr, &scope, &binder->dims[index], error);
  if (status != PH_OK) {
    if (error == NULL || strstr(error->message, ": error: ") != NULL) return status;
    ph_error_prefix(error, "dim '%s': ", dim->name);
    return ph_place_prefix(error, dim->place, status);
  }
  if (binder->dims[index].value < 0)
    return ph_fail_at(error, dim->place, "dim '%s' is %lld, but an extent cannot be negative", dim->name,
                      (long long)binder->dims[index].value);
  binder->dims[index].varies = binder->dims[index].varies || dim->varies;
  binder->dims[index].name = dim->name;
  binder->states[index] = DIM_KNOWN;
  return PH_OK;
}

static void know(dim_binder *binder, uint32_t index, int64_t value) {
  const ph_model_dim *dim = &binder->model->dims[index];
  binder->dims[index] = (ph_dim){.value = value, .varies = dim->varies, .name = dim->name};
  binder->states[index] = DIM_KNOWN;
}

/* Takes the dims that the shape of a given tensor names plainly. */
static ph_status bind_from_tensor(dim_binder *binder, const ph_model_input *input, const ph_tensor *tensor,
                                  ph_error *error) {
  if (tensor->rank != input->rank)
    return ph_fail_at(error, input->place, "input '%s' has %u axes here, but the tensor given has %u", input->name,
                      input->rank, tensor->rank);
  for (uint32_t axis = 0; axis < input->rank; axis++) {
    const char *name = ph_expr_plain_name(input->dims[axis]);
    uint32_t index = name == NULL ? PH_NONE : dim_find(binder->model, name);
    if (index == PH_NONE) continue;
    if (binder->states[index] != DIM_KNOWN) {
      know(binder, index, tensor->dims[axis]);
      binder->sources[index] = input->name;
    } else if (binder->dims[index].value != tensor->dims[axis]) {
      return ph_fail_at(error, input->place, "dim '%s' is %lld by %s%s, but axis %u of input '%s' has %lld", name,
                        (long long)binder->dims[index].value, binder->sources[index] == NULL ? "--dim" : "input ",
                        binder->sources[index] == NULL ? "" : binder->sources[index], axis, input->name,
                        (long long)tensor->dims[axis]);
    }
  }
  return PH_OK;
}

static ph_status bind_all(dim_binder *binder, const ph_tensor *const *given, ph_error *error) {
  const ph_model *model = binder->model;
  for (uint32_t i = 0; i < model->dim_count; i++)
    if (model->dims[i].overridden) know(binder, i, model->dims[i].override);
  for (uint32_t i = 0; i < model->input_count; i++)
    if (given != NULL && given[i] != NULL) PH_TRY(bind_from_tensor(binder, &model->inputs[i], given[i], error));
  for (uint32_t i = 0; i < model->dim_count; i++) PH_TRY(evaluate_dim(binder, i, error));
  return PH_OK;
}

ph_status ph_bind_dims(const ph_model *model, const ph_tensor *const *given, ph_dim *out, ph_error *error) {
  dim_binder binder = {.model = model,
                       .dims = out,
                       .states = ph_new_array(model->dim_count, sizeof(dim_state)),
                       .sources = ph_new_array(model->dim_count, sizeof(const char *))};
  bool ready = binder.states != NULL && binder.sources != NULL;
  ph_status status = ready ? bind_all(&binder, given, error) : ph_fail_memory(error);
  free(binder.states);
  free(binder.sources);
  return status;
}

static ph_status dim_value(const void *user, const char *name, ph_dim *out, ph_error *error) {
  const ph_dim_scope *scope = user;
  uint32_t index = dim_find(scope->model, name);
  if (index == PH_NONE) return ph_fail(error, PH_INVALID, "there is no dim '%s'", name);
  *out = scope->dims[index];
  return PH_OK;
}

ph_scope ph_scope_of_dims(const ph_dim_scope *storage) {
  return (ph_scope){dim_value, storage};
}

/* ---- values and nodes ---- */

typedef struct binder {
  const ph_model *model;
  ph_net *net;
  ph_scope scope;
  uint32_t *values; /* net->of_model */
  ph_error *error;
} binder;

static ph_status at(binder *b, ph_place place, ph_status status) {
  bool placed = b->error != NULL && strstr(b->error->message, ": error: ") != NULL;
  return status == PH_OK || placed ? status : ph_place_prefix(b->error, place, status);
}

static ph_status bind_shape(binder *b, ph_place place, ph_dtype dtype, uint32_t rank, const ph_expr *const *dims,
                            ph_type *out) {
  *out = (ph_type){.dtype = dtype, .rank = rank};
  for (uint32_t i = 0; i < rank; i++) {
    PH_TRY(at(b, place, ph_expr_integer(dims[i], &b->scope, &out->dims[i], b->error)));
    if (out->dims[i].value < 0)
      return ph_fail_at(b->error, place, "axis %u, %s, is %lld: an extent cannot be negative", i, ph_expr_text(dims[i]),
                        (long long)out->dims[i].value);
  }
  int64_t count, bytes;
  if (!ph_type_count(out, &count) || !ph_mul_i64(count, (int64_t)ph_dtype_size(dtype), &bytes))
    return ph_fail_at(b->error, place, "%s is too large: its size does not fit in 64 bits", ph_type_text(out));
  return PH_OK;
}

static ph_status bind_input(binder *b, uint32_t index, const char *path, uint32_t *out) {
  const ph_model_input *input = &b->model->inputs[index];
  ph_type type;
  PH_TRY(bind_shape(b, input->place, input->dtype, input->rank, input->dims, &type));
  ph_net *net = b->net;
  ph_net_value *value =
      ph_arena_push(&net->arena, &net->values, &net->value_count, &net->value_capacity, sizeof(*value));
  if (value == NULL) return ph_fail_memory(b->error);
  *value = (ph_net_value){.path = path, .kind = PH_TENSOR_INPUT, .type = type, .input = index};
  *out = net->value_count - 1;
  return PH_OK;
}

static ph_status bind_state(binder *b, uint32_t index, const char *path, uint32_t *out) {
  const ph_model_state *state = &b->model->states[index];
  ph_type type;
  PH_TRY(bind_shape(b, state->place, state->dtype, state->rank, state->dims, &type));
  ph_net *net = b->net;
  ph_net_value *value =
      ph_arena_push(&net->arena, &net->values, &net->value_count, &net->value_capacity, sizeof(*value));
  if (value == NULL) return ph_fail_memory(b->error);
  *value = (ph_net_value){.path = path, .kind = PH_TENSOR_STATE, .type = type, .input = PH_NONE, .state = index};
  *out = net->states[index].value = net->value_count - 1;
  return PH_OK;
}

/* What a state becomes must look like it. */
static ph_status bind_next(binder *b, uint32_t index) {
  const ph_model_state *state = &b->model->states[index];
  ph_net_state *to = &b->net->states[index];
  to->next = b->values[state->next];
  const ph_type *now = &b->net->values[to->value].type, *next = &b->net->values[to->next].type;
  bool same = now->dtype == next->dtype && now->rank == next->rank;
  for (uint32_t i = 0; same && i < now->rank; i++) same = now->dims[i].value == next->dims[i].value;
  if (same) return PH_OK;
  return ph_fail_at(b->error, state->place, "state '%s' is %s %s, but next, '%s', is %s %s", state->path,
                    ph_dtype_name(now->dtype), ph_type_text(now), b->model->values[state->next].path,
                    ph_dtype_name(next->dtype), ph_type_text(next));
}

/* A weight's dims keep the names that its declared shape gives them. */
static ph_status bind_weight(binder *b, uint32_t index, ph_tensor *tensor, const char *path, uint32_t *out) {
  const ph_model_weight *weight = &b->model->weights[index];
  PH_TRY(ph_net_add_constant(b->net, path, tensor, out, b->error));
  ph_type *type = &b->net->values[*out].type;
  for (uint32_t i = 0; weight->has_shape && i < type->rank; i++)
    type->dims[i].name = ph_expr_plain_name(weight->dims[i]);
  return PH_OK;
}

/* A number takes the type of the other side: the first input of the node that is no number. */
static ph_status bind_scalar(binder *b, const ph_model_node *node, uint32_t role, uint32_t scalar, uint32_t *out) {
  const ph_op *op = node->op;
  ph_dtype dtype = PH_F32;
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t input = node->inputs[i];
    if (input == PH_NONE || b->model->values[input].kind == PH_VALUE_SCALAR) continue;
    dtype = b->net->values[b->values[input]].type.dtype;
    break;
  }
  if (op->roles[role < op->role_count ? role : op->role_count - 1].flags & PH_ROLE_INDEX) dtype = PH_I64;
  const ph_expr *expr = b->model->scalars[scalar];
  double value;
  bool varies;
  if (ph_dtype_is_real(dtype)) {
    PH_TRY(at(b, node->place, ph_expr_real(expr, &b->scope, &value, &varies, b->error)));
  } else {
    ph_dim dim;
    PH_TRY(at(b, node->place, ph_expr_integer(expr, &b->scope, &dim, b->error)));
    value = (double)dim.value;
    varies = dim.varies;
    if ((int64_t)value != dim.value || (dtype == PH_I32 && (int64_t)(int32_t)dim.value != dim.value))
      return ph_fail_at(b->error, node->place, "the number %lld does not fit %s", (long long)dim.value,
                        ph_dtype_name(dtype));
  }
  PH_TRY(ph_net_add_scalar(b->net, value, dtype, out, b->error));
  if (varies) b->net->values[*out].kind = PH_TENSOR_INPUT;
  return PH_OK;
}

static ph_status bind_list(binder *b, const ph_model_attr *attr, ph_net_attr_value *out) {
  int64_t *items = ph_arena_array(&b->net->arena, attr->count, sizeof(*items));
  if (items == NULL) return ph_fail_memory(b->error);
  for (uint32_t i = 0; i < attr->count; i++) {
    ph_dim dim;
    PH_TRY(at(b, attr->place, ph_expr_integer(attr->exprs[i], &b->scope, &dim, b->error)));
    items[i] = dim.value;
    out->varies = out->varies || dim.varies;
  }
  out->value.kind = PH_ATTR_I64_LIST;
  out->value.as.list.items = items;
  out->value.as.list.count = attr->count;
  return PH_OK;
}

static ph_status bind_attr(binder *b, const ph_op *op, const ph_model_attr *attr, ph_net_attr_value *out) {
  const ph_op_attr *row = &op->attrs[attr->row];
  *out = (ph_net_attr_value){.name = row->name};
  switch (row->type) {
  case PH_ATTR_TYPE_REAL:
    out->value.kind = PH_ATTR_F64;
    return at(b, attr->place, ph_expr_real(attr->exprs[0], &b->scope, &out->value.as.f64, &out->varies, b->error));
  case PH_ATTR_TYPE_BOOL:
    out->value.kind = PH_ATTR_I64;
    out->value.as.i64 = attr->boolean;
    return PH_OK;
  case PH_ATTR_TYPE_CHOICE:
  case PH_ATTR_TYPE_DTYPE:
    out->value.kind = PH_ATTR_STRING;
    out->value.as.string = attr->text;
    return PH_OK;
  case PH_ATTR_TYPE_AXES:
  case PH_ATTR_TYPE_INTEGERS:
  case PH_ATTR_TYPE_EXTENTS:
    return bind_list(b, attr, out);
  default:
    break;
  }
  ph_dim dim;
  PH_TRY(at(b, attr->place, ph_expr_integer(attr->exprs[0], &b->scope, &dim, b->error)));
  out->value.kind = PH_ATTR_I64;
  out->value.as.i64 = dim.value;
  out->varies = dim.varies;
  return PH_OK;
}

/* The names that split's `into` gives its outputs, NULL-terminated; NULL for ops whose outputs the table names. */
static ph_status output_names(binder *b, const ph_model_node *node, const char *const **out) {
  *out = NULL;
  if (node->op->outputs != NULL) return PH_OK;
  for (uint32_t i = 0; i < node->attr_count; i++) {
    const ph_model_attr *attr = &node->attrs[i];
    if (node->op->attrs[attr->row].type != PH_ATTR_TYPE_EXTENTS) continue;
    const char **names = ph_arena_array(&b->net->arena, (size_t)attr->count + 1, sizeof(*names));
    if (names == NULL) return ph_fail_memory(b->error);
    for (uint32_t k = 0; k < attr->count; k++) names[k] = attr->names[k];
    *out = names;
  }
  return PH_OK;
}

static ph_status bind_node(binder *b, const ph_model_node *node) {
  ph_arena *arena = &b->net->arena;
  uint32_t *inputs = ph_arena_array(arena, node->input_count, sizeof(*inputs));
  ph_net_attr_value *attrs = ph_arena_array(arena, node->attr_count, sizeof(*attrs));
  if (inputs == NULL || attrs == NULL) return ph_fail_memory(b->error);
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t input = node->inputs[i];
    if (input == PH_NONE)
      inputs[i] = PH_NONE;
    else if (b->model->values[input].kind == PH_VALUE_SCALAR)
      PH_TRY(bind_scalar(b, node, i, b->model->values[input].index, &inputs[i]));
    else
      inputs[i] = b->values[input];
  }
  for (uint32_t i = 0; i < node->attr_count; i++) PH_TRY(bind_attr(b, node->op, &node->attrs[i], &attrs[i]));
  const char *const *names;
  PH_TRY(output_names(b, node, &names));
  uint32_t first;
  ph_status status = ph_net_add_node(b->net, node->op, node->path, node->place, inputs, node->input_count, attrs,
                                     node->attr_count, names, &first, b->error);
  if (status != PH_OK) {
    if (node->call_place.line != 0 && b->error != NULL) {
      size_t used = strlen(b->error->message), room = sizeof(b->error->message);
      snprintf(b->error->message + used, room - used, " (called at %u:%u)", node->call_place.line,
               node->call_place.column);
    }
    return status;
  }
  for (uint32_t i = 0; i < node->output_count; i++) b->values[node->first_output + i] = first + i;
  return PH_OK;
}

static ph_status bind_all_values(binder *b, ph_tensor *const *weights) {
  const ph_model *model = b->model;
  for (uint32_t i = 0; i < model->value_count; i++) {
    const ph_model_value *value = &model->values[i];
    b->values[i] = PH_NONE;
    if (value->kind == PH_VALUE_INPUT) PH_TRY(bind_input(b, value->index, value->path, &b->values[i]));
    if (value->kind == PH_VALUE_STATE) PH_TRY(bind_state(b, value->index, value->path, &b->values[i]));
    if (value->kind == PH_VALUE_WEIGHT)
      PH_TRY(bind_weight(b, value->index, weights[value->index], value->path, &b->values[i]));
  }
  for (uint32_t i = 0; i < model->node_count; i++) PH_TRY(bind_node(b, &model->nodes[i]));
  for (uint32_t i = 0; i < model->state_count; i++) PH_TRY(bind_next(b, i));
  return PH_OK;
}

ph_status ph_bind(const ph_model *model, const ph_dim *dims, ph_tensor *const *weights, ph_notes *notes, ph_net **out,
                  ph_error *error) {
  ph_net *net = ph_new_array(1, sizeof(*net));
  if (net == NULL) return ph_fail_memory(error);
  ph_dim_scope storage = {model, dims};
  net->model = model;
  net->notes = notes;
  net->of_model = ph_arena_array(&net->arena, model->value_count, sizeof(*net->of_model));
  net->states = ph_arena_array(&net->arena, model->state_count, sizeof(*net->states));
  net->state_count = model->state_count;
  ph_status status = ph_fail_memory(error);
  if (net->of_model != NULL && net->states != NULL) {
    binder b = {
        .model = model, .net = net, .scope = ph_scope_of_dims(&storage), .values = net->of_model, .error = error};
    status = bind_all_values(&b, weights);
  }
  net->notes = NULL; /* the collector is the caller's and may be gone when passes add nodes */
  if (status == PH_OK)
    *out = net;
  else
    ph_net_destroy(net);
  return status;
}
