/* Running a session: inputs in, segment by segment, outputs out. */
#include <stdlib.h>

#include "base/error.h"
#include "runtime/session.h"

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

ph_status ph_session_poison(ph_session *session, ph_error *error) {
  const ph_session_plan *plan = session->current;
  for (uint32_t i = 0; plan != NULL && i < plan->segment_count; i++)
    PH_TRY(ph_segment_poison(plan->segments[i], error));
  return PH_OK;
}
