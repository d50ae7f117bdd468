/* One row of softmax. */
#ifndef POLYHEAD_BLAS_SOFTMAX_ROW_H
#define POLYHEAD_BLAS_SOFTMAX_ROW_H

#include <stdint.h>

/* x becomes exp(x - lse): weights that, with exp(sink), add up to 1.  -inf is "not allowed" and becomes 0 whatever the
 * rest is; a row with nothing else is all 0.  A NaN or +inf makes NaN of all that is allowed.  Returns lse, the log of
 * the sum of exponentials.  A sink of -inf is none. */
double blas_softmax_row(float *x, int64_t count, float sink);

#endif
