/* An in-order queue, and what must be done when its work is finished. */
#ifndef POLYHEAD_OPENCL_QUEUE_H
#define POLYHEAD_OPENCL_QUEUE_H

#include "opencl/build.h"

/* A launch whose times finish() reads. */
typedef struct cl_timed {
  cl_event event;
  ph_node_time *to;
} cl_timed;

struct ph_queue {
  ph_device *device;
  cl_command_queue cl;
  bool times;
  cl_timed *timed;
  size_t timed_count, timed_capacity;
  cl_build **launched; /* to be saved once they have run */
  size_t launched_count, launched_capacity;
};

#endif
