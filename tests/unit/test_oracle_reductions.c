/* The oracle's mean, argmax, l2_normalize, one_hot, losses and dropout against numbers worked out by hand. */
#include "oracle_case.h"

static void open_along(oracle_case *c, const char *op, int64_t axis, uint32_t rank, const int64_t *dims,
                       const double *x) {
  case_open(c, op);
  case_input(c, PH_F32, rank, dims, x);
  case_integer(c, "axis", axis);
}

/* ---- mean ---- */

static void test_mean_along_each_axis(void **state) {
  (void)state;
  oracle_case c;
  open_along(&c, "mean", 0, DIMS(2, 3), REALS(1, 2, 3, 5, 6, 7));
  case_output(&c, PH_F32, DIMS(3));
  case_run(&c);
  EXPECT(&c, 0, 0, 3, 4, 5);
  case_close(&c);
  open_along(&c, "mean", 1, DIMS(2, 3), REALS(1, 2, 3, 5, 6, 7));
  case_output(&c, PH_F32, DIMS(2));
  case_run(&c);
  EXPECT(&c, 0, 0, 2, 6);
  case_close(&c);
  open_along(&c, "mean", 0, DIMS(4), REALS(1, 2, 3, 6));
  case_output(&c, PH_F32, SCALAR);
  case_run(&c);
  EXPECT(&c, 0, 0, 3);
  case_close(&c);
}

static void test_mean_of_what_the_mask_selects(void **state) {
  (void)state;
  oracle_case c;
  open_along(&c, "mean", 1, DIMS(3, 2, 2), REALS(1, 2, NOT, INF, 1, 2, 3, 4, NOT, NOT, NOT, NOT));
  case_input(&c, PH_BOOL, DIMS(3, 2), REALS(1, 0, 1, 1, 0, 0));
  case_output(&c, PH_F32, DIMS(3, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 2, 2, 3, 0, 0);
  case_close(&c);
}

static void test_mean_of_nothing_is_0(void **state) {
  (void)state;
  oracle_case c;
  open_along(&c, "mean", 1, DIMS(2, 0), NULL);
  case_output(&c, PH_F32, DIMS(2));
  case_run(&c);
  EXPECT(&c, 0, 0, 0, 0);
  case_close(&c);
}

static void test_mean_magnitude(void **state) {
  (void)state;
  oracle_case c;
  open_along(&c, "mean", 0, DIMS(4), REALS(1, -2, 3, -6));
  case_output(&c, PH_F32, SCALAR);
  case_run(&c);
  EXPECT(&c, 0, 0, -1);
  assert_near(c.results[0].magnitude[PH_MAGNITUDE_ACCUM][0], (1 + 2) * 12 / 4.0, 1e-12);
  assert_near(c.results[0].magnitude[PH_MAGNITUDE_BUILTIN][0], 2.5, 1e-12);
  case_close(&c);
}

/* ---- argmax ---- */

static void test_argmax(void **state) {
  (void)state;
  oracle_case c;
  open_along(&c, "argmax", 1, DIMS(6, 3), REALS(1, 3, 2, 3, 3, 1, NO, NO, NO, 1, NOT, INF, NOT, 1, NOT, -2, NO, -1));
  case_output(&c, PH_I64, DIMS(6));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 1, 0, 0, 1, 0, 2);
  case_close(&c);
  open_along(&c, "argmax", 0, DIMS(2, 3), REALS(1, 5, 2, 2, 4, 2));
  case_output(&c, PH_I64, DIMS(3));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 1, 0, 0);
  case_close(&c);
}

/* ---- l2_normalize ---- */

static void run_normalize(oracle_case *c, double eps, int64_t count, const double *x) {
  open_along(c, "l2_normalize", 0, DIMS(count), x);
  case_real(c, "eps", eps);
  case_output(c, PH_F32, DIMS(count));
  case_run(c);
}

static void test_l2_normalize(void **state) {
  (void)state;
  oracle_case c;
  run_normalize(&c, 1e-12, 2, REALS(3, -4));
  EXPECT(&c, 0, 1e-15, .6, -.8);
  assert_near(c.results[0].magnitude[PH_MAGNITUDE_ACCUM][0], .6 * (1 + sqrt(2)), 1e-6);
  case_close(&c);
  run_normalize(&c, 10, 2, REALS(3, -4)); /* shorter than eps */
  EXPECT(&c, 0, 1e-15, .3, -.4);
  case_close(&c);
  run_normalize(&c, 0, 2, REALS(0, 0));
  EXPECT(&c, 0, 0, 0, 0);
  case_close(&c);
  run_normalize(&c, 0, 2, REALS(1e-30, 1e-30)); /* the bound does not come from squares that vanish */
  assert_near(c.results[0].magnitude[PH_MAGNITUDE_ACCUM][0], sqrt(.5) * (1 + sqrt(2)), 1e-6);
  case_close(&c);
  run_normalize(&c, 1e-12, 3, REALS(INF, 1, 0));
  EXPECT(&c, 0, 0, NOT, 0, 0);
  case_close(&c);
  run_normalize(&c, 1e-12, 2, REALS(NOT, 1));
  EXPECT(&c, 0, 0, NOT, NOT);
  case_close(&c);
}

