/* Fusion: attention written as steps becomes one node, where nobody wants to see inside (DESIGN section 3). */
#ifndef POLYHEAD_PASSES_FUSE_H
#define POLYHEAD_PASSES_FUSE_H

#include "graph/net.h"

/* Replaces every scaled_scores -> softcap? -> mask? -> softmax -> weighted_sum, in this order and no other, by one
 * `attention` under the path of its last step.  Its values between must be read once and not be kept.  What looks like
 * it but is not taken says why in the note of its weighted_sum. */
PH_NODISCARD ph_status ph_fuse_attention(ph_net *net, ph_error *error);

/* Whether a node can be written out: a fused group, or an op that the table knows steps for. */
bool ph_has_steps(const ph_net_node *node);
/* Its steps take the place of node number `at` and write its values. */
PH_NODISCARD ph_status ph_write_out(ph_net *net, uint32_t at, ph_error *error);

#endif
