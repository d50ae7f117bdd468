/* A prepared session run as a whole, its outputs held against the reference's within what the bounds of all its nodes
 * together allow (NUMERICS section 3, end to end). */
#ifndef POLYHEAD_CONFORM_WHOLE_H
#define POLYHEAD_CONFORM_WHOLE_H

#include "runtime/session.h"

/* The host tensors of the current plan's inputs and constants, and of states as they are at first, by net value,
 * retained: `out` has room for all values of the net, NULL.  Ids, offsets and lengths are checked. */
PH_NODISCARD ph_status ph_whole_inputs(ph_session *session, ph_tensor **out, ph_error *error);

/* Of two tensors with equally many elements; INFINITY where one is NaN and the other not, or infinities differ. */
double ph_largest_difference(const ph_tensor *a, const ph_tensor *b);

/* The output nearest to its limit. */
typedef struct ph_whole_result {
  bool pass;
  uint32_t output;          /* of the session; PH_NONE without outputs */
  double difference, limit; /* from the reference's; INFINITY where the kind of a value (NaN, inf) differs */
} ph_whole_result;

/* Runs the session.  `inputs` as above, `expected` the reference's values by net value: the outputs' are read. */
PH_NODISCARD ph_status ph_whole_run(ph_session *session, ph_tensor *const *inputs, ph_tensor *const *expected,
                                    ph_whole_result *out, ph_error *error);

#endif
