#include "conform/tree.h"

#include <string.h>

#include "base/error.h"

ph_binding_name *ph_bindings_find(const ph_bindings *bindings, const char *name) {
  for (uint32_t i = 0; i < bindings->count; i++)
    if (strcmp(bindings->items[i].name, name) == 0) return &bindings->items[i];
  return NULL;
}

bool ph_bindings_set(ph_arena *arena, ph_bindings *bindings, const char *name, const ph_yaml *value) {
  ph_binding_name *item = ph_bindings_find(bindings, name);
  if (item == NULL) item = ph_arena_push(arena, &bindings->items, &bindings->count, &bindings->capacity, sizeof(*item));
  if (item != NULL) *item = (ph_binding_name){.name = name, .value = value};
  return item != NULL;
}

static ph_yaml *new_node(ph_arena *arena, ph_yaml_kind kind, ph_place place) {
  ph_yaml *node = ph_arena_alloc(arena, sizeof(*node));
  if (node == NULL) return NULL;
  node->kind = kind;
  node->place = place;
  return node;
}

ph_yaml *ph_tree_map(ph_arena *arena, ph_place place) {
  return new_node(arena, PH_YAML_MAP, place);
}

ph_yaml *ph_tree_scalar(ph_arena *arena, ph_place place, const char *text) {
  ph_yaml *node = new_node(arena, PH_YAML_SCALAR, place);
  if (node == NULL) return NULL;
  node->plain = true;
  node->text = text;
  return node;
}

bool ph_tree_set(ph_arena *arena, ph_yaml *map, const char *key, ph_place place, ph_yaml *value) {
  if (value == NULL) return false;
  for (uint32_t i = 0; i < map->count; i++)
    if (strcmp(map->pairs[i].key, key) == 0) {
      map->pairs[i].value = value;
      return true;
    }
  ph_yaml_pair *pair = ph_arena_push(arena, &map->pairs, &map->count, &map->capacity, sizeof(*pair));
  if (pair != NULL) *pair = (ph_yaml_pair){key, place, value};
  return pair != NULL;
}

static bool append(ph_arena *arena, ph_yaml *list, ph_yaml *item) {
  ph_yaml **slot =
      item == NULL ? NULL : ph_arena_push(arena, &list->items, &list->count, &list->capacity, sizeof(*slot));
  if (slot != NULL) *slot = item;
  return slot != NULL;
}

/* Scalars and lists never change and are shared. */
ph_yaml *ph_tree_merge(ph_arena *arena, const ph_yaml *base, const ph_yaml *patch) {
  if (patch->kind != PH_YAML_MAP) return (ph_yaml *)patch;
  ph_yaml *merged = ph_tree_map(arena, patch->place);
  if (merged == NULL) return NULL;
  bool is_map = base != NULL && base->kind == PH_YAML_MAP;
  for (uint32_t i = 0; is_map && i < base->count; i++)
    if (!ph_tree_set(arena, merged, base->pairs[i].key, base->pairs[i].place, base->pairs[i].value)) return NULL;
  for (uint32_t i = 0; i < patch->count; i++) {
    const ph_yaml_pair *pair = &patch->pairs[i];
    ph_yaml *under = is_map ? ph_yaml_get(base, pair->key) : NULL;
    if (!ph_tree_set(arena, merged, pair->key, pair->place, ph_tree_merge(arena, under, pair->value))) return NULL;
  }
  return merged;
}

/* *out NULL: it goes. */
static ph_status fill(ph_arena *arena, const ph_yaml *tree, const ph_bindings *bindings, uint32_t depth, ph_yaml **out,
                      ph_error *error) {
  if (depth == PH_YAML_MAX_DEPTH)
    return ph_fail_at(error, tree->place, "what stands for $names is nested deeper than %d levels", PH_YAML_MAX_DEPTH);
  *out = (ph_yaml *)tree;
  if (tree->kind == PH_YAML_SCALAR) {
    if (!tree->plain || tree->text[0] != '$') return PH_OK;
    ph_binding_name *bound = ph_bindings_find(bindings, tree->text + 1);
    if (bound == NULL)
      return ph_fail_at(error, tree->place, "nothing says what %s is: name it in `vary` or `let`", tree->text);
    bound->used = true;
    *out = NULL;
    return ph_yaml_is_null(bound->value) ? PH_OK : fill(arena, bound->value, bindings, depth + 1, out, error);
  }
  ph_yaml *copy = new_node(arena, tree->kind, tree->place);
  if (copy == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < tree->count; i++) {
    ph_yaml *value;
    const ph_yaml_pair *pair = tree->kind == PH_YAML_MAP ? &tree->pairs[i] : NULL;
    PH_TRY(fill(arena, pair != NULL ? pair->value : tree->items[i], bindings, depth + 1, &value, error));
    if (value == NULL) continue;
    bool kept = pair != NULL ? ph_tree_set(arena, copy, pair->key, pair->place, value) : append(arena, copy, value);
    if (!kept) return ph_fail_memory(error);
  }
  *out = copy;
  return PH_OK;
}

ph_status ph_tree_fill(ph_arena *arena, const ph_yaml *tree, const ph_bindings *bindings, ph_yaml **out,
                       ph_error *error) {
  PH_TRY(fill(arena, tree, bindings, 0, out, error));
  if (*out == NULL) return ph_fail_at(error, tree->place, "nothing is left of %s", tree->text);
  return PH_OK;
}

static void write_scalar(ph_text *out, const ph_yaml *node) {
  if (ph_yaml_is_null(node)) {
    ph_text_add(out, "null");
  } else if (node->plain && strpbrk(node->text, ",[]{}") == NULL) {
    ph_text_add(out, "%s", node->text);
  } else {
    ph_text_add(out, "\"");
    for (const char *c = node->text; *c != '\0'; c++) ph_text_add(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    ph_text_add(out, "\"");
  }
}

void ph_tree_write(ph_text *out, const ph_yaml *tree) {
  if (tree->kind == PH_YAML_SCALAR) {
    write_scalar(out, tree);
    return;
  }
  bool is_map = tree->kind == PH_YAML_MAP;
  ph_text_add(out, is_map ? "{" : "[");
  for (uint32_t i = 0; i < tree->count; i++) {
    if (i > 0) ph_text_add(out, ", ");
    if (is_map) ph_text_add(out, "%s: ", tree->pairs[i].key);
    ph_tree_write(out, is_map ? tree->pairs[i].value : tree->items[i]);
  }
  ph_text_add(out, is_map ? "}" : "]");
}
