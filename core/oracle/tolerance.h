/* How near is near enough: the bound of NUMERICS section 3 in one place. */
#ifndef POLYHEAD_ORACLE_TOLERANCE_H
#define POLYHEAD_ORACLE_TOLERANCE_H

#include "oracle/oracle.h"

/* The one factor C of the project.  Derivation: a magnitude is the first-order effect of a relative error of 1 in each
 * quantity of a stage, n independent ones counted as sqrt(n).  A kernel that rounds each quantity once, to the type that
 * it declares, is therefore off by roundoff * magnitude at most: half of the bound, and rounding to nearest comes up to
 * that.  The other half is for kernels that round a quantity twice at one stage (a product and its addition, a scale
 * and a bias, an argument and the exponential of it); terms of second order are smaller by a roundoff.  A larger C would
 * let real faults through.  tests/conform/kernels measures both sides: right kernels of every kind stay at half of the
 * bound, faults are at twice of it and more (docs/numerics.md). */
#define PH_TOLERANCE_C 2.0

/* The largest |got - expected| allowed at element `index`.  `stages` as declared in supports(): PH_DTYPE_NONE counts as
 * f32.  `exact` ops have a tolerance of 0, and so have values that are not finite, which must be met in kind.  INFINITY
 * where any answer stands. */
double ph_tolerance(const ph_oracle_output *expected, int64_t index, const ph_dtype stages[PH_STAGE_MAX], bool exact);

/* The verdict over one output: what a backend wrote (dense, of expected->dtype) against the oracle. */
typedef struct ph_verdict {
  bool pass;          /* false when nothing was compared and the output is not empty */
  int64_t compared;   /* elements; not those where any answer stands */
  int64_t bad;        /* elements out of bounds */
  int64_t worst;      /* the element with the largest ratio; -1 if none */
  int64_t first_bad;  /* -1 if none */
  double worst_ratio; /* |got - expected| / tolerance; INFINITY where the class (NaN, inf) or an exact value differs */
} ph_verdict;

ph_verdict ph_verdict_of(const ph_oracle_output *expected, const void *got, const ph_dtype stages[PH_STAGE_MAX],
                         bool exact);

#endif
