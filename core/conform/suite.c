/* Reading a suite file. */
#include "conform/suite.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "graph/op.h"

typedef struct reader {
  ph_suite *suite;
  ph_arena *arena; /* the suite's */
  ph_error *error;
} reader;

/* ---- typed reading ---- */

static const char *const kinds[] = {"a text", "a list", "a mapping"};

static ph_status need(const reader *r, const ph_yaml *node, ph_yaml_kind kind, const char *what) {
  if (node->kind == kind) return PH_OK;
  return ph_fail_at(r->error, node->place, "%s must be %s, not %s", what, kinds[kind],
                    ph_yaml_describe(node, r->arena));
}

static ph_status check_keys(const reader *r, const ph_yaml *map, const char *what, const char *const *known,
                            size_t count) {
  PH_TRY(need(r, map, PH_YAML_MAP, what));
  for (uint32_t i = 0; i < map->count; i++) {
    size_t k = 0;
    while (k < count && strcmp(known[k], map->pairs[i].key) != 0) k++;
    if (k < count) continue;
    const char *near = ph_nearest(map->pairs[i].key, known, count);
    return ph_fail_at(r->error, map->pairs[i].place, "%s has no key '%s'%s%s%s", what, map->pairs[i].key,
                      near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
  }
  return PH_OK;
}

static ph_status read_flag(const reader *r, const ph_yaml *family, const char *key, bool *out) {
  const ph_yaml *node = ph_yaml_get(family, key);
  if (node == NULL || ph_yaml_boolean(node, out)) return PH_OK;
  return ph_fail_at(r->error, node->place, "%s is true or false, not %s", key, ph_yaml_describe(node, r->arena));
}

/* ---- sets ---- */

/* tiny goes beside the others, which hold each other: what is in smoke is in ci, too. */
static bool read_set(const char *name, uint32_t *out_level, bool *out_tiny) {
  static const char *const levels[PH_LEVEL_COUNT] = {"smoke", "ci", "full"};
  *out_tiny = strcmp(name, "tiny") == 0;
  *out_level = PH_LEVEL_SMOKE;
  if (*out_tiny) return true;
  while (*out_level < PH_LEVEL_COUNT && strcmp(levels[*out_level], name) != 0) ++*out_level;
  return *out_level < PH_LEVEL_COUNT;
}

static ph_status fail_set(const reader *r, ph_place place, const char *name) {
  return ph_fail_at(r->error, place, "'%s' is no set; there are tiny, smoke, ci and full", name);
}

static ph_status read_sets(const reader *r, const ph_yaml *node, ph_family *family) {
  family->level = PH_LEVEL_CI;
  if (node == NULL) return PH_OK;
  PH_TRY(need(r, node, PH_YAML_LIST, "sets"));
  for (uint32_t i = 0; i < node->count; i++) {
    uint32_t level;
    bool tiny;
    PH_TRY(need(r, node->items[i], PH_YAML_SCALAR, "a set"));
    if (!read_set(node->items[i]->text, &level, &tiny)) return fail_set(r, node->items[i]->place, node->items[i]->text);
    family->tiny = family->tiny || tiny;
    if (!tiny) family->level = level;
  }
  return PH_OK;
}

/* ---- vary ---- */

/* What a value is called in a case's name: its text; of a list the texts, joined. */
static ph_status name_value(const reader *r, const ph_yaml *value, ph_text *out) {
  if (value->kind == PH_YAML_MAP) return ph_fail_at(r->error, value->place, "a value that varies is no mapping");
  for (uint32_t i = 0; value->kind == PH_YAML_LIST && i < value->count; i++) {
    if (i > 0) ph_text_add(out, "_");
    PH_TRY(name_value(r, value->items[i], out));
  }
  if (value->kind != PH_YAML_SCALAR) return PH_OK;
  if (strpbrk(value->text, "*?[]\\'\", /=") != NULL)
    return ph_fail_at(r->error, value->place, "'%s' cannot stand in a case's name", value->text);
  ph_text_add(out, "%s", ph_yaml_is_null(value) ? "none" : value->text);
  return PH_OK;
}

static ph_status read_values(const reader *r, const ph_vary *vary, const ph_yaml *item, ph_choice *choice) {
  choice->values = ph_arena_array(r->arena, vary->name_count, sizeof(*choice->values));
  if (choice->values == NULL) return ph_fail_memory(r->error);
  bool joint = vary->name_count > 1;
  if (joint && (item->kind != PH_YAML_LIST || item->count != vary->name_count))
    return ph_fail_at(r->error, item->place, "a list of %u values is expected, one for each name", vary->name_count);
  ph_text text = {0};
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < vary->name_count && status == PH_OK; i++) {
    choice->values[i] = joint ? item->items[i] : item;
    ph_text_add(&text, "%s%s=", i > 0 ? "," : "", vary->names[i]);
    status = name_value(r, choice->values[i], &text);
  }
  choice->text = text.failed || text.data == NULL ? NULL : ph_arena_copy(r->arena, text.data, text.length);
  ph_text_free(&text);
  if (status == PH_OK && choice->text == NULL) status = ph_fail_memory(r->error);
  return status;
}

