/* The oracle's linear, matmul, norms and element-wise ops against numbers worked out by hand (R numbers: users'
 * reports). */
#include "oracle_case.h"

#include <float.h>

/* ---- linear, matmul ---- */

static void test_R091_bias_reaches_every_token(void **state) {
  (void)state;
  const int64_t tokens[][2] = {{2, 3}, {1, 1}};
  for (int i = 0; i < 2; i++) {
    oracle_case c;
    case_open(&c, "linear");
    case_fill(&c, PH_F16, DIMS(tokens[i][0], tokens[i][1], 5), 1);
    case_fill(&c, PH_F16, DIMS(4, 5), 0);
    case_input(&c, PH_F16, DIMS(4), REALS(0, 1, 2, 3));
    case_text(&c, "layout", "out_in");
    case_output(&c, PH_F16, DIMS(tokens[i][0], tokens[i][1], 4));
    case_run(&c);
    for (int64_t j = 0; j < c.results[0].count; j++) assert_near(c.results[0].real[j], (double)(j % 4), 0);
    case_close(&c);
  }
}

static void test_R092_layouts(void **state) {
  (void)state;
  for (int in_out = 0; in_out < 2; in_out++) {
    oracle_case c;
    case_open(&c, "linear");
    case_input(&c, PH_F32, DIMS(2), REALS(1, 0));
    case_input(&c, PH_F32, DIMS(2, 2), REALS(1, 2, 3, 4));
    case_absent(&c, 1);
    case_text(&c, "layout", in_out ? "in_out" : "out_in");
    case_output(&c, PH_F32, DIMS(2));
    case_run(&c);
    EXPECT(&c, 0, 0, 1, in_out ? 2 : 3);
    case_close(&c);
  }
}

static void test_linear_over_nothing_is_the_bias(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "linear");
  case_fill(&c, PH_F32, DIMS(2, 0), 0);
  case_fill(&c, PH_F32, DIMS(3, 0), 0);
  case_input(&c, PH_F32, DIMS(3), REALS(1, 2, 3));
  case_text(&c, "layout", "out_in");
  case_output(&c, PH_F32, DIMS(2, 3));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 2, 3, 1, 2, 3);
  case_close(&c);
}

static void test_matmul_with_transposes(void **state) {
  (void)state;
  const double a[] = {1, 2, 3, 4, 5, 6}, a_turned[] = {1, 4, 2, 5, 3, 6};
  const double b[] = {1, 0, 2, 1, 0, 3}, b_turned[] = {1, 2, 0, 0, 1, 3};
  for (int swap = 0; swap < 4; swap++) {
    oracle_case c;
    case_open(&c, "matmul");
    if (swap & 1)
      case_input(&c, PH_F32, DIMS(3, 2), a_turned);
    else
      case_input(&c, PH_F32, DIMS(2, 3), a);
    if (swap & 2)
      case_input(&c, PH_F32, DIMS(2, 3), b_turned);
    else
      case_input(&c, PH_F32, DIMS(3, 2), b);
    case_integer(&c, "transpose_a", swap & 1);
    case_integer(&c, "transpose_b", swap >> 1);
    case_output(&c, PH_F32, DIMS(2, 2));
    case_run(&c);
    EXPECT(&c, 0, 0, 5, 11, 14, 23);
    case_close(&c);
  }
}

static void test_matmul_repeats_batches(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "matmul");
  case_input(&c, PH_F32, DIMS(2, 1, 1, 2), REALS(1, 2, 3, 4));
  case_restride(&c, DIMS(2, 3, 1, 2), (const int64_t[]){2, 0, 2, 1});
  case_input(&c, PH_F32, DIMS(3, 2, 1), REALS(1, 0, 0, 1, 1, 1));
  case_restride(&c, DIMS(2, 3, 2, 1), (const int64_t[]){0, 2, 1, 1});
  case_output(&c, PH_F32, DIMS(2, 3, 1, 1));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 2, 3, 3, 4, 7);
  case_close(&c);
}

/* ---- norms ---- */

static void test_R052_layer_norm_of_a_large_mean(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "layer_norm");
  case_input(&c, PH_F32, DIMS(1, 4), REALS(40000, 40001, 40002, 40003));
  case_absent(&c, 2);
  case_integer(&c, "axis", 1);
  case_real(&c, "eps", 1e-5);
  case_output(&c, PH_F32, DIMS(1, 4));
  case_output(&c, PH_F32, DIMS(1, 1));
  case_output(&c, PH_F32, DIMS(1, 1));
  case_run(&c);
  EXPECT(&c, 0, 1e-7, -1.3416354, -.4472118, .4472118, 1.3416354);
  EXPECT(&c, 1, 0, 40001.5);
  EXPECT(&c, 2, 1e-12, 1 / sqrt(1.25 + 1e-5));
  case_close(&c);
}

