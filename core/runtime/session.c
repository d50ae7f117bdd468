/* Sessions: a model on a device, prepared for the dims at hand and run. */
#include "runtime/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "config/source.h"
#include "config/weights.h"
#include "passes/dropout.h"
#include "passes/fuse.h"
#include "passes/states.h"

enum { MAX_PLANS = 16, ALIGNMENT = 64 };

/* ---- life ---- */

static void destroy_plan(ph_session_plan *plan) {
  if (plan == NULL) return;
  for (uint32_t i = 0; i < plan->segment_count; i++) ph_segment_destroy(plan->segments[i]);
  for (uint32_t i = 0; plan->values != NULL && i < plan->value_count; i++) ph_tensor_release(plan->values[i]);
  free(plan->segments);
  free(plan->segment_first);
  free(plan->placements);
  free(plan->values);
  free(plan->times);
  free(plan->reports);
  free(plan->dims);
  ph_net_destroy(plan->net);
  free(plan);
}

static void destroy_plans(ph_session *session) {
  while (session->plans != NULL) {
    ph_session_plan *next = session->plans->next;
    destroy_plan(session->plans);
    session->plans = next;
  }
  session->current = NULL;
}

static void release_all(ph_tensor **tensors, uint32_t count) {
  for (uint32_t i = 0; tensors != NULL && i < count; i++) ph_tensor_release(tensors[i]);
  free(tensors);
}

void ph_session_destroy(ph_session *session) {
  if (session == NULL) return;
  destroy_plans(session);
  for (uint32_t i = 0; session->states != NULL && i < session->model->state_count; i++)
    ph_state_free(&session->states[i]);
  free(session->states);
  ph_held_free(&session->held);
  ph_program_cache_destroy(session->programs);
  if (!session->borrowed) {
    ph_open_device_close(session->device);
    ph_open_device_close(session->reference);
  }
  release_all(session->inputs, session->model->input_count);
  release_all(session->defaults, session->model->input_count);
  release_all(session->weights, session->model->weight_count);
  release_all(session->aligned, session->model->weight_count);
  for (uint32_t i = 0; i < session->keep_count; i++) free(session->keep[i]);
  for (uint32_t i = 0; session->outputs != NULL && i < session->output_count; i++)
    ph_tensor_release(session->outputs[i].tensor);
  free(session->keep);
  free(session->outputs);
  free(session->output_values);
  ph_labels_close(session);
  free(session);
}

static ph_status copy_keep(ph_session *session, const ph_session_options *options, ph_error *error) {
  session->keep = ph_new_array(options->keep_count, sizeof(*session->keep));
  if (session->keep == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < options->keep_count; i++) {
    session->keep[i] = strdup(options->keep[i]);
    if (session->keep[i] == NULL) return ph_fail_memory(error);
    session->keep_count++;
  }
  return PH_OK;
}

static ph_status fill(ph_session *session, const ph_session_options *options, ph_error *error) {
  const ph_model *model = session->model;
  PH_TRY(copy_keep(session, options, error));
  session->output_count = model->output_count + session->keep_count;
  session->states = ph_new_array(model->state_count, sizeof(*session->states));
  session->inputs = ph_new_array(model->input_count, sizeof(*session->inputs));
  session->defaults = ph_new_array(model->input_count, sizeof(*session->defaults));
  session->weights = ph_new_array(model->weight_count, sizeof(*session->weights));
  session->aligned = ph_new_array(model->weight_count, sizeof(*session->aligned));
  session->outputs = ph_new_array(session->output_count, sizeof(*session->outputs));
  session->output_values = ph_new_array(session->output_count, sizeof(*session->output_values));
  if (session->states == NULL || session->inputs == NULL || session->defaults == NULL || session->weights == NULL ||
      session->aligned == NULL || session->outputs == NULL || session->output_values == NULL)
    return ph_fail_memory(error);
  for (uint32_t i = 0; i < session->output_count; i++) {
    bool declared = i < model->output_count;
    const char *kept = declared ? NULL : session->keep[i - model->output_count];
    session->outputs[i].alias = declared ? model->outputs[i].alias : kept;
    session->outputs[i].path = declared ? model->outputs[i].path : kept;
  }
  PH_TRY(ph_labels_open(session, error));
  return ph_program_cache_create(&session->programs, error);
}

