/* The states of a session on their devices: memory that lives from run to run. */
#ifndef POLYHEAD_RUNTIME_STATES_H
#define POLYHEAD_RUNTIME_STATES_H

#include "runtime/context.h"
#include "runtime/lower.h"

/* One state.  Made when a run first needs it, with its initial value in it. */
typedef struct ph_state {
  const ph_open_device *device; /* where it lives; NULL while it is not made */
  ph_type type;
  ph_buffer *buffers[2]; /* the second only where it is not written in place; NULL for a state without elements */
  uint32_t current;
} ph_state;

/* Makes the state on `device` where it is not made yet, and gives the buffer that holds it or, with `next`, the one
 * that it becomes.  PH_UNSUPPORTED where it lives on another device, PH_INVALID where it was made with another shape.
 */
PH_NODISCARD ph_status ph_state_buffer(ph_state *state, const ph_net *net, const ph_dim *dims, uint32_t index,
                                       const ph_open_device *device, bool next, ph_buffer **out, ph_error *error);
/* The run is done: what was `next` is the state now. */
void ph_state_turn(ph_state *state);
void ph_state_free(ph_state *state); /* to be made anew */

/* The initial value on the host. */
PH_NODISCARD ph_status ph_state_initial(const ph_net *net, const ph_dim *dims, uint32_t index, ph_tensor **out,
                                        ph_error *error);

#endif
