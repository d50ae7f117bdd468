/* How far a whole graph may drift: the bound of each node carried through to the outputs (NUMERICS section 3, end to
 * end). */
#ifndef POLYHEAD_CONFORM_JITTER_H
#define POLYHEAD_CONFORM_JITTER_H

#include "runtime/place.h"

enum { PH_JITTER_RUNS = 8 };

/* Runs the oracle over the net PH_JITTER_RUNS times, every element of every node moved inside its own tolerance.
 * limits[i], for the net value outputs[i], becomes twice the largest deviation from expected[i].  inputs: host tensors
 * by net value, of INPUT and CONSTANT values; untouched. */
PH_NODISCARD ph_status ph_jitter_limits(const ph_net *net, const ph_placement *placements, ph_tensor *const *inputs,
                                        const uint32_t *outputs, ph_tensor *const *expected, uint32_t output_count,
                                        double *limits, ph_error *error);

#endif