static ph_status open_devices(ph_session *session, const ph_session_options *options, ph_error *error) {
  PH_TRY(ph_context_open_device(session->context, options->device, &session->device, error));
  bool is_reference = strcmp(session->device->entry->backend, "reference") == 0;
  if (options->fallback == PH_FALLBACK_REFERENCE && !is_reference)
    PH_TRY(ph_context_open_device(session->context, "reference", &session->reference, error));
  return PH_OK;
}

/* device: NULL where the options say which. */
static ph_status create(ph_context *context, ph_model *model, const ph_session_options *options, ph_open_device *device,
                        ph_open_device *reference, ph_session **out, ph_error *error) {
  static const ph_session_options none = {.struct_size = sizeof(none)};
  if (options == NULL) options = &none;
  ph_session *session = ph_new_array(1, sizeof(*session));
  if (session == NULL) return ph_fail_memory(error);
  session->context = context;
  session->model = model;
  session->times = options->times;
  session->attention = PH_COVERS(options, ph_session_options, attention) && options->attention;
  session->device = device;
  session->reference = reference;
  session->borrowed = device != NULL;
  ph_status status = fill(session, options, error);
  if (status == PH_OK && !session->borrowed) status = open_devices(session, options, error);
  if (status == PH_OK)
    *out = session;
  else
    ph_session_destroy(session);
  return status;
}

ph_status ph_session_create(ph_context *context, ph_model *model, const ph_session_options *options, ph_session **out,
                            ph_error *error) {
  return create(context, model, options, NULL, NULL, out, error);
}

ph_status ph_session_create_on(ph_context *context, ph_model *model, const ph_session_options *options,
                               ph_open_device *device, ph_open_device *reference, ph_session **out, ph_error *error) {
  return create(context, model, options, device, reference, out, error);
}

ph_status ph_session_reset(ph_session *session, ph_error *error) {
  (void)error;
  for (ph_session_plan *plan = session->plans; plan != NULL; plan = plan->next)
    for (uint32_t i = 0; i < plan->value_count; i++) {
      ph_tensor_release(plan->values[i]);
      plan->values[i] = NULL;
    }
  for (uint32_t i = 0; i < session->model->state_count; i++) ph_state_free(&session->states[i]);
  ph_held_free(&session->held);
  session->poisoned = false;
  return PH_OK;
}

/* ---- inputs ---- */

static uint32_t find_input(const ph_model *model, const char *name) {
  for (uint32_t i = 0; i < model->input_count; i++)
    if (strcmp(model->inputs[i].name, name) == 0) return i;
  return PH_NONE;
}

