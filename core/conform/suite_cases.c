/* The cases of a family: all combinations of what varies in it, or few in which every two values meet. */
#include "conform/suite.h"

#include <string.h>

#include "base/error.h"

static unsigned sets_of(uint32_t level, bool tiny) {
  static const unsigned sets[PH_LEVEL_COUNT] = {PH_SET_SMOKE | PH_SET_CI | PH_SET_FULL, PH_SET_CI | PH_SET_FULL,
                                                PH_SET_FULL};
  return sets[level] | (tiny ? PH_SET_TINY : 0u);
}

static bool breaks(const ph_rule *rule, const uint32_t *values) {
  for (uint32_t i = 0; i < rule->count; i++) {
    uint32_t value = values[rule->factors[i]];
    if (value == PH_NONE || !rule->excluded[i][value]) return false;
  }
  return true;
}

static bool is_allowed(void *user, const uint32_t *values) {
  const ph_family *family = user;
  for (uint32_t i = 0; i < family->rule_count; i++)
    if (breaks(&family->rules[i], values)) return false;
  return true;
}

static bool is_none(const ph_vary *vary, const ph_choice *choice) {
  return vary->is_option && strcmp(strchr(choice->text, '=') + 1, "none") == 0;
}

static const char *case_name(ph_suite *suite, const ph_family *family, const uint32_t *values) {
  ph_text text = {0};
  ph_text_add(&text, "%s", family->name);
  char before = '/';
  for (uint32_t i = 0; i < family->vary_count; i++) {
    const ph_choice *choice = &family->varies[i].choices[values[i]];
    if (is_none(&family->varies[i], choice)) continue;
    ph_text_add(&text, "%c%s", before, choice->text);
    before = ',';
  }
  const char *name = text.failed ? NULL : ph_arena_copy(&suite->arena, text.data, text.length);
  ph_text_free(&text);
  return name;
}

static ph_status add_case(ph_suite *suite, const ph_family *family, const uint32_t *values, uint32_t level,
                          ph_error *error) {
  ph_suite_case *one =
      ph_arena_push(&suite->arena, &suite->cases, &suite->case_count, &suite->case_capacity, sizeof(*one));
  ph_case *listed =
      ph_arena_push(&suite->arena, &suite->listed, &suite->listed_count, &suite->listed_capacity, sizeof(*listed));
  uint32_t *choices = ph_arena_array(&suite->arena, family->vary_count, sizeof(*choices));
  const char **options = ph_arena_array(&suite->arena, family->vary_count, sizeof(*options));
  if (one == NULL || listed == NULL || choices == NULL || options == NULL) return ph_fail_memory(error);
  bool tiny = family->tiny, zeros = family->zeros;
  for (uint32_t i = 0; i < family->vary_count; i++) {
    const ph_choice *choice = &family->varies[i].choices[values[i]];
    choices[i] = values[i];
    options[i] = choice->text;
    zeros = zeros || (choice->patch != NULL && ph_yaml_get(choice->patch, "zeros") != NULL);
    tiny = tiny && choice->tiny;
    level = choice->level > level ? choice->level : level;
  }
  *one = (ph_suite_case){family, choices, zeros};
  *listed = (ph_case){.name = case_name(suite, family, values),
                      .op = family->op,
                      .sets = sets_of(level, tiny),
                      .options = options,
                      .option_count = family->vary_count};
  return listed->name != NULL ? PH_OK : ph_fail_memory(error);
}

static ph_status list_all(ph_suite *suite, const ph_family *family, uint32_t *values, uint32_t at, ph_error *error) {
  if (at == family->vary_count)
    return is_allowed((void *)family, values) ? add_case(suite, family, values, family->level, error) : PH_OK;
  for (uint32_t v = 0; v < family->varies[at].count; v++) {
    values[at] = v;
    PH_TRY(list_all(suite, family, values, at + 1, error));
  }
  return PH_OK;
}

static ph_status list_pairs(ph_suite *suite, ph_family *family, ph_error *error) {
  ph_factor *factors = ph_arena_array(&suite->arena, family->vary_count, sizeof(*factors));
  if (factors == NULL) return ph_fail_memory(error);
  for (uint32_t f = 0; f < family->vary_count; f++) {
    const ph_vary *vary = &family->varies[f];
    uint32_t *levels = ph_arena_array(&suite->arena, vary->count, sizeof(*levels));
    if (levels == NULL) return ph_fail_memory(error);
    for (uint32_t v = 0; v < vary->count; v++) levels[v] = vary->choices[v].level;
    factors[f] = (ph_factor){vary->count, levels, vary->costly};
  }
  ph_cover cover;
  PH_TRY(ph_pairs_cover(factors, family->vary_count, PH_LEVEL_COUNT, is_allowed, family, &suite->arena, &cover, error));
  for (uint32_t c = 0; c < cover.count; c++)
    PH_TRY(add_case(suite, family, &cover.values[c * family->vary_count], cover.levels[c], error));
  for (uint32_t i = 0; i < cover.pair_count; i++) {
    const ph_value_pair *from = &cover.pairs[i];
    ph_case_pair *pair =
        ph_arena_push(&suite->arena, &suite->pairs, &suite->pair_count, &suite->pair_capacity, sizeof(*pair));
    if (pair == NULL) return ph_fail_memory(error);
    *pair = (ph_case_pair){.op = family->op, .sets = sets_of(from->level, false)};
    for (uint32_t k = 0; k < 2; k++) pair->options[k] = family->varies[from->factor[k]].choices[from->value[k]].text;
  }
  return PH_OK;
}

ph_status ph_suite_list_family(ph_suite *suite, ph_family *family, ph_error *error) {
  uint32_t *values = ph_arena_array(&suite->arena, family->vary_count, sizeof(*values));
  if (values == NULL) return ph_fail_memory(error);
  uint32_t before = suite->case_count;
  PH_TRY(family->pairs ? list_pairs(suite, family, error) : list_all(suite, family, values, 0, error));
  if (suite->case_count > before) return PH_OK;
  return ph_fail_at(error, family->place, "the family '%s' has no case: all combinations are excluded", family->name);
}