/* `none` needs no patch and is left out of names. */
static ph_status read_option(const reader *r, const ph_vary *vary, const ph_yaml *item, const ph_yaml *group,
                             ph_choice *choice) {
  PH_TRY(need(r, item, PH_YAML_SCALAR, "an option"));
  choice->patch = ph_yaml_get(group, item->text);
  bool none = strcmp(item->text, "none") == 0;
  if (choice->patch == NULL && !none)
    return ph_fail_at(r->error, item->place, "options has no %s '%s'", vary->names[0], item->text);
  choice->text = ph_arena_text(r->arena, "%s=%s", vary->names[0], item->text);
  return choice->text != NULL ? PH_OK : ph_fail_memory(r->error);
}

static ph_status add_choices(const reader *r, ph_vary *vary, const ph_yaml *list, const ph_yaml *group, uint32_t level,
                             bool tiny) {
  PH_TRY(need(r, list, PH_YAML_LIST, "what varies"));
  for (uint32_t i = 0; i < list->count; i++) {
    ph_choice *choice = ph_arena_push(r->arena, &vary->choices, &vary->count, &vary->capacity, sizeof(*choice));
    if (choice == NULL) return ph_fail_memory(r->error);
    *choice = (ph_choice){.level = level, .tiny = tiny};
    PH_TRY(group != NULL ? read_option(r, vary, list->items[i], group, choice)
                         : read_values(r, vary, list->items[i], choice));
    for (uint32_t k = 0; k + 1 < vary->count; k++)
      if (strcmp(vary->choices[k].text, choice->text) == 0)
        return ph_fail_at(r->error, list->items[i]->place, "%s stands here twice", choice->text);
  }
  return PH_OK;
}

static ph_status split_names(const reader *r, const char *key, ph_vary *vary) {
  for (const char *at = key; *at != '\0';) {
    size_t length = strcspn(at, " ");
    uint32_t capacity = vary->name_count;
    const char **grown = ph_arena_array(r->arena, capacity + 1, sizeof(*grown));
    if (grown == NULL) return ph_fail_memory(r->error);
    if (capacity > 0) memcpy(grown, vary->names, capacity * sizeof(*grown));
    vary->names = grown;
    grown[vary->name_count] = ph_arena_copy(r->arena, at, length);
    if (grown[vary->name_count++] == NULL) return ph_fail_memory(r->error);
    at += length;
    at += strspn(at, " ");
  }
  return PH_OK;
}

