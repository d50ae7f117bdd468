/* Sessions: their life and their inputs.  session_prepare.c plans for the dims at hand, session_run.c runs. */
#include "runtime/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "config/source.h"

/* ---- life ---- */

void ph_session_plan_destroy(ph_session_plan *plan) {
  if (plan == NULL) return;
  for (uint32_t i = 0; i < plan->segment_count; i++) ph_segment_destroy(plan->segments[i]);
  for (uint32_t i = 0; plan->values != NULL && i < plan->value_count; i++) ph_tensor_release(plan->values[i]);
  free(plan->segments);
  free(plan->segment_first);
  free(plan->placements);
  free(plan->output_values);
  free(plan->values);
  free(plan->contents);
  free(plan->changed);
  free(plan->times);
  free(plan->reports);
  free(plan->dims);
  ph_net_destroy(plan->net);
  free(plan);
}

void ph_session_plan_rest(ph_session_plan *plan) {
  for (uint32_t i = 0; i < plan->segment_count; i++) ph_segment_rest(plan->segments[i]);
  for (uint32_t i = 0; i < plan->value_count; i++) {
    ph_tensor_release(plan->values[i]);
    plan->values[i] = NULL;
    plan->contents[i] = PH_CONTENT_UNKNOWN;
  }
}

static void destroy_plans(ph_session *session) {
  while (session->plans != NULL) {
    ph_session_plan *next = session->plans->next;
    ph_session_plan_destroy(session->plans);
    session->plans = next;
  }
  session->current = NULL;
}

void ph_tensors_release(ph_tensor **tensors, uint32_t count) {
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
  ph_pool_free(&session->pool);
  if (!session->borrowed) {
    ph_open_device_close(session->device);
    ph_open_device_close(session->reference);
  }
  ph_tensors_release(session->inputs, session->model->input_count);
  ph_tensors_release(session->defaults, session->model->input_count);
  ph_tensors_release(session->weights, session->model->weight_count);
  ph_tensors_release(session->aligned, session->model->weight_count);
  for (uint32_t i = 0; i < session->keep_count; i++) free(session->keep[i]);
  for (uint32_t i = 0; session->outputs != NULL && i < session->output_count; i++)
    ph_tensor_release(session->outputs[i].tensor);
  free(session->keep);
  free(session->outputs);
  free(session->contents);
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
  session->contents = ph_new_array(model->input_count, sizeof(*session->contents));
  if (session->states == NULL || session->inputs == NULL || session->defaults == NULL || session->weights == NULL ||
      session->aligned == NULL || session->outputs == NULL || session->contents == NULL)
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
  session->unfolded = PH_COVERS(options, ph_session_options, unfolded) && options->unfolded;
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
  for (ph_session_plan *plan = session->plans; plan != NULL; plan = plan->next) ph_session_plan_rest(plan);
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
  ph_tensor *before = session->inputs[index];
  bool same = before != NULL && memcmp(before->dims, tensor->dims, tensor->rank * sizeof(*tensor->dims)) == 0;
  session->moved = session->moved || !same;
  ph_tensor_retain(tensor);
  ph_tensor_release(before);
  session->inputs[index] = tensor;
  /* Given again, it counts as new: whoever made it may have put other numbers into it. */
  session->contents[index] = ++session->last_content;
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
    session->contents[v->input] = ++session->last_content;
  }
  *out = *made;
  return PH_OK;
}
