/* Covering arrays: every two values that can meet do, rules hold, and what is costly comes again and again. */
#include "../../unit/scratch.h"

#include "base/random.h"
#include "conform/pairs.h"

enum { MAX_FACTORS = 7, MAX_VALUES = 6, LEVELS = 3 };

/* A random problem: factors, and rules of two values that exclude each other. */
typedef struct problem {
  ph_factor factors[MAX_FACTORS];
  uint32_t levels[MAX_FACTORS][MAX_VALUES];
  uint32_t count;
  uint32_t rules[4][4]; /* factor, value, factor, value */
  uint32_t rule_count;
  uint64_t key, next;
} problem;

static uint32_t draw(problem *p, uint32_t below) {
  return (uint32_t)(ph_random_bits(p->key, p->next++) % below);
}

static void make(problem *p, uint64_t seed) {
  *p = (problem){.key = ph_random_key(seed, "pairs")};
  p->count = 2 + draw(p, MAX_FACTORS - 1);
  for (uint32_t f = 0; f < p->count; f++) {
    p->factors[f] = (ph_factor){.count = 1 + draw(p, MAX_VALUES), .level = p->levels[f], .costly = draw(p, 3) == 0};
    for (uint32_t v = 1; v < p->factors[f].count; v++) p->levels[f][v] = draw(p, LEVELS);
  }
  p->rule_count = draw(p, 5);
  for (uint32_t r = 0; r < p->rule_count; r++) {
    uint32_t f = draw(p, p->count), g = (f + 1 + draw(p, p->count - 1)) % p->count;
    p->rules[r][0] = f;
    p->rules[r][1] = draw(p, p->factors[f].count);
    p->rules[r][2] = g;
    p->rules[r][3] = draw(p, p->factors[g].count);
  }
}

static bool allowed(void *user, const uint32_t *values) {
  const problem *p = user;
  for (uint32_t r = 0; r < p->rule_count; r++)
    if (values[p->rules[r][0]] == p->rules[r][1] && values[p->rules[r][2]] == p->rules[r][3]) return false;
  return true;
}

/* Whether some whole combination has both values: by trying all. */
static bool can_meet(problem *p, uint32_t f, uint32_t v, uint32_t g, uint32_t w, uint32_t *values, uint32_t at) {
  if (at == p->count) return allowed(p, values);
  for (uint32_t x = 0; x < p->factors[at].count; x++) {
    if ((at == f && x != v) || (at == g && x != w)) continue;
    values[at] = x;
    if (can_meet(p, f, v, g, w, values, at + 1)) return true;
  }
  return false;
}

static bool meet(const ph_cover *cover, uint32_t count, const ph_value_pair *pair) {
  for (uint32_t c = 0; c < cover->count; c++) {
    const uint32_t *values = &cover->values[c * count];
    if (cover->levels[c] <= pair->level && values[pair->factor[0]] == pair->value[0] &&
        values[pair->factor[1]] == pair->value[1])
      return true;
  }
  return false;
}

static void check(problem *p, const ph_cover *cover) {
  uint32_t values[MAX_FACTORS], possible = 0, impossible = 0;
  for (uint32_t f = 0; f < p->count; f++)
    for (uint32_t g = f + 1; g < p->count; g++)
      for (uint32_t v = 0; v < p->factors[f].count; v++)
        for (uint32_t w = 0; w < p->factors[g].count; w++) {
          bool can = can_meet(p, f, v, g, w, values, 0);
          possible += can;
          impossible += !can;
        }
  assert_int_equal(cover->pair_count, possible);
  assert_int_equal(cover->impossible, impossible);
  for (uint32_t i = 0; i < cover->pair_count; i++) assert_true(meet(cover, p->count, &cover->pairs[i]));
  for (uint32_t c = 0; c < cover->count; c++) {
    const uint32_t *row = &cover->values[c * p->count];
    assert_true(allowed(p, row));
    for (uint32_t f = 0; f < p->count; f++) assert_true(p->levels[f][row[f]] <= cover->levels[c]);
  }
}

static void every_pair_meets(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 300; seed++) {
    problem p;
    make(&p, seed);
    ph_arena arena = {0};
    ph_cover cover, again;
    ph_error error = PH_ERROR_INIT;
    assert_ok(ph_pairs_cover(p.factors, p.count, LEVELS, allowed, &p, &arena, &cover, &error), error);
    check(&p, &cover);
    assert_ok(ph_pairs_cover(p.factors, p.count, LEVELS, allowed, &p, &arena, &again, &error), error);
    assert_int_equal(again.count, cover.count);
    assert_memory_equal(again.values, cover.values, cover.value_count * sizeof(*cover.values));
    ph_arena_free(&arena);
  }
}

/* Four factors of four values: sixteen combinations at least, and greed needs few more.  Two costly ones of four and
 * three values make twelve different builds at least, and no more. */
static void few_are_enough(void **state) {
  (void)state;
  static const uint32_t levels[4] = {0};
  ph_factor factors[6] = {{4, levels, true},  {3, levels, true},  {2, levels, true},
                          {4, levels, false}, {4, levels, false}, {4, levels, false}};
  problem none = {.count = 6};
  ph_arena arena = {0};
  ph_cover cover;
  ph_error error = PH_ERROR_INIT;
  assert_ok(ph_pairs_cover(factors, 6, 1, allowed, &none, &arena, &cover, &error), error);
  assert_in_range(cover.count, 16, 24);
  bool built[4][3][2] = {0};
  uint32_t builds = 0;
  for (uint32_t c = 0; c < cover.count; c++) {
    const uint32_t *values = &cover.values[c * 6];
    bool *seen = &built[values[0]][values[1]][values[2]];
    builds += !*seen;
    *seen = true;
  }
  assert_int_equal(builds, 12);
  ph_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_pair_meets), cmocka_unit_test(few_are_enough)};
  return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