static ph_status read_vary(const reader *r, const ph_family *family, const ph_yaml_pair *pair, ph_vary *vary) {
  PH_TRY(split_names(r, pair->key, vary));
  const ph_yaml *group = r->suite->options != NULL ? ph_yaml_get(r->suite->options, pair->key) : NULL;
  vary->is_option = group != NULL;
  if (pair->value->kind == PH_YAML_LIST) return add_choices(r, vary, pair->value, group, family->level, true);
  PH_TRY(need(r, pair->value, PH_YAML_MAP, "what varies"));
  for (uint32_t i = 0; i < pair->value->count; i++) {
    const ph_yaml_pair *set = &pair->value->pairs[i];
    uint32_t level;
    bool tiny;
    if (!read_set(set->key, &level, &tiny)) return fail_set(r, set->place, set->key);
    PH_TRY(add_choices(r, vary, set->value, group, level > family->level ? level : family->level, tiny));
  }
  return PH_OK;
}

static ph_status read_varies(const reader *r, const ph_yaml *node, ph_family *family) {
  if (node == NULL) return PH_OK;
  PH_TRY(need(r, node, PH_YAML_MAP, "vary"));
  family->varies = ph_arena_array(r->arena, node->count, sizeof(*family->varies));
  if (family->varies == NULL) return ph_fail_memory(r->error);
  for (; family->vary_count < node->count; family->vary_count++)
    PH_TRY(read_vary(r, family, &node->pairs[family->vary_count], &family->varies[family->vary_count]));
  return PH_OK;
}

/* ---- exclude ---- */

static ph_status find_factor(const reader *r, const ph_family *family, const ph_yaml_pair *term, uint32_t *out) {
  for (*out = 0; *out < family->vary_count; ++*out) {
    const ph_vary *vary = &family->varies[*out];
    if (vary->name_count == 1 && strcmp(vary->names[0], term->key) == 0) return PH_OK;
  }
  return ph_fail_at(r->error, term->place, "'%s' does not vary by itself here", term->key);
}

static ph_status exclude_value(const reader *r, const ph_vary *vary, const ph_yaml *value, bool *excluded) {
  PH_TRY(need(r, value, PH_YAML_SCALAR, "what is excluded"));
  bool found = false;
  for (uint32_t i = 0; i < vary->count; i++) {
    bool same = strcmp(strchr(vary->choices[i].text, '=') + 1, value->text) == 0;
    excluded[i] = excluded[i] || same;
    found = found || same;
  }
  if (found) return PH_OK;
  return ph_fail_at(r->error, value->place, "%s does not take the value '%s'", vary->names[0], value->text);
}

static ph_status read_rule(const reader *r, const ph_family *family, const ph_yaml *node, ph_rule *rule) {
  PH_TRY(need(r, node, PH_YAML_MAP, "an entry of exclude"));
  rule->factors = ph_arena_array(r->arena, node->count, sizeof(*rule->factors));
  rule->excluded = ph_arena_array(r->arena, node->count, sizeof(*rule->excluded));
  if (rule->factors == NULL || rule->excluded == NULL) return ph_fail_memory(r->error);
  for (; rule->count < node->count; rule->count++) {
    const ph_yaml_pair *term = &node->pairs[rule->count];
    PH_TRY(find_factor(r, family, term, &rule->factors[rule->count]));
    const ph_vary *vary = &family->varies[rule->factors[rule->count]];
    bool *excluded = ph_arena_array(r->arena, vary->count, sizeof(*excluded));
    if (excluded == NULL) return ph_fail_memory(r->error);
    rule->excluded[rule->count] = excluded;
    if (term->value->kind != PH_YAML_LIST) PH_TRY(exclude_value(r, vary, term->value, excluded));
    for (uint32_t i = 0; term->value->kind == PH_YAML_LIST && i < term->value->count; i++)
      PH_TRY(exclude_value(r, vary, term->value->items[i], excluded));
  }
  return PH_OK;
}

static ph_status read_rules(const reader *r, const ph_yaml *node, ph_family *family) {
  if (node == NULL) return PH_OK;
  PH_TRY(need(r, node, PH_YAML_LIST, "exclude"));
  family->rules = ph_arena_array(r->arena, node->count, sizeof(*family->rules));
  if (family->rules == NULL) return ph_fail_memory(r->error);
  for (; family->rule_count < node->count; family->rule_count++)
    PH_TRY(read_rule(r, family, node->items[family->rule_count], &family->rules[family->rule_count]));
  return PH_OK;
}

