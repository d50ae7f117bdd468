/* supports(): may this node run here as it stands?  A no has a reason that a person can act on; a yes is kept. */
#include <stdio.h>

#include "backend.h"
#include "op.h"

static bool no(ph_support *out, const char *format, const char *what) {
  snprintf(out->reason, sizeof(out->reason), format, what);
  return false;
}

static bool takes_tensor(const struct op *op, const ph_tensor_desc *tensor, ph_support *out) {
  if (tensor->dtype != PH_F32)
    return no(out, "tensor '%.100s' is not f32, the one type that is known here", tensor->name);
  if (op->takes_strides || ph_desc_is_dense(tensor)) return true;
  out->needs_dense = true; /* the host makes it dense where it can, and asks again */
  return no(out, "tensor '%.100s' must be dense", tensor->name);
}

static bool takes_node(const ph_graph *graph, const ph_node *node, ph_support *out) {
  const struct op *op = find_op(node->op);
  if (op == NULL) return no(out, "op %.60s is not known here", node->op);
  if (node->op_version > op->version)
    return no(out, "this version of op %.60s is newer than what is known here", node->op);
  if (node->input_count > MOST_INPUTS || node->output_count > MOST_OUTPUTS)
    return no(out, "op %.60s has more inputs or outputs than this backend makes room for", node->op);
  for (uint32_t i = 0; i < node->input_count; i++) {
    const ph_tensor_desc *tensor = ph_node_input(graph, node, i);
    if (tensor != NULL && !takes_tensor(op, tensor, out)) return false;
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    const ph_tensor_desc *tensor = ph_node_output(graph, node, i);
    if (tensor != NULL && !takes_tensor(op, tensor, out)) return false;
  }
  memcpy(out->stage_type, op->stages, sizeof(out->stage_type));
  snprintf(out->variant, sizeof(out->variant),
           "plain"); /* which of your kernels it will be; `polyhead check` shows it */
  return true;
}

ph_status supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error) {
  (void)device;
  (void)error;
  out->needs_dense = false;
  out->supported = takes_node(graph, graph->nodes[node], out);
  return PH_OK; /* for yes and for no */
}
