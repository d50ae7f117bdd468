/* What a program and a plan are made of. */
#ifndef MINE_PLAN_H
#define MINE_PLAN_H

#include "op.h"

/* What does not depend on dims that vary.  One program serves many plans. */
struct ph_program {
  float **packed; /* by node */
  uint32_t node_count;
};

/* Where a tensor is. */
struct place {
  char *data;     /* set by execute(); of constants, by plan_create() */
  uint64_t bytes; /* 0: no node looks at it, or it has no elements */
  bool constant;
};

/* All dims are known: nothing is left but to run.  A plan is used by one thread at a time. */
struct ph_plan {
  struct task *tasks;
  uint32_t task_count;
  struct place *places; /* by tensor */
  uint32_t tensor_count;
};

#endif
