/* Running a plan. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "opencl/buffer.h"
#include "opencl/kernel.h"
#include "opencl/plan.h"
#include "opencl/queue.h"
#include "opencl/status.h"

static ph_status check_place(const ph_binding *binding, uint64_t bytes, uint32_t element, const char *what,
                             uint32_t index, ph_error *error) {
  if (binding->buffer == NULL) return ph_fail(error, PH_INVALID, "%s %" PRIu32 " is bound to no buffer", what, index);
  if (binding->offset % element != 0 || binding->offset > binding->buffer->bytes ||
      bytes > binding->buffer->bytes - binding->offset)
    return ph_fail(error, PH_INVALID,
                   "%s %" PRIu32 " of %" PRIu64 " bytes does not lie at offset %" PRIu64 " of a buffer of %" PRIu64,
                   what, index, bytes, binding->offset, binding->buffer->bytes);
  return PH_OK;
}

static cl_place place_of(const ph_binding *binding) {
  return (cl_place){.memory = binding->buffer->cl, .buffer = binding->buffer->number, .offset = binding->offset};
}

static ph_status place_tensors(ph_plan *plan, const ph_binding *bindings, uint32_t count, ph_error *error) {
  memset(plan->places, 0, plan->tensor_count * sizeof(*plan->places));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t tensor = bindings[i].tensor;
    if (tensor >= plan->tensor_count) return ph_fail(error, PH_INVALID, "there is no tensor %" PRIu32, tensor);
    const cl_plan_tensor *known = &plan->tensors[tensor];
    if (known->bytes == 0) continue;
    PH_TRY(check_place(&bindings[i], known->bytes, known->element, "tensor", tensor, error));
    plan->places[tensor] = place_of(&bindings[i]);
  }
  return PH_OK;
}

static ph_status bind(ph_plan *plan, const ph_binding *bindings, uint32_t count, const ph_binding *workspace,
                      ph_error *error) {
  PH_TRY(place_tensors(plan, bindings, count, error));
  if (plan->workspace > 0) {
    if (workspace == NULL) return ph_fail(error, PH_INVALID, "the plan needs a workspace");
    PH_TRY(check_place(workspace, plan->workspace, sizeof(float), "workspace", 0, error));
  }
  for (size_t i = 0; i < plan->slot_count; i++) {
    cl_slot *slot = &plan->slots[i];
    cl_place place;
    uint32_t element = sizeof(float);
    if (slot->tensor == PH_NONE) {
      place = place_of(workspace);
      place.offset += slot->offset;
    } else {
      place = plan->places[slot->tensor];
      element = plan->tensors[slot->tensor].element;
      if (place.memory == NULL && plan->tensors[slot->tensor].bytes > 0)
        return ph_fail(error, PH_INVALID, "tensor %" PRIu32 " is not bound", slot->tensor);
    }
    if (slot->set && slot->set_buffer == place.buffer && slot->set_offset == place.offset) continue;
    slot->set = false;
    if (slot->place != NULL)
      *slot->place = place;
    else
      PH_TRY(cl_kernel_set_buffer(slot->kernel, slot->parameter, place.memory, place.offset / element, error));
    slot->set = true;
    slot->set_buffer = place.buffer;
    slot->set_offset = place.offset;
  }
  return PH_OK;
}

/* Those whose binaries are still to be kept, so that finish() does it. */
static ph_status note_builds(ph_queue *queue, ph_plan *plan, ph_error *error) {
  if (plan->noted) return PH_OK;
  if (!ph_grow(&queue->launched, &queue->launched_capacity, queue->launched_count + plan->build_count,
               sizeof(cl_build *)))
    return ph_fail_memory(error);
  for (size_t i = 0; i < plan->build_count; i++) queue->launched[queue->launched_count++] = plan->builds[i];
  plan->noted = true;
  return PH_OK;
}

static void time_with(ph_queue *queue, cl_event event, ph_node_time *to) {
  queue->timed[queue->timed_count++] = (cl_timed){.event = event, .to = to};
}

/* Queues the step.  `time`, where not NULL, is that of its node. */
static ph_status launch(ph_queue *queue, const cl_step *step, ph_node_time *time, ph_error *error) {
  cl_event event = NULL, *wanted = time != NULL ? &event : NULL;
  if (step->call != NULL && time != NULL) { /* whose event is that of its last launch */
    cl_int code = clEnqueueMarkerWithWaitList(queue->cl, 0, NULL, &event);
    if (code != CL_SUCCESS) return cl_fail(error, code, "clEnqueueMarkerWithWaitList");
    time_with(queue, event, time);
    event = NULL;
  }
  if (step->call != NULL) {
    PH_TRY(step->call->run(queue->cl, step->args, step->data, wanted, error));
  } else {
    cl_int code =
        clEnqueueNDRangeKernel(queue->cl, step->kernel, step->axes, NULL, step->global, step->local, 0, NULL, wanted);
    if (code != CL_SUCCESS) return cl_fail(error, code, "clEnqueueNDRangeKernel");
  }
  if (time != NULL) time_with(queue, event, time);
  return PH_OK;
}

ph_status cl_execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                     const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  if (times != NULL && !queue->times)
    return ph_fail(error, PH_INVALID, "times are asked of a queue without PH_QUEUE_TIMES");
  PH_TRY(bind(plan, bindings, binding_count, workspace, error));
  if (times != NULL) {
    memset(times, 0, plan->node_count * sizeof(*times));
    if (!ph_grow(&queue->timed, &queue->timed_capacity, queue->timed_count + 2 * plan->step_count,
                 sizeof(*queue->timed)))
      return ph_fail_memory(error);
  }
  PH_TRY(note_builds(queue, plan, error));
  for (size_t i = 0; i < plan->step_count; i++) {
    const cl_step *step = &plan->steps[i];
    ph_status status = launch(queue, step, times != NULL ? &times[step->node] : NULL, error);
    if (status == PH_OK) continue;
    if (error != NULL) error->node = step->node;
    return status;
  }
  return PH_OK;
}
