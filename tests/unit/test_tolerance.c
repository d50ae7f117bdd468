/* The bound and the verdict: what passes, what fails, and what was not compared (R numbers: users' reports). */
#include "oracle_case.h"

#include <float.h>

static const ph_dtype f32_stages[PH_STAGE_MAX] = {0};

/* An expected output over the given memory; magnitudes are set by hand. */
static ph_oracle_output expected_of(ph_dtype dtype, int64_t count, double *real) {
  return (ph_oracle_output){.count = count, .dtype = dtype, .real = real};
}

static ph_verdict verdict_f32(double *expected, const float *got, int64_t count, bool exact) {
  ph_oracle_output output = expected_of(PH_F32, count, expected);
  return ph_verdict_of(&output, got, f32_stages, exact);
}

static void test_bound_is_the_sum_of_its_parts(void **state) {
  (void)state;
  double value = 4, score = 10, weight = 20, accum = 40, f32 = 80, builtin = 3;
  ph_oracle_output output = expected_of(PH_F16, 1, &value);
  double floor = 0x1p-14;
  assert_near(ph_tolerance(&output, 0, f32_stages, false), PH_TOLERANCE_C * 4 * 0x1p-11 + floor, 1e-12);
  output.magnitude[PH_MAGNITUDE_SCORE] = &score;
  output.magnitude[PH_MAGNITUDE_WEIGHT] = &weight;
  output.magnitude[PH_MAGNITUDE_ACCUM] = &accum;
  output.magnitude[PH_MAGNITUDE_F32] = &f32;
  output.magnitude[PH_MAGNITUDE_BUILTIN] = &builtin;
  const ph_dtype stages[PH_STAGE_MAX] = {PH_DTYPE_NONE, PH_F16, PH_BF16};
  double expected = PH_TOLERANCE_C * (4 * 0x1p-11 + 10 * 0x1p-24 + 20 * 0x1p-11 + 40 * 0x1p-8 + 80 * 0x1p-24) +
                    2 * 0x1p-24 * 3 + floor;
  assert_near(ph_tolerance(&output, 0, stages, false), expected, 1e-12);
  assert_near(ph_tolerance(&output, 0, stages, true), 0, 0);
}

static void test_one_rounding_passes_and_a_larger_error_fails(void **state) {
  (void)state;
  double expected[] = {1};
  assert_true(verdict_f32(expected, (const float[]){1 + FLT_EPSILON}, 1, false).pass);
  ph_verdict verdict = verdict_f32(expected, (const float[]){1 + 2 * FLT_EPSILON}, 1, false);
  assert_false(verdict.pass);
  assert_near(verdict.worst_ratio, 2, 1e-6);
  assert_false(verdict_f32(expected, (const float[]){1 + FLT_EPSILON}, 1, true).pass);
}

static void test_worst_and_first_bad_element(void **state) {
  (void)state;
  double expected[] = {1, 1, 1, 1};
  ph_verdict verdict = verdict_f32(expected, (const float[]){1, 1.1f, 1.5f, 1}, 4, false);
  assert_int_equal(verdict.compared, 4);
  assert_int_equal(verdict.bad, 2);
  assert_int_equal(verdict.first_bad, 1);
  assert_int_equal(verdict.worst, 2);
}

