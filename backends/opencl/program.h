/* What of a graph does not depend on dims that vary: its constants on the device, and kernels compiled early. */
#ifndef POLYHEAD_OPENCL_PROGRAM_H
#define POLYHEAD_OPENCL_PROGRAM_H

#include "opencl/device.h"

struct ph_program {
  ph_device *device;
  uint32_t node_count, tensor_count;
  cl_mem *constants;    /* by tensor; NULL for all others and for empty ones */
  pthread_mutex_t lock; /* over what follows */
  struct cl_packed *packed;
};

/* cl_program_create(), with or without `early` compilation. */
PH_NODISCARD ph_status cl_program_make(ph_device *device, const ph_graph *graph, bool early, ph_program **out,
                                       ph_error *error);

#endif
