/* What the backend blas stands on: conversions, products, a row of softmax. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/random.h"
#include "blas/convert.h"
#include "blas/gemm.h"
#include "blas/softmax_row.h"

/* ---- conversions: every half, and the f32 around every half, against the plain ones of core/base ---- */

static bool is_nan_of(ph_dtype dtype, uint16_t bits) {
  return isnan(dtype == PH_F16 ? ph_f16_to_double(bits) : ph_bf16_to_double(bits));
}

static void check_store(ph_dtype dtype, float value) {
  uint16_t got, expected = dtype == PH_F16 ? ph_double_to_f16(value) : ph_double_to_bf16(value);
  blas_store(dtype, &value, 1, &got);
  if (isnan(value) ? !is_nan_of(dtype, got) : got != expected)
    fail_msg("%a is stored as %04x, not as %04x", value, got, expected);
}

static void test_convert(void **state) {
  (void)state;
  static const ph_dtype types[] = {PH_F16, PH_BF16};
  for (int t = 0; t < 2; t++)
    for (uint32_t half = 0; half < 0x10000; half++) {
      uint16_t bits = (uint16_t)half, next = (uint16_t)(half + 1);
      float got, after;
      double expected = types[t] == PH_F16 ? ph_f16_to_double(bits) : ph_bf16_to_double(bits);
      blas_load(types[t], &bits, 1, &got);
      blas_load(types[t], &next, 1, &after);
      if (isnan(expected) ? !isnan(got) : got != (float)expected || signbit(got) != signbit((float)expected))
        fail_msg("%04x is loaded as %a, not as %a", bits, got, expected);
      float middle = (float)((got + (double)after) / 2); /* a tie */
      float values[] = {got, middle, nextafterf(middle, got), nextafterf(middle, after)};
      for (int i = 0; i < 4; i++) check_store(types[t], values[i]);
    }
  uint64_t key = ph_random_key(1, "convert");
  for (uint64_t i = 0; i < 100000; i++) {
    uint32_t bits = (uint32_t)ph_random_bits(key, i);
    float value;
    memcpy(&value, &bits, sizeof(value));
    check_store(PH_F16, value);
    check_store(PH_BF16, value);
  }
}

/* ---- products ---- */

enum { MOST = 7, STRIDE = 9 };

static float at(blas_matrix matrix, int64_t row, int64_t column) {
  return matrix.data[matrix.transposed ? column * matrix.stride + row : row * matrix.stride + column];
}

/* Small integers: every sum is exact. */
static void check_gemm(int64_t m, int64_t n, int64_t k, blas_matrix a, blas_matrix b, bool add) {
  float c[MOST * STRIDE];
  for (int i = 0; i < MOST * STRIDE; i++) c[i] = add ? 3 : NAN; /* what is not added must not be seen */
  blas_gemm(m, n, k, 2, a, b, add, c, STRIDE);
  for (int64_t i = 0; i < MOST; i++)
    for (int64_t j = 0; j < STRIDE; j++) {
      float expected = add ? 3 : 0;
      for (int64_t d = 0; d < k; d++) expected += 2 * at(a, i, d) * at(b, d, j);
      if (i >= m || j >= n) expected = add ? 3 : NAN; /* beside the result */
      float got = c[i * STRIDE + j];
      if (isnan(expected) ? !isnan(got) : got != expected)
        fail_msg("%d x %d x %d: [%d, %d] is %g, not %g", (int)m, (int)n, (int)k, (int)i, (int)j, got, expected);
    }
}

static void test_gemm(void **state) {
  (void)state;
  float data[2][STRIDE * STRIDE];
  for (int i = 0; i < STRIDE * STRIDE; i++) {
    data[0][i] = (float)(i % 7 - 3);
    data[1][i] = (float)(i % 5 - 2);
  }
  for (int64_t m = 0; m <= MOST; m++)
    for (int64_t n = 0; n <= MOST; n++)
      for (int64_t k = 0; k <= MOST; k += m == 1 ? 1 : 3)
        for (int way = 0; way < 8; way++)
          check_gemm(m, n, k, (blas_matrix){data[0], STRIDE, way & 1}, (blas_matrix){data[1], STRIDE, way >> 1 & 1},
                     way >> 2 & 1);
}

/* 0 times NaN is NaN, in a product of one row too. */
static void test_gemm_nan(void **state) {
  (void)state;
  for (int64_t m = 1; m <= 2; m++) {
    float a[] = {0, 1, 0, 1}, b[] = {NAN, 2, 3, 4}, c[4] = {0};
    blas_gemm(m, 2, 2, 1, (blas_matrix){a, 2, false}, (blas_matrix){b, 2, false}, false, c, 2);
    for (int64_t i = 0; i < m; i++) {
      assert_true(isnan(c[2 * i]));
      assert_true(c[2 * i + 1] == 4);
    }
  }
  assert_true(blas_gemm_fits(INT32_MAX, 1, 1));
  assert_false(blas_gemm_fits(1, 1, (int64_t)INT32_MAX + 1));
}

/* ---- a row of softmax ---- */

static void test_softmax_row(void **state) {
  (void)state;
  const float none = -INFINITY;
  float plain[] = {1, none, 3};
  double lse = blas_softmax_row(plain, 3, none);
  assert_true(fabs(lse - log(exp(1) + exp(3))) < 1e-6);
  assert_true(fabs(plain[0] - exp(1 - lse)) < 1e-6 && plain[1] == 0 && fabs(plain[2] - exp(3 - lse)) < 1e-6);

  float sunk[] = {1, 2};
  lse = blas_softmax_row(sunk, 2, 200); /* far above: nothing is left, and nothing overflows */
  assert_true(lse == 200 && sunk[0] == 0 && sunk[1] == 0);

  float empty[] = {none, none};
  assert_true(blas_softmax_row(empty, 2, none) == -INFINITY && empty[0] == 0 && empty[1] == 0);
  float alone[] = {none, none};
  assert_true(blas_softmax_row(alone, 2, 1.5f) == 1.5 && alone[0] == 0 && alone[1] == 0);
  assert_true(blas_softmax_row(empty, 0, none) == -INFINITY);

  float spoiled[] = {-300, INFINITY, none, 1};
  assert_true(isnan(blas_softmax_row(spoiled, 4, none)));
  assert_true(isnan(spoiled[0]) && isnan(spoiled[1]) && spoiled[2] == 0 && isnan(spoiled[3]));
  float with_nan[] = {1, none, NAN};
  assert_true(isnan(blas_softmax_row(with_nan, 3, none)));
  assert_true(isnan(with_nan[0]) && with_nan[1] == 0 && isnan(with_nan[2]));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_convert), cmocka_unit_test(test_gemm),
                                     cmocka_unit_test(test_gemm_nan), cmocka_unit_test(test_softmax_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
