/* States: which are written in place, and which get a second memory that takes the first one's place (DESIGN section
 * 3). */
#ifndef POLYHEAD_PASSES_STATES_H
#define POLYHEAD_PASSES_STATES_H

#include "graph/net.h"

/* Marks as in_place what a cache_write makes of a state that nobody else reads.  For every other state a node at the
 * end copies what it becomes, under "STATE.next", and a cache that is read beside its writer draws a warning.  After
 * the wanted values are marked. */
PH_NODISCARD ph_status ph_states_place(ph_net *net, ph_notes *notes, ph_error *error);

#endif
