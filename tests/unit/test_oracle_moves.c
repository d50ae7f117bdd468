/* The oracle's moves, lookups, casts, caches and positions against results worked out by hand. */
#include "oracle_case.h"

/* ---- moves ---- */

static void test_heads_are_split_and_joined(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "split_heads");
  case_input(&c, PH_F32, DIMS(1, 2, 6), REALS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  case_integer(&c, "heads", 3);
  case_output(&c, PH_F32, DIMS(1, 3, 2, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11);
  case_close(&c);
  case_open(&c, "concat_heads");
  case_input(&c, PH_I32, DIMS(1, 3, 2, 2), REALS(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11));
  case_output(&c, PH_I32, DIMS(1, 2, 6));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
  case_close(&c);
}

static void test_concat(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "concat");
  case_input(&c, PH_F32, DIMS(2, 1), REALS(1, 4));
  case_input(&c, PH_F32, DIMS(2, 0), NULL);
  case_input(&c, PH_F32, DIMS(2, 2), REALS(2, 3, 5, 6));
  case_integer(&c, "axis", 1);
  case_output(&c, PH_F32, DIMS(2, 3));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 2, 3, 4, 5, 6);
  case_close(&c);
}

static void test_split_with_an_unwanted_part(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "split");
  case_input(&c, PH_F32, DIMS(2, 4), REALS(1, 2, 3, 4, 5, 6, 7, 8));
  case_integer(&c, "axis", 1);
  case_list(&c, "into", 3, (const int64_t[]){1, 2, 1});
  case_output(&c, PH_F32, DIMS(2, 1));
  case_no_output(&c);
  case_output(&c, PH_F32, DIMS(2, 1));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 5);
  EXPECT(&c, 2, 0, 4, 8);
  case_close(&c);
}

static void test_slice(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "slice");
  case_input(&c, PH_BOOL, DIMS(4), REALS(1, 0, 1, 1));
  case_integer(&c, "axis", 0);
  case_integer(&c, "start", 1);
  case_integer(&c, "stop", 3);
  case_output(&c, PH_BOOL, DIMS(2));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 0, 1);
  case_close(&c);
}

static void test_transpose_reshape_expand(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "transpose");
  case_input(&c, PH_F32, DIMS(1, 2, 3), REALS(1, 2, 3, 4, 5, 6));
  case_list(&c, "axes", 3, (const int64_t[]){2, 0, 1});
  case_output(&c, PH_F32, DIMS(3, 1, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 4, 2, 5, 3, 6);
  case_close(&c);
  case_open(&c, "reshape");
  case_input(&c, PH_F32, DIMS(2, 3), REALS(1, 2, 3, 4, 5, 6));
  case_restride(&c, DIMS(3, 2), (const int64_t[]){1, 3}); /* read as its transpose */
  case_output(&c, PH_F32, DIMS(6));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 4, 2, 5, 3, 6);
  case_close(&c);
  case_open(&c, "expand");
  case_input(&c, PH_F32, DIMS(2, 1), REALS(1, 2));
  case_output(&c, PH_F32, DIMS(2, 2, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 1, 2, 2, 1, 1, 2, 2);
  case_close(&c);
  case_open(&c, "reshape"); /* a scalar */
  case_input(&c, PH_F32, SCALAR, REALS(7));
  case_output(&c, PH_F32, DIMS(1, 1));
  case_run(&c);
  EXPECT(&c, 0, 0, 7);
  case_close(&c);
}

static void test_moves_of_nothing(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "transpose");
  case_input(&c, PH_F32, DIMS(0, 2), NULL);
  case_list(&c, "axes", 2, (const int64_t[]){1, 0});
  case_output(&c, PH_F32, DIMS(2, 0));
  case_run(&c);
  assert_int_equal(c.results[0].count, 0);
  case_close(&c);
}

/* ---- lookups ---- */

static void test_embedding(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "embedding");
  case_input(&c, PH_I64, DIMS(2, 2), REALS(2, 0, 3, -1));
  case_input(&c, PH_F16, DIMS(3, 2), REALS(0, 1, 10, 11, 20, 21));
  case_output(&c, PH_F16, DIMS(2, 2, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 20, 21, 0, 1, NOT, NOT, NOT, NOT); /* an id outside gives a row of NaN */
  case_close(&c);
}

static void test_gather(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "gather");
  case_input(&c, PH_F32, DIMS(2, 3, 2), REALS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  case_input(&c, PH_I64, DIMS(3), REALS(-1, 0, 3));
  case_integer(&c, "axis", 1);
  case_output(&c, PH_F32, DIMS(2, 3, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 4, 5, 0, 1, NOT, NOT, 10, 11, 6, 7, NOT, NOT);
  case_close(&c);
  case_open(&c, "gather"); /* a scalar index takes the axis away */
  case_input(&c, PH_I64, DIMS(3), REALS(5, 6, 7));
  case_input(&c, PH_I64, SCALAR, REALS(-3));
  case_integer(&c, "axis", 0);
  case_output(&c, PH_I64, SCALAR);
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 5);
  case_close(&c);
}

