/* Running a lowered graph the hard way: every tensor in a buffer of its own between guard bands, outputs poisoned,
 * twice. */
#ifndef POLYHEAD_CONFORM_HARNESS_H
#define POLYHEAD_CONFORM_HARNESS_H

#include "runtime/context.h"
#include "runtime/lower.h"
#include "runtime/segment.h"

typedef struct ph_harness_result {
  ph_tensor **got; /* by storage: what the device wrote, for OUTPUT ones; NULL else.  Freed by ph_harness_free() */
  uint32_t got_count;
  bool same_bits;   /* the second run gave the same bits as the first */
  uint32_t overrun; /* a storage whose guard bands, or an input, was written; PH_NONE if all are whole */
} ph_harness_result;

/* inputs[s]: host memory for storage s, dense, where it is an INPUT.  The graph comes from PH_LOWER_APART. */
PH_NODISCARD ph_status ph_harness_run(const ph_open_device *device, ph_program_cache *programs, const ph_net *net,
                                      const ph_lowered *lowered, const void *const *inputs, ph_harness_result *out,
                                      ph_error *error);
void ph_harness_free(ph_harness_result *result);

#endif
