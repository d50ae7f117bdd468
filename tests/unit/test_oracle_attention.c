/* The oracle's attention and its steps, masks apart (test_oracle_mask.c): against numbers worked out by hand, and
 * against faults that users of other engines met (R numbers: the reports they were reduced from). */
#include "attention_case.h"

#include "base/random.h"

static void run_f16(int64_t depth, double q, double k, double scale, double expected) {
  oracle_case c;
  case_open(&c, "attention");
  case_fill(&c, PH_F16, DIMS(1, 1, 1, depth), q);
  case_fill(&c, PH_F16, DIMS(1, 1, 2, depth), k);
  case_input(&c, PH_F16, DIMS(1, 1, 2, 1), REALS(1, 3));
  case_absent(&c, 5);
  if (!isnan(scale)) case_real(&c, "scale", scale);
  case_output(&c, PH_F16, DIMS(1, 1, 1, 1));
  case_output(&c, PH_F32, DIMS(1, 1, 1));
  case_run(&c);
  EXPECT(&c, 0, 0, 2);
  EXPECT(&c, 1, 1e-6, expected + log(2));
  case_close(&c);
}

static void test_R007_R008_scores_beyond_f16(void **state) {
  (void)state;
  run_f16(64, 32, 32, NOT, 8192);
  run_f16(64, 400, -400, 0.125, -1.28e6);
}

static void test_R010_many_large_values_in_f16(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "attention");
  case_fill(&c, PH_F16, DIMS(1, 1, 1, 4), 0);
  case_fill(&c, PH_F16, DIMS(1, 1, 1024, 4), 0);
  case_fill(&c, PH_F16, DIMS(1, 1, 1024, 1), 100);
  case_absent(&c, 5);
  case_output(&c, PH_F16, DIMS(1, 1, 1, 1));
  case_no_output(&c);
  case_run(&c);
  EXPECT(&c, 0, 1e-9, 100);
  case_close(&c);
}

static void test_R013_softcap_comes_before_the_bias(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  attention_open(&c, s, 1, 2, REALS(0, 1));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 2), REALS(0, 3));
  case_real(&c, "softcap", 1);
  attention_run(&c, s);
  EXPECT(&c, 0, 1e-7, 0.9525741);
  case_close(&c);
}

static void test_R026_empty_axes(void **state) {
  (void)state;
  oracle_case c;
  attention_sizes no_keys = {1, 1, 1, 2, 0, 1, 3};
  attention_open(&c, no_keys, 1, 0, NULL);
  case_integer(&c, "causal", 1);
  case_text(&c, "align", "top_left");
  attention_run(&c, no_keys);
  EXPECT(&c, 0, 0, 0, 0, 0, 0, 0, 0);
  EXPECT(&c, 1, 0, NO, NO);
  case_close(&c);
  attention_sizes empty[] = {{1, 1, 1, 0, 2, 1, 1}, {0, 1, 1, 2, 2, 1, 1}};
  for (int i = 0; i < 2; i++) {
    attention_open(&c, empty[i], 1, 1, REALS(1, 2));
    attention_run(&c, empty[i]);
    assert_int_equal(c.results[0].count, 0);
    case_close(&c);
  }
}

static void test_R028_heads_that_do_not_divide_are_refused(void **state) {
  (void)state;
  for (int64_t shared = 0; shared <= 3; shared += 3) {
    oracle_case c;
    attention_open(&c, (attention_sizes){1, 4, shared, 1, 1, 1, 1}, 0, 0, REALS(0, 0, 0));
    case_absent(&c, 5);
    case_output(&c, PH_F32, DIMS(1, 4, 1, 1));
    case_no_output(&c);
    assert_int_equal(case_try(&c, false), PH_INVALID);
    assert_null(c.results[0].real);
    case_close(&c);
  }
}

