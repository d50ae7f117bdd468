/* The oracle's attention against numbers worked out by hand, and against faults that users of other engines met
 * (R numbers: the reports they were reduced from). */
#include "oracle_case.h"

#include "base/random.h"

/* q, k, v [B, H, S, D], each filled with one number; NaN keeps nothing special. */
typedef struct sizes {
  int64_t batch, heads, shared, queries, keys, depth, width;
} sizes;

static void open_filled(oracle_case *c, sizes s, double q, double k, const double *v) {
  case_open(c, "attention");
  case_fill(c, PH_F32, DIMS(s.batch, s.heads, s.queries, s.depth), q);
  case_fill(c, PH_F32, DIMS(s.batch, s.shared, s.keys, s.depth), k);
  case_input(c, PH_F32, DIMS(s.batch, s.shared, s.keys, s.width), v);
}

/* After the roles mask .. sinks: both outputs. */
static void run(oracle_case *c, sizes s) {
  case_absent(c, 8 - c->node.input_count);
  case_output(c, PH_F32, DIMS(s.batch, s.heads, s.queries, s.width));
  case_output(c, PH_F32, DIMS(s.batch, s.heads, s.queries));
  case_run(c);
}

static void test_R001_row_of_false_gives_zeros(void **state) {
  (void)state;
  sizes s = {1, 1, 1, 2, 2, 1, 1};
  oracle_case c;
  open_filled(&c, s, 1, 1, REALS(1, 3));
  case_input(&c, PH_BOOL, DIMS(1, 1, 2, 2), REALS(1, 1, 0, 0));
  case_text(&c, "polarity", "attend");
  run(&c, s);
  EXPECT(&c, 0, 0, 2, 0);
  EXPECT(&c, 1, 1e-12, 1 + log(2), NO);
  case_close(&c);
}

static void test_R002_causal_and_mask_together_blank_a_row(void **state) {
  (void)state;
  sizes s = {1, 1, 1, 2, 2, 1, 1};
  oracle_case c;
  open_filled(&c, s, 0, 0, REALS(1, 3));
  case_input(&c, PH_BOOL, DIMS(1, 1, 2, 2), REALS(0, 1, 1, 1));
  case_text(&c, "polarity", "attend");
  case_text(&c, "align", "top_left");
  case_integer(&c, "causal", 1);
  run(&c, s);
  EXPECT(&c, 0, 0, 0, 2);
  case_close(&c);
}

static void test_R004_very_negative_logits(void **state) {
  (void)state;
  sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  open_filled(&c, s, -65536, 2, REALS(1, 3));
  case_real(&c, "scale", 1);
  run(&c, s);
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
    sizes s = {1, 1, 1, 1, KEYS, 1, 1};
    oracle_case c;
    open_filled(&c, s, 1, -200, v);
    case_input(&c, PH_BOOL, DIMS(1, 1, 1, KEYS), mask);
    case_text(&c, "polarity", "attend");
    run(&c, s);
    EXPECT(&c, 0, 1e-9, half == 0 ? 31.5 : 95.5);
    case_close(&c);
  }
}

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
  sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  open_filled(&c, s, 1, 2, REALS(0, 1));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 2), REALS(0, 3));
  case_real(&c, "softcap", 1);
  run(&c, s);
  EXPECT(&c, 0, 1e-7, 0.9525741);
  case_close(&c);
}

static void test_R014_R098_causal_alignments(void **state) {
  (void)state;
  const char *aligns[] = {"bottom_right", "top_left"};
  const double expected[][2] = {{2.5, 3}, {1, 1.5}};
  for (int i = 0; i < 2; i++) {
    sizes s = {1, 1, 1, 2, 5, 1, 1};
    oracle_case c;
    open_filled(&c, s, 0, 0, REALS(1, 2, 3, 4, 5));
    case_integer(&c, "causal", 1);
    case_text(&c, "align", aligns[i]);
    run(&c, s);
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
  run(&c, (sizes){1, 1, 1, 2, 8, 1, 1});
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
    sizes s = {1, 1, 1, 1, 2, 1, 1};
    for (int by_key = 0; by_key < 2; by_key++) {
      oracle_case c;
      open_filled(&c, s, 0, 0, REALS(1, 100));
      if (by_key) case_absent(&c, 1);
      case_input(&c, PH_BOOL, DIMS(1, 1, 1, 2), REALS(1, 0));
      case_text(&c, "polarity", polarities[i]);
      run(&c, s);
      EXPECT(&c, 0, 0, i == 0 ? 1 : 100);
      case_close(&c);
    }
  }
}

