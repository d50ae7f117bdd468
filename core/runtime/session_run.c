/* Running a session: inputs in, segment by segment, outputs out. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/session.h"

/* The content of what belongs to the plan: constants, and scalars that follow from dims. */
#define PLAN_CONTENT UINT64_MAX

static void set_value(ph_session_plan *plan, uint32_t value, ph_tensor *tensor, uint64_t content) {
  if (tensor != NULL) ph_tensor_retain(tensor);
  ph_tensor_release(plan->values[value]);
  plan->values[value] = tensor;
  plan->contents[value] = content;
}

/* Inputs and constants into plan->values, everything else out of it: what the last run computed is let go, so that its
 * memory may serve again where nobody else has it.  `changed`, by net value: an input whose bytes are not those of this
 * plan's last run. */
static ph_status place_inputs(ph_session *session, ph_session_plan *plan, ph_tensor **changed, ph_error *error) {
  for (uint32_t i = 0; i < plan->value_count; i++) {
    const ph_net_value *value = &plan->net->values[i];
    ph_tensor *tensor = NULL;
    uint64_t content = PLAN_CONTENT;
    if (value->kind == PH_TENSOR_INPUT) PH_TRY(ph_session_input_tensor(session, plan, i, &tensor, error));
    if (value->kind == PH_TENSOR_INPUT && value->input != PH_NONE) content = session->contents[value->input];
    if (value->kind == PH_TENSOR_CONSTANT) tensor = value->tensor;
    if (tensor != NULL && content == plan->contents[i]) continue;
    changed[i] = tensor;
    set_value(plan, i, tensor, tensor != NULL ? content : PH_CONTENT_UNKNOWN);
  }
  return PH_OK;
}

static ph_status gather_inputs(ph_session *session, ph_session_plan *plan, ph_error *error) {
  memset(plan->changed, 0, plan->value_count * sizeof(*plan->changed));
  ph_status status = place_inputs(session, plan, plan->changed, error);
  if (status == PH_OK) status = ph_check_indices(plan->net, plan->changed, session->context, error);
  for (uint32_t i = 0; status != PH_OK && i < plan->value_count; i++) /* what was not checked counts as new next time */
    if (plan->changed[i] != NULL) set_value(plan, i, NULL, PH_CONTENT_UNKNOWN);
  return status;
}

static ph_status give_memory(ph_session *session, ph_session_plan *plan, ph_segment *segment, ph_error *error) {
  const ph_lowered *lowered = ph_segment_lowered(segment);
  ph_segment_io *ios = ph_segment_ios(segment);
  for (uint32_t i = 0; i < lowered->storage_count; i++) {
    const ph_storage *storage = &lowered->storages[i];
    const ph_net_value *value = &plan->net->values[storage->value];
    ios[i].input = plan->values[storage->value];
    ios[i].content = plan->contents[storage->value];
    if (storage->kind == PH_TENSOR_STATE || storage->next)
      PH_TRY(ph_state_buffer(&session->states[value->state], plan->net, plan->dims, value->state,
                             ph_segment_device(segment), storage->next, &ios[i].state, error));
  }
  return PH_OK;
}

static void take_outputs(ph_session *session, ph_session_plan *plan, ph_segment *segment) {
  const ph_lowered *lowered = ph_segment_lowered(segment);
  const ph_segment_io *ios = ph_segment_ios(segment);
  for (uint32_t i = 0; i < lowered->storage_count; i++)
    if (lowered->storages[i].kind == PH_TENSOR_OUTPUT && !lowered->storages[i].next)
      set_value(plan, lowered->storages[i].value, ios[i].output, ++session->last_content);
}

static ph_status run_segment(ph_session *session, ph_session_plan *plan, uint32_t index, ph_error *error) {
  ph_segment *segment = plan->segments[index];
  const ph_lowered *lowered = ph_segment_lowered(segment);
  const ph_graph *graph = &lowered->graph;
  bool times = session->times && (ph_segment_device(segment)->limits.caps & PH_CAP_NODE_TIMES);
  ph_node_time *measured = times ? ph_new_array(graph->node_count, sizeof(*measured)) : NULL;
  if (times && measured == NULL) return ph_fail_memory(error);
  ph_status status = give_memory(session, plan, segment, error);
  if (status == PH_OK) {
    status = ph_segment_run(segment, measured, error);
    if (status != PH_OK && error != NULL && error->node < graph->node_count)
      ph_error_prefix(error, "node '%s': ", graph->nodes[error->node]->id);
  }
  for (uint32_t i = 0; times && i < graph->node_count; i++)
    plan->times[plan->segment_first[index] + lowered->node_of[i]] = measured[i];
  free(measured);
  if (status == PH_OK) take_outputs(session, plan, segment);
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
    set_value(plan, value, tensor, ++session->last_content);
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

static void drop_outputs(ph_session *session) {
  for (uint32_t i = 0; i < session->output_count; i++) {
    ph_tensor_release(session->outputs[i].tensor);
    session->outputs[i].tensor = NULL;
    session->outputs[i].labels = NULL;
  }
  ph_arena_free(&session->labels);
}

static ph_status fetch_outputs(ph_session *session, const ph_session_plan *plan, ph_error *error) {
  for (uint32_t i = 0; i < session->output_count; i++) {
    uint32_t value = plan->output_values[i];
    ph_output *output = &session->outputs[i];
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
  drop_outputs(session);
  PH_TRY(gather_inputs(session, plan, error));
  ph_status status = run_all(session, plan, error);
  if (status == PH_OK) status = fetch_outputs(session, plan, error);
  session->poisoned = status != PH_OK;
  return status;
}

ph_status ph_session_poison(ph_session *session, ph_error *error) {
  ph_session_plan *plan = session->current;
  drop_outputs(session);
  for (uint32_t i = 0; plan != NULL && i < plan->value_count; i++) /* what was computed must not seem somebody's */
    if (plan->net->values[i].kind != PH_TENSOR_INPUT && plan->net->values[i].kind != PH_TENSOR_CONSTANT)
      set_value(plan, i, NULL, PH_CONTENT_UNKNOWN);
  for (uint32_t i = 0; plan != NULL && i < plan->segment_count; i++)
    PH_TRY(ph_segment_poison(plan->segments[i], error));
  return PH_OK;
}