static ph_status read_costly(const reader *r, const ph_yaml *node, ph_family *family) {
  if (node == NULL) return PH_OK;
  PH_TRY(need(r, node, PH_YAML_LIST, "costly"));
  for (uint32_t i = 0; i < node->count; i++) {
    PH_TRY(need(r, node->items[i], PH_YAML_SCALAR, "what is costly"));
    ph_yaml_pair term = {.key = node->items[i]->text, .place = node->items[i]->place};
    uint32_t factor;
    PH_TRY(find_factor(r, family, &term, &factor));
    family->varies[factor].costly = true;
  }
  return PH_OK;
}

/* ---- families ---- */

static ph_status read_body(const reader *r, const ph_yaml *node, ph_family *family) {
  static const char *const parts[] = {"dims",   "let",  "inputs", "weights", "before",
                                      "blocks", "node", "graph",  "outputs"};
  const ph_yaml *use = ph_yaml_get(node, "use");
  ph_yaml *body = ph_tree_map(r->arena, node->place), *own = ph_tree_map(r->arena, node->place);
  if (body == NULL || own == NULL) return ph_fail_memory(r->error);
  if (use != NULL) PH_TRY(need(r, use, PH_YAML_LIST, "use"));
  for (uint32_t i = 0; use != NULL && i < use->count; i++) {
    PH_TRY(need(r, use->items[i], PH_YAML_SCALAR, "a template"));
    const ph_yaml *found = r->suite->templates == NULL ? NULL : ph_yaml_get(r->suite->templates, use->items[i]->text);
    if (found == NULL) return ph_fail_at(r->error, use->items[i]->place, "no template '%s'", use->items[i]->text);
    body = ph_tree_merge(r->arena, body, found);
    if (body == NULL) return ph_fail_memory(r->error);
  }
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    const ph_yaml_pair *pair = ph_yaml_find(node, parts[i]);
    if (pair != NULL && !ph_tree_set(r->arena, own, pair->key, pair->place, pair->value))
      return ph_fail_memory(r->error);
  }
  family->body = ph_tree_merge(r->arena, body, own);
  return family->body != NULL ? PH_OK : ph_fail_memory(r->error);
}

static ph_status read_name(const reader *r, const ph_yaml *node, ph_family *family) {
  const ph_yaml *name = ph_yaml_get(node, "name"), *op = ph_yaml_get(node, "op");
  if (name == NULL) return ph_fail_at(r->error, node->place, "a family needs a name");
  PH_TRY(need(r, name, PH_YAML_SCALAR, "name"));
  for (uint32_t i = 0; i < r->suite->family_count; i++)
    if (strcmp(r->suite->families[i].name, name->text) == 0)
      return ph_fail_at(r->error, name->place, "'%s' stands here a second time; the first is at line %u", name->text,
                        r->suite->families[i].place.line);
  ph_text text = {0};
  ph_status status = name_value(r, name, &text);
  ph_text_free(&text);
  PH_TRY(status);
  family->name = name->text;
  family->place = node->place;
  if (op == NULL) return PH_OK;
  PH_TRY(need(r, op, PH_YAML_SCALAR, "op"));
  if (ph_op_find(op->text) == NULL) return ph_fail_at(r->error, op->place, "there is no op '%s'", op->text);
  family->op = op->text;
  return PH_OK;
}

