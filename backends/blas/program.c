#include "blas/program.h"

#include <stdlib.h>

#include "blas/convert.h"
#include "blas/device.h"
#include "blas/op.h"

/* Repeated axes are converted once.  A constant's own dims never vary; one that does is repeated. */
static ph_status convert(ph_program *program, const ph_tensor_desc *desc, uint32_t tensor, ph_error *error) {
  size_t count = 1;
  bool fits = true;
  for (uint32_t i = 0; i < desc->rank; i++)
    if (desc->dims[i] == 0 || (desc->dims[i] != PH_DIM_VARIES && desc->strides[i] != 0))
      fits = fits && ph_mul_size(count, (size_t)desc->dims[i], &count);
  if (count == 0 || program->converted[tensor] != NULL) return PH_OK;
  program->converted[tensor] = fits ? ph_new_array(count, sizeof(float)) : NULL;
  if (program->converted[tensor] == NULL)
    return ph_fail(error, PH_OUT_OF_MEMORY, "no memory to hold the constant '%s' as f32", desc->name);
  blas_load(desc->dtype, desc->data, (int64_t)count, program->converted[tensor]);
  return PH_OK;
}

static ph_status fill(ph_program *program, const ph_graph *graph, ph_error *error) {
  program->tensor_count = graph->tensor_count;
  program->converted = ph_new_array(graph->tensor_count, sizeof(*program->converted));
  if (program->converted == NULL) return ph_fail_memory(error);
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const ph_node *node = graph->nodes[n];
    const blas_op *op = blas_op_find(node->op);
    if (op == NULL) return ph_fail(error, PH_UNSUPPORTED, "node '%s': blas has no %s", node->id, node->op);
    for (uint32_t i = 0; op->computes && i < node->input_count; i++) {
      if (node->inputs[i] == PH_NONE) continue;
      const ph_tensor_desc *desc = graph->tensors[node->inputs[i]];
      if (desc->kind == PH_TENSOR_CONSTANT && blas_is_half(desc->dtype))
        PH_TRY(convert(program, desc, node->inputs[i], error));
    }
  }
  return PH_OK;
}

ph_status blas_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error) {
  ph_program *program = ph_new_array(1, sizeof(*program));
  if (program == NULL) return ph_fail_memory(error);
  program->device = device;
  ph_status status = fill(program, graph, error);
  if (status == PH_OK)
    *out = program;
  else
    blas_program_destroy(program);
  return status;
}

void blas_program_destroy(ph_program *program) {
  if (program == NULL) return;
  for (uint32_t i = 0; program->converted != NULL && i < program->tensor_count; i++) free(program->converted[i]);
  free(program->converted);
  free(program);
}
