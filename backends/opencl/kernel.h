/* Kernel objects: made for one launch, with a local size that kernel and device take. */
#ifndef POLYHEAD_OPENCL_KERNEL_H
#define POLYHEAD_OPENCL_KERNEL_H

#include "opencl/build.h"
#include "opencl/record.h"

/* Whether a launch can be made as recorded. */
typedef struct cl_kernel_fit {
  bool fits;
  /* If not: the driver's error, or CL_SUCCESS where the kernel takes less than was asked for; then the limits within
   * which the variant may be asked again. */
  cl_int code;
  const char *call;
  char reason[128];
  size_t max_work_group;
  uint64_t local_memory;
} cl_kernel_fit;

/* Makes the kernel and settles its sizes; *out is NULL where it does not fit. */
PH_NODISCARD ph_status cl_kernel_make(const ph_device *device, const cl_build *build, const cl_launch *launch,
                                      const cl_limits *limits, cl_kernel *out, size_t global[3], size_t local[3],
                                      cl_kernel_fit *fit, ph_error *error);

PH_NODISCARD ph_status cl_kernel_set(cl_kernel kernel, cl_uint parameter, size_t size, const void *value,
                                     ph_error *error);
/* A buffer (NULL where there is none), and the first element in the parameter after it. */
PH_NODISCARD ph_status cl_kernel_set_buffer(cl_kernel kernel, cl_uint parameter, cl_mem memory, uint64_t first,
                                            ph_error *error);

#endif
