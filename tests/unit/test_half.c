/* The 16-bit types, every value of them, and reading and writing elements of all types. */
#include <math.h>

#include "base/dtype.h"
#include "base/half.h"
#include "scratch.h"

typedef struct narrow_type {
  const char *name;
  double (*widen)(uint16_t bits);
  uint16_t (*narrow)(double value);
  uint16_t infinity; /* bits of +inf; what is above is NaN */
  double smallest;   /* above 0 */
  double smallest_normal;
  uint16_t smallest_normal_bits;
} narrow_type;

static const narrow_type types[] = {
    {"f16", ph_f16_to_double, ph_double_to_f16, 0x7C00, 0x1p-24, 0x1p-14, 0x0400},
    {"bf16", ph_bf16_to_double, ph_double_to_bf16, 0x7F80, 0x1p-133, 0x1p-126, 0x0080},
};
enum { TYPES = 2, SIGN = 0x8000 };

static void known_values(void **state) {
  (void)state;
  assert_true(ph_f16_to_double(0x3C00) == 1.0 && ph_f16_to_double(0xC000) == -2.0);
  assert_true(ph_f16_to_double(0x7BFF) == 65504.0 && ph_f16_to_double(0x0001) == 0x1p-24);
  assert_true(ph_f16_to_double(0x3555) == 0.333251953125);
  assert_true(ph_bf16_to_double(0x3F80) == 1.0 && ph_bf16_to_double(0xC000) == -2.0);
  assert_true(ph_bf16_to_double(0x4049) == 3.140625);
  for (int t = 0; t < TYPES; t++) {
    assert_true(types[t].widen(1) == types[t].smallest);
    assert_true(types[t].widen(types[t].smallest_normal_bits) == types[t].smallest_normal);
    assert_true(types[t].widen(types[t].infinity) == (double)INFINITY);
    assert_true(types[t].widen(types[t].infinity | SIGN) == -(double)INFINITY);
  }
}

static void all_values_come_back(void **state) {
  (void)state;
  for (int t = 0; t < TYPES; t++)
    for (unsigned bits = 0; bits <= 0xFFFF; bits++) {
      double value = types[t].widen((uint16_t)bits);
      uint16_t back = types[t].narrow(value);
      if ((bits & 0x7FFF) > types[t].infinity)
        assert_true(isnan(value) && (back & 0x7FFF) > types[t].infinity);
      else if (back != bits)
        fail_msg("%s: %04x comes back as %04x", types[t].name, bits, back);
    }
}

/* Between each value and the next: what is nearer wins, and the middle goes to the even one.  The last pair is the
 * largest number and infinity, which stands where the next number would. */
static void all_middles_go_to_even(void **state) {
  (void)state;
  for (int t = 0; t < TYPES; t++)
    for (uint16_t bits = 0; bits < types[t].infinity; bits++) {
      double low = types[t].widen(bits);
      double high = bits + 1 < types[t].infinity ? types[t].widen((uint16_t)(bits + 1))
                                                 : low + (low - types[t].widen((uint16_t)(bits - 1)));
      double middle = (low + high) / 2; /* exact: one more bit than the type has */
      uint16_t even = bits % 2 == 0 ? bits : (uint16_t)(bits + 1);
      bool right = types[t].narrow(middle) == even && types[t].narrow(nextafter(middle, 0)) == bits &&
                   types[t].narrow(nextafter(middle, INFINITY)) == bits + 1 &&
                   types[t].narrow(-middle) == (even | SIGN);
      if (!right) fail_msg("%s: wrong near the middle above %04x", types[t].name, bits);
    }
}