/* ---- cast ---- */

static void test_cast(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "cast");
  case_input(&c, PH_F32, DIMS(6), REALS(1.9, -1.9, NOT, 1e30, -1e30, 0));
  case_output(&c, PH_I32, DIMS(6));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 1, -1, 0, INT32_MAX, INT32_MIN, 0);
  case_close(&c);
  case_open(&c, "cast");
  case_input(&c, PH_F32, DIMS(3), REALS(.5, 0, NOT));
  case_output(&c, PH_BOOL, DIMS(3));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 1, 0, 1);
  case_close(&c);
  case_open(&c, "cast");
  case_input(&c, PH_BOOL, DIMS(2), REALS(1, 0));
  case_output(&c, PH_F16, DIMS(2));
  case_run(&c);
  EXPECT(&c, 0, 0, 1, 0);
  case_close(&c);
  case_open(&c, "cast");
  case_input(&c, PH_I64, DIMS(2), REALS(4294967297.0, 2));
  case_output(&c, PH_I32, DIMS(2));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 1, 2);
  case_close(&c);
}

/* ---- cache_write ---- */

static void run_cache(oracle_case *c, double offset, bool ring) {
  case_open(c, "cache_write");
  case_input(c, PH_F16, DIMS(1, 1, 3, 2), REALS(1, 1, 2, 2, 3, 3));
  case_input(c, PH_F32, DIMS(1, 1, 2, 2), REALS(8, 8, 9, 9));
  case_input(c, PH_I64, DIMS(1), &offset);
  case_integer(c, "axis", 2);
  case_integer(c, "ring", ring);
  case_output(c, PH_F16, DIMS(1, 1, 3, 2));
  case_run(c);
}

static void test_cache_write(void **state) {
  (void)state;
  oracle_case c;
  run_cache(&c, 1, false);
  EXPECT(&c, 0, 0, 1, 1, 8, 8, 9, 9);
  case_close(&c);
  run_cache(&c, 5, true);
  EXPECT(&c, 0, 0, 9, 9, 2, 2, 8, 8);
  case_close(&c);
}

static void test_bad_cache_writes_are_dropped(void **state) {
  (void)state;
  const double offsets[] = {3, -5, 0x1p62};
  for (int i = 0; i < 3; i++) {
    oracle_case c;
    run_cache(&c, offsets[i], false);
    EXPECT(&c, 0, 0, 1, 1, 2, 2, 3, 3);
    case_close(&c);
  }
}

static void test_cache_write_per_sample(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "cache_write");
  case_fill(&c, PH_F32, DIMS(2, 3), 0);
  case_input(&c, PH_F32, DIMS(2, 1), REALS(7, 8));
  case_input(&c, PH_I64, DIMS(2), REALS(2, 0));
  case_integer(&c, "axis", 1);
  case_integer(&c, "ring", 0);
  case_output(&c, PH_F32, DIMS(2, 3));
  case_run(&c);
  EXPECT(&c, 0, 0, 0, 0, 7, 8, 0, 0);
  case_close(&c);
}

/* ---- positions ---- */

static void test_positions(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "positions");
  case_fill(&c, PH_F32, DIMS(2, 3, 5), 0);
  case_input(&c, PH_I64, DIMS(2), REALS(10, -1));
  case_integer(&c, "start", 2);
  case_integer(&c, "axis", 1);
  case_output(&c, PH_I64, DIMS(2, 3));
  case_run(&c);
  EXPECT_INTEGERS(&c, 0, 12, 13, 14, 1, 2, 3);
  case_close(&c);
}

static void run_sinusoidal(oracle_case *c, const char *pairs, bool endpoint) {
  case_open(c, "sinusoidal_position");
  case_input(c, PH_I64, DIMS(1, 2), REALS(0, 3));
  case_integer(c, "size", 4);
  case_text(c, "pairs", pairs);
  case_real(c, "base", 100);
  case_integer(c, "endpoint", endpoint);
  case_output(c, PH_F32, DIMS(1, 2, 4));
  case_run(c);
}

static void test_sinusoidal_position(void **state) {
  (void)state;
  oracle_case c;
  run_sinusoidal(&c, "interleaved", false);
  EXPECT(&c, 0, 1e-12, 0, 1, 0, 1, sin(3), cos(3), sin(.3), cos(.3));
  case_close(&c);
  run_sinusoidal(&c, "half", true);
  EXPECT(&c, 0, 1e-12, 0, 0, 1, 1, sin(3), sin(.03), cos(3), cos(.03));
  case_close(&c);
}