static void test_R020_float_mask_is_added(void **state) {
  (void)state;
  sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  open_filled(&c, s, 0, 0, REALS(1, 100));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 2), REALS(1, 0));
  run(&c, s);
  EXPECT(&c, 0, 1e-7, 27.6252007);
  case_close(&c);
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
      const int64_t *dims = shapes[shape], full[] = {2, 3, 2, 4};
      int64_t at[4], n = 0;
      const int64_t *wanted = expanded ? full : dims;
      for (at[0] = 0; at[0] < wanted[0]; at[0]++)
        for (at[1] = 0; at[1] < wanted[1]; at[1]++)
          for (at[2] = 0; at[2] < wanted[2]; at[2]++)
            for (at[3] = 0; at[3] < wanted[3]; at[3]++) {
              uint64_t key = 0;
              for (int d = 0; d < 4; d++) key = key * 8 + (uint64_t)(dims[d] == 1 ? 0 : at[d]);
              mask[n++] = ph_random_normal(4, key);
            }
      oracle_case c;
      case_open(&c, "attention");
      case_input(&c, PH_F32, DIMS(2, 3, 2, 1), q);
      case_input(&c, PH_F32, DIMS(2, 3, 4, 1), k);
      case_input(&c, PH_F32, DIMS(2, 3, 4, 1), v);
      case_input(&c, PH_F32, 4, wanted, mask);
      run(&c, (sizes){2, 3, 3, 2, 4, 1, 1});
      memcpy(results[expanded], c.results[0].real, sizeof(results[0]));
      case_close(&c);
    }
    assert_memory_equal(results[0], results[1], sizeof(results[0]));
  }
}

