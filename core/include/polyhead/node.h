/* polyhead/node.h: small helpers for code that reads the graph of backend.h.  Optional; inline only, so that a plugin
 * still links nothing from the host. */
#ifndef POLYHEAD_NODE_H
#define POLYHEAD_NODE_H

#include <polyhead/backend.h>
#include <string.h>

/* The attribute, or NULL where it has no value. */
static inline const ph_attr *ph_node_attr(const ph_node *node, const char *name) {
  for (uint32_t i = 0; i < node->attr_count; i++)
    if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
  return NULL;
}

static inline int64_t ph_node_int(const ph_node *node, const char *name, int64_t absent) {
  const ph_attr *attr = ph_node_attr(node, name);
  return attr != NULL && attr->kind == PH_ATTR_I64 ? attr->as.i64 : absent;
}

static inline double ph_node_real(const ph_node *node, const char *name, double absent) {
  const ph_attr *attr = ph_node_attr(node, name);
  if (attr == NULL) return absent;
  return attr->kind == PH_ATTR_F64 ? attr->as.f64 : attr->kind == PH_ATTR_I64 ? (double)attr->as.i64 : absent;
}

/* True where a choice attribute has this value. */
static inline bool ph_node_is(const ph_node *node, const char *name, const char *value) {
  const ph_attr *attr = ph_node_attr(node, name);
  return attr != NULL && attr->kind == PH_ATTR_STRING && strcmp(attr->as.string, value) == 0;
}

/* The tensor that plays role number `role`, or NULL where it is absent; the same for outputs. */
static inline const ph_tensor_desc *ph_node_input(const ph_graph *graph, const ph_node *node, uint32_t role) {
  return role < node->input_count && node->inputs[role] != PH_NONE ? graph->tensors[node->inputs[role]] : NULL;
}

static inline const ph_tensor_desc *ph_node_output(const ph_graph *graph, const ph_node *node, uint32_t slot) {
  return slot < node->output_count && node->outputs[slot] != PH_NONE ? graph->tensors[node->outputs[slot]] : NULL;
}

/* Elements of a tensor with concrete dims. */
static inline int64_t ph_desc_count(const ph_tensor_desc *desc) {
  int64_t count = 1;
  for (uint32_t i = 0; i < desc->rank; i++) count *= desc->dims[i];
  return count;
}

/* True where the strides are those of a dense row-major array (extents of 1 may have any stride). */
static inline bool ph_desc_is_dense(const ph_tensor_desc *desc) {
  int64_t expected = 1;
  for (uint32_t i = desc->rank; i-- > 0;) {
    if (desc->dims[i] != 1 && desc->strides[i] != expected) return false;
    expected *= desc->dims[i];
  }
  return true;
}

#endif
