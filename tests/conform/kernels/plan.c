/* Programs and plans: a plan holds a copy of its graph, and executing it is one node after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

struct ph_program {
  const ph_device *device;
};

struct ph_plan {
  const ph_device *device;
  ph_arena arena;
  ph_graph graph; /* lives in the arena */
};

ph_status kernel_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error) {
  (void)graph;
  ph_program *program = calloc(1, sizeof(*program));
  if (program == NULL) return ph_fail_memory(error);
  program->device = device;
  *out = program;
  return PH_OK;
}

void kernel_program_destroy(ph_program *program) {
  free(program);
}

/* ---- a copy of the graph ---- */

static void *copy(ph_plan *plan, const void *from, size_t count, size_t size) {
  void *to = ph_arena_array(&plan->arena, count, size);
  if (to != NULL && count > 0) memcpy(to, from, count * size);
  return to;
}

static const char *copy_text(ph_plan *plan, const char *text) {
  return copy(plan, text, strlen(text) + 1, 1);
}

static ph_node *copy_node(ph_plan *plan, const ph_node *from) {
  ph_node *to = copy(plan, from, 1, sizeof(*from));
  ph_attr *attrs = copy(plan, from->attrs, from->attr_count, sizeof(*attrs));
  if (to == NULL || attrs == NULL) return NULL;
  to->op = copy_text(plan, from->op);
  to->id = copy_text(plan, from->id);
  to->inputs = copy(plan, from->inputs, from->input_count, sizeof(*from->inputs));
  to->outputs = copy(plan, from->outputs, from->output_count, sizeof(*from->outputs));
  to->attrs = attrs;
  bool whole = to->op != NULL && to->id != NULL && to->inputs != NULL && to->outputs != NULL;
  for (uint32_t i = 0; whole && i < from->attr_count; i++) {
    attrs[i].name = copy_text(plan, attrs[i].name);
    whole = attrs[i].name != NULL;
    if (attrs[i].kind == PH_ATTR_STRING) whole = whole && (attrs[i].as.string = copy_text(plan, attrs[i].as.string));
    if (attrs[i].kind != PH_ATTR_I64_LIST) continue;
    attrs[i].as.list.items = copy(plan, attrs[i].as.list.items, attrs[i].as.list.count, sizeof(int64_t));
    whole = whole && attrs[i].as.list.items != NULL;
  }
  return whole ? to : NULL;
}

static bool copy_graph(ph_plan *plan, const ph_graph *from) {
  const ph_tensor_desc **tensors = copy(plan, from->tensors, from->tensor_count, sizeof(*tensors));
  const ph_node **nodes = copy(plan, from->nodes, from->node_count, sizeof(*nodes));
  bool whole = tensors != NULL && nodes != NULL;
  for (uint32_t i = 0; whole && i < from->tensor_count; i++) {
    ph_tensor_desc *desc = copy(plan, tensors[i], 1, sizeof(*desc));
    if (desc != NULL) desc->name = copy_text(plan, desc->name);
    whole = desc != NULL && desc->name != NULL;
    tensors[i] = desc;
  }
  for (uint32_t i = 0; whole && i < from->node_count; i++) whole = (nodes[i] = copy_node(plan, nodes[i])) != NULL;
  plan->graph = (ph_graph){sizeof(ph_graph), tensors, from->tensor_count, nodes, from->node_count};
  return whole;
}

/* What a test listens to: a case exercises a bug where this is said. */
static void tell_shown(const ph_device *device, const ph_node *node) {
  char text[256];
  snprintf(text, sizeof(text), "kernels: node '%.128s' shows bug=%s", node->id, kernel_bugs[device->bug].name);
  if (device->host->log_level >= PH_LOG_DEBUG) device->host->log(device->host->user, PH_LOG_DEBUG, text);
}

ph_status kernel_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                             ph_error *error) {
  if (program->device->bug == BUG_SUPPORTS_THEN_FAILS && graph->node_count > 0) {
    tell_shown(program->device, graph->nodes[0]);
    return ph_fail(error, PH_UNSUPPORTED, "node '%s': bug=supports_then_fails asks for it", graph->nodes[0]->id);
  }
  ph_plan *plan = calloc(1, sizeof(*plan));
  if (plan == NULL) return ph_fail_memory(error);
  plan->device = program->device;
  if (!copy_graph(plan, graph)) {
    kernel_plan_destroy(plan);
    return ph_fail_memory(error);
  }
  *out = plan;
  *out_workspace_bytes = 0;
  return PH_OK;
}

void kernel_plan_destroy(ph_plan *plan) {
  if (plan == NULL) return;
  ph_arena_free(&plan->arena);
  free(plan);
}

/* ---- running ---- */

static ph_status compute(kernel_run *run, void *const *data) {
  PH_TRY(kernel_open(run, data));
  PH_TRY(kernel_find(run->node->op)->run(run));
  for (uint32_t slot = 0; slot < run->node->output_count; slot++)
    for (int64_t i = 0; i < run->outputs[slot].count; i++)
      run->outputs[slot].real[i] = KERNEL_LINE(run, BUG_ALL_ZEROS, run->outputs[slot].real[i], 0);
  return PH_OK;
}

/* Whoever has a bug computes the node without it, too, to say whether it shows. */
static ph_status run_node(const ph_plan *plan, const ph_node *node, void *const *data, ph_error *error) {
  kernel_run run = {.graph = &plan->graph, .node = node, .way = plan->device->way, .error = error}, right = run;
  run.bug = plan->device->bug;
  ph_status status = compute(&run, data);
  if (status == PH_OK && run.bug != BUG_NONE) {
    status = compute(&right, data);
    if (status == PH_OK && kernel_bug_shows(&run, &right)) tell_shown(plan->device, node);
  }
  if (status == PH_OK) kernel_store(&run, data);
  ph_arena_free(&run.scratch);
  ph_arena_free(&right.scratch);
  return status;
}

ph_status kernel_execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                         const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  (void)queue;
  (void)workspace;
  (void)times; /* PH_CAP_NODE_TIMES is not promised */
  const ph_graph *graph = &plan->graph;
  void **data = ph_new_array(graph->tensor_count, sizeof(*data));
  if (data == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < graph->tensor_count; i++) data[i] = (void *)graph->tensors[i]->data;
  for (uint32_t i = 0; i < binding_count; i++)
    if (bindings[i].buffer != NULL) data[bindings[i].tensor] = bindings[i].buffer->memory + bindings[i].offset;
  ph_status status = PH_OK;
  for (uint32_t i = 0; status == PH_OK && i < graph->node_count; i++)
    status = run_node(plan, graph->nodes[i], data, error);
  free(data);
  return status;
}
