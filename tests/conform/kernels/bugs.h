/* The mistakes that the test backend `kernels` can make on purpose: each is one line of a right kernel, changed. */
#ifndef KERNELS_BUGS_H
#define KERNELS_BUGS_H

#include <stdbool.h>

typedef enum kernel_bug {
  BUG_NONE,
  BUG_DROPPED_KEY,
  BUG_LAST_KEY_MASKED,
  BUG_SCALE_ONE_PERCENT,
  BUG_CAUSAL_SHIFTED,
  BUG_HEADS_SWAPPED,
  BUG_WRONG_GROUP,
  BUG_TAIL_PADDED,
  BUG_SOFTCAP_AFTER_MASK,
  BUG_FINITE_MASK,
  BUG_NAN_THROUGH_MASK,
  BUG_ALL_ZEROS,
  BUG_STALE_OUTPUT,
  BUG_BIAS_INDEX,
  BUG_EPS_DROPPED,
  BUG_VARIANCE_BY_SQUARES,
  BUG_TRANSPOSED_SQUARE_WEIGHT,
  BUG_RESIDUAL_FIRST,
  BUG_WRITE_PAST_END,
  BUG_SUPPORTS_THEN_FAILS,
  BUG_COUNT
} kernel_bug;

typedef struct kernel_bug_row {
  const char *name; /* as in the option bug=NAME; NULL for BUG_NONE */
  const char *ops;  /* whose kernel has the line, with blanks between; "": all of them */
  const char *right, *wrong;
  bool numeric; /* gives finite numbers that are off, which only the bound can tell from right ones */
} kernel_bug_row;

/* By kernel_bug. */
extern const kernel_bug_row kernel_bugs[BUG_COUNT];

kernel_bug kernel_bug_named(const char *name); /* BUG_NONE if there is no such bug */
bool kernel_bug_concerns(kernel_bug bug, const char *op);

#endif
