/* From a node to compiled kernels: the first variant, in the device's order, that takes the node and builds. */
#ifndef POLYHEAD_OPENCL_CHOICE_H
#define POLYHEAD_OPENCL_CHOICE_H

#include "opencl/build.h"
#include "opencl/variant.h"

typedef struct cl_choice {
  const cl_variant *variant;
  uint32_t index;      /* of the variant, in the device's order */
  cl_plan_node record; /* its plan; without a launch where the node has no elements to make */
  ph_text options;
  cl_build *build; /* NULL where the record launches no kernel */
} cl_choice;

/* Tries from number `index` on.  A variant that does not build is retired and the next one tried.  If none is left: the
 * failure of the last one that did not build, else PH_UNSUPPORTED with the reason.  cl_choice_free() ends it in any
 * case. */
PH_NODISCARD ph_status cl_choose(ph_device *device, const cl_limits *limits, const ph_graph *graph, const ph_node *node,
                                 uint32_t index, cl_choice *out, ph_error *error);
void cl_choice_free(cl_choice *choice);

#endif
