#include "conform/external_verdict.h"

#include <inttypes.h>
#include <math.h>

#include "base/dtype.h"

static double allowed(const ph_external_case *of, double stored) {
  return of->atol + of->rtol * fabs(stored);
}

static bool agrees(const ph_external_case *of, double got, double stored) {
  if (isnan(got) || isnan(stored)) return of->equal_nan && isnan(got) && isnan(stored);
  if (isinf(got) || isinf(stored)) return got == stored;
  return fabs(got - stored) <= allowed(of, stored);
}

/* The index of element `flat`, as a type's text has it: "[0, 2, 1]". */
static ph_type place_of(size_t flat, const ph_tensor *tensor) {
  ph_type place = {.rank = tensor->rank};
  for (uint32_t i = tensor->rank; i-- > 0; flat /= (size_t)tensor->dims[i])
    place.dims[i].value = (int64_t)(flat % (size_t)tensor->dims[i]);
  return place;
}

void ph_external_verdict(const ph_external_case *of, const ph_external_answer *answer, const ph_tensor *got,
                         ph_case_result *result) {
  const ph_tensor *stored = answer->stored->data;
  ph_type ours = ph_external_type(got->dtype, got->rank, got->dims);
  ph_type theirs = ph_external_type(stored->dtype, stored->rank, stored->dims);
  if (!ph_external_same_type(&ours, &theirs)) {
    ph_case_set(result, PH_CASE_FAIL, "output %s is %s %s, but %s %s is stored", answer->alias,
                ph_dtype_name(got->dtype), ph_type_text(&ours), ph_dtype_name(stored->dtype), ph_type_text(&theirs));
    return;
  }
  size_t bad = 0, first = 0;
  for (size_t i = 0; i < got->count; i++) {
    double value = ph_read_real(got->dtype, got->data, i), expected = ph_read_real(stored->dtype, stored->data, i);
    if (agrees(of, value, expected)) continue;
    if (bad++ == 0) first = i;
  }
  result->compared += (int64_t)got->count;
  result->bad += (int64_t)bad;
  if (bad == 0) return;
  double value = ph_read_real(got->dtype, got->data, first),
         expected = ph_read_real(stored->dtype, stored->data, first);
  ph_type place = place_of(first, got);
  ph_case_set(result, PH_CASE_FAIL,
              "output %s, element %s, is %.9g, but %.9g is stored and %.3g is allowed; %zu of %zu differ",
              answer->alias, ph_type_text(&place), value, expected, allowed(of, expected), bad, got->count);
}