static void test_R025_lengths_belong_to_samples(void **state) {
  (void)state;
  sizes s = {2, 2, 2, 1, 3, 1, 1};
  oracle_case c;
  open_filled(&c, s, 0, 0, REALS(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
  case_absent(&c, 2);
  case_input(&c, PH_I64, DIMS(2), REALS(1, 3));
  run(&c, s);
  EXPECT(&c, 0, 1e-12, 1, 1, 2, 2);
  case_close(&c);
}

static void test_R026_empty_axes(void **state) {
  (void)state;
  oracle_case c;
  sizes no_keys = {1, 1, 1, 2, 0, 1, 3};
  open_filled(&c, no_keys, 1, 0, NULL);
  case_integer(&c, "causal", 1);
  case_text(&c, "align", "top_left");
  run(&c, no_keys);
  EXPECT(&c, 0, 0, 0, 0, 0, 0, 0, 0);
  EXPECT(&c, 1, 0, NO, NO);
  case_close(&c);
  sizes empty[] = {{1, 1, 1, 0, 2, 1, 1}, {0, 1, 1, 2, 2, 1, 1}};
  for (int i = 0; i < 2; i++) {
    open_filled(&c, empty[i], 1, 1, REALS(1, 2));
    run(&c, empty[i]);
    assert_int_equal(c.results[0].count, 0);
    case_close(&c);
  }
}

static void test_R028_heads_that_do_not_divide_are_refused(void **state) {
  (void)state;
  for (int64_t shared = 0; shared <= 3; shared += 3) {
    oracle_case c;
    open_filled(&c, (sizes){1, 4, shared, 1, 1, 1, 1}, 0, 0, REALS(0, 0, 0));
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
      sizes s = {1, 1, 1, lengths[i], lengths[i], 1, 1};
      double ones[129];
      for (int j = 0; j < 129; j++) ones[j] = 1;
      oracle_case c;
      open_filled(&c, s, 1, -10, ones);
      if (masked) case_fill(&c, PH_BOOL, DIMS(1, 1, lengths[i], lengths[i]), 1);
      case_text(&c, "polarity", "attend");
      case_real(&c, "scale", 1);
      run(&c, s);
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
  sizes s = {1, 4, 4, 1, KEYS, DEPTH, DEPTH};
  oracle_case dense, strided;
  case_open(&dense, "attention");
  case_input(&dense, PH_F32, DIMS(1, 4, 1, DEPTH), q);
  case_input(&dense, PH_F32, DIMS(1, 4, KEYS, DEPTH), repeated[0]);
  case_input(&dense, PH_F32, DIMS(1, 4, KEYS, DEPTH), repeated[1]);
  run(&dense, s);
  case_open(&strided, "attention");
  case_input(&strided, PH_F32, DIMS(DEPTH, 4), turned);
  case_restride(&strided, DIMS(1, 4, 1, DEPTH), (const int64_t[]){0, 1, 0, 4});
  case_input(&strided, PH_F32, DIMS(KEYS, DEPTH), k);
  case_restride(&strided, DIMS(1, 4, KEYS, DEPTH), (const int64_t[]){0, 0, DEPTH, 1});
  case_input(&strided, PH_F32, DIMS(KEYS, DEPTH), v);
  case_restride(&strided, DIMS(1, 4, KEYS, DEPTH), (const int64_t[]){0, 0, DEPTH, 1});
  run(&strided, s);
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
    run(&c, (sizes){1, 1, 1, 1, 2, depth, 3});
    case_expect_all(&c, 0, 1 / (1 + exp(-1 / sqrt((double)depth))), 1e-12);
    case_close(&c);
  }
}

static void test_R037_query_heads_read_their_groups_key_head(void **state) {
  (void)state;
  const int64_t heads[][2] = {{48, 2}, {40, 2}, {80, 4}, {6, 3}, {5, 1}, {7, 7}};
  for (size_t i = 0; i < 6; i++) {
    sizes s = {1, heads[i][0], heads[i][1], 2, 3, 1, 1};
    double v[7 * 3];
    for (int j = 0; j < 21; j++) v[j] = j / 3;
    oracle_case c;
    open_filled(&c, s, 0, 0, v);
    run(&c, s);
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
    run(&c, (sizes){1, 1, 1, 3, 3, 2, 2});
    if (zero)
      EXPECT(&c, 0, 1e-12, 1, 2, 2, 3, 3, 4);
    else
      EXPECT(&c, 0, 1e-7, 1, 2, 2.0494571, 3.0494571, 3.2065858, 4.2065858);
    case_close(&c);
  }
}

static void test_R040_sinks_per_head(void **state) {
  (void)state;
  sizes s = {1, 2, 2, 3, 4, 1, 1};
  oracle_case c;
  open_filled(&c, s, 0, 0, REALS(1, 1, 1, 1, 1, 1, 1, 1));
  case_absent(&c, 4);
  case_input(&c, PH_F32, DIMS(2), REALS(0, 2));
  run(&c, s);
  EXPECT(&c, 0, 1e-7, .8, .8, .8, .3512144, .3512144, .3512144);
  case_close(&c);
}

static void test_R041_sink_of_an_empty_row_and_a_large_sink(void **state) {
  (void)state;
  for (int empty = 0; empty < 2; empty++) {
    sizes s = {1, 1, 1, 1, 4, 1, 1};
    oracle_case c;
    open_filled(&c, s, 0, 0, REALS(1, 1, 1, 1));
    case_fill(&c, PH_BOOL, DIMS(1, 1, 1, 1), !empty);
    case_absent(&c, 3);
    case_input(&c, PH_F32, DIMS(1), REALS(empty ? .5 : 100));
    case_text(&c, "polarity", "attend");
    run(&c, s);
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
  run(&all, (sizes){4, 1, 1, 3, 5, 2, 2});
  case_open(&alone, "attention");
  case_input(&alone, PH_F32, DIMS(1, 1, 3, 2), q + 12);
  case_input(&alone, PH_F32, DIMS(1, 1, 5, 2), k + 20);
  case_input(&alone, PH_F32, DIMS(1, 1, 5, 2), v + 20);
  run(&alone, (sizes){1, 1, 1, 3, 5, 2, 2});
  assert_memory_equal(all.results[0].real + 12, alone.results[0].real, 6 * sizeof(double));
  case_close(&all);
  case_close(&alone);
}

static void test_R053_denormal_value(void **state) {
  (void)state;
  sizes s = {1, 1, 1, 1, 1, 1, 1};
  oracle_case c;
  open_filled(&c, s, 0, 0, REALS(1e-40));
  run(&c, s);
  EXPECT(&c, 0, 1e-44, 1e-40);
  float flushed = 0;
  assert_true(ph_verdict_of(&c.results[0], &flushed, (const ph_dtype[PH_STAGE_MAX]){0}, false).pass);
  case_close(&c);
}

static void test_negative_offset_leaves_first_queries_without_keys(void **state) {
  (void)state;
  sizes s = {1, 1, 1, 3, 2, 1, 1};
  oracle_case c;
  open_filled(&c, s, 0, 0, REALS(1, 3));
  case_absent(&c, 3);
  case_input(&c, PH_I64, DIMS(1), REALS(-1));
  case_integer(&c, "causal", 1);
  run(&c, s);
  EXPECT(&c, 0, 0, 0, 1, 2);
  case_close(&c);
}

static void test_offsets_per_sample(void **state) {
  (void)state;
  sizes s = {2, 1, 1, 1, 4, 1, 1};
  oracle_case c;
  open_filled(&c, s, 0, 0, REALS(1, 2, 3, 4, 1, 2, 3, 4));
  case_absent(&c, 3);
  case_input(&c, PH_I64, DIMS(2), REALS(1, 3));
  case_integer(&c, "causal", 1);
  run(&c, s);
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
    sizes s = {1, 1, 1, 1, 4, 1, 1};
    oracle_case c;
    open_filled(&c, s, 0, 0, REALS(0, 1, 2, 3));
    case_absent(&c, 3);
    case_input(&c, PH_I64, DIMS(1), REALS(rows[i].offset));
    case_integer(&c, "causal", 1);
    case_integer(&c, "ring", 1);
    case_list(&c, "window", 2, (const int64_t[]){rows[i].left, 0});
    run(&c, s);
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
  run(&c, (sizes){1, 1, 1, 1, 4, 1, 1});
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
    run(&c, (sizes){1, 1, 1, 1, 2, 1, 1});
    EXPECT(&c, 0, 0, rows[i].expected);
    assert_true(ph_tolerance(&c.results[0], 0, (const ph_dtype[PH_STAGE_MAX]){0}, false) == 0);
    case_close(&c);
  }
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
    run(&c, (sizes){1, 1, 1, 1, 2, 1, 1});
    assert_true(isinf(ph_tolerance(&c.results[0], 0, (const ph_dtype[PH_STAGE_MAX]){0}, false)));
    case_close(&c);
  }
}

/* The lowest f32 as a mask is common, and harmless beside a key with a real score. */
static void test_lowest_float_as_mask_is_compared(void **state) {
  (void)state;
  sizes s = {1, 1, 1, 1, 2, 1, 1};
  oracle_case c;
  open_filled(&c, s, 1, -5, REALS(1, 3));
  case_input(&c, PH_F32, DIMS(1, 1, 1, 2), REALS(0, -3.4028234663852886e38));
  run(&c, s);
  EXPECT(&c, 0, 0, 1);
  assert_true(isfinite(ph_tolerance(&c.results[0], 0, (const ph_dtype[PH_STAGE_MAX]){0}, false)));
  case_close(&c);
}

static void test_mixed_storage_types(void **state) {
  (void)state;
  oracle_case c;
  case_open(&c, "attention");
  case_input(&c, PH_F32, DIMS(1, 1, 1, 1), REALS(1));
  case_input(&c, PH_BF16, DIMS(1, 1, 2, 1), REALS(0, 0));
  case_input(&c, PH_F16, DIMS(1, 1, 2, 1), REALS(1, 2));
  case_input(&c, PH_F16, DIMS(1, 1, 1, 2), REALS(0, 1));
  run(&c, (sizes){1, 1, 1, 1, 2, 1, 1});
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
  run(&fused, (sizes){1, 2, 1, 4, 4, 3, 2});
  case_expect(&fused, 0, 16, c.results[0].real, 1e-12);
  case_close(&c);
  case_close(&fused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_R001_row_of_false_gives_zeros),
      cmocka_unit_test(test_R002_causal_and_mask_together_blank_a_row),
      cmocka_unit_test(test_R004_very_negative_logits),
      cmocka_unit_test(test_R005_only_one_half_of_the_keys_allowed),
      cmocka_unit_test(test_R007_R008_scores_beyond_f16),
      cmocka_unit_test(test_R010_many_large_values_in_f16),
      cmocka_unit_test(test_R013_softcap_comes_before_the_bias),
      cmocka_unit_test(test_R014_R098_causal_alignments),
      cmocka_unit_test(test_R016_R098_unused_slots_hold_nan),
      cmocka_unit_test(test_R017_R043_cached_passes_equal_one_pass),
      cmocka_unit_test(test_R019_polarity),
      cmocka_unit_test(test_R020_float_mask_is_added),
      cmocka_unit_test(test_R023_masks_broadcast),
      cmocka_unit_test(test_R025_lengths_belong_to_samples),
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
      cmocka_unit_test(test_negative_offset_leaves_first_queries_without_keys),
      cmocka_unit_test(test_offsets_per_sample),
      cmocka_unit_test(test_ring_slots_hold_the_newest_positions),
      cmocka_unit_test(test_what_is_not_allowed_leaves_no_trace),
      cmocka_unit_test(test_allowed_nan_and_infinity_show),
      cmocka_unit_test(test_what_f32_cannot_tell_is_left_open),
      cmocka_unit_test(test_lowest_float_as_mask_is_compared),
      cmocka_unit_test(test_mixed_storage_types),
      cmocka_unit_test(test_scaled_scores),
      cmocka_unit_test(test_weighted_sum_skips_weights_of_0),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
