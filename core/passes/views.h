/* Views: a move of elements that strides can say is no copy (DESIGN section 3).  What it gives lies in the memory of
 * what it reads; or what it reads was written into the memory of what it gives, as heads into the rows that they are
 * joined to. */
#ifndef POLYHEAD_PASSES_VIEWS_H
#define POLYHEAD_PASSES_VIEWS_H

#include "graph/net.h"

/* Where a value lies: in the memory of `root`, which is dense, from element `offset` on. */
typedef struct ph_value_layout {
  uint32_t root; /* a net value; the value itself where it has memory of its own */
  int64_t offset;
  uint32_t rank;
  ph_dim dims[PH_MAX_RANK], strides[PH_MAX_RANK];
} ph_value_layout;

ph_value_layout ph_value_layout_of(const ph_net *net, uint32_t value);
uint32_t ph_value_root(const ph_net *net, uint32_t value); /* its root alone */

/* Makes every split_heads, concat_heads, transpose, reshape, slice, split and expand a view that can be one; what stays
 * a copy says why in its note.  The last pass before nodes are placed. */
PH_NODISCARD ph_status ph_view_moves(ph_net *net, ph_error *error);

/* The move is a copy again, for this reason (in the net's arena). */
void ph_unview(ph_net *net, ph_net_node *move, const char *reason);

#endif
