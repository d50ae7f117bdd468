/* Folding: what hangs on weights and numbers alone is computed once, when the plan is made (DESIGN section 3). */
#ifndef POLYHEAD_RUNTIME_FOLD_H
#define POLYHEAD_RUNTIME_FOLD_H

#include "graph/net.h"
#include "passes/pool.h"

/* Nodes whose inputs are all constants and whose shapes and attributes vary with no run get their results from the
 * oracle, in double and rounded once, as the reference gives them, and are marked PH_NODE_FOLDED; the results are
 * constants.  What would take more than a moment or much memory is left to the device, and its note says so. */
PH_NODISCARD ph_status ph_fold_constants(ph_net *net, ph_pool *pool, ph_error *error);

#endif
