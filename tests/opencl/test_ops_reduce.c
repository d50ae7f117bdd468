/* The kernels of mean, argmax, l2_normalize, one_hot, cross_entropy, mse and dropout against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "base/dtype.h"
#include "node_case.h"

static const ph_dtype reals[] = {PH_F32, PH_F16, PH_BF16};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Lines of each length lie along each axis in turn. */
static const int64_t lengths[] = {1, 7, 64, 65, 300};

typedef struct line_case {
  node_case *c;
  uint32_t x, rank;
  int64_t dims[3], rest[2]; /* of x; without the axis */
} line_case;

static line_case open_lines(const char *op, ph_dtype type, case_layout layout, int64_t axis, int64_t length) {
  line_case l = {.dims = {2, 3, 5}};
  l.dims[axis] = length;
  for (int64_t i = 0, to = 0; i < 3; i++)
    if (i != axis) l.rest[to++] = l.dims[i];
  l.c =
      case_new(op, "%s, layout %d, axis %lld of %lld", ph_dtype_name(type), layout, (long long)axis, (long long)length);
  l.x = case_input(l.c, type, layout, 3, l.dims);
  case_integer(l.c, "axis", axis);
  return l;
}

/* ---- mean ---- */

static void mean_case(ph_dtype type, case_layout layout, int64_t axis, int64_t length, bool mask) {
  line_case l = open_lines("mean", type, layout, axis, length);
  if (mask) {
    uint32_t m = case_input(l.c, PH_BOOL, layout, (uint32_t)axis + 1, l.dims);
    for (int64_t i = 0; i < case_count(l.c, m) && axis > 0; i++) /* one line counts nothing */
      if (i < length) case_set(l.c, m, i, 0);
  }
  case_output(l.c, type, 2, l.rest);
  case_run(l.c);
}

static void test_mean(void **state) {
  (void)state;
  for (int64_t axis = 0; axis < 3; axis++)
    for (int mask = 0; mask < 2; mask++) {
      for (size_t i = 0; i < COUNT(lengths); i++) mean_case(PH_F32, DENSE, axis, lengths[i], mask);
      for (size_t t = 0; t < COUNT(reals); t++)
        for (int layout = DENSE; layout <= TURNED; layout++) mean_case(reals[t], layout, axis, 9, mask);
    }
  mean_case(PH_F32, DENSE, 1, 0, false);
}

static void test_mean_of_equal_terms(void **state) {
  (void)state;
  node_case *c = case_new("mean", "100000 equal terms");
  uint32_t x = case_input(c, PH_F32, DENSE, SHAPE(100000));
  case_fill(c, x, 0.1f);
  case_integer(c, "axis", 0);
  case_output(c, PH_F32, 0, NULL);
  case_run(c);
}

static void test_mean_leaves_out_nan(void **state) {
  (void)state;
  node_case *c = case_new("mean", "NaN and infinity behind the mask");
  uint32_t x = case_input(c, PH_F32, DENSE, SHAPE(3, 4)), mask = case_input(c, PH_BOOL, DENSE, SHAPE(3, 4));
  case_fill(c, mask, 1);
  case_set(c, x, 1, NAN);
  case_set(c, mask, 1, 0);
  case_set(c, x, 7, INFINITY);
  case_set(c, mask, 7, 0);
  case_set(c, x, 9, -INFINITY);
  case_integer(c, "axis", 1);
  case_output(c, PH_F32, SHAPE(3));
  case_run(c);
}

/* ---- argmax, one_hot ---- */

static void test_argmax(void **state) {
  (void)state;
  for (int64_t axis = 0; axis < 3; axis++)
    for (size_t t = 0; t < COUNT(reals); t++)
      for (size_t i = 0; i < COUNT(lengths); i++) {
        line_case l = open_lines("argmax", reals[t], (case_layout)(i % 3), axis, lengths[i]);
        case_output(l.c, PH_I64, 2, l.rest);
        case_run(l.c);
      }
  node_case *c = case_new("argmax", "ties, NaN, infinities");
  uint32_t x = case_input(c, PH_F32, DENSE, SHAPE(5, 3));
  static const double values[] = {2,        2,   1, -INFINITY, -INFINITY, -INFINITY, 1,       NAN,
                                  INFINITY, NAN, 1, NAN,       1,         INFINITY,  INFINITY};
  for (size_t i = 0; i < COUNT(values); i++) case_set(c, x, (int64_t)i, values[i]);
  case_integer(c, "axis", 1);
  case_output(c, PH_I64, SHAPE(5));
  case_run(c);
}