static void test_R052_constant_rows_give_exactly_the_bias(void **state) {
  (void)state;
  const double values[] = {1234, .1, 1e-30, FLT_MAX};
  for (int i = 0; i < 4; i++)
    for (int with_bias = 0; with_bias < 2; with_bias++)
      for (int with_eps = 0; with_eps < 2; with_eps++) {
        oracle_case c;
        case_open(&c, "layer_norm");
        case_fill(&c, PH_F32, DIMS(2, 251), values[i]);
        case_absent(&c, 1);
        if (with_bias) case_fill(&c, PH_F32, DIMS(251), .5);
        case_integer(&c, "axis", 1);
        case_real(&c, "eps", with_eps ? 1e-5 : 0);
        case_output(&c, PH_F32, DIMS(2, 251));
        case_run(&c);
        case_expect_all(&c, 0, with_bias ? .5 : 0, 0);
        case_close(&c);
      }
}

static void test_layer_norm_over_two_axes(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "layer_norm");
  case_input(&c, PH_F32, DIMS(1, 2, 2), REALS(1, 1, 3, 3));
  case_input(&c, PH_F32, DIMS(2, 2), REALS(1, 2, 3, 4));
  case_input(&c, PH_F32, DIMS(2, 2), REALS(10, 20, 30, 40));
  case_integer(&c, "axis", 1);
  case_real(&c, "eps", 0);
  case_output(&c, PH_F32, DIMS(1, 2, 2));
  case_output(&c, PH_F32, DIMS(1, 1, 1));
  case_no_output(&c);
  case_run(&c);
  EXPECT(&c, 0, 1e-12, 9, 18, 33, 44);
  EXPECT(&c, 1, 0, 2);
  case_close(&c);
}

static void test_rms_norm(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "rms_norm");
  case_input(&c, PH_F32, DIMS(2, 2), REALS(3, 4, 0, 0));
  case_input(&c, PH_F32, DIMS(2), REALS(1, 2));
  case_integer(&c, "axis", 1);
  case_real(&c, "eps", 12.5);
  case_output(&c, PH_F32, DIMS(2, 2));
  case_run(&c);
  EXPECT(&c, 0, 1e-12, .6, 1.6, 0, 0); /* sqrt(12.5 + 12.5) = 5 */
  case_close(&c);
}

static void test_norms_of_rows_that_are_not_finite(void **state) {
  (void)state;
  const char *ops[] = {"layer_norm", "rms_norm"};
  for (int i = 0; i < 2; i++) {
    oracle_case c;
    case_open(&c, ops[i]);
    case_input(&c, PH_F32, DIMS(2, 2), REALS(INF, 1, NOT, 1));
    case_integer(&c, "axis", 1);
    case_output(&c, PH_F32, DIMS(2, 2));
    case_run(&c);
    if (i == 0)
      EXPECT(&c, 0, 0, NOT, NOT, NOT, NOT);
    else
      EXPECT(&c, 0, 0, NOT, 0, NOT, NOT);
    case_close(&c);
  }
}

/* ---- element by element ---- */

static void expect_unary(const char *op, const char *form, double x, double expected, double within) {
  oracle_case c;
  case_open(&c, op);
  case_input(&c, PH_F64, DIMS(1), &x);
  if (form != NULL) case_text(&c, "form", form);
  case_output(&c, PH_F64, DIMS(1));
  case_run(&c);
  case_expect(&c, 0, 1, &expected, within);
  case_close(&c);
}

static void test_functions_at_ordinary_points(void **state) {
  (void)state;
  expect_unary("relu", NULL, 2, 2, 0);
  expect_unary("relu", NULL, -2, 0, 0);
  expect_unary("gelu", "erf", 1, 0.8413447460685429, 1e-15);
  expect_unary("gelu", "erf", -1, -0.15865525393145707, 1e-15);
  expect_unary("gelu", "tanh", 1, 0.8411919906082768, 1e-15);
  expect_unary("gelu", "tanh", -3, -0.0036373920817729943, 1e-15);
  expect_unary("silu", NULL, 1, 0.7310585786300049, 1e-15);
  expect_unary("silu", NULL, -200, -200 * exp(-200), 1e-99);
  expect_unary("tanh", NULL, .5, 0.46211715726000979, 1e-15);
  expect_unary("sigmoid", NULL, -1, 0.2689414213699951, 1e-15);
  expect_unary("erf", NULL, .5, 0.5204998778130465, 1e-15);
  expect_unary("exp", NULL, 1, 2.718281828459045, 1e-15);
}