static void test_l2_normalize_along_a_middle_axis(void **state) {
  (void)state;
  oracle_case c;
  open_along(&c, "l2_normalize", 1, DIMS(1, 2, 2), REALS(3, 5, 4, 12));
  case_output(&c, PH_F32, DIMS(1, 2, 2));
  case_run(&c);
  EXPECT(&c, 0, 1e-15, .6, 5 / 13.0, .8, 12 / 13.0);
  case_close(&c);
}

/* ---- one_hot ---- */

static void test_one_hot(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "one_hot");
  case_input(&c, PH_I64, DIMS(2, 2), REALS(2, 0, -1, 3));
  case_integer(&c, "size", 3);
  case_output(&c, PH_F32, DIMS(2, 2, 3));
  case_run(&c);
  EXPECT(&c, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  case_close(&c);
}

/* ---- losses ---- */

static void open_loss(oracle_case *c, int64_t axis, uint32_t rank, const int64_t *dims, const double *logits,
                      int64_t rows, const double *targets) {
  open_along(c, "cross_entropy", axis, rank, dims, logits);
  case_input(c, PH_I64, DIMS(rows), targets);
  case_output(c, PH_F32, SCALAR);
  case_run(c);
}

static void test_cross_entropy(void **state) {
  (void)state;
  oracle_case c;
  open_loss(&c, 1, DIMS(2, 2), REALS(log(1), log(3), log(4), log(4)), 2, REALS(0, 1));
  EXPECT(&c, 0, 1e-7, (log(4) + log(2)) / 2);
  case_close(&c);
  open_loss(&c, 0, DIMS(2, 2), REALS(log(1), log(4), log(3), log(4)), 2, REALS(0, 1)); /* the same, lying across */
  EXPECT(&c, 0, 1e-7, (log(4) + log(2)) / 2);
  case_close(&c);
}

static void test_cross_entropy_of_logits_far_out(void **state) {
  (void)state;
  oracle_case c;
  open_loss(&c, 1, DIMS(1, 3), REALS(1e30, 0, NO), 1, REALS(1));
  assert_near(c.results[0].real[0], (double)1e30f, 0);
  case_close(&c);
  open_loss(&c, 1, DIMS(1, 3), REALS(1, 0, NO), 1, REALS(2)); /* a class that cannot be, and is */
  EXPECT(&c, 0, 0, INF);
  case_close(&c);
  open_loss(&c, 1, DIMS(1, 3), REALS(1, INF, 0), 1, REALS(0));
  EXPECT(&c, 0, 0, NOT);
  case_close(&c);
  open_loss(&c, 1, DIMS(1, 2), REALS(1, 2), 1, REALS(2)); /* only a computed target can lie outside */
  EXPECT(&c, 0, 0, NOT);
  case_close(&c);
  open_loss(&c, 1, DIMS(0, 2), NULL, 0, NULL);
  EXPECT(&c, 0, 0, 0);
  case_close(&c);
}

static void test_mse(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "mse");
  case_input(&c, PH_F32, DIMS(2, 2), REALS(1, 2, 3, 4));
  case_input(&c, PH_F32, DIMS(2, 2), REALS(1, 0, 6, 4));
  case_output(&c, PH_F32, SCALAR);
  case_run(&c);
  EXPECT(&c, 0, 0, 13 / 4.0);
  assert_near(c.results[0].magnitude[PH_MAGNITUDE_ACCUM][0], 3 * 13 / 4.0, 1e-12);
  case_close(&c);
}

/* ---- dropout ---- */

static void test_R046_dropout_drops_nothing(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "dropout");
  case_input(&c, PH_F32, DIMS(2, 2), REALS(1, NOT, -3, INF));
  case_real(&c, "rate", .5);
  case_output(&c, PH_F32, DIMS(2, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, NOT, -3, INF);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mean_along_each_axis),
      cmocka_unit_test(test_mean_of_what_the_mask_selects),
      cmocka_unit_test(test_mean_of_nothing_is_0),
      cmocka_unit_test(test_mean_magnitude),
      cmocka_unit_test(test_argmax),
      cmocka_unit_test(test_l2_normalize),
      cmocka_unit_test(test_l2_normalize_along_a_middle_axis),
      cmocka_unit_test(test_one_hot),
      cmocka_unit_test(test_cross_entropy),
      cmocka_unit_test(test_cross_entropy_of_logits_far_out),
      cmocka_unit_test(test_mse),
      cmocka_unit_test(test_R046_dropout_drops_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
