/* How near is near enough: the bound of NUMERICS section 3 in one place. */
#ifndef POLYHEAD_ORACLE_TOLERANCE_H
#define POLYHEAD_ORACLE_TOLERANCE_H

#include "oracle/oracle.h"

/* The one factor C of the project.  Derivation: a magnitude is the first-order effect of one rounding of each quantity
 * at a stage.  A plain kernel rounds a quantity at most twice at one stage (a product and its addition, a scale and a
 * bias, an argument and the exponential of it), so its error is at most 2 * roundoff * magnitude to first order; terms
 * of second order are smaller by a roundoff.  In practice errors partly cancel: correct kernels of every kind stay
 * under half the bound, so C needs no further reserve, and a larger one would let real faults through. */
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
