/* The oracle's mask, softcap and softmax family against numbers worked out by hand (R numbers: users' reports). */
#include "oracle_case.h"

/* ---- softmax and its kin ---- */

static void open_row(oracle_case *c, const char *op, int64_t count, const double *x) {
  case_open(c, op);
  case_input(c, PH_F32, DIMS(count), x);
  case_integer(c, "axis", 0);
  case_output(c, PH_F32, DIMS(count));
  case_run(c);
}

static void test_softmax_row(void **state) {
  (void)state;
  oracle_case c;
  open_row(&c, "softmax", 3, REALS(log(1), log(2), log(5)));
  EXPECT(&c, 0, 1e-7, .125, .25, .625);
  case_close(&c);
}

static void test_softmax_along_a_middle_axis(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "softmax");
  case_input(&c, PH_F32, DIMS(2, 2, 2), REALS(0, 9, 0, 9, NO, 1, 5, NO));
  case_integer(&c, "axis", 1);
  case_output(&c, PH_F32, DIMS(2, 2, 2));
  case_output(&c, PH_F32, DIMS(2, 2));
  case_run(&c);
  EXPECT(&c, 0, 1e-12, .5, .5, .5, .5, 0, 1, 1, 0);
  EXPECT(&c, 1, 1e-12, log(2), 9 + log(2), 5, 1);
  case_close(&c);
}

static void test_R022_nan_and_infinity_spoil_what_is_allowed(void **state) {
  (void)state;
  oracle_case c;
  open_row(&c, "softmax", 3, REALS(INF, 1, 2));
  EXPECT(&c, 0, 0, NOT, NOT, NOT);
  case_close(&c);
  open_row(&c, "softmax", 2, REALS(NOT, 1));
  EXPECT(&c, 0, 0, NOT, NOT);
  case_close(&c);
  open_row(&c, "softmax", 4, REALS(NO, 1, NOT, NO)); /* what is not allowed stays 0 */
  EXPECT(&c, 0, 0, 0, NOT, NOT, 0);
  case_close(&c);
}

static void test_softmax_of_an_empty_row_is_zeros(void **state) {
  (void)state;
  oracle_case c;
  open_row(&c, "softmax", 3, REALS(NO, NO, NO));
  EXPECT(&c, 0, 0, 0, 0, 0);
  case_close(&c);
}

static void test_softmax_sinks(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "softmax");
  case_input(&c, PH_F32, DIMS(1, 3, 1, 2), REALS(0, 0, NO, NO, 0, NO));
  case_input(&c, PH_F32, DIMS(3), REALS(log(2), 7, NO));
  case_integer(&c, "axis", 3);
  case_output(&c, PH_F32, DIMS(1, 3, 1, 2));
  case_output(&c, PH_F32, DIMS(1, 3, 1));
  case_run(&c);
  EXPECT(&c, 0, 1e-7, .25, .25, 0, 0, 1, 0);
  EXPECT(&c, 1, 1e-7, log(4), 7, 0);
  case_close(&c);
}

static void test_log_softmax_is_the_log_of_softmax(void **state) {
  (void)state;
  oracle_case c;
  open_row(&c, "log_softmax", 3, REALS(0, log(3), NO));
  EXPECT(&c, 0, 1e-7, log(.25), log(.75), NO);
  case_close(&c);
  open_row(&c, "log_softmax", 2, REALS(NO, NO));
  EXPECT(&c, 0, 0, NO, NO);
  case_close(&c);
  open_row(&c, "log_softmax", 2, REALS(-1e30, 0)); /* a weight of 0 has a finite log */
  EXPECT(&c, 0, 1e23, -1e30, 0);
  case_close(&c);
}

static void test_axis_outside_the_rank_is_refused(void **state) {
  (void)state;
  for (int64_t axis = -1; axis <= 1; axis += 2) {
    oracle_case c;
    case_open(&c, "softmax");
    case_input(&c, PH_F32, DIMS(2), REALS(1, 2));
    case_integer(&c, "axis", axis);
    case_output(&c, PH_F32, DIMS(2));
    assert_int_equal(case_try(&c, false), PH_INVALID);
    case_close(&c);
  }
}

static void test_hardmax(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "hardmax");
  case_input(&c, PH_F32, DIMS(5, 3), REALS(1, 3, 3, 2, NOT, NOT, NO, NO, NO, NO, INF, 1, NO, NO, -5));
  case_integer(&c, "axis", 1);
  case_output(&c, PH_F32, DIMS(5, 3));
  case_run(&c);
  EXPECT(&c, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1);
  case_close(&c);
}

/* ---- softcap ---- */

static void test_R011_softcap_is_finite(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "softcap");
  case_input(&c, PH_F32, DIMS(8), REALS(5000, -10000, 4400, 100, 3e38, -3e38, 0, NOT));
  case_real(&c, "cap", 50);
  case_output(&c, PH_F32, DIMS(8));
  case_run(&c);
  EXPECT(&c, 0, 1e-7, 50, -50, 50, 48.2013790, 50, -50, 0, NOT);
  case_close(&c);
}

/* ---- mask ---- */

/* Scores of zeros [B, H, Sq, Sk]. */
static void open_mask(oracle_case *c, int64_t b, int64_t h, int64_t queries, int64_t keys) {
  case_open(c, "mask");
  case_fill(c, PH_F32, DIMS(b, h, queries, keys), 0);
}

