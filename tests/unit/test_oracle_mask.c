/* Who may attend to whom, in the oracle's attention: against numbers worked out by hand, and against faults that users
 * of other engines met (R numbers: the reports they were reduced from). */
#include "attention_case.h"

#include "base/random.h"

static void test_R001_row_of_false_gives_zeros(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 2, 2, 1, 1};
  oracle_case c;
  attention_open(&c, s, 1, 1, REALS(1, 3));
  case_input(&c, PH_BOOL, DIMS(1, 1, 2, 2), REALS(1, 1, 0, 0));
  case_text(&c, "polarity", "attend");
  attention_run(&c, s);
  EXPECT(&c, 0, 0, 2, 0);
  EXPECT(&c, 1, 1e-12, 1 + log(2), NO);
  case_close(&c);
}

static void test_R002_causal_and_mask_together_blank_a_row(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 2, 2, 1, 1};
  oracle_case c;
  attention_open(&c, s, 0, 0, REALS(1, 3));
  case_input(&c, PH_BOOL, DIMS(1, 1, 2, 2), REALS(0, 1, 1, 1));
  case_text(&c, "polarity", "attend");
  case_text(&c, "align", "top_left");
  case_integer(&c, "causal", 1);
  attention_run(&c, s);
  EXPECT(&c, 0, 0, 0, 2);
  case_close(&c);
}

static void test_R004_very_negative_logits(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  attention_open(&c, s, -65536, 2, REALS(1, 3));
  case_real(&c, "scale", 1);
  attention_run(&c, s);
  EXPECT(&c, 0, 0, 2);
  EXPECT(&c, 1, 1e-9, -131072 + log(2));
  case_close(&c);
}

static void test_R005_only_one_half_of_the_keys_allowed(void **state) {
  (void)state;
  enum { KEYS = 128 };
  double v[KEYS], mask[KEYS];
  for (int half = 0; half < 2; half++) {
    for (int j = 0; j < KEYS; j++) {
      v[j] = j;
      mask[j] = j / (KEYS / 2) == half;
    }
    attention_sizes s = {1, 1, 1, 1, KEYS, 1, 1};
    oracle_case c;
    attention_open(&c, s, 1, -200, v);
    case_input(&c, PH_BOOL, DIMS(1, 1, 1, KEYS), mask);
    case_text(&c, "polarity", "attend");
    attention_run(&c, s);
    EXPECT(&c, 0, 1e-9, half == 0 ? 31.5 : 95.5);
    case_close(&c);
  }
}

static void test_R014_R098_causal_alignments(void **state) {
  (void)state;
  const char *aligns[] = {"bottom_right", "top_left"};
  const double expected[][2] = {{2.5, 3}, {1, 1.5}};
  for (int i = 0; i < 2; i++) {
    attention_sizes s = {1, 1, 1, 2, 5, 1, 1};
    oracle_case c;
    attention_open(&c, s, 0, 0, REALS(1, 2, 3, 4, 5));
    case_integer(&c, "causal", 1);
    case_text(&c, "align", aligns[i]);
    attention_run(&c, s);
    case_expect(&c, 0, 2, expected[i], 1e-12);
    case_close(&c);
  }
}

static void test_R016_R098_unused_slots_hold_nan(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "attention");
  case_fill(&c, PH_F32, DIMS(1, 1, 2, 1), 0);
  case_input(&c, PH_F32, DIMS(1, 1, 8, 1), REALS(0, 0, 0, 0, 0, NOT, NOT, INF));
  case_input(&c, PH_F32, DIMS(1, 1, 8, 1), REALS(1, 2, 3, 4, 5, NOT, NOT, INF));
  case_absent(&c, 2);
  case_input(&c, PH_I64, DIMS(1), REALS(5));
  case_input(&c, PH_I64, DIMS(1), REALS(3));
  case_integer(&c, "causal", 1);
  attention_run(&c, (attention_sizes){1, 1, 1, 2, 8, 1, 1});
  EXPECT(&c, 0, 1e-12, 2.5, 3);
  case_close(&c);
}

/* Rows `from` .. of a causal pass over `keys` tokens, the queries alone, at offset `from`. */
static void cached_pass(int64_t from, int64_t queries, int64_t keys, const double *data, bool window, double *out) {
  enum { DEPTH = 3 };
  oracle_case c;
  case_open(&c, "attention");
  case_input(&c, PH_F32, DIMS(1, 1, queries, DEPTH), data + from * DEPTH);
  case_input(&c, PH_F32, DIMS(1, 1, keys, DEPTH), data + 100);
  case_input(&c, PH_F32, DIMS(1, 1, keys, DEPTH), data + 200);
  case_absent(&c, 3);
  case_input(&c, PH_I64, DIMS(1), REALS((double)from));
  case_absent(&c, 1);
  case_integer(&c, "causal", 1);
  if (window) case_list(&c, "window", 2, (const int64_t[]){2, 0});
  case_output(&c, PH_F32, DIMS(1, 1, queries, DEPTH));
  case_no_output(&c);
  case_run(&c);
  for (int64_t i = 0; i < queries * DEPTH; i++) out[from * DEPTH + i] = c.results[0].real[i];
  case_close(&c);
}