static ph_status no_such_input(const ph_model *model, const char *name, ph_error *error) {
  const char **names = ph_new_array(model->input_count, sizeof(*names));
  if (names == NULL) return ph_fail_memory(error);
  ph_text list = {0};
  for (uint32_t i = 0; i < model->input_count; i++) {
    names[i] = model->inputs[i].name;
    ph_text_add(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
  }
  const char *nearest = ph_nearest(name, names, model->input_count);
  ph_status status = ph_fail(error, PH_INVALID, "%s has no input '%s'%s%s%s; it has: %s", model->file, name,
                             nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                             nearest == NULL ? "" : "'", list.data == NULL ? "none" : list.data);
  ph_text_free(&list);
  free(names);
  return status;
}

ph_status ph_session_set_input(ph_session *session, const char *name, ph_tensor *tensor, ph_error *error) {
  uint32_t index = find_input(session->model, name);
  if (index == PH_NONE) return no_such_input(session->model, name, error);
  const ph_model_input *input = &session->model->inputs[index];
  if (tensor->dtype != input->dtype)
    return ph_fail(error, PH_INVALID, "input %s: expected %s, the tensor given has %s (nothing is cast silently)", name,
                   ph_dtype_name(input->dtype), ph_dtype_name(tensor->dtype));
  if (tensor->rank != input->rank)
    return ph_fail(error, PH_INVALID, "input %s: expected %u axes, the tensor given has %u", name, input->rank,
                   tensor->rank);
  ph_tensor_retain(tensor);
  ph_tensor_release(session->inputs[index]);
  session->inputs[index] = tensor;
  return PH_OK;
}

static bool has_type(const ph_tensor *tensor, const ph_type *type) {
  bool same = tensor->rank == type->rank && tensor->dtype == type->dtype;
  for (uint32_t i = 0; same && i < type->rank; i++) same = tensor->dims[i] == type->dims[i].value;
  return same;
}

ph_status ph_session_input_tensor(ph_session *session, ph_session_plan *plan, uint32_t value, ph_tensor **out,
                                  ph_error *error) {
  const ph_net_value *v = &plan->net->values[value];
  if (v->tensor != NULL) {
    *out = v->tensor;
    return PH_OK;
  }
  const ph_model_input *input = &session->model->inputs[v->input];
  ph_tensor *given = session->inputs[v->input];
  if (given != NULL) {
    ph_type type = {.dtype = given->dtype, .rank = given->rank};
    for (uint32_t i = 0; i < given->rank; i++) type.dims[i].value = given->dims[i];
    if (!has_type(given, &v->type))
      return ph_fail_at(error, input->place, "input '%s' is %s here, but the tensor given is %s", input->name,
                        ph_type_text(&v->type), ph_type_text(&type));
    *out = given;
    return PH_OK;
  }
  if (input->initial.kind == PH_SOURCE_NONE)
    return ph_fail_at(error, input->place, "input '%s', %s %s, has no default: give it with -i %s=FILE", input->name,
                      ph_dtype_name(v->type.dtype), ph_type_text(&v->type), input->name);
  ph_tensor **made = &session->defaults[v->input];
  if (*made == NULL || !has_type(*made, &v->type)) {
    ph_dim_scope storage = {session->model, plan->dims};
    ph_scope scope = ph_scope_of_dims(&storage);
    ph_tensor *fresh;
    PH_TRY(ph_source_make(&input->initial, input->name, &v->type, &scope, &fresh, error));
    ph_tensor_release(*made);
    *made = fresh;
  }
  *out = *made;
  return PH_OK;
}

/* ---- preparing ---- */

/* Backends may count on constants being aligned (backend.h, ph_tensor_desc.data); a mapped file does not align them. */
static ph_status align_weights(ph_session *session, ph_tensor **resolved, ph_error *error) {
  for (uint32_t i = 0; i < session->model->weight_count; i++) {
    if (resolved[i] == session->weights[i]) continue;
    ph_tensor *aligned = NULL;
    for (uint32_t k = 0; k < i && aligned == NULL; k++) /* the same key stays one tensor */
      if (resolved[k] == resolved[i]) aligned = ph_tensor_retain(session->aligned[k]);
    if (aligned == NULL && (uintptr_t)resolved[i]->data % ALIGNMENT == 0) aligned = ph_tensor_retain(resolved[i]);
    if (aligned == NULL) {
      PH_TRY(ph_tensor_create(resolved[i]->dtype, resolved[i]->rank, resolved[i]->dims, &aligned, error));
      memcpy(aligned->data, resolved[i]->data, resolved[i]->bytes);
    }
    ph_tensor_release(session->weights[i]);
    ph_tensor_release(session->aligned[i]);
    session->weights[i] = ph_tensor_retain(resolved[i]);
    session->aligned[i] = aligned;
  }
  return PH_OK;
}

static ph_status resolve_weights(ph_session *session, const ph_dim *dims, ph_error *error) {
  uint32_t count = session->model->weight_count;
  ph_tensor **resolved = ph_new_array(count, sizeof(*resolved));
  if (resolved == NULL) return ph_fail_memory(error);
  pthread_mutex_lock(&session->model->lock);
  ph_status status = ph_weights_resolve(session->model, dims, resolved, error);
  pthread_mutex_unlock(&session->model->lock);
  if (status == PH_OK) status = align_weights(session, resolved, error);
  release_all(resolved, count);
  return status;
}

static void warn(void *user, const char *text) {
  ph_context_log(user, PH_LOG_WARN, "%s", text);
}

/* The value of a path; NODE.weights and the like make a node that has steps give place to them. */
static ph_status find_wanted(ph_net *net, const char *path, uint32_t *out, ph_error *error) {
  *out = ph_net_value_find(net, path);
  const char *dot = strrchr(path, '.');
  for (uint32_t n = 0; *out == PH_NONE && dot != NULL && n < net->node_count; n++) {
    const char *owner = net->nodes[n]->path;
    size_t length = (size_t)(dot - path);
    if (!ph_has_steps(net->nodes[n]) || strncmp(owner, path, length) != 0 || owner[length] != '\0') continue;
    PH_TRY(ph_write_out(net, n, error));
    *out = ph_net_value_find(net, path);
    break;
  }
  return PH_OK;
}

/* Marks what is wanted; a path that the model does not have is an error that names the nearest. */
static ph_status mark_outputs(ph_session *session, ph_net *net, uint32_t *out, ph_error *error) {
  for (uint32_t i = 0; i < session->output_count; i++) {
    const char *path = session->outputs[i].path;
    PH_TRY(find_wanted(net, path, &out[i], error));
    if (out[i] != PH_NONE && net->values[out[i]].kind == PH_TENSOR_STATE)
      return ph_fail(error, PH_INVALID, "%s: '%s' is a state, which lives on the device: ask for the value it becomes",
                     session->model->file, path);
    if (out[i] != PH_NONE) {
      net->values[out[i]].kept = true;
      continue;
    }
    const char **names = ph_new_array(net->value_count, sizeof(*names));
    if (names == NULL) return ph_fail_memory(error);
    for (uint32_t k = 0; k < net->value_count; k++) names[k] = net->values[k].path;
    const char *nearest = ph_nearest(path, names, net->value_count);
    ph_status status = ph_fail(error, PH_INVALID, "%s: there is no value '%s'%s%s%s; `polyhead check` lists the values",
                               session->model->file, path, nearest == NULL ? "" : "; did you mean '",
                               nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'");
    free(names);
    return status;
  }
  return PH_OK;
}

static ph_status refuse(const ph_session *session, const ph_session_plan *plan, uint32_t node, ph_error *error) {
  const ph_net_node *n = plan->net->nodes[node];
  return ph_fail(error, PH_UNSUPPORTED, "node '%s' (%s): %s does not run it: %s%s", n->path, n->op->name,
                 session->device->entry->spec, plan->placements[node].reason,
                 session->reference == NULL && strcmp(session->device->entry->backend, "reference") != 0
                     ? "; --fallback reference would run it on the reference"
                     : "");
}

/* Cuts the nodes into maximal runs on one device, all held or none, and prepares each. */
static ph_status make_segments(ph_session *session, ph_session_plan *plan, uint32_t held, ph_error *error) {
  ph_net *net = plan->net;
  plan->segments = ph_new_array(net->node_count, sizeof(*plan->segments));
  plan->segment_first = ph_new_array(net->node_count, sizeof(*plan->segment_first));
  if (plan->segments == NULL || plan->segment_first == NULL) return ph_fail_memory(error);
  for (uint32_t first = 0, end; first < net->node_count; first = end) {
    const ph_open_device *device = plan->placements[first].device;
    for (end = first + 1; end < net->node_count && plan->placements[end].device == device && end != held;) end++;
    ph_lowered *lowered;
    PH_TRY(ph_lower(net, net->nodes + first, end - first, PH_LOWER_RUN, &lowered, error));
    plan->segment_first[plan->segment_count] = first;
    PH_TRY(ph_segment_create(device, session->programs, net, lowered, &plan->segments[plan->segment_count], error));
    plan->segment_count++;
    if (first < held) plan->held_segments++;
  }
  return PH_OK;
}

/* Writes attention out and wants its weights. */
static ph_status keep_attention(ph_net *net, ph_error *error) {
  for (uint32_t n = 0; n < net->node_count; n++)
    if (strcmp(net->nodes[n]->op->name, "attention") == 0) PH_TRY(ph_write_out(net, n, error));
  for (uint32_t n = 0; n < net->node_count; n++)
    if (strcmp(net->nodes[n]->op->name, "softmax") == 0 || strcmp(net->nodes[n]->op->name, "hardmax") == 0)
      net->values[net->nodes[n]->outputs[0]].kept = true;
  return PH_OK;
}

static void note_dropout(ph_context *context, const ph_net *net) {
  for (uint32_t n = 0; n < net->node_count; n++) {
    const ph_net_node *node = net->nodes[n];
    if (strcmp(node->op->name, "dropout") == 0)
      ph_context_log(context, PH_LOG_INFO,
                     "%s:%u:%u: node '%s': dropout acts in training only; nothing is dropped here", node->place.file,
                     node->place.line, node->place.column, node->path);
  }
}

static ph_status build_plan(ph_session *session, ph_session_plan *plan, ph_error *error) {
  ph_notes notes = {warn, session->context};
  PH_TRY(resolve_weights(session, plan->dims, error));
  ph_weights_check_layouts(session->model, session->weights, &notes);
  PH_TRY(ph_bind(session->model, plan->dims, session->aligned, &notes, &plan->net, error));
  PH_TRY(mark_outputs(session, plan->net, session->output_values, error));
  note_dropout(session->context, plan->net);
  ph_skip_dropout(plan->net);
  if (session->attention) PH_TRY(keep_attention(plan->net, error));
  PH_TRY(ph_states_place(plan->net, &notes, error));
  PH_TRY(ph_fuse_attention(plan->net, error));
  PH_TRY(ph_place_nodes(plan->net, session->device, session->reference, &plan->placements, error));
  uint32_t held;
  PH_TRY(ph_hold_first(plan->net, plan->placements, &held, error));
  plan->value_count = plan->net->value_count;
  plan->values = ph_new_array(plan->value_count, sizeof(*plan->values));
  plan->times = ph_new_array(plan->net->node_count, sizeof(*plan->times));
  plan->reports = ph_new_array(plan->net->node_count, sizeof(*plan->reports));
  if (plan->values == NULL || plan->times == NULL || plan->reports == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < plan->net->node_count; i++)
    plan->refused = plan->refused || plan->placements[i].device == NULL;
  return plan->refused ? PH_OK : make_segments(session, plan, held, error);
}

static bool same_dims(const ph_session *session, const ph_dim *a, const ph_dim *b) {
  for (uint32_t i = 0; i < session->model->dim_count; i++)
    if (a[i].value != b[i].value) return false;
  return true;
}

/* The newest plan comes first; the oldest goes when there are too many. */
static void keep_plan(ph_session *session, ph_session_plan *plan) {
  plan->next = session->plans;
  session->plans = plan;
  ph_session_plan *last = plan;
  for (uint32_t count = 1; last->next != NULL; count++) {
    if (count == MAX_PLANS) {
      destroy_plan(last->next);
      last->next = NULL;
      break;
    }
    last = last->next;
  }
}

ph_status ph_session_prepare(ph_session *session, bool report_refused, ph_error *error) {
  uint32_t count = session->model->dim_count;
  ph_dim *dims = ph_new_array(count, sizeof(*dims));
  if (dims == NULL) return ph_fail_memory(error);
  ph_status status = ph_bind_dims(session->model, (const ph_tensor *const *)session->inputs, dims, error);
  if (status != PH_OK) {
    free(dims);
    return status;
  }
  ph_session_plan *plan = session->plans;
  while (plan != NULL && !same_dims(session, plan->dims, dims)) plan = plan->next;
  if (plan != NULL) {
    free(dims);
    PH_TRY(mark_outputs(session, plan->net, session->output_values, error));
  } else {
    plan = ph_new_array(1, sizeof(*plan));
    if (plan == NULL) {
      free(dims);
      return ph_fail_memory(error);
    }
    plan->dims = dims;
    status = build_plan(session, plan, error);
    if (status != PH_OK) {
      destroy_plan(plan);
      return status;
    }
    keep_plan(session, plan);
  }
  session->current = plan;
  for (uint32_t i = 0; !report_refused && i < plan->net->node_count; i++)
    if (plan->placements[i].device == NULL) return refuse(session, plan, i, error);
  return PH_OK;
}

/* ---- running ---- */

static void set_value(ph_session_plan *plan, uint32_t value, ph_tensor *tensor) {
  ph_tensor_release(plan->values[value]);
  plan->values[value] = tensor;
}

static ph_status make_output(const ph_net_value *value, ph_tensor **out, ph_error *error) {
  int64_t dims[PH_MAX_RANK];
  for (uint32_t i = 0; i < value->type.rank; i++) dims[i] = value->type.dims[i].value;
  return ph_tensor_create(value->type.dtype, value->type.rank, dims, out, error);
}

static ph_status gather_inputs(ph_session *session, ph_session_plan *plan, ph_error *error) {
  for (uint32_t i = 0; i < plan->net->value_count; i++) {
    const ph_net_value *value = &plan->net->values[i];
    ph_tensor *tensor = NULL;
    if (value->kind == PH_TENSOR_INPUT) PH_TRY(ph_session_input_tensor(session, plan, i, &tensor, error));
    if (value->kind == PH_TENSOR_CONSTANT) tensor = value->tensor;
    set_value(plan, i, tensor == NULL ? NULL : ph_tensor_retain(tensor));
  }
  return ph_check_indices(plan->net, plan->values, session->context, error);
}

/* What a segment reads and writes, by storage. */
typedef struct segment_memory {
  const void **inputs;
  void **outputs;
  ph_buffer **states;
} segment_memory;

static ph_status find_memory(ph_session *session, ph_session_plan *plan, ph_segment *segment, segment_memory *memory,
                             ph_error *error) {
  const ph_lowered *lowered = ph_segment_lowered(segment);
  for (uint32_t i = 0; i < lowered->storage_count; i++) {
    const ph_storage *storage = &lowered->storages[i];
    const ph_net_value *value = &plan->net->values[storage->value];
    if (storage->kind == PH_TENSOR_INPUT) memory->inputs[i] = plan->values[storage->value]->data;
    if (storage->kind == PH_TENSOR_STATE || storage->next) {
      PH_TRY(ph_state_buffer(&session->states[value->state], plan->net, plan->dims, value->state,
                             ph_segment_device(segment), storage->next, &memory->states[i], error));
    } else if (storage->kind == PH_TENSOR_OUTPUT) {
      ph_tensor *tensor;
      PH_TRY(make_output(value, &tensor, error));
      set_value(plan, storage->value, tensor);
      memory->outputs[i] = tensor->data;
    }
  }
  return PH_OK;
}

static ph_status run_segment(ph_session *session, ph_session_plan *plan, uint32_t index, ph_error *error) {
  ph_segment *segment = plan->segments[index];
  const ph_lowered *lowered = ph_segment_lowered(segment);
  segment_memory memory = {.inputs = ph_new_array(lowered->storage_count, sizeof(*memory.inputs)),
                           .outputs = ph_new_array(lowered->storage_count, sizeof(*memory.outputs)),
                           .states = ph_new_array(lowered->storage_count, sizeof(*memory.states))};
  bool ready = memory.inputs != NULL && memory.outputs != NULL && memory.states != NULL;
  ph_status status = ready ? find_memory(session, plan, segment, &memory, error) : ph_fail_memory(error);
  if (status == PH_OK) {
    bool times = session->times && (ph_segment_device(segment)->limits.caps & PH_CAP_NODE_TIMES);
    status = ph_segment_run(segment, memory.inputs, memory.outputs, memory.states,
                            times ? plan->times + plan->segment_first[index] : NULL, error);
    if (status != PH_OK && error != NULL && error->node < lowered->graph.node_count)
      ph_error_prefix(error, "node '%s': ", lowered->graph.nodes[error->node]->id);
  }
  free(memory.inputs);
  free(memory.outputs);
  free(memory.states);
  return status;
}

/* Takes what an earlier run, perhaps of a plan for other dims, gave for the outputs of a segment; false where it gave
 * not all. */
static bool take_held(ph_session *session, ph_session_plan *plan, uint32_t index) {
  const ph_lowered *lowered = ph_segment_lowered(plan->segments[index]);
  for (uint32_t i = 0; i < lowered->storage_count; i++) {
    uint32_t value = lowered->storages[i].value;
    if (lowered->storages[i].kind != PH_TENSOR_OUTPUT) continue;
    ph_tensor *tensor = ph_held_find(&session->held, plan->net->values[value].path, &plan->net->values[value].type);
    if (tensor == NULL) return false;
    set_value(plan, value, ph_tensor_retain(tensor));
  }
  return true;
}

static ph_status keep_held(ph_session *session, ph_session_plan *plan, uint32_t index, ph_error *error) {
  const ph_lowered *lowered = ph_segment_lowered(plan->segments[index]);
  for (uint32_t i = 0; i < lowered->storage_count; i++) {
    uint32_t value = lowered->storages[i].value;
    if (lowered->storages[i].kind == PH_TENSOR_OUTPUT)
      PH_TRY(ph_held_add(&session->held, plan->net->values[value].path, plan->values[value], error));
  }
  return PH_OK;
}

/* The segments that depend on held inputs and weights alone run where those inputs are new. */
static ph_status run_held(ph_session *session, ph_session_plan *plan, ph_error *error) {
  if (plan->held_segments == 0) return PH_OK;
  const ph_model *model = session->model;
  ph_tensor **inputs = ph_new_array(model->input_count, sizeof(*inputs));
  if (inputs == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < plan->net->value_count; i++) {
    const ph_net_value *value = &plan->net->values[i];
    if (value->kind == PH_TENSOR_INPUT && value->input != PH_NONE) inputs[value->input] = plan->values[i];
  }
  ph_status status = PH_OK;
  if (!ph_held_is_of(&session->held, model, inputs)) status = ph_held_start(&session->held, model, inputs, error);
  for (uint32_t i = 0; i < plan->held_segments && status == PH_OK; i++) {
    if (take_held(session, plan, i)) continue;
    status = run_segment(session, plan, i, error);
    if (status == PH_OK) status = keep_held(session, plan, i, error);
  }
  free(inputs);
  return status;
}

static ph_status run_all(ph_session *session, ph_session_plan *plan, ph_error *error) {
  PH_TRY(run_held(session, plan, error));
  for (uint32_t i = plan->held_segments; i < plan->segment_count; i++) PH_TRY(run_segment(session, plan, i, error));
  for (uint32_t i = 0; i < plan->net->state_count; i++)
    if (!plan->net->values[plan->net->states[i].next].in_place) ph_state_turn(&session->states[i]);
  return PH_OK;
}

static ph_status fetch_outputs(ph_session *session, const ph_session_plan *plan, ph_error *error) {
  ph_arena_free(&session->labels);
  for (uint32_t i = 0; i < session->output_count; i++) {
    uint32_t value = session->output_values[i];
    ph_output *output = &session->outputs[i];
    ph_tensor_release(output->tensor);
    output->tensor = ph_tensor_retain(plan->values[value]);
    PH_TRY(ph_labels_find(session, plan, &plan->net->values[value].type, &output->labels, error));
  }
  return PH_OK;
}

ph_status ph_session_run(ph_session *session, ph_error *error) {
  if (session->poisoned)
    return ph_fail(error, PH_INVALID, "an earlier run of this session failed: reset it before running again");
  PH_TRY(ph_session_prepare(session, false, error));
  ph_session_plan *plan = session->current;
  PH_TRY(gather_inputs(session, plan, error));
  ph_status status = run_all(session, plan, error);
  if (status == PH_OK) status = fetch_outputs(session, plan, error);
  session->poisoned = status != PH_OK;
  return status;
}