static void test_activations_at_nan_and_infinity(void **state) {
  (void)state;
  const struct { const char *op, *form; } rows[] = {{"relu", NULL}, {"gelu", "erf"}, {"gelu", "tanh"}, {"silu", NULL}};
  for (int i = 0; i < 4; i++) {
    expect_unary(rows[i].op, rows[i].form, NOT, NOT, 0);
    expect_unary(rows[i].op, rows[i].form, INF, INF, 0);
    expect_unary(rows[i].op, rows[i].form, NO, 0, 0);
  }
  expect_unary("sigmoid", NULL, NO, 0, 0);
  expect_unary("sigmoid", NULL, INF, 1, 0);
  expect_unary("tanh", NULL, NO, -1, 0);
  expect_unary("erf", NULL, INF, 1, 0);
  expect_unary("exp", NULL, NO, 0, 0);
  expect_unary("exp", NULL, INF, INF, 0);
}

static void test_gelu_is_0_or_x_from_16_on(void **state) {
  (void)state;
  const char *forms[] = {"erf", "tanh"};
  for (int i = 0; i < 2; i++) {
    expect_unary("gelu", forms[i], -16, 0, 0);
    expect_unary("gelu", forms[i], 16, 16, 0);
    expect_unary("gelu", forms[i], -3e38, 0, 0);
    expect_unary("gelu", forms[i], 3e38, 3e38, 0);
  }
}

static void expect_binary(const char *op, ph_dtype dtype, double a, double b, double expected) {
  oracle_case c;
  case_open(&c, op);
  case_input(&c, dtype, DIMS(1), &a);
  case_input(&c, dtype, DIMS(1), &b);
  case_output(&c, dtype, DIMS(1));
  case_run(&c);
  if (ph_dtype_is_real(dtype))
    assert_near(c.results[0].real[0], expected, 0);
  else
    assert_int_equal(c.results[0].integer[0], (int64_t)expected);
  case_close(&c);
}

static void test_arithmetic(void **state) {
  (void)state;
  expect_binary("add", PH_F32, 2, 3, 5);
  expect_binary("sub", PH_F32, 2, 3, -1);
  expect_binary("mul", PH_F16, 2, 3, 6);
  expect_binary("div", PH_F32, 3, 2, 1.5);
  expect_binary("div", PH_F32, 1, 0, INF);
  expect_binary("div", PH_F32, 0, 0, NOT);
  expect_binary("mul", PH_F32, 0, INF, NOT);
  expect_binary("add", PH_I64, 9007199254740993.0, 0, 9007199254740992.0);
  expect_binary("sub", PH_I32, -2147483648.0, 1, 2147483647); /* wraps */
  expect_binary("mul", PH_I32, 65536, 65536, 0);
}

static void test_operands_repeat_along_strides_of_0(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "sub");
  case_input(&c, PH_F32, DIMS(2), REALS(10, 20));
  case_restride(&c, DIMS(2, 3), (const int64_t[]){1, 0});
  case_input(&c, PH_F32, DIMS(3), REALS(1, 2, 3));
  case_restride(&c, DIMS(2, 3), (const int64_t[]){0, 1});
  case_output(&c, PH_F32, DIMS(2, 3));
  case_run(&c);
  EXPECT(&c, 0, 0, 9, 8, 7, 19, 18, 17);
  case_close(&c);
}

static void test_integers_are_not_divided(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "div");
  case_input(&c, PH_I64, DIMS(1), REALS(4));
  case_input(&c, PH_I64, DIMS(1), REALS(2));
  case_output(&c, PH_I64, DIMS(1));
  assert_int_equal(case_try(&c, false), PH_UNSUPPORTED);
  case_close(&c);
}

static void test_unknown_ops_and_versions(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "fourier");
  case_output(&c, PH_F32, DIMS(1));
  assert_int_equal(case_try(&c, false), PH_UNSUPPORTED);
  case_close(&c);
  assert_true(ph_oracle_knows("linear", 1));
  assert_false(ph_oracle_knows("linear", 2));
  assert_false(ph_oracle_knows("fourier", 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_R091_bias_reaches_every_token),
      cmocka_unit_test(test_R092_layouts),
      cmocka_unit_test(test_linear_over_nothing_is_the_bias),
      cmocka_unit_test(test_matmul_with_transposes),
      cmocka_unit_test(test_matmul_repeats_batches),
      cmocka_unit_test(test_R052_layer_norm_of_a_large_mean),
      cmocka_unit_test(test_R052_constant_rows_give_exactly_the_bias),
      cmocka_unit_test(test_layer_norm_over_two_axes),
      cmocka_unit_test(test_rms_norm),
      cmocka_unit_test(test_norms_of_rows_that_are_not_finite),
      cmocka_unit_test(test_functions_at_ordinary_points),
      cmocka_unit_test(test_activations_at_nan_and_infinity),
      cmocka_unit_test(test_gelu_is_0_or_x_from_16_on),
      cmocka_unit_test(test_arithmetic),
      cmocka_unit_test(test_operands_repeat_along_strides_of_0),
      cmocka_unit_test(test_integers_are_not_divided),
      cmocka_unit_test(test_unknown_ops_and_versions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
