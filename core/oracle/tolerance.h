/* How near is near enough: the bound of NUMERICS section 3 in one place. */
#ifndef POLYHEAD_ORACLE_TOLERANCE_H
#define POLYHEAD_ORACLE_TOLERANCE_H

#include "oracle/oracle.h"

/* The one factor C of the project.  First-order magnitudes already count each rounding once; what is left is that several roundings meet in one stage (a product and a sum, a scale and a bias) and second-order terms.  2 covers a pair;
 * docs/numerics.md has the calibration. */
#define PH_TOLERANCE_C 2.0

/* The largest |got - expected| allowed at element `index`.  `stages` as declared in supports(): PH_DTYPE_NONE counts as
 * f32.  `exact` ops have a tolerance of 0. */
double ph_tolerance(const ph_oracle_output *expected, int64_t index, const ph_dtype stages[PH_STAGE_MAX], bool exact);

/* The verdict over one output: what a backend wrote (dense, of expected->dtype) against the oracle. */
typedef struct ph_verdict {
  bool pass;        /* false when nothing was compared and the output is not empty */
  int64_t compared; /* elements */
  int64_t bad;      /* elements out of bounds */
  int64_t worst;    /* the element with the largest ratio; -1 if none */
  int64_t first_bad; /* -1 if none */
  double worst_ratio; /* |got - expected| / tolerance; INFINITY where the class (NaN, inf) or an exact value differs */
} ph_verdict;

ph_verdict ph_verdict_of(const ph_oracle_output *expected, const void *got, const ph_dtype stages[PH_STAGE_MAX],
                         bool exact);

#endif