static void test_R029_R031_any_length_with_and_without_a_mask(void **state) {
  (void)state;
  const int64_t lengths[] = {1, 7, 15, 16, 17, 33, 129};
  for (size_t i = 0; i < 7; i++)
    for (int masked = 0; masked < 2; masked++) {
      attention_sizes s = {1, 1, 1, lengths[i], lengths[i], 1, 1};
      double ones[129];
      for (int j = 0; j < 129; j++) ones[j] = 1;
      oracle_case c;
      attention_open(&c, s, 1, -10, ones);
      if (masked) case_fill(&c, PH_BOOL, DIMS(1, 1, lengths[i], lengths[i]), 1);
      case_text(&c, "polarity", "attend");
      case_real(&c, "scale", 1);
      attention_run(&c, s);
      case_expect_all(&c, 0, 1, 1e-12);
      case_close(&c);
    }
}

static void test_R032_strided_operands(void **state) {
  (void)state;
  enum { KEYS = 33, DEPTH = 2 };
  double q[4 * DEPTH], k[KEYS * DEPTH], v[KEYS * DEPTH], repeated[2][4 * KEYS * DEPTH], turned[4 * DEPTH];
  for (uint64_t i = 0; i < KEYS * DEPTH; i++) {
    k[i] = ph_random_normal(5, i);
    v[i] = ph_random_normal(6, i);
    for (int h = 0; h < 4; h++)
      repeated[0][h * KEYS * DEPTH + (int)i] = k[i], repeated[1][h * KEYS * DEPTH + (int)i] = v[i];
  }
  for (uint64_t i = 0; i < 4 * DEPTH; i++) q[i] = ph_random_normal(7, i);
  for (int h = 0; h < 4; h++)
    for (int d = 0; d < DEPTH; d++) turned[d * 4 + h] = q[h * DEPTH + d];
  attention_sizes s = {1, 4, 4, 1, KEYS, DEPTH, DEPTH};
  oracle_case dense, strided;
  case_open(&dense, "attention");
  case_input(&dense, PH_F32, DIMS(1, 4, 1, DEPTH), q);
  case_input(&dense, PH_F32, DIMS(1, 4, KEYS, DEPTH), repeated[0]);
  case_input(&dense, PH_F32, DIMS(1, 4, KEYS, DEPTH), repeated[1]);
  attention_run(&dense, s);
  case_open(&strided, "attention");
  case_input(&strided, PH_F32, DIMS(DEPTH, 4), turned);
  case_restride(&strided, DIMS(1, 4, 1, DEPTH), (const int64_t[]){0, 1, 0, 4});
  case_input(&strided, PH_F32, DIMS(KEYS, DEPTH), k);
  case_restride(&strided, DIMS(1, 4, KEYS, DEPTH), (const int64_t[]){0, 0, DEPTH, 1});
  case_input(&strided, PH_F32, DIMS(KEYS, DEPTH), v);
  case_restride(&strided, DIMS(1, 4, KEYS, DEPTH), (const int64_t[]){0, 0, DEPTH, 1});
  attention_run(&strided, s);
  assert_memory_equal(dense.results[0].real, strided.results[0].real, 4 * DEPTH * sizeof(double));
  case_close(&dense);
  case_close(&strided);
}

static void test_R034_scale_is_that_of_the_true_head_size(void **state) {
  (void)state;
  const int64_t depths[] = {1, 3, 63, 72, 80, 88, 96, 256, 576};
  for (size_t i = 0; i < 9; i++) {
    int64_t depth = depths[i];
    double k[2 * 576] = {0};
    for (int64_t d = 0; d < depth; d++) k[d] = 1 / (double)depth; /* scores: 1 / sqrt(D) and 0 */
    oracle_case c;
    case_open(&c, "attention");
    case_fill(&c, PH_F64, DIMS(1, 1, 1, depth), 1);
    case_input(&c, PH_F64, DIMS(1, 1, 2, depth), k);
    case_input(&c, PH_F64, DIMS(1, 1, 2, 3), REALS(1, 1, 1, 0, 0, 0));
    attention_run(&c, (attention_sizes){1, 1, 1, 1, 2, depth, 3});
    case_expect_all(&c, 0, 1 / (1 + exp(-1 / sqrt((double)depth))), 1e-12);
    case_close(&c);
  }
}

