/* Typed reading of YAML nodes; see loader.h. */
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/text.h"
#include "config/loader.h"

void ph_loader_warn(ph_loader *loader, ph_place place, const char *format, ...) {
  if (loader->options.warn == NULL) return;
  ph_text text = {0};
  ph_text_add(&text, "%s:%u:%u: warning: ", place.file, place.line, place.column);
  char sentence[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof(sentence), format, arguments);
  va_end(arguments);
  ph_text_add(&text, "%s", sentence);
  if (!text.failed) loader->options.warn(loader->options.warn_user, text.data);
  ph_text_free(&text);
}

const char *ph_loader_hint(ph_loader *loader, const char *name, const char *const *names, size_t count) {
  bool worth_it = names != NULL && strlen(name) > 1; /* every letter is near every other */
  const char *near = worth_it ? ph_nearest(name, names, count) : NULL;
  const char *hint = near != NULL ? ph_arena_text(&loader->scratch, "; did you mean '%s'?", near) : NULL;
  return hint != NULL ? hint : "";
}

bool ph_is_name(const char *text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return text[0] != '\0' && !(text[0] >= '0' && text[0] <= '9') && text[strspn(text, letters)] == '\0';
}

static ph_status fail_kind(ph_loader *loader, const ph_yaml *node, const char *what, const char *expected) {
  /* {i} without quotes reads as a mapping of nothing. */
  bool braces = node->kind == PH_YAML_MAP && node->count == 1 && ph_yaml_is_null(node->pairs[0].value);
  return ph_fail_at(loader->error, node->place, "%s must be %s, not %s%s", what, expected,
                    ph_yaml_describe(node, &loader->scratch), braces ? "; text that begins with '{' needs quotes" : "");
}

ph_status ph_read_map(ph_loader *loader, const ph_yaml *node, const char *what) {
  return node->kind == PH_YAML_MAP ? PH_OK : fail_kind(loader, node, what, "a mapping");
}

ph_status ph_read_list(ph_loader *loader, const ph_yaml *node, const char *what) {
  return node->kind == PH_YAML_LIST ? PH_OK : fail_kind(loader, node, what, "a list");
}

ph_status ph_read_text(ph_loader *loader, const ph_yaml *node, const char *what, const char **out) {
  if (node->kind != PH_YAML_SCALAR || ph_yaml_is_null(node)) return fail_kind(loader, node, what, "text");
  *out = node->text;
  return PH_OK;
}

ph_status ph_read_name(ph_loader *loader, const ph_yaml *node, const char *what, const char **out) {
  PH_TRY(ph_read_text(loader, node, what, out));
  if (!ph_is_name(*out))
    return ph_fail_at(loader->error, node->place, "'%s' is no name: %s takes letters, digits and '_', no digit first",
                      *out, what);
  return PH_OK;
}

ph_status ph_read_boolean(ph_loader *loader, const ph_yaml *node, const char *what, bool *out) {
  return ph_yaml_boolean(node, out) ? PH_OK : fail_kind(loader, node, what, "true or false");
}

ph_status ph_read_texts(ph_loader *loader, const ph_yaml *node, const char *what, const char *const **out,
                        uint32_t *out_count) {
  bool list = node->kind == PH_YAML_LIST;
  if (list && node->count == 0) return ph_fail_at(loader->error, node->place, "%s is an empty list", what);
  *out_count = list ? node->count : 1;
  const char **texts = ph_arena_array(loader->arena, *out_count, sizeof(*texts));
  if (texts == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < *out_count; i++) PH_TRY(ph_read_text(loader, list ? node->items[i] : node, what, &texts[i]));
  *out = texts;
  return PH_OK;
}

ph_status ph_read_dtype(ph_loader *loader, const ph_yaml *node, ph_dtype *out) {
  static const char *const names[] = {"f32", "f16", "bf16", "i64", "i32", "bool"};
  const char *text = NULL;
  PH_TRY(ph_read_text(loader, node, "dtype", &text));
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *out = ph_dtype_named(text);
    return PH_OK;
  }
  return ph_fail_at(loader->error, node->place, "'%s' is no dtype; there are f32, f16, bf16, i64, i32 and bool", text);
}

/* ---- expressions ---- */

typedef struct name_check {
  ph_loader *loader;
  const char *unknown;
} name_check;

static void check_name(void *user, const char *name) {
  name_check *check = user;
  uint32_t index = ph_names_find(&check->loader->dims, name);
  if (index == PH_NONE)
    check->unknown = name;
  else
    check->loader->dim_notes[index].used = true;
}

ph_status ph_read_expr_text(ph_loader *loader, const ph_frame *frame, const char *text, ph_place place,
                            const ph_expr **out) {
  const int64_t *round = frame != NULL ? frame->round : NULL;
  PH_TRY(ph_place_prefix(loader->error, place, ph_expr_parse(loader->arena, text, round, out, loader->error)));
  name_check check = {.loader = loader};
  ph_expr_names(*out, check_name, &check);
  if (check.unknown == NULL) return PH_OK;
  if (frame != NULL && ph_frame_find(frame, check.unknown) != NULL)
    return ph_fail_at(loader->error, place, "'%s' is a value; only dims and numbers can stand here", check.unknown);
  const char *const *names = ph_names_list(&loader->dims, &loader->scratch);
  return ph_fail_at(loader->error, place, "there is no dim '%s'%s", check.unknown,
                    ph_loader_hint(loader, check.unknown, names, loader->dims.count));
}

ph_status ph_read_expr(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, const char *what,
                       const ph_expr **out) {
  if (node->kind != PH_YAML_SCALAR || ph_yaml_is_null(node))
    return fail_kind(loader, node, what, "a number or an expression");
  return ph_read_expr_text(loader, frame, node->text, node->place, out);
}

ph_status ph_read_shape(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, const ph_expr *dims[PH_MAX_RANK],
                        uint32_t *out_rank) {
  PH_TRY(ph_read_list(loader, node, "shape"));
  if (node->count > PH_MAX_RANK)
    return ph_fail_at(loader->error, node->place, "the shape has %u axes; %d is the most", node->count, PH_MAX_RANK);
  for (uint32_t i = 0; i < node->count; i++) {
    PH_TRY(ph_read_expr(loader, frame, node->items[i], "an extent", &dims[i]));
    const char *name = ph_expr_plain_name(dims[i]);
    if (name != NULL) loader->dim_notes[ph_names_find(&loader->dims, name)].axis = true;
  }
  *out_rank = node->count;
  return PH_OK;
}

/* ---- keys ---- */

ph_status ph_check_keys(ph_loader *loader, const ph_yaml *map, const char *what, const char *const *known,
                        size_t count) {
  for (uint32_t i = 0; i < map->count; i++) {
    bool found = false;
    for (size_t k = 0; k < count && !found; k++) found = strcmp(map->pairs[i].key, known[k]) == 0;
    if (!found)
      return ph_fail_at(loader->error, map->pairs[i].place, "%s has no '%s'%s", what, map->pairs[i].key,
                        ph_loader_hint(loader, map->pairs[i].key, known, count));
  }
  return PH_OK;
}

ph_status ph_require(ph_loader *loader, const ph_yaml *map, const char *what, const char *key, ph_yaml **out) {
  *out = ph_yaml_get(map, key);
  return *out != NULL ? PH_OK : ph_fail_at(loader->error, map->place, "%s needs '%s'", what, key);
}
