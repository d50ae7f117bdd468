/* Merged projections: linears that read the same value become one, whose result they share (DESIGN section 3). */
#ifndef POLYHEAD_PASSES_MERGE_H
#define POLYHEAD_PASSES_MERGE_H

#include "graph/net.h"
#include "passes/pool.h"

/* What a merge may cost. */
typedef struct ph_merge_limits {
  uint64_t tensor_bytes; /* of one tensor: the device's largest buffer */
  uint64_t weight_bytes; /* of all merged weights together: they lie beside the ones they were made of on the host */
} ph_merge_limits;

/* Linears that read one value, with constant weights of one type and layout, become one linear with a constant that
 * holds all their weights side by side, and each of their values a slice of its result: q, k and v from one product.  x
 * is read once instead of three times, and there are fewer launches; slices are views (passes/views.h).  A value that
 * is kept, a width that is no multiple of 128 bytes (a view starts at a multiple of the device's alignment), and
 * weights of less than 64 KiB together stay apart: there is nothing to win.  Before ph_view_moves(). */
PH_NODISCARD ph_status ph_merge_projections(ph_net *net, ph_pool *pool, const ph_merge_limits *limits, ph_error *error);

/* Whether a node is such a linear: its steps write other values than it does itself. */
bool ph_is_merged(const ph_net_node *node);

#endif
