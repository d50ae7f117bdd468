/* Which OpenCL devices there are. */
#ifndef POLYHEAD_OPENCL_PLATFORM_H
#define POLYHEAD_OPENCL_PLATFORM_H

#include <CL/cl.h>
#include <polyhead/backend.h>

/* A device and all that we ever ask about it. */
typedef struct cl_found {
  cl_platform_id platform;
  cl_device_id device;
  bool is_pocl;
  ph_device_info info; /* the driver's own limits */
  char platform_version[256];
  size_t max_work_group;
  size_t max_items[3]; /* of one work-group, by axis */
  uint64_t local_memory;
  uint32_t compute_units;
  uint32_t vector_width; /* the device's own, in floats */
} cl_found;

/* Fills context->found: GPUs, accelerators, CPUs, PoCL's devices; in the driver's order among equals.  A platform or a
 * device that cannot be used is a line in the log.  No platform and no device are no error.  PH_UNAVAILABLE, with the
 * OpenCL error, if nothing is left and something failed. */
struct ph_backend_context;
PH_NODISCARD ph_status cl_discover(struct ph_backend_context *context, ph_error *error);

#endif