static void test_R037_query_heads_read_their_groups_key_head(void **state) {
  (void)state;
  const int64_t heads[][2] = {{48, 2}, {40, 2}, {80, 4}, {6, 3}, {5, 1}, {7, 7}};
  for (size_t i = 0; i < 6; i++) {
    attention_sizes s = {1, heads[i][0], heads[i][1], 2, 3, 1, 1};
    double v[7 * 3];
    for (int j = 0; j < 21; j++) v[j] = j / 3;
    oracle_case c;
    attention_open(&c, s, 0, 0, v);
    attention_run(&c, s);
    for (int64_t h = 0; h < s.heads; h++)
      for (int64_t row = 0; row < 2; row++)
        assert_near(c.results[0].real[h * 2 + row], (double)(h / (s.heads / s.shared)), 1e-12);
    case_close(&c);
  }
}

static void test_R038_absent_scale_is_not_scale_0(void **state) {
  (void)state;
  for (int zero = 0; zero < 2; zero++) {
    oracle_case c;
    case_open(&c, "attention");
    case_input(&c, PH_F32, DIMS(1, 1, 3, 2), REALS(.1, .2, .3, .4, .5, .6));
    case_input(&c, PH_F32, DIMS(1, 1, 3, 2), REALS(.7, .8, .9, 1, 1.1, 1.2));
    case_input(&c, PH_F32, DIMS(1, 1, 3, 2), REALS(1, 2, 3, 4, 5, 6));
    case_integer(&c, "causal", 1);
    case_text(&c, "align", "top_left");
    if (zero) case_real(&c, "scale", 0);
    attention_run(&c, (attention_sizes){1, 1, 1, 3, 3, 2, 2});
    if (zero)
      EXPECT(&c, 0, 1e-12, 1, 2, 2, 3, 3, 4);
    else
      EXPECT(&c, 0, 1e-7, 1, 2, 2.0494571, 3.0494571, 3.2065858, 4.2065858);
    case_close(&c);
  }
}

static void test_R040_sinks_per_head(void **state) {
  (void)state;
  attention_sizes s = {1, 2, 2, 3, 4, 1, 1};
  oracle_case c;
  attention_open(&c, s, 0, 0, REALS(1, 1, 1, 1, 1, 1, 1, 1));
  case_absent(&c, 4);
  case_input(&c, PH_F32, DIMS(2), REALS(0, 2));
  attention_run(&c, s);
  EXPECT(&c, 0, 1e-7, .8, .8, .8, .3512144, .3512144, .3512144);
  case_close(&c);
}

static void test_R041_sink_of_an_empty_row_and_a_large_sink(void **state) {
  (void)state;
  for (int empty = 0; empty < 2; empty++) {
    attention_sizes s = {1, 1, 1, 1, 4, 1, 1};
    oracle_case c;
    attention_open(&c, s, 0, 0, REALS(1, 1, 1, 1));
    case_fill(&c, PH_BOOL, DIMS(1, 1, 1, 1), !empty);
    case_absent(&c, 3);
    case_input(&c, PH_F32, DIMS(1), REALS(empty ? .5 : 100));
    case_text(&c, "polarity", "attend");
    attention_run(&c, s);
    EXPECT(&c, 0, 1e-40, empty ? 0 : 4 * exp(-100));
    EXPECT(&c, 1, 1e-12, empty ? .5 : 100);
    case_close(&c);
  }
}

static void test_R050_a_sample_does_not_depend_on_its_batch(void **state) {
  (void)state;
  double q[4 * 6], k[4 * 10], v[4 * 10];
  for (uint64_t i = 0; i < 40; i++) {
    if (i < 24) q[i] = ph_random_normal(8, i);
    k[i] = ph_random_normal(9, i);
    v[i] = ph_random_normal(10, i);
  }
  oracle_case all, alone;
  case_open(&all, "attention");
  case_input(&all, PH_F32, DIMS(4, 1, 3, 2), q);
  case_input(&all, PH_F32, DIMS(4, 1, 5, 2), k);
  case_input(&all, PH_F32, DIMS(4, 1, 5, 2), v);
  attention_run(&all, (attention_sizes){4, 1, 1, 3, 5, 2, 2});
  case_open(&alone, "attention");
  case_input(&alone, PH_F32, DIMS(1, 1, 3, 2), q + 12);
  case_input(&alone, PH_F32, DIMS(1, 1, 5, 2), k + 20);
  case_input(&alone, PH_F32, DIMS(1, 1, 5, 2), v + 20);
  attention_run(&alone, (attention_sizes){1, 1, 1, 3, 5, 2, 2});
  assert_memory_equal(all.results[0].real + 12, alone.results[0].real, 6 * sizeof(double));
  case_close(&all);
  case_close(&alone);
}

