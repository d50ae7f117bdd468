/* Builds for a whole graph made side by side, before its nodes ask for them one by one. */
#ifndef POLYHEAD_OPENCL_AHEAD_H
#define POLYHEAD_OPENCL_AHEAD_H

#include "opencl/build.h"

/* Makes what the first variant that takes each node needs, where it is not made yet and the node is concrete.  Nothing
 * fails here: whoever asks for a build that failed is told then. */
void cl_build_ahead(ph_device *device, const ph_graph *graph);

#endif
