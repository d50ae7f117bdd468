/* Who sees which name, and what a VALUE means; see loader.h. */
#include <string.h>

#include "config/loader.h"

ph_status ph_model_add_value(ph_loader *loader, ph_model_value value, uint32_t *out) {
  ph_model *model = loader->model;
  ph_model_value *slot =
      ph_arena_push(loader->arena, &model->values, &model->value_count, &model->value_capacity, sizeof(*slot));
  bool *exported = ph_arena_push(&loader->scratch, &loader->exported, &loader->exported_count,
                                 &loader->exported_capacity, sizeof(*exported));
  if (slot == NULL || exported == NULL) return ph_fail_memory(loader->error);
  *slot = value;
  *out = model->value_count - 1;
  return PH_OK;
}

ph_status ph_model_add_alias(ph_loader *loader, const char *path, uint32_t value) {
  ph_model *model = loader->model;
  ph_model_alias *slot =
      ph_arena_push(loader->arena, &model->aliases, &model->alias_count, &model->alias_capacity, sizeof(*slot));
  if (slot == NULL || path == NULL) return ph_fail_memory(loader->error);
  *slot = (ph_model_alias){path, value};
  return PH_OK;
}

ph_status ph_frame_add(ph_loader *loader, ph_frame *frame, ph_entry entry) {
  const ph_entry *first = ph_frame_find(frame, entry.name);
  if (first != NULL)
    return ph_fail_at(loader->error, entry.place,
                      "'%s' is taken: line %u has it already; inputs, weights and nodes share their names", entry.name,
                      first->place.line);
  ph_entry *slot =
      ph_arena_push(&loader->scratch, &frame->entries, &frame->entry_count, &frame->entry_capacity, sizeof(*slot));
  if (slot == NULL || !ph_names_add(&frame->names, &loader->scratch, entry.name, frame->entry_count - 1))
    return ph_fail_memory(loader->error);
  *slot = entry;
  return PH_OK;
}

const ph_entry *ph_frame_find(const ph_frame *frame, const char *name) {
  uint32_t index = ph_names_find(&frame->names, name);
  return index != PH_NONE ? &frame->entries[index] : NULL;
}

/* The line of a node that the graph defines further down; 0 if there is none. */
static uint32_t defined_later(const ph_frame *frame, const char *name) {
  for (uint32_t i = 0; frame->graph != NULL && i < frame->graph->count; i++) {
    const ph_yaml *node = frame->graph->items[i];
    const ph_yaml *other = node->kind == PH_YAML_MAP ? ph_yaml_get(node, "name") : NULL;
    if (other != NULL && other->kind == PH_YAML_SCALAR && strcmp(other->text, name) == 0) return other->place.line;
  }
  return 0;
}

static ph_status fail_unknown(ph_loader *loader, const ph_frame *frame, ph_place place, const char *name) {
  uint32_t line = defined_later(frame, name);
  if (line > 0)
    return ph_fail_at(loader->error, place,
                      "'%s' is made only at line %u: a node uses what stands above it, so nodes cannot go in a circle",
                      name, line);
  for (const ph_frame *outer = frame->caller; outer != NULL; outer = outer->caller)
    if (ph_frame_find(outer, name) != NULL)
      return ph_fail_at(loader->error, place, "block '%s' does not see '%s': make it one of the block's inputs",
                        frame->block, name);
  if (ph_names_find(&loader->dims, name) != PH_NONE)
    return ph_fail_at(loader->error, place, "'%s' is a dim; as a number it is written '=%s'", name, name);
  const char *const *names = ph_names_list(&frame->names, &loader->scratch);
  return ph_fail_at(loader->error, place, "there is no value '%s'%s", name,
                    ph_loader_hint(loader, name, names, frame->names.count));
}

/* "parts.q, parts.k" for messages. */
static const char *list_outs(ph_loader *loader, const ph_entry *entry) {
  const char *text = "";
  for (uint32_t i = 0; i < entry->out_count && text != NULL; i++)
    text = ph_arena_text(&loader->scratch, "%s%s%s.%s", text, i > 0 ? ", " : "", entry->name, entry->outs[i]);
  return text != NULL ? text : "";
}

static ph_status find_out(ph_loader *loader, const ph_entry *entry, ph_place place, const char *out_name,
                          uint32_t *out) {
  for (uint32_t i = 0; i < entry->out_count; i++) {
    if (strcmp(entry->outs[i], out_name) != 0) continue;
    *out = entry->out_values[i];
    return PH_OK;
  }
  if (entry->out_count == 0) return ph_fail_at(loader->error, place, "'%s' has no outputs: it is no node", entry->name);
  return ph_fail_at(loader->error, place, "'%s' has no output '%s'; there are %s%s", entry->name, out_name,
                    list_outs(loader, entry), ph_loader_hint(loader, out_name, entry->outs, entry->out_count));
}

/* NAME or NAME.out. */
static ph_status find_value(ph_loader *loader, const ph_frame *frame, ph_place place, const char *text, uint32_t *out) {
  const char *dot = strchr(text, '.');
  const char *name = dot != NULL ? ph_arena_copy(&loader->scratch, text, (size_t)(dot - text)) : text;
  if (name == NULL) return ph_fail_memory(loader->error);
  if (!ph_is_name(name))
    return ph_fail_at(loader->error, place, "'%s' is no value: write NAME, NODE.out, a number or =EXPRESSION", text);
  const ph_entry *entry = ph_frame_find(frame, name);
  if (entry == NULL) return fail_unknown(loader, frame, place, name);
  if (dot != NULL) return find_out(loader, entry, place, dot + 1, out);
  if (entry->value == PH_NONE)
    return ph_fail_at(loader->error, place, "'%s' has several outputs: say %s", name, list_outs(loader, entry));
  *out = entry->value;
  return PH_OK;
}

static ph_status add_scalar(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, const char *text,
                            uint32_t *out) {
  ph_model *model = loader->model;
  const ph_expr *expr;
  PH_TRY(ph_read_expr_text(loader, frame, text, node->place, &expr));
  const ph_expr **slot =
      ph_arena_push(loader->arena, &model->scalars, &model->scalar_count, &model->scalar_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(loader->error);
  *slot = expr;
  ph_model_value value = {
      .path = node->text, .place = node->place, .kind = PH_VALUE_SCALAR, .index = model->scalar_count - 1};
  return ph_model_add_value(loader, value, out);
}

ph_status ph_frame_value(ph_loader *loader, ph_frame *frame, const ph_yaml *node, uint32_t *out) {
  const char *text;
  PH_TRY(ph_read_text(loader, node, "a value", &text));
  ph_number number;
  if (text[0] == '=') return add_scalar(loader, frame, node, text + 1, out);
  if (ph_number_parse(text, &number)) return add_scalar(loader, frame, node, text, out);
  return find_value(loader, frame, node->place, text, out);
}
