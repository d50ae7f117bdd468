/* Sampling: the likeliest, draws that a seed repeats, top-k and top-p, logits that are no numbers. */
#include "sample.h"

#include <math.h>

#include "scratch.h"

enum { COUNT = 4, DRAWS = 2000 };

/* Two rows, of which only the last counts. */
static ph_tensor *logits_of(const float last[COUNT]) {
  ph_tensor *logits;
  assert_int_equal(ph_tensor_create(PH_F32, 3, (int64_t[]){1, 2, COUNT}, &logits, NULL), PH_OK);
  float *data = logits->data;
  data[0] = 100;
  memcpy(data + COUNT, last, COUNT * sizeof(float));
  return logits;
}

static int64_t sample(const cli_sampling *how, const ph_tensor *logits, uint64_t draw) {
  int64_t index;
  assert_int_equal(cli_sample(how, logits, draw, &index, NULL), PH_OK);
  return index;
}

/* How often each index comes. */
static void count_draws(const cli_sampling *how, const float last[COUNT], unsigned counts[COUNT]) {
  ph_tensor *logits = logits_of(last);
  memset(counts, 0, COUNT * sizeof(counts[0]));
  for (uint64_t draw = 0; draw < DRAWS; draw++) counts[sample(how, logits, draw)]++;
  ph_tensor_release(logits);
}

static void the_likeliest(void **state) {
  (void)state;
  ph_tensor *logits = logits_of((const float[]){-3, 2, 2, -INFINITY});
  assert_int_equal(sample(&(cli_sampling){.top_p = 1}, logits, 0), 1); /* of equal ones the first */
  assert_int_equal(sample(&(cli_sampling){.temperature = 1, .top_p = 1, .top_k = 1}, logits, 5), 1);
  ph_tensor_release(logits);
}

static bool is_near(unsigned count, double probability) {
  double spread = sqrt(DRAWS * probability * (1 - probability)); /* 5 of them: wrong once in a million */
  return fabs(count - DRAWS * probability) < 5 * spread + 0.5;
}

static void probabilities(void **state) {
  (void)state;
  const float last[] = {logf(1), logf(2), logf(4), logf(9)};
  unsigned counts[COUNT];
  count_draws(&(cli_sampling){.temperature = 1, .top_p = 1, .seed = 1}, last, counts);
  for (unsigned i = 0; i < COUNT; i++) assert_true(is_near(counts[i], exp(last[i]) / 16));
  count_draws(&(cli_sampling){.temperature = 0.5, .top_p = 1, .seed = 1}, last, counts); /* squares */
  for (unsigned i = 0; i < COUNT; i++) assert_true(is_near(counts[i], exp(2 * last[i]) / 102));
  count_draws(&(cli_sampling){.temperature = 1, .top_k = 2, .top_p = 1}, last, counts);
  assert_int_equal(counts[0] + counts[1], 0);
  assert_true(is_near(counts[2], 4. / 13));
  count_draws(&(cli_sampling){.temperature = 1, .top_p = 0.6}, last, counts); /* 9/16 is not enough */
  assert_int_equal(counts[0] + counts[1], 0);
  assert_true(is_near(counts[2], 4. / 13));
  count_draws(&(cli_sampling){.temperature = 1, .top_p = 0.5}, last, counts);
  assert_int_equal(counts[3], DRAWS);
  count_draws(&(cli_sampling){.temperature = 1, .top_p = 0}, last, counts); /* the first is always kept */
  assert_int_equal(counts[3], DRAWS);
}

static void seeds(void **state) {
  (void)state;
  ph_tensor *logits = logits_of((const float[]){0, 0, 0, 0});
  unsigned differ = 0;
  for (uint64_t draw = 0; draw < 64; draw++) {
    int64_t one = sample(&(cli_sampling){.temperature = 1, .top_p = 1, .seed = 1}, logits, draw);
    assert_int_equal(one, sample(&(cli_sampling){.temperature = 1, .top_p = 1, .seed = 1}, logits, draw));
    differ += one != sample(&(cli_sampling){.temperature = 1, .top_p = 1, .seed = 2}, logits, draw);
  }
  assert_in_range(differ, 32, 62);
  ph_tensor_release(logits);
}

static void no_numbers(void **state) {
  (void)state;
  static const float bad[][COUNT] = {
      {0, NAN, 1, 2}, {NAN, 0, 0, 0}, {0, INFINITY, 0, 0}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    ph_tensor *logits = logits_of(bad[i]);
    ph_error error = PH_ERROR_INIT;
    int64_t index;
    assert_int_equal(cli_sample(&(cli_sampling){.top_p = 1}, logits, 0, &index, &error), PH_INVALID);
    assert_string_equal(error.message, "the logits hold NaN or infinity: no token can be chosen");
    ph_tensor_release(logits);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_likeliest),
      cmocka_unit_test(probabilities),
      cmocka_unit_test(seeds),
      cmocka_unit_test(no_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
