/* The section `labels`: texts for the places along a dim. */
#include <inttypes.h>
#include <string.h>

#include "config/loader.h"

/* "小红，很" is one text: the writer most likely meant two. */
static const char *full_width_comma(ph_loader *loader, const ph_yaml *list) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (strstr(list->items[i]->text, "，") == NULL) continue;
    const char *hint = ph_arena_text(&loader->scratch, "; '%s' holds a full-width comma: labels are separated by ','",
                                     list->items[i]->text);
    return hint != NULL ? hint : "";
  }
  return "";
}

static ph_status check_count(ph_loader *loader, uint32_t dim, const ph_yaml *list, bool *out_keep) {
  const ph_model_dim *row = &loader->model->dims[dim];
  ph_dim_note *note = &loader->dim_notes[dim];
  const ph_expr *expr;
  int64_t extent;
  PH_TRY(
      ph_place_prefix(loader->error, row->place, ph_expr_parse(loader->arena, row->name, NULL, &expr, loader->error)));
  PH_TRY(ph_dims_evaluate(loader, expr, row->place, &extent));
  *out_keep = extent == list->count;
  if (*out_keep) return PH_OK;
  if (!note->overridden)
    return ph_fail_at(loader->error, list->place, "%u labels for dim '%s', which is %" PRId64 "%s", list->count,
                      row->name, extent, full_width_comma(loader, list));
  ph_loader_warn(loader, list->place, "the %u labels of '%s' are dropped: --dim made it %" PRId64, list->count,
                 row->name, extent);
  return PH_OK;
}

static ph_status read_texts(ph_loader *loader, const ph_yaml *list, const char *const **out) {
  const char **texts = ph_arena_array(loader->arena, list->count, sizeof(*texts));
  if (texts == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->items[i]->kind != PH_YAML_SCALAR)
      return ph_fail_at(loader->error, list->items[i]->place, "a label must be text, not %s",
                        ph_yaml_describe(list->items[i], &loader->scratch));
    texts[i] = list->items[i]->text; /* `no`, `null` and 7 are words here */
  }
  *out = texts;
  return PH_OK;
}

/* {ids: INPUT, vocabulary: FILE}.  A file that is not there is no error: weights are often looked at without it. */
static ph_status read_ids(ph_loader *loader, const ph_yaml *node, ph_model_labels *labels, bool *out_keep) {
  static const char *const known[] = {"ids", "vocabulary"};
  const ph_model *model = loader->model;
  ph_yaml *ids, *vocabulary;
  const char *name, *file;
  PH_TRY(ph_check_keys(loader, node, "labels", known, 2));
  PH_TRY(ph_require(loader, node, "labels", "ids", &ids));
  PH_TRY(ph_require(loader, node, "labels", "vocabulary", &vocabulary));
  PH_TRY(ph_read_name(loader, ids, "ids", &name));
  PH_TRY(ph_read_text(loader, vocabulary, "vocabulary", &file));
  labels->ids_axis = PH_NONE;
  for (uint32_t i = 0; i < model->input_count; i++) {
    const ph_model_input *input = &model->inputs[i];
    if (strcmp(input->name, name) != 0 || (input->dtype != PH_I64 && input->dtype != PH_I32)) continue;
    labels->ids = i;
    for (uint32_t axis = 0; axis < input->rank; axis++) {
      const char *dim = ph_expr_plain_name(input->dims[axis]);
      if (dim != NULL && strcmp(dim, labels->dim) == 0) labels->ids_axis = axis;
    }
  }
  if (labels->ids_axis == PH_NONE)
    return ph_fail_at(loader->error, ids->place, "'%s' is no input of integers with an axis '%s'", name, labels->dim);
  PH_TRY(ph_find_beside(loader, file, &labels->vocabulary));
  *out_keep = labels->vocabulary != NULL;
  if (!*out_keep && model->weight_file_count > 0)
    ph_loader_warn(loader, vocabulary->place,
                   "the labels of '%s' are dropped: %s is neither beside the config nor beside the weights",
                   labels->dim, file);
  return PH_OK;
}

static ph_status read_labels(ph_loader *loader, const ph_yaml_pair *pair) {
  ph_model *model = loader->model;
  uint32_t dim = ph_names_find(&loader->dims, pair->key);
  const char *const *names = ph_names_list(&loader->dims, &loader->scratch);
  if (dim == PH_NONE)
    return ph_fail_at(loader->error, pair->place, "there is no dim '%s' that labels could belong to%s", pair->key,
                      ph_loader_hint(loader, pair->key, names, loader->dims.count));
  ph_model_labels labels = {.dim = pair->key, .place = pair->place};
  bool keep = true;
  if (pair->value->kind == PH_YAML_MAP) {
    PH_TRY(read_ids(loader, pair->value, &labels, &keep));
  } else {
    PH_TRY(ph_read_list(loader, pair->value, "labels"));
    labels.count = pair->value->count;
    PH_TRY(read_texts(loader, pair->value, &labels.texts));
    PH_TRY(check_count(loader, dim, pair->value, &keep));
  }
  loader->dim_notes[dim].used = true;
  if (!loader->dim_notes[dim].axis)
    ph_loader_warn(loader, pair->place, "the labels of '%s' match no axis: no shape has it as an extent", pair->key);
  if (!keep) return PH_OK;
  ph_model_labels *slot =
      ph_arena_push(loader->arena, &model->labels, &model->label_count, &model->label_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(loader->error);
  *slot = labels;
  return PH_OK;
}

ph_status ph_labels_read(ph_loader *loader, const ph_yaml *node) {
  if (node == NULL) return PH_OK;
  PH_TRY(ph_read_map(loader, node, "labels"));
  for (uint32_t i = 0; i < node->count; i++) PH_TRY(read_labels(loader, &node->pairs[i]));
  return PH_OK;
}
