/* A program with its dims bound: kernel objects with all arguments but the buffers set, ready to be launched in order.
 */
#ifndef POLYHEAD_OPENCL_PLAN_H
#define POLYHEAD_OPENCL_PLAN_H

#include "opencl/build.h"
#include "opencl/program.h"

/* One launch. */
typedef struct cl_step {
  cl_kernel kernel;
  uint32_t node;
  cl_uint axes;
  size_t global[3], local[3];
} cl_step;

/* A pair of parameters (buffer, first element) that execute() sets: a tensor, or the workspace where `tensor` is
 * PH_NONE. */
typedef struct cl_slot {
  cl_kernel kernel;
  cl_uint parameter;
  uint32_t tensor;
  uint64_t offset; /* workspace: bytes from its start */
  bool set;
  uint64_t set_buffer, set_offset; /* what the kernel was given last: ph_buffer.number, bytes */
} cl_slot;

typedef struct cl_plan_tensor {
  uint64_t bytes; /* that the tensor spans; 0 where it is bound to nothing */
  uint32_t element;
  bool is_constant;
} cl_plan_tensor;

/* Where a tensor is in this run. */
typedef struct cl_place {
  cl_mem memory;
  uint64_t buffer; /* its number; 0 where there is none */
  uint64_t offset; /* bytes */
} cl_place;

struct ph_plan {
  ph_device *device;
  uint32_t node_count, tensor_count;
  cl_plan_tensor *tensors;
  cl_place *places; /* by tensor; filled by execute() */
  cl_step *steps;
  cl_slot *slots;
  cl_build **builds; /* each once */
  cl_mem *tables;    /* read-only integers, then reals; one, unless the device's buffers are small */
  size_t step_count, step_capacity, slot_count, slot_capacity, build_count, build_capacity, table_count, table_capacity;
  uint64_t workspace;
  bool noted; /* a queue knows its builds and will save them */
};

#endif
