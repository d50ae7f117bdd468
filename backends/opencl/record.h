/* What a variant's plan() says, written down: the implementation of the builder in op.h.  Calls no OpenCL, so that
 * supports() may try a plan, too. */
#ifndef POLYHEAD_OPENCL_RECORD_H
#define POLYHEAD_OPENCL_RECORD_H

#include "base/memory.h"
#include "opencl/op.h"

typedef enum cl_arg_kind {
  CL_ARG_TENSOR,
  CL_ARG_PACKED,
  CL_ARG_WORKSPACE,
  CL_ARG_TABLE,
  CL_ARG_REAL_TABLE,
  CL_ARG_SCALAR,
  CL_ARG_LOCAL
} cl_arg_kind;

typedef struct cl_arg {
  cl_arg_kind kind;
  uint32_t parameter; /* of the kernel; all but scalars and local memory take the next one, too */
  uint32_t tensor;    /* PH_NONE where absent */
  const cl_packing *packing;
  uint64_t value; /* workspace: bytes; tables: first entry; local: bytes */
  unsigned char scalar[8];
  size_t scalar_size;
} cl_arg;

struct cl_launch {
  cl_launch *next;
  cl_plan_node *plan;
  const char *kernel; /* NULL: `call` does it */
  const cl_library_call *call;
  const void *data; /* the call's */
  size_t data_size;
  uint32_t axes;
  size_t global[3], local[3];
  bool exact_local;
  cl_arg *args;
  uint32_t arg_count, arg_capacity;
  uint32_t parameter_count;
  uint64_t local_bytes; /* of all arguments in local memory */
};

struct cl_plan_node {
  const cl_limits *limits;
  ph_arena arena; /* owns all below */
  cl_launch *first, *last;
  uint64_t workspace; /* bytes */
  int64_t *integers;
  float *reals;
  uint32_t integer_count, integer_capacity, real_count, real_capacity;
  bool failed; /* out of memory, or a size that overflows */
};

bool cl_record_has_kernel(const cl_plan_node *record);

/* Runs variant->plan().  cl_record_free() ends it in any case. */
PH_NODISCARD ph_status cl_record(const cl_variant *variant, const cl_limits *limits, const ph_graph *graph,
                                 const ph_node *node, cl_plan_node *out, ph_error *error);
void cl_record_free(cl_plan_node *record);

#endif
