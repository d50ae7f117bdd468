/* Reading WEIGHT: KEY | {key, shape, dtype, init}, and the keys that it may be found under. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "config/loader.h"
#include "config/weights.h"

/* Whether the text of an expression names the round of a repeat. */
static bool names_round(const char *text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  while (*text != '\0') {
    size_t length = strspn(text, letters);
    if (length == 1 && *text == 'i') return true;
    text += length > 0 ? length : 1;
  }
  return false;
}

static ph_status expand_part(ph_loader *loader, const int64_t *round, const char *part, ph_place place, ph_text *to,
                             bool *out_round) {
  const ph_frame frame = {.round = round};
  const ph_expr *expr;
  int64_t value;
  PH_TRY(ph_read_expr_text(loader, &frame, part, place, &expr));
  PH_TRY(ph_dims_evaluate(loader, expr, place, &value));
  ph_dims_fix(loader, expr);
  *out_round = *out_round || names_round(part);
  ph_text_add(to, "%" PRId64, value);
  return PH_OK;
}

static ph_status expand(ph_loader *loader, const int64_t *round, const char *text, ph_place place, ph_text *to,
                        bool *out_round) {
  for (const char *at = text; *at != '\0';) {
    size_t plain = strcspn(at, "{}");
    ph_text_put(to, at, plain);
    at += plain;
    if (*at == '\0') break;
    const char *end = *at == '{' ? strpbrk(at + 1, "{}") : NULL;
    if (end == NULL || *end != '}')
      return ph_fail_at(loader->error, place,
                        "'%s' holds a brace without its partner; {EXPRESSION} stands for its value", text);
    char *part = ph_arena_copy(&loader->scratch, at + 1, (size_t)(end - at - 1));
    if (part == NULL) return ph_fail_memory(loader->error);
    PH_TRY(expand_part(loader, round, part, place, to, out_round));
    at = end + 1;
  }
  return PH_OK;
}

ph_status ph_key_expand(ph_loader *loader, const int64_t *round, const char *text, ph_place place, const char **out,
                        bool *out_round) {
  *out_round = false;
  *out = text;
  if (strpbrk(text, "{}") == NULL) return PH_OK;
  ph_text to = {0};
  ph_status status = expand(loader, round, text, place, &to, out_round);
  if (status == PH_OK) {
    *out = to.failed ? NULL : ph_arena_copy(loader->arena, to.data != NULL ? to.data : "", to.length);
    if (*out == NULL) status = ph_fail_memory(loader->error);
  }
  ph_text_free(&to);
  return status;
}

/* ---- weights ---- */

static ph_status read_keys(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_model_weight *weight) {
  const char *const *texts;
  PH_TRY(ph_read_texts(loader, node, "key", &texts, &weight->key_count));
  const char **keys = ph_arena_array(loader->arena, weight->key_count, sizeof(*keys));
  if (keys == NULL) return ph_fail_memory(loader->error);
  bool all_with_round = true;
  for (uint32_t i = 0; i < weight->key_count; i++) {
    const ph_yaml *at = node->kind == PH_YAML_LIST ? node->items[i] : node;
    bool has_round;
    PH_TRY(ph_key_expand(loader, frame->round, texts[i], at->place, &keys[i], &has_round));
    all_with_round = all_with_round && has_round;
    keys[i] = ph_arena_text(loader->arena, "%s%s", frame->key_prefix, keys[i]);
    if (keys[i] == NULL) return ph_fail_memory(loader->error);
  }
  if (!all_with_round && !frame->round_in_prefix) loader->plain_keys++;
  weight->keys = keys;
  return PH_OK;
}

static ph_status read_weight(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_model_weight *weight) {
  static const char *const known[] = {"key", "shape", "dtype", "init"};
  if (node->kind == PH_YAML_SCALAR) return read_keys(loader, frame, node, weight);
  PH_TRY(ph_read_map(loader, node, "a weight that is no key"));
  PH_TRY(ph_check_keys(loader, node, "a weight", known, 4));
  const ph_yaml *key = ph_yaml_get(node, "key"), *shape = ph_yaml_get(node, "shape"),
                *dtype = ph_yaml_get(node, "dtype"), *init = ph_yaml_get(node, "init");
  if (key == NULL && init == NULL)
    return ph_fail_at(loader->error, node->place, "a weight needs a key, an init or both");
  if (key != NULL) PH_TRY(read_keys(loader, frame, key, weight));
  if (dtype != NULL) PH_TRY(ph_read_dtype(loader, dtype, &weight->dtype));
  if (init != NULL) PH_TRY(ph_source_read(loader, frame, init, &weight->init));
  if (shape == NULL) return PH_OK;
  weight->has_shape = true;
  PH_TRY(ph_read_shape(loader, frame, shape, weight->dims, &weight->rank));
  for (uint32_t i = 0; i < weight->rank; i++) ph_dims_pin(loader, weight->dims[i]);
  return PH_OK;
}