static ph_status read_family(const reader *r, const ph_yaml *node, ph_family *family) {
  static const char *const known[] = {"name",   "about",   "op",     "sets",    "use",   "vary",  "pairs",
                                      "costly", "exclude", "rebind", "strided", "zeros", "dims",  "let",
                                      "inputs", "weights", "before", "blocks",  "node",  "graph", "outputs"};
  PH_TRY(check_keys(r, node, "a family", known, sizeof(known) / sizeof(known[0])));
  PH_TRY(read_name(r, node, family));
  PH_TRY(read_sets(r, ph_yaml_get(node, "sets"), family));
  PH_TRY(read_body(r, node, family));
  if (ph_yaml_get(family->body, "node") != NULL && family->op == NULL)
    return ph_fail_at(r->error, node->place, "a family with a node names its op");
  PH_TRY(read_varies(r, ph_yaml_get(node, "vary"), family));
  PH_TRY(read_rules(r, ph_yaml_get(node, "exclude"), family));
  PH_TRY(read_costly(r, ph_yaml_get(node, "costly"), family));
  PH_TRY(read_flag(r, node, "pairs", &family->pairs));
  PH_TRY(read_flag(r, node, "strided", &family->strided));
  PH_TRY(read_flag(r, node, "zeros", &family->zeros));
  family->rebind = ph_yaml_get(node, "rebind");
  return family->rebind == NULL ? PH_OK : need(r, family->rebind, PH_YAML_LIST, "rebind");
}

static ph_status read_suite(const reader *r, const ph_yaml *root) {
  static const char *const known[] = {"polyhead_suite", "about", "options", "templates", "cases"};
  ph_suite *suite = r->suite;
  PH_TRY(check_keys(r, root, "a suite", known, sizeof(known) / sizeof(known[0])));
  const ph_yaml *version = ph_yaml_get(root, "polyhead_suite"), *cases = ph_yaml_get(root, "cases");
  ph_number number;
  if (version == NULL || !ph_yaml_number(version, &number) || !number.is_integer || number.integer != 1)
    return ph_fail_at(r->error, version != NULL ? version->place : root->place, "a suite says polyhead_suite: 1");
  suite->options = ph_yaml_get(root, "options");
  suite->templates = ph_yaml_get(root, "templates");
  if (suite->options != NULL) PH_TRY(need(r, suite->options, PH_YAML_MAP, "options"));
  for (uint32_t i = 0; suite->options != NULL && i < suite->options->count; i++)
    PH_TRY(need(r, suite->options->pairs[i].value, PH_YAML_MAP, "a group of options"));
  if (suite->templates != NULL) PH_TRY(need(r, suite->templates, PH_YAML_MAP, "templates"));
  if (cases == NULL) return ph_fail_at(r->error, root->place, "a suite has cases");
  PH_TRY(need(r, cases, PH_YAML_LIST, "cases"));
  suite->families = ph_arena_array(r->arena, cases->count, sizeof(*suite->families));
  if (suite->families == NULL) return ph_fail_memory(r->error);
  for (uint32_t i = 0; i < cases->count; i++) {
    PH_TRY(read_family(r, cases->items[i], &suite->families[i]));
    suite->family_count++;
    PH_TRY(ph_suite_list_family(suite, &suite->families[i], r->error));
  }
  return PH_OK;
}

static ph_status read_file(const reader *r, const char *path) {
  ph_file_map map;
  ph_yaml *root;
  r->suite->file = ph_arena_copy(r->arena, path, strlen(path));
  if (r->suite->file == NULL) return ph_fail_memory(r->error);
  PH_TRY(ph_file_map_open(path, &map, r->error));
  ph_status status = ph_yaml_parse(r->arena, r->suite->file, map.data, map.size, &root, r->error);
  ph_file_map_close(&map);
  return status == PH_OK ? read_suite(r, root) : status;
}

ph_status ph_suite_read(const char *path, ph_suite **out, ph_error *error) {
  ph_suite *suite = ph_new_array(1, sizeof(*suite));
  if (suite == NULL) return ph_fail_memory(error);
  reader r = {suite, &suite->arena, error};
  ph_status status = read_file(&r, path);
  if (status == PH_OK)
    *out = suite;
  else
    ph_suite_destroy(suite);
  return status;
}

void ph_suite_destroy(ph_suite *suite) {
  if (suite == NULL) return;
  ph_arena_free(&suite->arena);
  free(suite);
}
