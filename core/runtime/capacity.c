/* How many tokens the caches of a session take. */
#include <string.h>

#include "runtime/session.h"

/* Whether an operand is this input, or what was only widened on the way. */
static bool is_input(const ph_net *net, uint32_t value, uint32_t input) {
  if (value == PH_NONE) return false;
  if (net->values[value].kind == PH_TENSOR_INPUT) return net->values[value].input == input;
  for (uint32_t n = 0; n < net->node_count; n++)
    if (net->nodes[n]->outputs[0] == value)
      return strcmp(net->nodes[n]->op->name, "cast") == 0 && is_input(net, net->nodes[n]->inputs[0], input);
  return false;
}

int64_t ph_session_capacity(const ph_session *session) {
  int64_t least = INT64_MAX;
  const ph_generation *generation = session->model->generation;
  if (session->current == NULL || generation == NULL) return least;
  const ph_net *net = session->current->net;
  for (uint32_t n = 0; n < net->node_count; n++) {
    const ph_net_node *node = net->nodes[n];
    if (strcmp(node->op->name, "cache_write") != 0 || ph_net_node_attr(node, "ring")->value.as.i64) continue;
    if (!is_input(net, node->inputs[ph_op_role_index(node->op, "offset")], generation->past)) continue;
    const ph_type *cache = &net->values[node->inputs[ph_op_role_index(node->op, "cache")]].type;
    int64_t slots = cache->dims[ph_net_node_attr(node, "axis")->value.as.i64].value;
    if (slots < least) least = slots;
  }
  return least;
}