static void test_one_hot(void **state) {
  (void)state;
  for (int layout = DENSE; layout <= TURNED; layout++) {
    node_case *c = case_new("one_hot", "layout %d; ids below 0 and from 6 on are outside", layout);
    case_input(c, PH_I64, layout, SHAPE(3, 11));
    case_integer(c, "size", 6);
    case_output(c, PH_F32, SHAPE(3, 11, 6));
    case_run(c);
  }
  node_case *c = case_new("one_hot", "one id");
  uint32_t id = case_input(c, PH_I64, DENSE, 0, NULL);
  case_set(c, id, 0, 2);
  case_integer(c, "size", 3);
  case_output(c, PH_F32, SHAPE(3));
  case_run(c);
}

/* ---- l2_normalize ---- */

static void normalize_case(ph_dtype type, case_layout layout, int64_t axis, int64_t length, double factor, double eps) {
  line_case l = open_lines("l2_normalize", type, layout, axis, length);
  case_scale(l.c, l.x, factor, 0);
  case_real(l.c, "eps", eps);
  case_output(l.c, type, 3, l.dims);
  case_run(l.c);
}

static void test_l2_normalize(void **state) {
  (void)state;
  for (int64_t axis = 0; axis < 3; axis++) {
    for (size_t i = 0; i < COUNT(lengths); i++) normalize_case(PH_F32, DENSE, axis, lengths[i], 1, 1e-12);
    for (size_t t = 0; t < COUNT(reals); t++)
      for (int layout = DENSE; layout <= TURNED; layout++) normalize_case(reals[t], layout, axis, 9, 1, 1e-12);
  }
  static const double factors[] = {0, 1e-37, 1e-25, 1e-13, 1e-12, 1e19, 1e37};
  static const double floors[] = {0, 1e-30, 1e-12, 10};
  for (size_t i = 0; i < COUNT(factors); i++)
    for (size_t k = 0; k < COUNT(floors); k++) normalize_case(PH_F32, DENSE, 2, 9, factors[i], floors[k]);
}

/* Their squares leave f32's range. */
static void test_l2_normalize_of_large_and_small(void **state) {
  (void)state;
  static const double sizes[] = {1e-30, 1e-20, 1e20, 3e38};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    node_case *c = case_new("l2_normalize", "four of size %g", sizes[i]);
    uint32_t x = case_input(c, PH_F32, DENSE, SHAPE(1, 4));
    case_fill(c, x, sizes[i]);
    case_integer(c, "axis", 1);
    case_real(c, "eps", 0);
    case_output(c, PH_F32, SHAPE(1, 4));
    case_run_keep(c);
    for (int64_t e = 0; e < 4; e++) assert_float_equal(case_got(c, 0, e), 0.5, 1e-6);
    case_free(c);
  }
}

static void test_l2_normalize_of_nan_and_infinity(void **state) {
  (void)state;
  node_case *c = case_new("l2_normalize", "NaN and infinity");
  uint32_t x = case_input(c, PH_F32, DENSE, SHAPE(4, 3));
  case_set(c, x, 1, NAN);
  case_set(c, x, 4, INFINITY);
  case_set(c, x, 7, NAN);
  case_set(c, x, 8, -INFINITY);
  case_integer(c, "axis", 1);
  case_output(c, PH_F32, SHAPE(4, 3));
  case_run(c);
}

/* ---- losses ---- */

static void entropy_case(ph_dtype type, case_layout layout, int64_t axis, int64_t length, double factor) {
  line_case l = open_lines("cross_entropy", type, layout, axis, length);
  case_scale(l.c, l.x, factor, 0);
  uint32_t targets = case_input(l.c, PH_I64, layout, 2, l.rest);
  for (int64_t i = 0; i < case_count(l.c, targets); i++) case_set(l.c, targets, i, (double)(i * 7 % length));
  case_output(l.c, type, 0, NULL);
  case_run(l.c);
}

