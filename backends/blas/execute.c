/* execute(): finds each tensor's memory, then runs node after node in the calling thread. */
#include <time.h>

#include "blas/convert.h"
#include "blas/device.h"
#include "blas/plan.h"

static ph_status bind(ph_plan *plan, const ph_binding *bindings, uint32_t count, ph_error *error) {
  for (uint32_t i = 0; i < plan->tensor_count; i++) plan->tensors[i].bound = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const ph_binding *binding = &bindings[i];
    if (binding->tensor >= plan->tensor_count)
      return ph_fail(error, PH_INVALID, "binding %u names tensor %u of %u", i, binding->tensor, plan->tensor_count);
    blas_tensor *tensor = &plan->tensors[binding->tensor];
    if (tensor->bytes == 0 || binding->buffer == NULL) continue;
    if (!blas_in_buffer(binding->buffer, binding->offset, tensor->bytes))
      return ph_fail(error, PH_INVALID, "tensor '%s' of %llu bytes does not fit its buffer at offset %llu",
                     tensor->name, (unsigned long long)tensor->bytes, (unsigned long long)binding->offset);
    tensor->bound = (char *)binding->buffer->memory + binding->offset;
  }
  for (uint32_t i = 0; i < plan->tensor_count; i++)
    if (plan->tensors[i].bytes > 0 && plan->tensors[i].constant == NULL && plan->tensors[i].bound == NULL)
      return ph_fail(error, PH_INVALID, "tensor '%s' is not bound to a buffer", plan->tensors[i].name);
  return PH_OK;
}

/* The operand's memory, as the op wants it: converted where it computes. */
static void *input_of(const ph_plan *plan, const blas_node *node, uint32_t role, char *workspace) {
  const blas_operand *operand = &node->in[role];
  if (operand->count == 0) return NULL;
  const blas_tensor *tensor = &plan->tensors[operand->tensor];
  if (tensor->constant != NULL) {
    bool half = node->op->computes && blas_is_half(operand->dtype);
    return half ? plan->converted[operand->tensor] : (void *)tensor->constant;
  }
  if (node->in_copy[role] == BLAS_NO_COPY) return tensor->bound;
  float *copy = (float *)(void *)(workspace + node->in_copy[role]);
  blas_load(operand->dtype, tensor->bound, operand->count, copy);
  return copy;
}

static void run_node(const ph_plan *plan, const blas_node *node, char *workspace) {
  if (node->op == NULL) return;
  for (uint32_t i = 0; i < node->in_count; i++) plan->in[i] = input_of(plan, node, i, workspace);
  for (uint32_t i = 0; i < node->out_count; i++) {
    const blas_operand *operand = &node->out[i];
    plan->out[i] = operand->count == 0                 ? NULL
                   : node->out_copy[i] != BLAS_NO_COPY ? workspace + node->out_copy[i]
                                                       : plan->tensors[operand->tensor].bound;
  }
  blas_call call = {.node = node, .in = plan->in, .out = plan->out};
  if (workspace != NULL) call.scratch = (float *)(void *)(workspace + node->scratch);
  node->op->run(&call);
  for (uint32_t i = 0; i < node->out_count; i++)
    if (node->out_copy[i] != BLAS_NO_COPY)
      blas_store(node->out[i].dtype, plan->out[i], node->out[i].count, plan->tensors[node->out[i].tensor].bound);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

ph_status blas_execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                       const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  PH_TRY(bind(plan, bindings, binding_count, error));
  char *scratch = NULL;
  if (plan->workspace > 0) {
    if (workspace == NULL || workspace->buffer == NULL ||
        !blas_in_buffer(workspace->buffer, workspace->offset, plan->workspace))
      return ph_fail(error, PH_INVALID, "the plan needs a workspace of %llu bytes",
                     (unsigned long long)plan->workspace);
    scratch = (char *)workspace->buffer->memory + workspace->offset;
  }
  bool timed = times != NULL && (queue->flags & PH_QUEUE_TIMES) != 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    uint64_t start = timed ? now() : 0;
    run_node(plan, &plan->nodes[i], scratch);
    if (timed) times[i] = (ph_node_time){.start_ns = start, .end_ns = now()};
  }
  return PH_OK;
}
