/* Device memory. */
#ifndef POLYHEAD_OPENCL_BUFFER_H
#define POLYHEAD_OPENCL_BUFFER_H

#include "opencl/device.h"

struct ph_buffer {
  ph_device *device;
  cl_mem cl;
  uint64_t number; /* never given twice on a device, unlike the address of `cl` */
  uint64_t bytes;
  void *mapped; /* NULL unless it is mapped */
};

#endif