static void test_R097_classes_must_agree(void **state) {
  (void)state;
  const struct {
    double expected;
    float got;
    bool pass;
  } rows[] = {{1, NAN, false},         {NOT, 1, false},       {NOT, NAN, true},      {INF, INFINITY, true},
              {INF, -INFINITY, false}, {NO, -INFINITY, true}, {INF, FLT_MAX, false}, {1, INFINITY, false},
              {NOT, INFINITY, false},  {NO, NAN, false}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    for (int exact = 0; exact < 2; exact++) {
      double expected[] = {rows[i].expected};
      ph_verdict verdict = verdict_f32(expected, &rows[i].got, 1, exact);
      assert_int_equal(verdict.pass, rows[i].pass);
      if (!rows[i].pass) assert_true(isinf(verdict.worst_ratio));
    }
}

static void test_R097_nothing_compared_is_not_a_pass(void **state) {
  (void)state;
  double expected[] = {1}, anything = INF;
  assert_true(verdict_f32(expected, NULL, 0, false).pass); /* nothing was expected */
  ph_oracle_output output = expected_of(PH_F32, 1, expected);
  output.magnitude[PH_MAGNITUDE_F32] = &anything;
  ph_verdict verdict = ph_verdict_of(&output, (const float[]){1}, f32_stages, false);
  assert_int_equal(verdict.compared, 0);
  assert_false(verdict.pass);
}

static void test_any_answer_stands_beside_compared_elements(void **state) {
  (void)state;
  double expected[] = {1, NOT}, f32[] = {0, INF};
  ph_oracle_output output = expected_of(PH_F32, 2, expected);
  output.magnitude[PH_MAGNITUDE_F32] = f32;
  ph_verdict verdict = ph_verdict_of(&output, (const float[]){1, 5}, f32_stages, false);
  assert_true(verdict.pass);
  assert_int_equal(verdict.compared, 1);
}

static void test_values_beyond_the_type_overflow(void **state) {
  (void)state;
  double expected[] = {1e39};
  assert_true(verdict_f32(expected, (const float[]){INFINITY}, 1, false).pass);
  assert_false(verdict_f32(expected, (const float[]){-INFINITY}, 1, false).pass);
  assert_false(verdict_f32(expected, (const float[]){FLT_MAX}, 1, false).pass);
  double border[] = {65519}; /* f16 overflows from 65520 on */
  ph_oracle_output output = expected_of(PH_F16, 1, border);
  assert_true(ph_verdict_of(&output, (const uint16_t[]){0x7c00}, f32_stages, false).pass);
  assert_true(ph_verdict_of(&output, (const uint16_t[]){0x7bff}, f32_stages, false).pass);
  border[0] = 60000;
  assert_false(ph_verdict_of(&output, (const uint16_t[]){0x7c00}, f32_stages, false).pass);
}

static void test_infinite_sizes_leave_finite_values_open_and_no_others(void **state) {
  (void)state;
  double expected[] = {1, INF, 1}, accum[] = {INF, INF, NOT};
  ph_oracle_output output = expected_of(PH_F32, 3, expected);
  output.magnitude[PH_MAGNITUDE_ACCUM] = accum;
  ph_verdict verdict = ph_verdict_of(&output, (const float[]){NAN, 3, NAN}, f32_stages, false);
  assert_int_equal(verdict.compared, 1);
  assert_int_equal(verdict.first_bad, 1);
}

static void test_R053_denormals_may_be_flushed(void **state) {
  (void)state;
  double expected[] = {1e-40};
  for (int exact = 0; exact < 2; exact++) {
    assert_true(verdict_f32(expected, (const float[]){0}, 1, exact).pass);
    assert_true(verdict_f32(expected, (const float[]){1e-40f}, 1, exact).pass);
    assert_false(verdict_f32(expected, (const float[]){NAN}, 1, exact).pass);
  }
}

static void test_exact_values_are_rounded_to_the_type_first(void **state) {
  (void)state;
  double expected[] = {1.0 / 3};
  assert_true(verdict_f32(expected, (const float[]){(float)(1.0 / 3)}, 1, true).pass);
  assert_false(verdict_f32(expected, (const float[]){nextafterf((float)(1.0 / 3), 1)}, 1, true).pass);
  double zero[] = {0};
  assert_true(verdict_f32(zero, (const float[]){-0.0f}, 1, true).pass);
}

static void test_integers_and_bools_are_exact(void **state) {
  (void)state;
  int64_t wide[] = {INT64_MAX, 2};
  ph_oracle_output output = {.count = 2, .dtype = PH_I64, .integer = wide};
  assert_true(ph_verdict_of(&output, (const int64_t[]){INT64_MAX, 2}, f32_stages, false).pass);
  ph_verdict verdict = ph_verdict_of(&output, (const int64_t[]){INT64_MAX - 1, 2}, f32_stages, false);
  assert_false(verdict.pass);
  assert_int_equal(verdict.worst, 0);
  int64_t flags[] = {1, 0};
  output = (ph_oracle_output){.count = 2, .dtype = PH_BOOL, .integer = flags};
  assert_true(ph_verdict_of(&output, (const uint8_t[]){1, 0}, f32_stages, true).pass);
  assert_false(ph_verdict_of(&output, (const uint8_t[]){1, 1}, f32_stages, true).pass);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bound_is_the_sum_of_its_parts),
      cmocka_unit_test(test_one_rounding_passes_and_a_larger_error_fails),
      cmocka_unit_test(test_worst_and_first_bad_element),
      cmocka_unit_test(test_R097_classes_must_agree),
      cmocka_unit_test(test_R097_nothing_compared_is_not_a_pass),
      cmocka_unit_test(test_any_answer_stands_beside_compared_elements),
      cmocka_unit_test(test_values_beyond_the_type_overflow),
      cmocka_unit_test(test_infinite_sizes_leave_finite_values_open_and_no_others),
      cmocka_unit_test(test_R053_denormals_may_be_flushed),
      cmocka_unit_test(test_exact_values_are_rounded_to_the_type_first),
      cmocka_unit_test(test_integers_and_bools_are_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
