/* The bound of NUMERICS section 3, and the verdict over one output. */
#include "oracle/tolerance.h"

#include <math.h>

#include "base/dtype.h"

static double magnitude(const ph_oracle_output *output, uint32_t which, int64_t index) {
  return output->magnitude[which] != NULL ? output->magnitude[which][index] : 0;
}

double ph_tolerance(const ph_oracle_output *expected, int64_t index, const ph_dtype stages[PH_STAGE_MAX], bool exact) {
  if (exact || expected->real == NULL) return 0;
  if (isinf(magnitude(expected, PH_MAGNITUDE_F32, index))) return INFINITY;
  double value = expected->real[index];
  if (!isfinite(value)) return 0;
  double sum = ph_dtype_roundoff(expected->dtype) * fabs(value);
  for (uint32_t stage = PH_STAGE_SCORE; stage <= PH_STAGE_ACCUM; stage++) {
    ph_dtype type = stages[stage] == PH_DTYPE_NONE ? PH_F32 : stages[stage];
    sum += ph_dtype_roundoff(type) * magnitude(expected, stage, index);
  }
  double f32 = ph_dtype_roundoff(PH_F32);
  sum += f32 * magnitude(expected, PH_MAGNITUDE_F32, index);
  double bound = PH_TOLERANCE_C * sum + 2 * f32 * magnitude(expected, PH_MAGNITUDE_BUILTIN, index) +
                 ph_dtype_min_normal(expected->dtype);
  return isnan(bound) ? INFINITY : bound; /* sums of infinite sizes: f32 overflows on the way to a finite value */
}

/* What `value` is once it is stored. */
static double stored(ph_dtype dtype, double value) {
  double room = 0;
  ph_write_real(dtype, &room, 0, value);
  return ph_read_real(dtype, &room, 0);
}

/* Moves change no value, but may flush denormals (NUMERICS 1). */
static double exact_ratio(ph_dtype dtype, double expected, double got) {
  expected = stored(dtype, expected);
  if (isnan(expected) && isnan(got)) return 0;
  if (expected == got || (got == 0 && fabs(expected) < ph_dtype_min_normal(dtype))) return 0;
  return INFINITY;
}

static double real_ratio(ph_dtype dtype, double expected, double got, double tolerance) {
  if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got) ? 0 : INFINITY;
  if (isinf(expected)) return expected == got ? 0 : INFINITY;
  if (isinf(got)) { /* right where a value within the bound overflows when it is stored */
    double farthest = stored(dtype, copysign(fabs(expected) + tolerance, expected));
    return farthest == got ? 0 : INFINITY;
  }
  return fabs(got - expected) / tolerance;
}

ph_verdict ph_verdict_of(const ph_oracle_output *expected, const void *got, const ph_dtype stages[PH_STAGE_MAX],
                         bool exact) {
  ph_verdict verdict = {.worst = -1, .first_bad = -1};
  for (int64_t i = 0; i < expected->count; i++) {
    double ratio;
    if (expected->real == NULL) {
      ratio = expected->integer[i] == ph_read_integer(expected->dtype, got, (size_t)i) ? 0 : INFINITY;
    } else {
      double value = ph_read_real(expected->dtype, got, (size_t)i);
      double tolerance = ph_tolerance(expected, i, stages, exact);
      if (isinf(tolerance)) continue;
      ratio = exact ? exact_ratio(expected->dtype, expected->real[i], value)
                    : real_ratio(expected->dtype, expected->real[i], value, tolerance);
    }
    verdict.compared++;
    if (verdict.worst < 0 || ratio > verdict.worst_ratio) {
      verdict.worst = i;
      verdict.worst_ratio = ratio;
    }
    if (ratio <= 1) continue;
    verdict.bad++;
    if (verdict.first_bad < 0) verdict.first_bad = i;
  }
  verdict.pass = verdict.bad == 0 && (verdict.compared > 0 || expected->count == 0);
  return verdict;
}