static void test_R017_R043_cached_passes_equal_one_pass(void **state) {
  (void)state;
  double data[300], whole[18], parts[18];
  for (uint64_t i = 0; i < 300; i++) data[i] = ph_random_normal(17, i);
  for (int window = 0; window < 2; window++) {
    cached_pass(0, 6, 6, data, window, whole);
    const int64_t cuts[][3] = {{4, 6, 6}, {4, 5, 6}, {3, 6, 6}}; /* where each pass ends */
    for (int i = 0; i < 3; i++) {
      int64_t from = 0;
      for (int j = 0; j < 3 && from < 6; j++) {
        cached_pass(from, cuts[i][j] - from, cuts[i][j], data, window, parts);
        from = cuts[i][j];
      }
      for (int j = 0; j < 18; j++) assert_near(parts[j], whole[j], 1e-12);
    }
  }
}

static void test_R019_polarity(void **state) {
  (void)state;
  const char *polarities[] = {"attend", "ignore"};
  for (int i = 0; i < 2; i++) {
    attention_sizes s = {1, 1, 1, 1, 2, 1, 1};
    for (int by_key = 0; by_key < 2; by_key++) {
      oracle_case c;
      attention_open(&c, s, 0, 0, REALS(1, 100));
      if (by_key) case_absent(&c, 1);
      case_input(&c, PH_BOOL, DIMS(1, 1, 1, 2), REALS(1, 0));
      case_text(&c, "polarity", polarities[i]);
      attention_run(&c, s);
      EXPECT(&c, 0, 0, i == 0 ? 1 : 100);
      case_close(&c);
    }
  }
}

static void test_R020_float_mask_is_added(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  attention_open(&c, s, 0, 0, REALS(1, 100));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 2), REALS(1, 0));
  attention_run(&c, s);
  EXPECT(&c, 0, 1e-7, 27.6252007);
  case_close(&c);
}

/* Of extents `dims`, numbers that are the same all along an axis where `distinct` has an extent of 1. */
static void fill_mask(double *mask, const int64_t dims[4], const int64_t distinct[4]) {
  for (int64_t i = 0; i < dims[0] * dims[1] * dims[2] * dims[3]; i++) {
    int64_t rest = i;
    uint64_t key = 0;
    for (int d = 3; d >= 0; rest /= dims[d--]) key = key * 8 + (uint64_t)(distinct[d] == 1 ? 0 : rest % dims[d]);
    mask[i] = ph_random_normal(4, key);
  }
}

static void test_R023_masks_broadcast(void **state) {
  (void)state;
  enum { ALL = 2 * 3 * 2 * 4 };
  const int64_t shapes[][4] = {{1, 1, 1, 4}, {1, 1, 2, 4}, {2, 1, 1, 4}, {1, 3, 2, 4}};
  double q[12], k[24], v[24], mask[ALL];
  for (uint64_t i = 0; i < 24; i++) {
    if (i < 12) q[i] = ph_random_normal(1, i);
    k[i] = ph_random_normal(2, i);
    v[i] = ph_random_normal(3, i);
  }
  for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); shape++) {
    double results[2][12];
    for (int expanded = 0; expanded < 2; expanded++) {
      const int64_t full[] = {2, 3, 2, 4}, *wanted = expanded ? full : shapes[shape];
      fill_mask(mask, wanted, shapes[shape]);
      oracle_case c;
      case_open(&c, "attention");
      case_input(&c, PH_F32, DIMS(2, 3, 2, 1), q);
      case_input(&c, PH_F32, DIMS(2, 3, 4, 1), k);
      case_input(&c, PH_F32, DIMS(2, 3, 4, 1), v);
      case_input(&c, PH_F32, 4, wanted, mask);
      attention_run(&c, (attention_sizes){2, 3, 3, 2, 4, 1, 1});
      memcpy(results[expanded], c.results[0].real, sizeof(results[0]));
      case_close(&c);
    }
    assert_memory_equal(results[0], results[1], sizeof(results[0]));
  }
}

