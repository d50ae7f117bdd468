/* The section `generate`, and files that are sought beside the config, then beside the weights. */
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "config/loader.h"

ph_status ph_find_beside(ph_loader *loader, const char *name, const char **out) {
  const ph_model *model = loader->model;
  *out = NULL;
  const char *path = ph_path_resolve(loader, name);
  if (path == NULL) return ph_fail_memory(loader->error);
  if (access(path, F_OK) == 0) *out = path;
  for (uint32_t i = 0; i < model->weight_file_count && *out == NULL && name[0] != '/'; i++) {
    const char *file = model->weight_files[i], *slash = strrchr(file, '/');
    size_t folder = slash != NULL ? (size_t)(slash - file) + 1 : 0;
    path = ph_arena_text(loader->arena, "%.*s%s", (int)folder, file, name);
    if (path == NULL) return ph_fail_memory(loader->error);
    if (access(path, F_OK) == 0) *out = path;
  }
  return PH_OK;
}

/* An input that holds integers, of this rank; by index. */
static ph_status read_input(ph_loader *loader, const ph_yaml *node, const char *what, uint32_t rank, uint32_t *out) {
  const ph_model *model = loader->model;
  const char *name;
  PH_TRY(ph_read_name(loader, node, what, &name));
  for (*out = 0; *out < model->input_count && strcmp(model->inputs[*out].name, name) != 0;) ++*out;
  if (*out == model->input_count) {
    const char **names = ph_arena_array(&loader->scratch, model->input_count, sizeof(*names));
    if (names == NULL) return ph_fail_memory(loader->error);
    for (uint32_t i = 0; i < model->input_count; i++) names[i] = model->inputs[i].name;
    return ph_fail_at(loader->error, node->place, "there is no input '%s'%s", name,
                      ph_loader_hint(loader, name, names, model->input_count));
  }
  const ph_model_input *input = &model->inputs[*out];
  if ((input->dtype == PH_I64 || input->dtype == PH_I32) && input->rank == rank) return PH_OK;
  return ph_fail_at(loader->error, node->place, "%s must be an input of integers, %s; '%s' is %s with %u axes", what,
                    rank == 2 ? "[batch, length]" : "[batch]", name, ph_dtype_name(input->dtype), input->rank);
}

static ph_status read_output(ph_loader *loader, const ph_yaml *node, uint32_t *out) {
  const ph_model *model = loader->model;
  const char *name;
  PH_TRY(ph_read_text(loader, node, "logits", &name));
  const char **names = ph_arena_array(&loader->scratch, model->output_count, sizeof(*names));
  if (names == NULL) return ph_fail_memory(loader->error);
  for (*out = 0; *out < model->output_count; ++*out) {
    names[*out] = model->outputs[*out].alias;
    if (strcmp(model->outputs[*out].alias, name) == 0 || strcmp(model->outputs[*out].path, name) == 0) return PH_OK;
  }
  return ph_fail_at(loader->error, node->place, "there is no output '%s'%s", name,
                    ph_loader_hint(loader, name, names, model->output_count));
}

/* An integer is an id; text, also a number in quotes, is looked up in the vocabulary. */
static ph_status read_token(ph_loader *loader, const ph_yaml *node, const char *what, ph_token *out) {
  ph_number number;
  if (!ph_yaml_number(node, &number)) return ph_read_text(loader, node, what, &out->text);
  if (!number.is_integer || number.integer < 0)
    return ph_fail_at(loader->error, node->place, "%s must be a token or an id, not %s", what,
                      ph_yaml_describe(node, &loader->scratch));
  *out = (ph_token){.id = number.integer};
  return PH_OK;
}

static ph_status read_stops(ph_loader *loader, const ph_yaml *node, ph_generation *generation) {
  PH_TRY(ph_read_list(loader, node, "stop"));
  ph_token *stops = ph_arena_array(loader->arena, node->count, sizeof(*stops));
  if (stops == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < node->count; i++) PH_TRY(read_token(loader, node->items[i], "a stop token", &stops[i]));
  generation->stops = stops;
  generation->stop_count = node->count;
  return PH_OK;
}

ph_status ph_generate_read(ph_loader *loader, const ph_yaml *node) {
  static const char *const known[] = {"ids",   "past", "logits", "source", "vocabulary", "source_vocabulary",
                                      "start", "stop"};
  static const char what[] = "generate";
  if (node == NULL) return PH_OK;
  PH_TRY(ph_read_map(loader, node, what));
  PH_TRY(ph_check_keys(loader, node, what, known, sizeof(known) / sizeof(known[0])));
  ph_generation *generation = ph_arena_alloc(loader->arena, sizeof(*generation));
  if (generation == NULL) return ph_fail_memory(loader->error);
  generation->source = PH_NONE;
  ph_yaml *ids, *past, *logits, *vocabulary, *start;
  PH_TRY(ph_require(loader, node, what, "ids", &ids));
  PH_TRY(ph_require(loader, node, what, "past", &past));
  PH_TRY(ph_require(loader, node, what, "logits", &logits));
  PH_TRY(ph_require(loader, node, what, "vocabulary", &vocabulary));
  PH_TRY(ph_require(loader, node, what, "start", &start));
  PH_TRY(read_input(loader, ids, "ids", 2, &generation->ids));
  PH_TRY(read_input(loader, past, "past", 1, &generation->past));
  PH_TRY(read_output(loader, logits, &generation->logits));
  PH_TRY(ph_read_text(loader, vocabulary, "vocabulary", &generation->vocabulary));
  PH_TRY(ph_find_beside(loader, generation->vocabulary, &generation->vocabulary_path));
  PH_TRY(read_token(loader, start, "start", &generation->start));
  const ph_yaml *source = ph_yaml_get(node, "source"), *other = ph_yaml_get(node, "source_vocabulary");
  const ph_yaml *stop = ph_yaml_get(node, "stop");
  if (other != NULL && source == NULL)
    return ph_fail_at(loader->error, other->place, "source_vocabulary needs 'source', the input that it is for");
  if (source != NULL) PH_TRY(read_input(loader, source, "source", 2, &generation->source));
  if (other != NULL) {
    PH_TRY(ph_read_text(loader, other, "source_vocabulary", &generation->source_vocabulary));
    PH_TRY(ph_find_beside(loader, generation->source_vocabulary, &generation->source_vocabulary_path));
  }
  if (stop != NULL) PH_TRY(read_stops(loader, stop, generation));
  loader->model->generation = generation;
  return PH_OK;
}

const ph_generation *ph_model_generation(const ph_model *model) {
  return model->generation;
}