static void run_mask(oracle_case *c) {
  case_absent(c, 5 - c->node.input_count);
  case_output(c, PH_F32, 4, c->tensors[0].dims);
  case_run(c);
}

static void test_mask_adds_floats_and_takes_minus_infinity_as_a_no(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "mask");
  case_input(&c, PH_F32, DIMS(1, 1, 1, 4), REALS(1, NOT, INF, NOT));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 4), REALS(2, NO, NO, 0));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 4), REALS(.5, 0, 0, 0));
  run_mask(&c);
  EXPECT(&c, 0, 0, 3.5, NO, NO, NOT);
  case_close(&c);
}

static void test_mask_causal_with_window(void **state) {
  (void)state;
  oracle_case c;
  open_mask(&c, 1, 1, 3, 4);
  case_text(&c, "align", "bottom_right");
  case_list(&c, "window", 2, (const int64_t[]){1, 1});
  run_mask(&c);
  EXPECT(&c, 0, 0, 0, 0, 0, NO, NO, 0, 0, 0, NO, NO, 0, 0);
  case_close(&c);
  open_mask(&c, 1, 1, 3, 4);
  case_text(&c, "align", "top_left");
  case_integer(&c, "causal", 1);
  case_list(&c, "window", 2, (const int64_t[]){0, -1});
  run_mask(&c);
  EXPECT(&c, 0, 0, 0, NO, NO, NO, NO, 0, NO, NO, NO, NO, 0, NO);
  case_close(&c);
  open_mask(&c, 1, 1, 2, 2);
  case_text(&c, "align", "top_left");
  case_list(&c, "window", 2, (const int64_t[]){-1, 0});
  run_mask(&c);
  EXPECT(&c, 0, 0, 0, NO, 0, 0);
  case_close(&c);
}

static void test_mask_everything_must_allow(void **state) {
  (void)state;
  oracle_case c;
  open_mask(&c, 2, 1, 1, 4);
  case_input(&c, PH_BOOL, DIMS(1, 1, 1, 4), REALS(1, 0, 1, 1));
  case_input(&c, PH_BOOL, DIMS(2, 1, 1, 4), REALS(1, 1, 1, 1, 0, 1, 1, 1));
  case_input(&c, PH_I64, DIMS(1), REALS(3));
  case_text(&c, "polarity", "attend");
  run_mask(&c);
  EXPECT(&c, 0, 0, 0, NO, 0, NO, NO, NO, 0, NO);
  case_close(&c);
}

static void test_mask_takes_any_offset(void **state) {
  (void)state;
  const double offsets[] = {-0x1p63, 0x1p63 - 1024};
  for (int i = 0; i < 2; i++) {
    oracle_case c;
    open_mask(&c, 1, 1, 2, 1);
    case_absent(&c, 3);
    case_input(&c, PH_I64, DIMS(1), REALS(offsets[i]));
    case_integer(&c, "causal", 1);
    run_mask(&c);
    EXPECT(&c, 0, 0, i == 0 ? NO : 0, i == 0 ? NO : 0);
    case_close(&c);
  }
}

/* The slope of every head is minus the bias of the key one behind. */
static void expect_slopes(int64_t heads, const double *slopes) {
  oracle_case c;
  open_mask(&c, 1, heads, 2, 2);
  case_integer(&c, "alibi", 1);
  case_text(&c, "align", "top_left");
  run_mask(&c);
  for (int64_t h = 0; h < heads; h++) {
    assert_near(c.results[0].real[h * 4 + 2], -slopes[h], 1e-15);
    assert_near(c.results[0].real[h * 4 + 1], slopes[h], 1e-15); /* a key ahead */
    assert_near(c.results[0].real[h * 4], 0, 0);
  }
  case_close(&c);
}

static void test_R044_alibi_slopes(void **state) {
  (void)state;
  expect_slopes(1, REALS(.00390625));
  expect_slopes(3, REALS(.0625, .00390625, .25));
  expect_slopes(6, REALS(.25, .0625, .015625, .00390625, .5, .125));
  expect_slopes(8, REALS(.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625));
}

static void test_alibi_counts_from_the_querys_position(void **state) {
  (void)state;
  oracle_case c;
  open_mask(&c, 1, 1, 1, 3);
  case_absent(&c, 3);
  case_input(&c, PH_I64, DIMS(1), REALS(10));
  case_integer(&c, "alibi", 1);
  run_mask(&c);
  EXPECT(&c, 0, 1e-15, -10 / 256.0, -9 / 256.0, -8 / 256.0);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_softmax_row),
      cmocka_unit_test(test_softmax_along_a_middle_axis),
      cmocka_unit_test(test_R022_nan_and_infinity_spoil_what_is_allowed),
      cmocka_unit_test(test_softmax_of_an_empty_row_is_zeros),
      cmocka_unit_test(test_softmax_sinks),
      cmocka_unit_test(test_log_softmax_is_the_log_of_softmax),
      cmocka_unit_test(test_axis_outside_the_rank_is_refused),
      cmocka_unit_test(test_hardmax),
      cmocka_unit_test(test_R011_softcap_is_finite),
      cmocka_unit_test(test_mask_adds_floats_and_takes_minus_infinity_as_a_no),
      cmocka_unit_test(test_mask_causal_with_window),
      cmocka_unit_test(test_mask_everything_must_allow),
      cmocka_unit_test(test_mask_takes_any_offset),
      cmocka_unit_test(test_R044_alibi_slopes),
      cmocka_unit_test(test_alibi_counts_from_the_querys_position),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
