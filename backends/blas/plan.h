/* A plan: every node with its dims and attributes read, and where its tensors are. */
#ifndef POLYHEAD_BLAS_PLAN_H
#define POLYHEAD_BLAS_PLAN_H

#include "blas/op.h"

/* A tensor as execute() needs it. */
typedef struct blas_tensor {
  const char *name;
  uint64_t bytes;
  const void *constant; /* NULL: it is bound */
  void *bound;          /* in the run that is going on */
} blas_tensor;

struct ph_plan {
  ph_arena arena;
  float *const *converted; /* of the program, by tensor */
  blas_tensor *tensors;
  uint32_t tensor_count;
  blas_node *nodes;
  uint32_t node_count;
  void **in, **out; /* room for the pointers of a node's operands */
  uint64_t workspace;
};

#endif
