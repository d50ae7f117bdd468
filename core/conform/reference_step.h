/* One node by the oracle: its inputs taken from host tensors, its outputs put back there. */
#ifndef POLYHEAD_CONFORM_REFERENCE_STEP_H
#define POLYHEAD_CONFORM_REFERENCE_STEP_H

#include "oracle/oracle.h"
#include "runtime/lower.h"

typedef struct ph_reference_step {
  const ph_net *net;
  const ph_net_node *node;
  ph_lowered *lowered;        /* the node alone */
  const void **inputs;        /* by storage of it: host memory, for those that are inputs */
  ph_oracle_output *expected; /* by output of the node */
} ph_reference_step;

/* values: host tensors by net value.  Computes `expected`, with magnitudes.  End with ph_reference_step_end(), after a
 * failure, too. */
PH_NODISCARD ph_status ph_reference_step_run(ph_reference_step *step, const ph_net *net, ph_net_node *node,
                                             ph_tensor *const *values, ph_error *error);
void ph_reference_step_end(ph_reference_step *step);

/* Puts the outputs, rounded once, into `values`.  With `stages` each element is first moved inside its own tolerance by
 * a random share of it, drawn from stream `key` (NUMERICS section 3, end to end); NULL: not. */
PH_NODISCARD ph_status ph_reference_step_store(const ph_reference_step *step, const ph_dtype *stages, uint64_t key,
                                               ph_tensor **values, ph_error *error);

/* Forgets values that nobody reads any more: after each node.  `reads` is counted down; kept values stay where `keep`.
 */
void ph_reference_drop(const ph_net *net, const ph_net_node *node, uint32_t *reads, bool keep, ph_tensor **values);

#endif
