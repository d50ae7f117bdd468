/* Ops written out: the composite as its steps, `attention` and `fused_linear` as the steps that give the same. */
#ifndef POLYHEAD_GRAPH_STEPS_H
#define POLYHEAD_GRAPH_STEPS_H

#include "graph/net.h"

ph_status ph_expand_attention(ph_net *net, const ph_net_node *node, uint32_t *outputs, ph_error *error);
ph_status ph_expand_fused_linear(ph_net *net, const ph_net_node *node, uint32_t *outputs, ph_error *error);
ph_status ph_expand_multi_head_attention(ph_net *net, const ph_net_node *node, uint32_t *outputs, ph_error *error);

#endif
