/* Tiny nodes for trials (cl_op.shrink): products and attention, whose fast variants have the most to go wrong. */
#include <string.h>

#include "opencl/ops/ops.h"

enum { FEW_BATCHES = 2, FEW_HEADS = 2 };

static int64_t at_most(int64_t extent, int64_t most) {
  return extent < most ? extent : most;
}

/* Like the extent modulo 8, so that what divides evenly still does. */
static int64_t small(int64_t extent, int64_t most) {
  return extent <= most ? extent : most - 16 + extent % 16;
}

/* Outer axes are batches, the last two a matrix; [N] alone goes with a matrix's columns. */
static void shrink_matrix(ph_tensor_desc *desc, int64_t most) {
  if (desc == NULL) return;
  for (uint32_t axis = 0; axis < desc->rank; axis++) {
    bool outer = axis + 2 < desc->rank;
    desc->dims[axis] = outer ? at_most(desc->dims[axis], FEW_BATCHES) : small(desc->dims[axis], most);
  }
}

bool cl_shrink_product(int64_t most, const ph_node *node, ph_tensor_desc *const *inputs, ph_tensor_desc *const *outputs,
                       int64_t *out_index) {
  *out_index = 0;
  for (uint32_t i = 0; i < node->input_count; i++) shrink_matrix(inputs[i], most);
  for (uint32_t i = 0; i < node->output_count; i++) shrink_matrix(outputs[i], most);
  return true;
}

/* Heads keep their ratio, and the first of what the query heads share. */
static int64_t few_heads(int64_t heads, int64_t query_heads, int64_t key_heads) {
  int64_t few = at_most(key_heads, FEW_HEADS);
  return heads == key_heads ? few : heads == query_heads ? few * (query_heads / key_heads) : heads;
}

bool cl_shrink_heads(int64_t most, const ph_node *node, ph_tensor_desc *const *inputs, ph_tensor_desc *const *outputs,
                     int64_t *out_index) {
  int64_t query_heads = inputs[0]->dims[1], key_heads = inputs[1]->dims[1], batch = inputs[0]->dims[0];
  if (ph_node_int(node, "ring", 0) != 0) return false;        /* its slots, window and queries hang together */
  uint32_t wide = strcmp(node->op, "attention") == 0 ? 3 : 0; /* q, k, v: a head's size belongs to the build */
  for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
    bool is_input = i < node->input_count;
    ph_tensor_desc *desc = is_input ? inputs[i] : outputs[i - node->input_count];
    if (desc == NULL) continue;
    bool keeps_last = wide > 0 && (is_input ? i < wide : i == node->input_count);
    if (desc->rank == 1) { /* lengths and offset: [1] or [B]; sinks: [Hq] */
      bool per_head = desc->dtype != PH_I64;
      desc->dims[0] = per_head                 ? few_heads(desc->dims[0], query_heads, key_heads)
                      : desc->dims[0] == batch ? at_most(batch, FEW_BATCHES)
                                               : desc->dims[0];
      continue;
    }
    desc->dims[0] = at_most(desc->dims[0], FEW_BATCHES);
    for (uint32_t axis = 1; axis < desc->rank; axis++) {
      if (axis == 1 && desc->rank > 2)
        desc->dims[axis] = few_heads(desc->dims[axis], query_heads, key_heads);
      else if (axis + 1 < desc->rank || !keeps_last)
        desc->dims[axis] = small(desc->dims[axis], most);
    }
  }
  *out_index = wide > 0 ? inputs[1]->dims[2] / 2 + 1 : 0;
  return true;
}
