/* The trial of a variant at its first use: a tiny node of the same kind, judged by the reference.  Drivers miscompile;
 * whoever runs a model should not have to find out (DESIGN section 6). */
#ifndef POLYHEAD_OPENCL_TRIAL_H
#define POLYHEAD_OPENCL_TRIAL_H

#include "opencl/choice.h"
#include "opencl/plan.h"

typedef struct cl_tried {
  struct cl_tried *next;
  const cl_variant *variant;
  char *options;
} cl_tried;
void cl_tried_free(ph_device *device);

/* Whether what was chosen for the node has yet to be tried: only what could be replaced by another variant is, once per
 * build, and never again where the disk cache holds a build that passed. */
bool cl_trial_is_due(ph_device *device, const ph_graph *graph, const ph_node *node, const cl_choice *choice);

/* Tries it.  *out_passed is false, with the reason, where it is wrong or does not run; a node that cannot be made tiny
 * passes.  PH_OUT_OF_MEMORY alone is returned as a failure. */
PH_NODISCARD ph_status cl_trial(ph_device *device, const ph_graph *graph, const ph_node *node, const cl_choice *choice,
                                bool *out_passed, char reason[CL_REASON], ph_error *error);

#endif
