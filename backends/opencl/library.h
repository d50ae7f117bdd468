/* What a library does in place of a kernel (cl_plan_call() in op.h), as the host code sees it. */
#ifndef POLYHEAD_OPENCL_LIBRARY_H
#define POLYHEAD_OPENCL_LIBRARY_H

#include <CL/cl.h>

#include "opencl/op.h"

/* Where an argument is in this run. */
typedef struct cl_place {
  cl_mem memory;   /* NULL: there is none */
  uint64_t buffer; /* its number (buffer.h); 0 for what belongs to program or plan */
  uint64_t offset; /* bytes */
} cl_place;

struct cl_library_call {
  const char *name;
  /* Queues the work.  `args` in the order in which the variant named them, `data` as it gave it.  *event, where `event`
   * is not NULL, ends with the work. */
  ph_status (*run)(cl_command_queue queue, const cl_place *args, const void *data, cl_event *event, ph_error *error);
};

#endif