static void test_R053_denormal_value(void **state) {
  (void)state;
  attention_sizes s = {1, 1, 1, 1, 1, 1, 1};
  oracle_case c;
  attention_open(&c, s, 0, 0, REALS(1e-40));
  attention_run(&c, s);
  EXPECT(&c, 0, 1e-44, 1e-40);
  float flushed = 0;
  assert_true(ph_verdict_of(&c.results[0], &flushed, (const ph_dtype[PH_STAGE_MAX]){0}, false).pass);
  case_close(&c);
}

/* Each holds a key of which f32 can make something else than double: then any answer stands. */
static void test_what_f32_cannot_tell_is_left_open(void **state) {
  (void)state;
  const struct {
    double k, v, bias;
  } rows[] = {
      {-80, NOT, 0},   /* a weight of 2^-115 on a NaN */
      {3e38, 1, 3e38}, /* score plus bias is +inf in f32 */
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    oracle_case c;
    case_open(&c, "attention");
    case_fill(&c, PH_F32, DIMS(1, 1, 1, 1), 1);
    case_input(&c, PH_F32, DIMS(1, 1, 2, 1), REALS(0, rows[i].k));
    case_input(&c, PH_F32, DIMS(1, 1, 2, 1), REALS(1, rows[i].v));
    case_input(&c, PH_F32, DIMS(1, 1, 1, 2), REALS(0, rows[i].bias));
    attention_run(&c, (attention_sizes){1, 1, 1, 1, 2, 1, 1});
    assert_true(isinf(ph_tolerance(&c.results[0], 0, (const ph_dtype[PH_STAGE_MAX]){0}, false)));
    case_close(&c);
  }
}

static void test_mixed_storage_types(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "attention");
  case_input(&c, PH_F32, DIMS(1, 1, 1, 1), REALS(1));
  case_input(&c, PH_BF16, DIMS(1, 1, 2, 1), REALS(0, 0));
  case_input(&c, PH_F16, DIMS(1, 1, 2, 1), REALS(1, 2));
  case_input(&c, PH_F16, DIMS(1, 1, 1, 2), REALS(0, 1));
  attention_run(&c, (attention_sizes){1, 1, 1, 1, 2, 1, 1});
  EXPECT(&c, 0, 1e-12, 1 + 1 / (1 + exp(-1)));
  case_close(&c);
}

/* ---- the steps ---- */

static void test_scaled_scores(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "scaled_scores");
  case_input(&c, PH_F32, DIMS(1, 2, 1, 4), REALS(1, 2, 3, 4, 1, 0, 0, 0));
  case_input(&c, PH_F32, DIMS(1, 1, 2, 4), REALS(1, 1, 1, 1, 2, 0, 0, 0));
  case_output(&c, PH_F32, DIMS(1, 2, 1, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 5, 1, .5, 1);
  case_close(&c);
}

static void test_weighted_sum_skips_weights_of_0(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "weighted_sum");
  case_input(&c, PH_F32, DIMS(1, 2, 1, 3), REALS(.5, .5, 0, 0, 1, 0));
  case_input(&c, PH_F32, DIMS(1, 1, 3, 2), REALS(1, 2, 3, 4, NOT, INF));
  case_output(&c, PH_F32, DIMS(1, 2, 1, 2));
  case_run(&c);
  EXPECT(&c, 0, 0, 2, 3, 3, 4);
  case_close(&c);
}

