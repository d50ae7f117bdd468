/* How many tokens a model takes before a cache or a table of positions is full. */
#include <string.h>

#include "runtime/session.h"

static const ph_net_node *maker(const ph_net *net, uint32_t value) {
  for (uint32_t n = 0; n < net->node_count; n++)
    if (net->nodes[n]->outputs[0] == value) return net->nodes[n];
  return NULL;
}

/* Whether an operand is this input, or what was only widened on the way. */
static bool is_input(const ph_net *net, uint32_t value, uint32_t input) {
  if (value == PH_NONE) return false;
  if (net->values[value].kind == PH_TENSOR_INPUT) return net->values[value].input == input;
  const ph_net_node *node = maker(net, value);
  return node != NULL && strcmp(node->op->name, "cast") == 0 && is_input(net, node->inputs[0], input);
}

static uint32_t operand(const ph_net_node *node, const char *role) {
  return node->inputs[ph_op_role_index(node->op, role)];
}

static int64_t attribute(const ph_net_node *node, const char *name) {
  return ph_net_node_attr(node, name)->value.as.i64;
}

/* Of a node that is steered by the input: how far it may be steered. */
static int64_t capacity_of(const ph_net *net, const ph_net_node *node, uint32_t past) {
  const char *op = node->op->name;
  if (strcmp(op, "cache_write") == 0 && !attribute(node, "ring") && is_input(net, operand(node, "offset"), past))
    return net->values[operand(node, "cache")].type.dims[attribute(node, "axis")].value;
  if (strcmp(op, "rotary") == 0 && operand(node, "cos") != PH_NONE && is_input(net, operand(node, "offset"), past))
    return net->values[operand(node, "cos")].type.dims[0].value;
  if (strcmp(op, "embedding") != 0) return INT64_MAX;
  const ph_net_node *positions = maker(net, operand(node, "ids"));
  if (positions == NULL || strcmp(positions->op->name, "positions") != 0) return INT64_MAX;
  if (!is_input(net, operand(positions, "offset"), past)) return INT64_MAX;
  return net->values[operand(node, "weight")].type.dims[0].value - attribute(positions, "start");
}

int64_t ph_session_capacity(const ph_session *session) {
  int64_t least = INT64_MAX;
  const ph_generation *generation = session->model->generation;
  if (session->current == NULL || generation == NULL) return least;
  const ph_net *net = session->current->net;
  for (uint32_t n = 0; n < net->node_count; n++) {
    int64_t most = capacity_of(net, net->nodes[n], generation->past);
    if (most < least) least = most;
  }
  return least;
}
