/* Random numbers: the same bits everywhere, and the distributions they promise. */
#include <math.h>

#include "base/random.h"
#include "scratch.h"

/* Made with an independent implementation that meets the three known answers of Threefry-2x64-20 in Random123. */
static const struct {
  uint64_t seed;
  const char *name;
  uint64_t key;
  uint64_t bits[3]; /* at the indices below */
  double normal[3];
} vectors[] = {
    {0,
     "",
     0x6348eca9fceda5ff,
     {0x558a57c6add521c9, 0x167b4f7c2856ce25, 0xf4b945089d51b75d},
     {-0x1.93b6p-4, 0x1.f01ccp-2, -0x1.438e6p-2}},
    {0,
     "x",
     0x8de90756ae58984a,
     {0x349694671294ae7f, 0xcd35a9d65eaa9cae, 0x84cede46e2c761c0},
     {-0x1.488c8p-3, -0x1.9aa4p-7, -0x1.2bd084p+1}},
    {7,
     "h.3.scores",
     0xa2ad8ba43c7b6bdb,
     {0x618a97dfc01eb22d, 0xea928f652b9285f4, 0x3cf5224f751d3829},
     {0x1.eb4a3p-1, 0x1.7b5b5p-1, -0x1.40e3dp-1}},
    {UINT64_MAX,
     "小红",
     0xa8d982b2e91ce461,
     {0x5bd806f0460d6c7b, 0xb8352fdd7928c0dc, 0x65cc96180f031036},
     {-0x1.ebd0bp-1, 0x1.a83ecp-1, -0x1.adee4p-3}},
};
static const uint64_t indices[3] = {0, 1, (uint64_t)1 << 40};

static void known_answer(void **state) {
  (void)state;
  /* Random123's tests/kat_vectors: threefry2x64 20, counter and key 0. */
  assert_true(ph_random_bits(0, 0) == 0xc2b6e3a8c2c69865);
}

static void pinned_vectors(void **state) {
  (void)state;
  for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++) {
    uint64_t key = ph_random_key(vectors[v].seed, vectors[v].name);
    assert_true(key == vectors[v].key);
    for (size_t i = 0; i < 3; i++) {
      assert_true(ph_random_bits(key, indices[i]) == vectors[v].bits[i]);
      assert_true(ph_random_unit(key, indices[i]) == (double)(vectors[v].bits[i] >> 11) / 9007199254740992.0);
      assert_true(ph_random_normal(key, indices[i]) == vectors[v].normal[i]);
    }
  }
}

static void keys_differ(void **state) {
  (void)state;
  static const char *const names[] = {"", "a", "b", "ab", "ba", "h.0.w", "h.1.w"};
  uint64_t keys[7 * 3];
  size_t count = 0;
  for (size_t n = 0; n < 7; n++)
    for (uint64_t seed = 0; seed < 3; seed++) keys[count++] = ph_random_key(seed, names[n]);
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++) assert_true(keys[i] != keys[j]);
}

/* Bounds of five standard errors of each estimate, for a fixed seed: they hold always or never. */
enum { SAMPLES = 200000 };

static void unit_is_uniform(void **state) {
  (void)state;
  uint64_t key = ph_random_key(1, "unit");
  int bins[100] = {0};
  double sum = 0, neighbours = 0, last = 0.5;
  for (uint64_t i = 0; i < SAMPLES; i++) {
    double value = ph_random_unit(key, i);
    assert_true(value >= 0 && value < 1);
    bins[(int)(value * 100)]++;
    sum += value;
    neighbours += (value - 0.5) * (last - 0.5);
    last = value;
  }
  assert_true(fabs(sum / SAMPLES - 0.5) < 5 / sqrt(12.0 * SAMPLES));
  assert_true(fabs(neighbours / SAMPLES) < 5 / (12 * sqrt((double)SAMPLES)));
  double chi_squared = 0, expected = SAMPLES / 100.0;
  for (int i = 0; i < 100; i++) chi_squared += (bins[i] - expected) * (bins[i] - expected) / expected;
  assert_true(fabs(chi_squared - 99) < 5 * sqrt(2 * 99.0));
}

static void every_bit_is_fair(void **state) {
  (void)state;
  uint64_t key = ph_random_key(2, "bits");
  int ones[64] = {0}, flips[64] = {0};
  for (uint64_t i = 0; i < SAMPLES; i++) {
    uint64_t bits = ph_random_bits(key, i), changed = bits ^ ph_random_bits(key ^ 1, i);
    for (int b = 0; b < 64; b++) {
      ones[b] += (int)(bits >> b & 1);
      flips[b] += (int)(changed >> b & 1);
    }
  }
  for (int b = 0; b < 64; b++) {
    assert_true(abs(ones[b] - SAMPLES / 2) < 5 * sqrt(SAMPLES / 4.0));
    assert_true(abs(flips[b] - SAMPLES / 2) < 5 * sqrt(SAMPLES / 4.0));
  }
}

static void normal_has_mean_0_and_spread_1(void **state) {
  (void)state;
  uint64_t key = ph_random_key(3, "normal");
  double sum = 0, squares = 0, cubes = 0;
  int within_1 = 0, within_2 = 0;
  for (uint64_t i = 0; i < SAMPLES; i++) {
    double value = ph_random_normal(key, i);
    assert_true(fabs(value) <= 6);
    sum += value;
    squares += value * value;
    cubes += value * value * value;
    within_1 += fabs(value) < 1;
    within_2 += fabs(value) < 2;
  }
  assert_true(fabs(sum / SAMPLES) < 5 / sqrt((double)SAMPLES));
  assert_true(fabs(squares / SAMPLES - 1) < 5 * sqrt(2.0 / SAMPLES));
  assert_true(fabs(cubes / SAMPLES) < 5 * sqrt(15.0 / SAMPLES));
  assert_true(fabs((double)within_1 / SAMPLES - 0.6827) < 0.01);
  assert_true(fabs((double)within_2 / SAMPLES - 0.9545) < 0.005);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answer),      cmocka_unit_test(pinned_vectors),
      cmocka_unit_test(keys_differ),       cmocka_unit_test(unit_is_uniform),
      cmocka_unit_test(every_bit_is_fair), cmocka_unit_test(normal_has_mean_0_and_spread_1),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