static void test_R047_steps_equal_attention(void **state) {
  (void)state;
  double q[2 * 4 * 3], k[4 * 3], v[4 * 2], scores[32], masked[32], weights[32];
  for (uint64_t i = 0; i < 24; i++) {
    q[i] = ph_random_normal(11, i);
    if (i < 12) k[i] = ph_random_normal(12, i);
    if (i < 8) v[i] = ph_random_normal(13, i);
  }
  oracle_case c;
  case_open(&c, "scaled_scores");
  case_input(&c, PH_F64, DIMS(1, 2, 4, 3), q);
  case_input(&c, PH_F64, DIMS(1, 1, 4, 3), k);
  case_output(&c, PH_F64, DIMS(1, 2, 4, 4));
  case_run(&c);
  memcpy(scores, c.results[0].real, sizeof(scores));
  case_close(&c);
  case_open(&c, "mask");
  case_input(&c, PH_F64, DIMS(1, 2, 4, 4), scores);
  case_absent(&c, 3);
  case_input(&c, PH_I64, DIMS(1), REALS(-1)); /* the first row has no key */
  case_integer(&c, "causal", 1);
  case_integer(&c, "alibi", 1);
  case_output(&c, PH_F64, DIMS(1, 2, 4, 4));
  case_run(&c);
  memcpy(masked, c.results[0].real, sizeof(masked));
  case_close(&c);
  case_open(&c, "softmax");
  case_input(&c, PH_F64, DIMS(1, 2, 4, 4), masked);
  case_input(&c, PH_F64, DIMS(2), REALS(.25, NO));
  case_integer(&c, "axis", 3);
  case_output(&c, PH_F64, DIMS(1, 2, 4, 4));
  case_no_output(&c);
  case_run(&c);
  memcpy(weights, c.results[0].real, sizeof(weights));
  case_close(&c);
  for (int i = 0; i < 4; i++) { /* the head without a sink: rows add up to 1, the empty one to 0 */
    double sum = 0;
    for (int j = 0; j < 4; j++) sum += weights[16 + i * 4 + j];
    assert_near(sum, i == 0 ? 0 : 1, 1e-12);
  }
  oracle_case fused;
  case_open(&c, "weighted_sum");
  case_input(&c, PH_F64, DIMS(1, 2, 4, 4), weights);
  case_input(&c, PH_F64, DIMS(1, 1, 4, 2), v);
  case_output(&c, PH_F64, DIMS(1, 2, 4, 2));
  case_run(&c);
  case_open(&fused, "attention");
  case_input(&fused, PH_F64, DIMS(1, 2, 4, 3), q);
  case_input(&fused, PH_F64, DIMS(1, 1, 4, 3), k);
  case_input(&fused, PH_F64, DIMS(1, 1, 4, 2), v);
  case_absent(&fused, 3);
  case_input(&fused, PH_I64, DIMS(1), REALS(-1));
  case_input(&fused, PH_F64, DIMS(2), REALS(.25, NO));
  case_integer(&fused, "causal", 1);
  case_integer(&fused, "alibi", 1);
  attention_run(&fused, (attention_sizes){1, 2, 1, 4, 4, 3, 2});
  case_expect(&fused, 0, 16, c.results[0].real, 1e-12);
  case_close(&c);
  case_close(&fused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_R007_R008_scores_beyond_f16),
      cmocka_unit_test(test_R010_many_large_values_in_f16),
      cmocka_unit_test(test_R013_softcap_comes_before_the_bias),
      cmocka_unit_test(test_R026_empty_axes),
      cmocka_unit_test(test_R028_heads_that_do_not_divide_are_refused),
      cmocka_unit_test(test_R029_R031_any_length_with_and_without_a_mask),
      cmocka_unit_test(test_R032_strided_operands),
      cmocka_unit_test(test_R034_scale_is_that_of_the_true_head_size),
      cmocka_unit_test(test_R037_query_heads_read_their_groups_key_head),
      cmocka_unit_test(test_R038_absent_scale_is_not_scale_0),
      cmocka_unit_test(test_R040_sinks_per_head),
      cmocka_unit_test(test_R041_sink_of_an_empty_row_and_a_large_sink),
      cmocka_unit_test(test_R047_steps_equal_attention),
      cmocka_unit_test(test_R050_a_sample_does_not_depend_on_its_batch),
      cmocka_unit_test(test_R053_denormal_value),
      cmocka_unit_test(test_what_f32_cannot_tell_is_left_open),
      cmocka_unit_test(test_mixed_storage_types),
      cmocka_unit_test(test_scaled_scores),
      cmocka_unit_test(test_weighted_sum_skips_weights_of_0),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
