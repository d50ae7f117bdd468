/* The device against what somebody else stored: the first of the two verdicts on a case made elsewhere. */
#ifndef POLYHEAD_CONFORM_EXTERNAL_VERDICT_H
#define POLYHEAD_CONFORM_EXTERNAL_VERDICT_H

#include "conform/case.h"
#include "conform/external_map.h"

/* Holds `got` against the stored tensor: same shape and type, |got - stored| <= atol + rtol * |stored|, infinities by
 * sign and place; NaN fails, unless both are NaN and the case allows that.  What differs is put into *result under the
 * name of the output; its elements are counted there. */
void ph_external_verdict(const ph_external_case *of, const ph_external_answer *answer, const ph_tensor *got,
                         ph_case_result *result);

#endif