static void test_cross_entropy(void **state) {
  (void)state;
  for (int64_t axis = 0; axis < 3; axis++) {
    for (size_t i = 0; i < COUNT(lengths); i++) entropy_case(PH_F32, DENSE, axis, lengths[i], 1);
    for (size_t t = 0; t < COUNT(reals); t++)
      for (int layout = DENSE; layout <= TURNED; layout++) entropy_case(reals[t], layout, axis, 9, 3);
  }
  entropy_case(PH_F32, DENSE, 2, 9, 1e20);

  node_case *c = case_new("cross_entropy", "no lines");
  case_input(c, PH_F32, DENSE, SHAPE(0, 3));
  case_input(c, PH_I64, DENSE, SHAPE(0));
  case_integer(c, "axis", 1);
  case_output(c, PH_F32, 0, NULL);
  case_run(c);
}

static void test_cross_entropy_of_nan_and_infinity(void **state) {
  (void)state;
  static const double first[] = {NAN, INFINITY, -INFINITY, 1};
  for (size_t i = 0; i < COUNT(first); i++)
    for (int64_t target = 0; target < 2; target++) {
      node_case *c = case_new("cross_entropy", "%g before others, target %lld", first[i], (long long)target);
      uint32_t x = case_input(c, PH_F32, DENSE, SHAPE(1, 3)), t = case_input(c, PH_I64, DENSE, SHAPE(1));
      case_set(c, x, 0, first[i]);
      case_set(c, x, 2, -INFINITY);
      case_set(c, t, 0, (double)target);
      case_integer(c, "axis", 1);
      case_output(c, PH_F32, 0, NULL);
      case_run(c);
    }
}

static void test_mse(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT(reals); t++)
    for (int layout = DENSE; layout <= TURNED; layout++)
      for (size_t i = 0; i < COUNT(lengths); i++) {
        node_case *c =
            case_new("mse", "%s, layout %d, 5 x %lld", ph_dtype_name(reals[t]), layout, (long long)lengths[i]);
        case_input(c, reals[t], layout, SHAPE(5, lengths[i]));
        case_input(c, reals[t], DENSE, SHAPE(5, lengths[i]));
        case_output(c, reals[t], 0, NULL);
        case_run(c);
      }
  static const int64_t counts[] = {0, 1, 1023, 1025, 200000};
  for (size_t i = 0; i < COUNT(counts); i++) {
    node_case *c = case_new("mse", "%lld elements", (long long)counts[i]);
    case_input(c, PH_F32, DENSE, SHAPE(counts[i]));
    case_input(c, PH_F32, DENSE, SHAPE(counts[i]));
    case_output(c, PH_F32, 0, NULL);
    case_run(c);
  }
}

/* ---- dropout ---- */

static void test_dropout(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT(reals); t++)
    for (int layout = DENSE; layout <= TURNED; layout++) {
      node_case *c = case_new("dropout", "%s, layout %d", ph_dtype_name(reals[t]), layout);
      case_input(c, reals[t], layout, SHAPE(3, 5, 7));
      case_real(c, "rate", 0.5);
      case_output(c, reals[t], SHAPE(3, 5, 7));
      case_run(c);
    }
}

int main(void) {
  if (!case_devices_open()) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mean),
      cmocka_unit_test(test_mean_of_equal_terms),
      cmocka_unit_test(test_mean_leaves_out_nan),
      cmocka_unit_test(test_argmax),
      cmocka_unit_test(test_one_hot),
      cmocka_unit_test(test_l2_normalize),
      cmocka_unit_test(test_l2_normalize_of_large_and_small),
      cmocka_unit_test(test_l2_normalize_of_nan_and_infinity),
      cmocka_unit_test(test_cross_entropy),
      cmocka_unit_test(test_cross_entropy_of_nan_and_infinity),
      cmocka_unit_test(test_mse),
      cmocka_unit_test(test_dropout),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  case_devices_close();
  return failed;
}