/* The weight of round 0 that this one is, where the repeat is shared and the key does not name the round. */
static uint32_t find_first(const ph_model *model, const char *first_path, const ph_model_weight *weight) {
  bool elsewhere = strcmp(first_path, weight->path) != 0;
  for (uint32_t i = 0; elsewhere && i < model->weight_count; i++) {
    const ph_model_weight *first = &model->weights[i];
    if (strcmp(first->path, first_path) != 0) continue;
    bool same = first->key_count == weight->key_count;
    for (uint32_t k = 0; same && k < weight->key_count; k++) same = strcmp(first->keys[k], weight->keys[k]) == 0;
    return same ? i : model->weight_count;
  }
  return model->weight_count;
}

static ph_status add_weight(ph_loader *loader, ph_model_weight weight, ph_yaml *source, uint32_t *out) {
  ph_model *model = loader->model;
  ph_model_weight *slot =
      ph_arena_push(loader->arena, &model->weights, &model->weight_count, &model->weight_capacity, sizeof(*slot));
  ph_yaml **source_slot = ph_arena_push(&loader->scratch, &loader->weight_sources, &loader->weight_source_count,
                                        &loader->weight_source_capacity, sizeof(*source_slot));
  if (slot == NULL || source_slot == NULL || weight.path == NULL) return ph_fail_memory(loader->error);
  *slot = weight;
  *source_slot = source;
  ph_model_value value = {
      .path = weight.path, .place = weight.place, .kind = PH_VALUE_WEIGHT, .index = model->weight_count - 1};
  return ph_model_add_value(loader, value, out);
}

ph_status ph_weights_read(ph_loader *loader, ph_frame *frame, const ph_yaml *node) {
  PH_TRY(ph_read_map(loader, node, "a list of weights, NAME: KEY or NAME: {..},"));
  for (uint32_t i = 0; i < node->count; i++) {
    const ph_yaml_pair *pair = &node->pairs[i];
    if (!ph_is_name(pair->key))
      return ph_fail_at(loader->error, pair->place,
                        "'%s' is no name: a weight takes letters, digits and '_', no digit first", pair->key);
    ph_model_weight weight = {.path = ph_arena_text(loader->arena, "%s%s", frame->path, pair->key),
                              .place = pair->place};
    PH_TRY(read_weight(loader, frame, pair->value, &weight));
    const char *first_path = ph_arena_text(&loader->scratch, "%s%s", frame->first_path, pair->key);
    if (first_path == NULL || weight.path == NULL) return ph_fail_memory(loader->error);
    weight.first = find_first(loader->model, first_path, &weight);
    uint32_t value;
    PH_TRY(add_weight(loader, weight, pair->value, &value));
    PH_TRY(ph_frame_add(loader, frame, (ph_entry){.name = pair->key, .place = pair->place, .value = value}));
  }
  return PH_OK;
}

ph_status ph_weight_add_plain(ph_loader *loader, const char *path, const char *key, ph_yaml *source, uint32_t *out) {
  const char **keys = ph_arena_array(loader->arena, 1, sizeof(*keys));
  if (keys == NULL) return ph_fail_memory(loader->error);
  keys[0] = key;
  ph_model_weight weight = {
      .path = path, .place = source->place, .keys = keys, .key_count = 1, .first = loader->model->weight_count};
  return add_weight(loader, weight, source, out);
}

ph_status ph_biases_settle(ph_loader *loader) {
  if (loader->bias_count > 0) PH_TRY(ph_weights_open(loader->model, loader->error));
  for (uint32_t i = 0; i < loader->bias_count; i++) {
    const ph_pending_bias *bias = &loader->biases[i];
    if (!ph_weights_has(loader->model, bias->key)) continue;
    PH_TRY(ph_weight_add_plain(loader, bias->path, bias->key, bias->source, bias->input));
    loader->model->values[*bias->input].used = true;
  }
  return PH_OK;
}
