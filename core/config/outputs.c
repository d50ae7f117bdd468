/* The section `outputs`: paths to any value, resolved to the path that the value itself has. */
#include <string.h>

#include "config/loader.h"

typedef struct paths {
  ph_loader *loader;
  ph_names names; /* of values and aliases, to model values */
} paths;

static ph_status add_path(paths *p, const char *path, uint32_t value) {
  if (ph_names_find(&p->names, path) != PH_NONE) return PH_OK;
  return ph_names_add(&p->names, &p->loader->scratch, path, value) ? PH_OK : ph_fail_memory(p->loader->error);
}

static ph_status collect(paths *p) {
  const ph_model *model = p->loader->model;
  for (uint32_t i = 0; i < model->value_count; i++)
    if (model->values[i].kind != PH_VALUE_SCALAR) PH_TRY(add_path(p, model->values[i].path, i));
  for (uint32_t i = 0; i < model->alias_count; i++)
    PH_TRY(add_path(p, model->aliases[i].path, model->aliases[i].value));
  return PH_OK;
}

/* The op node that stands before the last dot, and what stands behind it; NULL where there is none. */
static const ph_op *split_path(paths *p, const char *path, uint32_t *out_value, const char **out_tail) {
  const ph_model *model = p->loader->model;
  const char *dot = strrchr(path, '.');
  const char *owner = dot != NULL ? ph_arena_copy(&p->loader->scratch, path, (size_t)(dot - path)) : NULL;
  *out_value = owner != NULL ? ph_names_find(&p->names, owner) : PH_NONE;
  if (*out_value == PH_NONE) return NULL;
  const ph_model_value *value = &model->values[*out_value];
  *out_tail = dot + 1;
  return value->kind == PH_VALUE_NODE && value->slot == 0 ? model->nodes[value->index].op : NULL;
}

static uint32_t inner_count(const ph_op *op) {
  uint32_t count = 0;
  while (op->inner_names != NULL && op->inner_names[count] != NULL) count++;
  return count;
}

/* "y.weights" where y is a composite, and "y.y", the first output by its name: PH_NONE where `path` is neither. */
static ph_status find_inside(paths *p, const char *path, uint32_t *out_value, const char **out_path) {
  const char *tail;
  uint32_t owner;
  const ph_op *op = split_path(p, path, &owner, &tail);
  *out_value = PH_NONE;
  if (op == NULL) return PH_OK;
  const char *owner_path = p->loader->model->values[owner].path;
  if (op->outputs != NULL && strcmp(op->outputs[0].name, tail) == 0) {
    *out_value = owner;
    *out_path = owner_path;
  }
  for (uint32_t i = 0; i < inner_count(op); i++) {
    if (strcmp(op->inner_names[i], tail) != 0) continue;
    *out_value = owner;
    *out_path = ph_arena_text(p->loader->arena, "%s.%s", owner_path, tail);
    if (*out_path == NULL) return ph_fail_memory(p->loader->error);
  }
  return PH_OK;
}

static bool repeats(const ph_loader *loader, const char *path) {
  for (uint32_t i = 0; i < loader->call_count; i++)
    if (strcmp(loader->calls[i].path, path) == 0) return ph_yaml_find(loader->calls[i].source, "repeat") != NULL;
  return false;
}

static ph_status fail_path(paths *p, const ph_yaml *node, const char *path) {
  ph_loader *loader = p->loader;
  const char *const *names = ph_names_list(&p->names, &loader->scratch);
  const char *hint = ph_loader_hint(loader, path, names, p->names.count), *tail;
  uint32_t owner;
  const ph_op *op = split_path(p, path, &owner, &tail);
  if (op != NULL && hint[0] == '\0') hint = ph_loader_hint(loader, tail, op->inner_names, inner_count(op));
  const char *dot = strchr(path, '.');
  const char *head = dot != NULL ? ph_arena_copy(&loader->scratch, path, (size_t)(dot - path)) : NULL;
  if (head != NULL && hint[0] == '\0' && repeats(loader, head))
    hint = "; inside a repeat it is NODE.ROUND.NAME, rounds from 0";
  return ph_fail_at(loader->error, node->place, "there is no value '%s'%s", path, hint);
}

/* The calls that a path leads through are used. */
static void mark_calls(ph_loader *loader, const char *path) {
  for (uint32_t i = 0; i < loader->call_count; i++) {
    size_t length = strlen(loader->calls[i].path);
    if (strncmp(path, loader->calls[i].path, length) == 0 && (path[length] == '.' || path[length] == '\0'))
      loader->calls[i].source->used = true;
  }
}

static ph_status add_output(paths *p, const ph_yaml *node, const char *alias, ph_place place) {
  ph_loader *loader = p->loader;
  ph_model *model = loader->model;
  const char *text, *path = NULL;
  PH_TRY(ph_read_text(loader, node, "an output", &text));
  uint32_t value = ph_names_find(&p->names, text);
  if (value != PH_NONE)
    path = model->values[value].path;
  else
    PH_TRY(find_inside(p, text, &value, &path));
  if (value == PH_NONE) return fail_path(p, node, text);
  model->values[value].used = true;
  mark_calls(loader, text);
  ph_model_output *slot =
      ph_arena_push(loader->arena, &model->outputs, &model->output_count, &model->output_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(loader->error);
  *slot = (ph_model_output){.alias = alias != NULL ? alias : text, .path = path, .place = place};
  return PH_OK;
}

ph_status ph_outputs_read(ph_loader *loader, const ph_yaml *node) {
  paths p = {.loader = loader};
  if (node->kind == PH_YAML_SCALAR || node->count == 0)
    return ph_fail_at(loader->error, node->place,
                      "outputs are a list of paths or a mapping {ALIAS: PATH}, and at least one");
  PH_TRY(collect(&p));
  ph_names aliases = {0};
  for (uint32_t i = 0; i < node->count; i++) {
    bool map = node->kind == PH_YAML_MAP;
    ph_place place = map ? node->pairs[i].place : node->items[i]->place;
    PH_TRY(add_output(&p, map ? node->pairs[i].value : node->items[i], map ? node->pairs[i].key : NULL, place));
    const ph_model_output *output = &loader->model->outputs[i];
    if (map && !ph_is_name(output->alias))
      return ph_fail_at(loader->error, place, "'%s' is no name: an alias takes letters, digits and '_', no digit first",
                        output->alias);
    if (ph_names_find(&aliases, output->alias) != PH_NONE)
      return ph_fail_at(loader->error, place, "the output '%s' stands here twice", output->alias);
    if (!ph_names_add(&aliases, &loader->scratch, output->alias, i)) return ph_fail_memory(loader->error);
  }
  return PH_OK;
}
