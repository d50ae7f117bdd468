/* execute(): where everything is, then node after node. */
#include "backend.h"
#include "fail.h"
#include "plan.h"

/* Every tensor that is no constant is bound to a stretch of a buffer; an empty one may have no buffer. */
static ph_status find_places(ph_plan *plan, const ph_binding *bindings, uint32_t count, ph_error *error) {
  for (uint32_t i = 0; i < plan->tensor_count; i++)
    if (!plan->places[i].constant) plan->places[i].data = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const ph_binding *binding = &bindings[i];
    if (binding->tensor >= plan->tensor_count) return FAIL(error, PH_INVALID, "there is no tensor %u", binding->tensor);
    struct place *place = &plan->places[binding->tensor];
    if (place->constant || place->bytes == 0 || binding->buffer == NULL) continue;
    if (binding->offset > binding->buffer->bytes || place->bytes > binding->buffer->bytes - binding->offset)
      return FAIL(error, PH_INVALID, "tensor %u does not fit its buffer", binding->tensor);
    place->data = binding->buffer->memory + binding->offset;
  }
  for (uint32_t i = 0; i < plan->tensor_count; i++)
    if (plan->places[i].bytes > 0 && plan->places[i].data == NULL)
      return FAIL(error, PH_INVALID, "tensor %u is not bound to a buffer", i);
  return PH_OK;
}

static float *data_of(const ph_plan *plan, const struct operand *operand) {
  return operand->count > 0 && operand->present ? (float *)(void *)plan->places[operand->tensor].data : NULL;
}

static void run_task(const ph_plan *plan, struct task *task) {
  int64_t elements = 0;
  for (uint32_t i = 0; i < MOST_INPUTS; i++) task->in[i].data = data_of(plan, &task->in[i]);
  for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
    task->out[i].data = data_of(plan, &task->out[i]);
    elements += task->out[i].count;
  }
  if (elements > 0) task->op->run(task);
}

/* `times` is NULL: the device does not say that it can measure nodes (PH_CAP_NODE_TIMES). */
ph_status execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                  const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  (void)queue;
  (void)workspace;
  (void)times;
  ph_status status = find_places(plan, bindings, binding_count, error);
  for (uint32_t i = 0; status == PH_OK && i < plan->task_count; i++) run_task(plan, &plan->tasks[i]);
  return status;
}
