/* supports(): a node may run where it can be planned. */
#include <stdio.h>
#include <string.h>

#include "blas/device.h"
#include "blas/op.h"

ph_status blas_supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error) {
  ph_arena arena = {0};
  ph_error reason = PH_ERROR_INIT;
  blas_node planned;
  bool needs_dense;
  ph_status status = blas_plan_node(device, graph, node, &arena, &planned, &needs_dense, &reason);
  ph_arena_free(&arena);
  if (status != PH_OK && status != PH_UNSUPPORTED) {
    if (error != NULL) *error = reason;
    return status;
  }
  ph_support support = {.struct_size = out->struct_size, .supported = status == PH_OK};
  if (support.supported) {
    memcpy(support.stage_type, blas_op_find(graph->nodes[node]->op)->stages, sizeof(support.stage_type));
    snprintf(support.variant, sizeof(support.variant), "f32");
  } else {
    support.needs_dense = needs_dense;
    snprintf(support.reason, sizeof(support.reason), "%.191s", reason.message);
  }
  memcpy(out, &support, out->struct_size < sizeof(support) ? out->struct_size : sizeof(support));
  return PH_OK;
}
