#include "conform/required.h"

#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "config/yaml.h"
#include "graph/op.h"

bool ph_case_matches(const char *pattern, const char *name) {
  return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool ph_required_op(const ph_required *required, const char *op) {
  bool found = required->all;
  for (uint32_t i = 0; i < required->op_count; i++) found = found || strcmp(required->ops[i], op) == 0;
  return found;
}

const char *ph_required_fail(const ph_required *required, const char *name) {
  for (uint32_t i = 0; i < required->fail_count; i++)
    if (ph_case_matches(required->fails[i].pattern, name)) return required->fails[i].reason;
  return NULL;
}

static ph_status read_ops(const ph_yaml *node, ph_arena *arena, ph_required *out, ph_error *error) {
  if (node->kind == PH_YAML_SCALAR && strcmp(node->text, "all") == 0) {
    out->all = true;
    return PH_OK;
  }
  if (node->kind != PH_YAML_LIST) return ph_fail_at(error, node->place, "ops is all, or a list of ops");
  out->ops = ph_arena_array(arena, node->count, sizeof(*out->ops));
  if (out->ops == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < node->count; i++) {
    const ph_yaml *op = node->items[i];
    if (op->kind != PH_YAML_SCALAR || ph_op_find(op->text) == NULL)
      return ph_fail_at(error, op->place, "there is no op %s", ph_yaml_describe(op, arena));
    out->ops[out->op_count++] = op->text;
  }
  return PH_OK;
}

static ph_status read_fails(const ph_yaml *node, ph_arena *arena, ph_required *out, ph_error *error) {
  if (node->kind != PH_YAML_LIST) return ph_fail_at(error, node->place, "expected_fail is a list");
  out->fails = ph_arena_array(arena, node->count, sizeof(*out->fails));
  if (out->fails == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < node->count; i++) {
    const ph_yaml *entry = node->items[i];
    const ph_yaml *pattern = entry->kind == PH_YAML_MAP ? ph_yaml_get(entry, "case") : NULL;
    const ph_yaml *reason = entry->kind == PH_YAML_MAP ? ph_yaml_get(entry, "reason") : NULL;
    if (pattern == NULL || reason == NULL || entry->count != 2 || pattern->kind != PH_YAML_SCALAR ||
        reason->kind != PH_YAML_SCALAR)
      return ph_fail_at(error, entry->place, "an expected fail is {case: PATTERN, reason: TEXT}");
    out->fails[out->fail_count++] = (ph_expected_fail){pattern->text, reason->text};
  }
  return PH_OK;
}

static ph_status read_root(const ph_yaml *root, ph_arena *arena, ph_required *out, ph_error *error) {
  if (root->kind != PH_YAML_MAP) return ph_fail_at(error, root->place, "what is required is a mapping");
  for (uint32_t i = 0; i < root->count; i++) {
    const ph_yaml_pair *pair = &root->pairs[i];
    if (strcmp(pair->key, "ops") == 0)
      PH_TRY(read_ops(pair->value, arena, out, error));
    else if (strcmp(pair->key, "expected_fail") == 0)
      PH_TRY(read_fails(pair->value, arena, out, error));
    else
      return ph_fail_at(error, pair->place, "'%s' is not known here; there are ops and expected_fail", pair->key);
  }
  return PH_OK;
}

ph_status ph_required_read(const char *path, ph_arena *arena, ph_required *out, ph_error *error) {
  ph_file_map map;
  ph_yaml *root;
  *out = (ph_required){0};
  const char *file = ph_arena_text(arena, "%s", path);
  if (file == NULL) return ph_fail_memory(error);
  PH_TRY(ph_file_map_open(path, &map, error));
  ph_status status = ph_yaml_parse(arena, file, map.data, map.size, &root, error);
  ph_file_map_close(&map);
  return status == PH_OK ? read_root(root, arena, out, error) : status;
}
