#include "blas/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "blas/device.h"
#include "blas/program.h"

static ph_status copy_tensor(ph_plan *plan, const ph_tensor_desc *desc, blas_tensor *out, ph_error *error) {
  const char *name = desc->name != NULL ? desc->name : "";
  out->name = ph_arena_copy(&plan->arena, name, strlen(name));
  out->constant = desc->data;
  return out->name != NULL ? PH_OK : ph_fail_memory(error);
}

static ph_status plan_nodes(ph_plan *plan, const ph_device *device, const ph_graph *graph, ph_error *error) {
  uint32_t most_in = 0, most_out = 0;
  for (uint32_t n = 0; n < graph->node_count; n++) {
    blas_node *node = &plan->nodes[n];
    bool needs_dense;
    ph_status status = blas_plan_node(device, graph, n, &plan->arena, node, &needs_dense, error);
    if (status != PH_OK) {
      ph_error_prefix(error, "node '%s': ", graph->nodes[n]->id);
      if (error != NULL) error->node = n;
      return status;
    }
    for (uint32_t i = 0; i < node->in_count + node->out_count; i++) {
      const blas_operand *operand = i < node->in_count ? &node->in[i] : &node->out[i - node->in_count];
      if (!blas_present(operand)) continue;
      plan->tensors[operand->tensor].bytes = (uint64_t)operand->count * ph_dtype_size(operand->dtype);
    }
    if (node->in_count > most_in) most_in = node->in_count;
    if (node->out_count > most_out) most_out = node->out_count;
    if (node->workspace > plan->workspace) plan->workspace = node->workspace;
  }
  plan->in = ph_arena_array(&plan->arena, most_in, sizeof(*plan->in));
  plan->out = ph_arena_array(&plan->arena, most_out, sizeof(*plan->out));
  return plan->in != NULL && plan->out != NULL ? PH_OK : ph_fail_memory(error);
}

static ph_status fill(ph_plan *plan, const ph_program *program, const ph_graph *graph, ph_error *error) {
  plan->converted = program->converted;
  plan->tensor_count = graph->tensor_count;
  plan->node_count = graph->node_count;
  plan->tensors = ph_arena_array(&plan->arena, graph->tensor_count, sizeof(*plan->tensors));
  plan->nodes = ph_arena_array(&plan->arena, graph->node_count, sizeof(*plan->nodes));
  if (plan->tensors == NULL || plan->nodes == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < graph->tensor_count; i++)
    PH_TRY(copy_tensor(plan, graph->tensors[i], &plan->tensors[i], error));
  return plan_nodes(plan, program->device, graph, error);
}

ph_status blas_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                           ph_error *error) {
  ph_plan *plan = ph_new_array(1, sizeof(*plan));
  if (plan == NULL) return ph_fail_memory(error);
  ph_status status = fill(plan, program, graph, error);
  if (status != PH_OK) {
    blas_plan_destroy(plan);
    return status;
  }
  *out = plan;
  *out_workspace_bytes = plan->workspace;
  return PH_OK;
}

void blas_plan_destroy(ph_plan *plan) {
  if (plan == NULL) return;
  ph_arena_free(&plan->arena);
  free(plan);
}