static void test_R025_lengths_belong_to_samples(void **state) {
  (void)state;
  attention_sizes s = {2, 2, 2, 1, 3, 1, 1};
  oracle_case c;
  attention_open(&c, s, 0, 0, REALS(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
  case_absent(&c, 2);
  case_input(&c, PH_I64, DIMS(2), REALS(1, 3));
  attention_run(&c, s);
  EXPECT(&c, 0, 1e-12, 1, 1, 2, 2);
  case_close(&c);
}

static void test_negative_offset_leaves_first_queries_without_keys(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 3, 2, 1, 1};
  oracle_case c;
  attention_open(&c, s, 0, 0, REALS(1, 3));
  case_absent(&c, 3);
  case_input(&c, PH_I64, DIMS(1), REALS(-1));
  case_integer(&c, "causal", 1);
  attention_run(&c, s);
  EXPECT(&c, 0, 0, 0, 1, 2);
  case_close(&c);
}

static void test_offsets_per_sample(void **state) {
  (void)state;
  attention_sizes s = {2, 1, 1, 1, 4, 1, 1};
  oracle_case c;
  attention_open(&c, s, 0, 0, REALS(1, 2, 3, 4, 1, 2, 3, 4));
  case_absent(&c, 3);
  case_input(&c, PH_I64, DIMS(2), REALS(1, 3));
  case_integer(&c, "causal", 1);
  attention_run(&c, s);
  EXPECT(&c, 0, 1e-12, 1.5, 2.5);
  case_close(&c);
}

static void test_ring_slots_hold_the_newest_positions(void **state) {
  (void)state;
  /* 4 slots, v is the slot.  Offset 5: they hold positions 4, 5, 2, 3.  Offset 1: 0, 1, and two are empty. */
  const struct {
    double offset;
    int64_t left;
    double expected;
  } rows[] = {{5, 3, 1.5}, {5, 1, 0.5}, {5, 2, 4 / 3.0}, {1, 3, 0.5}, {0, 3, 0}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    attention_sizes s = {1, 1, 1, 1, 4, 1, 1};
    oracle_case c;
    attention_open(&c, s, 0, 0, REALS(0, 1, 2, 3));
    case_absent(&c, 3);
    case_input(&c, PH_I64, DIMS(1), REALS(rows[i].offset));
    case_integer(&c, "causal", 1);
    case_integer(&c, "ring", 1);
    case_list(&c, "window", 2, (const int64_t[]){rows[i].left, 0});
    attention_run(&c, s);
    EXPECT(&c, 0, 1e-12, rows[i].expected);
    case_close(&c);
  }
}

static void test_what_is_not_allowed_leaves_no_trace(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "attention");
  case_fill(&c, PH_F32, DIMS(1, 1, 1, 1), 1);
  case_input(&c, PH_F32, DIMS(1, 1, 4, 1), REALS(1, NOT, INF, NO));
  case_input(&c, PH_F32, DIMS(1, 1, 4, 1), REALS(7, NOT, INF, NOT));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 4), REALS(0, NO, NO, 0)); /* the last key's score is -inf by itself */
  attention_run(&c, (attention_sizes){1, 1, 1, 1, 4, 1, 1});
  EXPECT(&c, 0, 0, 7);
  EXPECT(&c, 1, 1e-12, 1);
  case_close(&c);
}

static void test_allowed_nan_and_infinity_show(void **state) {
  (void)state;
  const struct {
    double k, v, expected;
  } rows[] = {{NOT, 1, NOT}, {INF, 1, NOT}, {0, NOT, NOT}, {0, INF, INF}, {0, NO, NO}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    oracle_case c;
    case_open(&c, "attention");
    case_fill(&c, PH_F32, DIMS(1, 1, 1, 1), 1);
    case_input(&c, PH_F32, DIMS(1, 1, 2, 1), REALS(0, rows[i].k));
    case_input(&c, PH_F32, DIMS(1, 1, 2, 1), REALS(1, rows[i].v));
    attention_run(&c, (attention_sizes){1, 1, 1, 1, 2, 1, 1});
    EXPECT(&c, 0, 0, rows[i].expected);
    assert_true(ph_tolerance(&c.results[0], 0, (const ph_dtype[PH_STAGE_MAX]){0}, false) == 0);
    case_close(&c);
  }
}

/* The lowest f32 as a mask is common, and harmless beside a key with a real score. */
static void test_lowest_float_as_mask_is_compared(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  attention_open(&c, s, 1, -5, REALS(1, 3));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 2), REALS(0, -3.4028234663852886e38));
  attention_run(&c, s);
  EXPECT(&c, 0, 0, 1);
  assert_true(isfinite(ph_tolerance(&c.results[0], 0, (const ph_dtype[PH_STAGE_MAX]){0}, false)));
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_R001_row_of_false_gives_zeros),
      cmocka_unit_test(test_R002_causal_and_mask_together_blank_a_row),
      cmocka_unit_test(test_R004_very_negative_logits),
      cmocka_unit_test(test_R005_only_one_half_of_the_keys_allowed),
      cmocka_unit_test(test_R014_R098_causal_alignments),
      cmocka_unit_test(test_R016_R098_unused_slots_hold_nan),
      cmocka_unit_test(test_R017_R043_cached_passes_equal_one_pass),
      cmocka_unit_test(test_R019_polarity),
      cmocka_unit_test(test_R020_float_mask_is_added),
      cmocka_unit_test(test_R023_masks_broadcast),
      cmocka_unit_test(test_R025_lengths_belong_to_samples),
      cmocka_unit_test(test_negative_offset_leaves_first_queries_without_keys),
      cmocka_unit_test(test_offsets_per_sample),
      cmocka_unit_test(test_ring_slots_hold_the_newest_positions),
      cmocka_unit_test(test_what_is_not_allowed_leaves_no_trace),
      cmocka_unit_test(test_allowed_nan_and_infinity_show),
      cmocka_unit_test(test_lowest_float_as_mask_is_compared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