static void edges(void **state) {
  (void)state;
  assert_int_equal(ph_double_to_f16(65519.999), 0x7BFF);
  assert_int_equal(ph_double_to_f16(65520.0), 0x7C00);
  assert_int_equal(ph_double_to_f16(-1e300), 0xFC00);
  assert_int_equal(ph_double_to_f16(1e-300), 0x0000);
  assert_int_equal(ph_double_to_f16(-0.0), 0x8000);
  /* Once, not over f32 first: 1 + 2^-11 + 2^-40 lies above the middle, its f32 on it. */
  assert_int_equal(ph_double_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3C01);
  assert_int_equal(ph_double_to_bf16(3.4e38), 0x7F80);
  assert_int_equal(ph_double_to_bf16(INFINITY), 0x7F80);
}

static void names_sizes_and_limits(void **state) {
  (void)state;
  static const struct {
    ph_dtype dtype;
    const char *name;
    size_t size;
    bool real;
  } rows[] = {{PH_F32, "f32", 4, true},   {PH_F16, "f16", 2, true},  {PH_BF16, "bf16", 2, true},
              {PH_F64, "f64", 8, true},   {PH_I32, "i32", 4, false}, {PH_I64, "i64", 8, false},
              {PH_BOOL, "bool", 1, false}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_string_equal(ph_dtype_name(rows[i].dtype), rows[i].name);
    assert_int_equal(ph_dtype_named(rows[i].name), rows[i].dtype);
    assert_int_equal(ph_dtype_size(rows[i].dtype), rows[i].size);
    assert_int_equal(ph_dtype_is_real(rows[i].dtype), rows[i].real);
    assert_int_equal(ph_dtype_roundoff(rows[i].dtype) > 0, rows[i].real);
  }
  assert_int_equal(ph_dtype_named("float32"), PH_DTYPE_NONE);
  assert_int_equal(ph_dtype_named("none"), PH_DTYPE_NONE);
  assert_int_equal(ph_dtype_size((ph_dtype)99), 0);
  /* The unit roundoff is half the step at 1. */
  for (int t = 0; t < TYPES; t++) {
    ph_dtype dtype = ph_dtype_named(types[t].name);
    double step = types[t].widen((uint16_t)(types[t].narrow(1) + 1)) - 1;
    assert_true(ph_dtype_roundoff(dtype) == step / 2);
    assert_true(ph_dtype_min_normal(dtype) == types[t].smallest_normal);
  }
}

static void elements_are_written_and_read(void **state) {
  (void)state;
  static const ph_dtype reals[] = {PH_F32, PH_F16, PH_BF16, PH_F64}, integers[] = {PH_I32, PH_I64};
  _Alignas(8) unsigned char array[64];
  for (size_t i = 0; i < 4; i++) {
    memset(array, 0xAA, sizeof(array));
    ph_write_real(reals[i], array, 1, -1.5);
    assert_true(ph_read_real(reals[i], array, 1) == -1.5);
    size_t size = ph_dtype_size(reals[i]);
    assert_int_equal(array[size - 1], 0xAA);
    assert_int_equal(array[2 * size], 0xAA);
  }
  for (size_t i = 0; i < 2; i++) {
    ph_write_integer(integers[i], array, 2, INT32_MIN);
    assert_int_equal(ph_read_integer(integers[i], array, 2), INT32_MIN);
    assert_true(ph_read_real(integers[i], array, 2) == INT32_MIN);
  }
  ph_write_integer(PH_I64, array, 0, INT64_MAX);
  assert_int_equal(ph_read_integer(PH_I64, array, 0), INT64_MAX);
  ph_write_integer(PH_BOOL, array, 0, 256);
  assert_int_equal(array[0], 1);
  assert_true(ph_read_real(PH_BOOL, array, 0) == 1);
  ph_write_real(PH_F32, array, 0, 1 + 0x1p-24 + 0x1p-50);
  assert_true(ph_read_real(PH_F32, array, 0) == 1 + 0x1p-23);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_values),           cmocka_unit_test(all_values_come_back),
      cmocka_unit_test(all_middles_go_to_even), cmocka_unit_test(edges),
      cmocka_unit_test(names_sizes_and_limits), cmocka_unit_test(elements_are_written_and_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
