/* Sizes of tensors as they lie in memory. */
#ifndef POLYHEAD_OPENCL_LAYOUT_H
#define POLYHEAD_OPENCL_LAYOUT_H

#include <polyhead/node.h>

/* Bytes from the first element to the end of the last; 0 where there is none.  False on overflow. */
bool cl_span_bytes(const ph_tensor_desc *tensor, uint64_t *out);
/* The same tensor with the strides of a dense one. */
void cl_dense(const ph_tensor_desc *tensor, ph_tensor_desc *out);
/* True if the node's dims, strides and attributes are all known. */
bool cl_is_concrete(const ph_graph *graph, const ph_node *node);

#endif
