/* Sizes of tensors. */
#include "opencl/layout.h"

#include "base/dtype.h"
#include "base/memory.h"

bool cl_span_bytes(const ph_tensor_desc *tensor, uint64_t *out) {
  int64_t last = 0;
  *out = 0;
  for (uint32_t i = 0; i < tensor->rank; i++)
    if (tensor->dims[i] == 0) return true;
  for (uint32_t i = 0; i < tensor->rank; i++) {
    int64_t reach;
    if (!ph_mul_i64(tensor->dims[i] - 1, tensor->strides[i], &reach) || !ph_add_i64(last, reach, &last)) return false;
  }
  return !__builtin_mul_overflow((uint64_t)last + 1, (uint64_t)ph_dtype_size(tensor->dtype), out);
}

void cl_dense(const ph_tensor_desc *tensor, ph_tensor_desc *out) {
  *out = *tensor;
  int64_t stride = 1;
  for (uint32_t i = tensor->rank; i-- > 0;) {
    out->strides[i] = stride;
    stride *= tensor->dims[i] > 0 ? tensor->dims[i] : 1;
  }
}

static bool tensor_is_concrete(const ph_tensor_desc *tensor) {
  for (uint32_t i = 0; tensor != NULL && i < tensor->rank; i++)
    if (tensor->dims[i] == PH_DIM_VARIES || tensor->strides[i] == PH_DIM_VARIES) return false;
  return true;
}

bool cl_is_concrete(const ph_graph *graph, const ph_node *node) {
  for (uint32_t i = 0; i < node->input_count; i++)
    if (!tensor_is_concrete(ph_node_input(graph, node, i))) return false;
  for (uint32_t i = 0; i < node->output_count; i++)
    if (!tensor_is_concrete(ph_node_output(graph, node, i))) return false;
  for (uint32_t i = 0; i < node->attr_count; i++)
    if (node->attrs[i].kind == PH_ATTR_VARIES) return false;
  return true;
}
