/* A program with its dims bound: kernel objects with all arguments but the buffers set, ready to be launched in order.
 */
#ifndef POLYHEAD_OPENCL_PLAN_H
#define POLYHEAD_OPENCL_PLAN_H

#include "opencl/build.h"
#include "opencl/library.h"
#include "opencl/program.h"

/* One launch, or one call of a library. */
typedef struct cl_step {
  cl_kernel kernel; /* NULL for a call */
  uint32_t node;
  cl_uint axes;
  size_t global[3], local[3];
  const cl_library_call *call;
  void *data;     /* the call's, owned */
  cl_place *args; /* the call's, owned */
} cl_step;

/* A pair of parameters (buffer, first element), or an argument of a call, that execute() sets: a tensor, or the
 * workspace where `tensor` is PH_NONE. */
typedef struct cl_slot {
  cl_kernel kernel; /* NULL: `place` is set */
  cl_uint parameter;
  cl_place *place;
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

/* cl_plan_create(); with a variant that is on trial nodes are planned by it, nothing is tried in turn, and nothing is
 * kept on disk. */
PH_NODISCARD ph_status cl_plan_make(ph_program *program, const ph_graph *graph, const cl_variant *on_trial,
                                    ph_plan **out, ph_error *error);

#endif