/* x [1, 1, 2, 6]: both rows 1 .. 6. */
static void open_rotary(oracle_case *c, const char *pairs, int64_t turned) {
  case_open(c, "rotary");
  case_input(c, PH_F64, DIMS(1, 1, 2, 6), REALS(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
  case_text(c, "pairs", pairs);
  case_real(c, "base", 100);
  case_integer(c, "rotary_dim", turned);
}

static void run_rotary(oracle_case *c) {
  case_output(c, PH_F64, DIMS(1, 1, 2, 6));
  case_run(c);
}

static void test_rotary_pairs(void **state) {
  (void)state;
  double c1 = cos(1), s1 = sin(1), c2 = cos(.1), s2 = sin(.1);
  oracle_case c;
  open_rotary(&c, "interleaved", 4);
  run_rotary(&c);
  EXPECT(&c, 0, 1e-12, 1, 2, 3, 4, 5, 6, c1 - 2 * s1, s1 + 2 * c1, 3 * c2 - 4 * s2, 3 * s2 + 4 * c2, 5, 6);
  case_close(&c);
  open_rotary(&c, "half", 4);
  run_rotary(&c);
  EXPECT(&c, 0, 1e-12, 1, 2, 3, 4, 5, 6, c1 - 3 * s1, 2 * c2 - 4 * s2, s1 + 3 * c1, 2 * s2 + 4 * c2, 5, 6);
  case_close(&c);
}

static void test_rotary_positions_and_offset_agree(void **state) {
  (void)state;
  oracle_case by_offset, by_positions;
  open_rotary(&by_offset, "half", 6);
  case_absent(&by_offset, 1);
  case_input(&by_offset, PH_I64, DIMS(1), REALS(7));
  run_rotary(&by_offset);
  for (int rank = 1; rank <= 2; rank++) {
    open_rotary(&by_positions, "half", 6);
    if (rank == 1)
      case_input(&by_positions, PH_I64, DIMS(2), REALS(7, 8));
    else
      case_input(&by_positions, PH_I64, DIMS(1, 2), REALS(7, 8));
    run_rotary(&by_positions);
    case_expect(&by_positions, 0, 12, by_offset.results[0].real, 0);
    case_close(&by_positions);
  }
  case_close(&by_offset);
}

static void test_rotary_tables(void **state) {
  (void)state;
  oracle_case c;
  open_rotary(&c, "interleaved", 2);
  case_input(&c, PH_I64, DIMS(2), REALS(1, 2)); /* the second row is outside the table */
  case_absent(&c, 1);
  case_input(&c, PH_F64, DIMS(2, 1), REALS(1, 2));
  case_input(&c, PH_F64, DIMS(2, 1), REALS(0, 3));
  run_rotary(&c);
  EXPECT(&c, 0, 0, -4, 7, 3, 4, 5, 6, NOT, NOT, 3, 4, 5, 6);
  case_close(&c);
  open_rotary(&c, "interleaved", 2);
  case_absent(&c, 2);
  case_input(&c, PH_F64, DIMS(1, 2, 1), REALS(1, 2)); /* used as they are */
  case_input(&c, PH_F64, DIMS(1, 2, 1), REALS(0, 3));
  run_rotary(&c);
  EXPECT(&c, 0, 0, 1, 2, 3, 4, 5, 6, -4, 7, 3, 4, 5, 6);
  case_close(&c);
}

static void test_rotary_without_a_head_axis(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "rotary");
  case_input(&c, PH_F64, DIMS(2, 1, 2), REALS(1, 0, 1, 0));
  case_absent(&c, 1);
  case_input(&c, PH_I64, DIMS(2), REALS(1, 2));
  case_text(&c, "pairs", "half");
  case_output(&c, PH_F64, DIMS(2, 1, 2));
  case_run(&c);
  EXPECT(&c, 0, 1e-12, cos(1), sin(1), cos(2), sin(2));
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_heads_are_split_and_joined),
      cmocka_unit_test(test_concat),
      cmocka_unit_test(test_split_with_an_unwanted_part),
      cmocka_unit_test(test_slice),
      cmocka_unit_test(test_transpose_reshape_expand),
      cmocka_unit_test(test_moves_of_nothing),
      cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_cast),
      cmocka_unit_test(test_cache_write),
      cmocka_unit_test(test_bad_cache_writes_are_dropped),
      cmocka_unit_test(test_cache_write_per_sample),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_sinusoidal_position),
      cmocka_unit_test(test_rotary_pairs),
      cmocka_unit_test(test_rotary_positions_and_offset_agree),
      cmocka_unit_test(test_rotary_tables),
      cmocka_unit_test(test_rotary_without_a_head_axis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
