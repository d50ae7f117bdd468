/* An open device: its OpenCL context, its limits (pretended ones included), what was built for it. */
#ifndef POLYHEAD_OPENCL_DEVICE_H
#define POLYHEAD_OPENCL_DEVICE_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "opencl/backend.h"
#include "opencl/op.h"
#include "opencl/tuning.h"

struct ph_device {
  ph_backend_context *context;
  const cl_found *found;
  ph_device_info info; /* as opened */
  cl_limits limits;
  unsigned profile;          /* one of CL_PROFILE_* */
  const char *first_variant; /* the option variant=, or NULL */
  cl_tuning tuning;          /* what was measured on this device; does not change after opening */
  cl_context cl;
  atomic_uint_least64_t buffers_made;
  char *kernel_folder;  /* read .cl files from there instead of those built in; or NULL */
  pthread_cond_t built; /* a build was made */
  pthread_mutex_t lock; /* over what follows */
  struct cl_build *builds;
  struct cl_retired *retired; /* variants that turned out not to work here */
  struct cl_tried *tried;     /* variants without a build that passed their trial */
  bool cache_noticed;         /* said once that the disk cache cannot be used */
};

#endif
