/* Programs and plans.  A graph that is passed in dies with the call: what is needed of it is copied. */
#include "plan.h"

#include <stdlib.h>

#include "backend.h"
#include "fail.h"

/* calloc() that gives memory for a count of 0, too. */
static void *new_array(size_t count, size_t size) {
  return calloc(count > 0 ? count : 1, size);
}

/* ---- program: dims and attributes may be PH_DIM_VARIES and PH_ATTR_VARIES here; only constants are sure ---- */

void program_destroy(ph_program *program) {
  if (program == NULL) return;
  for (uint32_t i = 0; program->packed != NULL && i < program->node_count; i++) free(program->packed[i]);
  free(program->packed);
  free(program);
}

ph_status program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error) {
  (void)device;
  ph_program *program = calloc(1, sizeof(*program));
  if (program == NULL) return NO_MEMORY(error);
  program->node_count = graph->node_count;
  program->packed = new_array(graph->node_count, sizeof(*program->packed));
  bool out_of_memory = program->packed == NULL;
  for (uint32_t i = 0; !out_of_memory && i < graph->node_count; i++) {
    const struct op *op = find_op(graph->nodes[i]->op);
    if (op == NULL) { /* supports() said so: the host does not ask this */
      program_destroy(program);
      return FAIL(error, PH_UNSUPPORTED, "op %s is not known here", graph->nodes[i]->op);
    }
    if (op->pack != NULL) program->packed[i] = op->pack(graph, graph->nodes[i], &out_of_memory);
  }
  if (out_of_memory) {
    program_destroy(program);
    return NO_MEMORY(error);
  }
  *out = program;
  return PH_OK;
}

/* ---- plan ---- */

/* Reads the operand and notes in its place how many bytes must be there. */
static struct operand read_operand(ph_plan *plan, const ph_graph *graph, uint32_t tensor) {
  struct operand operand = {.present = tensor != PH_NONE, .tensor = tensor};
  if (!operand.present) return operand;
  const ph_tensor_desc *desc = graph->tensors[tensor];
  operand.rank = desc->rank;
  memcpy(operand.dims, desc->dims, sizeof(operand.dims));
  memcpy(operand.strides, desc->strides, sizeof(operand.strides));
  operand.count = ph_desc_count(desc);
  int64_t last = 0; /* the farthest element; a repeated axis goes nowhere */
  for (uint32_t i = 0; i < desc->rank; i++) last += (desc->dims[i] - 1) * desc->strides[i];
  struct place *place = &plan->places[tensor];
  place->bytes = operand.count > 0 ? (uint64_t)(last + 1) * sizeof(float) : 0;
  place->constant = desc->data != NULL;
  place->data = (char *)desc->data; /* constants live as long as the program */
  return operand;
}

static void plan_task(ph_plan *plan, const ph_program *program, const ph_graph *graph, uint32_t index) {
  const ph_node *node = graph->nodes[index];
  struct task *task = &plan->tasks[index];
  task->op = find_op(node->op);
  task->packed = program->packed[index];
  if (task->op->read != NULL) task->op->read(node, &task->settings);
  for (uint32_t i = 0; i < node->input_count; i++) task->in[i] = read_operand(plan, graph, node->inputs[i]);
  for (uint32_t i = 0; i < node->output_count; i++) task->out[i] = read_operand(plan, graph, node->outputs[i]);
}

void plan_destroy(ph_plan *plan) {
  if (plan == NULL) return;
  free(plan->tasks);
  free(plan->places);
  free(plan);
}

/* The nodes and tensors are those of the program's graph, in the same order. */
ph_status plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                      ph_error *error) {
  ph_plan *plan = calloc(1, sizeof(*plan));
  if (plan == NULL) return NO_MEMORY(error);
  plan->task_count = graph->node_count;
  plan->tensor_count = graph->tensor_count;
  plan->tasks = new_array(graph->node_count, sizeof(*plan->tasks));
  plan->places = new_array(graph->tensor_count, sizeof(*plan->places));
  if (plan->tasks == NULL || plan->places == NULL) {
    plan_destroy(plan);
    return NO_MEMORY(error);
  }
  for (uint32_t i = 0; i < graph->node_count; i++) plan_task(plan, program, graph, i);
  *out = plan;
  *out_workspace_bytes = 0; /* ask here for scratch memory; execute() is then given a buffer of that size */
  return PH_OK;
}
