#include "passes/dropout.h"

#include <string.h>

static bool is_state(const ph_net *net, uint32_t value) {
  for (uint32_t i = 0; i < net->state_count; i++)
    if (net->states[i].next == value) return true;
  return false;
}

void ph_skip_dropout(ph_net *net) {
  uint32_t stay = 0;
  for (uint32_t n = 0; n < net->node_count; n++) {
    ph_net_node *node = net->nodes[n];
    net->nodes[stay] = node;
    if (strcmp(node->op->name, "dropout") != 0) {
      stay++;
      continue;
    }
    uint32_t from = node->inputs[0], to = node->outputs[0];
    for (uint32_t later = n + 1; later < net->node_count; later++)
      for (uint32_t i = 0; i < net->nodes[later]->input_count; i++)
        if (net->nodes[later]->inputs[i] == to) net->nodes[later]->inputs[i] = from;
    if (net->values[to].kept || is_state(net, to)) stay++;
  }
  net->node_count = stay;
}
