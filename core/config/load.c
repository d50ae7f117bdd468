/* ph_model_load(): a config file becomes a model. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/load_text.h"
#include "config/loader.h"
#include "config/weights.h"

/* ---- the top level ---- */

static ph_status read_head(ph_loader *loader, const ph_yaml *root) {
  static const char *const known[] = {"polyhead", "name",   "description", "dims",    "inputs", "weights",
                                      "state",    "blocks", "graph",       "outputs", "labels", "generate"};
  ph_model *model = loader->model;
  PH_TRY(ph_read_map(loader, root, "a config"));
  PH_TRY(ph_check_keys(loader, root, "a config", known, sizeof(known) / sizeof(known[0])));
  ph_yaml *version;
  PH_TRY(ph_require(loader, root, "a config", "polyhead", &version));
  ph_number number;
  if (!ph_yaml_number(version, &number) || !number.is_integer || number.integer != 1)
    return ph_fail_at(loader->error, version->place,
                      "polyhead: %s is no version of the language that is known here; there is polyhead: 1",
                      ph_yaml_describe(version, &loader->scratch));
  const ph_yaml *name = ph_yaml_get(root, "name"), *description = ph_yaml_get(root, "description");
  if (name != NULL) PH_TRY(ph_read_text(loader, name, "name", &model->name));
  if (description != NULL) PH_TRY(ph_read_text(loader, description, "description", &model->description));
  return PH_OK;
}

static void name_input_dim(ph_loader *loader, const ph_expr *expr) {
  const char *name = ph_expr_plain_name(expr);
  if (name != NULL) loader->dim_notes[ph_names_find(&loader->dims, name)].input = true;
}

static ph_status read_input(ph_loader *loader, const ph_yaml *node, ph_model_input *input) {
  static const char *const known[] = {"shape", "dtype", "default", "hold"};
  PH_TRY(ph_read_map(loader, node, "an input"));
  PH_TRY(ph_check_keys(loader, node, "an input", known, 4));
  ph_yaml *shape;
  PH_TRY(ph_require(loader, node, "an input", "shape", &shape));
  PH_TRY(ph_read_shape(loader, NULL, shape, input->dims, &input->rank));
  for (uint32_t i = 0; i < input->rank; i++) name_input_dim(loader, input->dims[i]);
  const ph_yaml *dtype = ph_yaml_get(node, "dtype"), *initial = ph_yaml_get(node, "default");
  const ph_yaml *hold = ph_yaml_get(node, "hold");
  if (dtype != NULL) PH_TRY(ph_read_dtype(loader, dtype, &input->dtype));
  if (initial != NULL) PH_TRY(ph_source_read(loader, NULL, initial, &input->initial));
  return hold != NULL ? ph_read_boolean(loader, hold, "hold", &input->hold) : PH_OK;
}

static ph_status read_inputs(ph_loader *loader, ph_frame *top, const ph_yaml *node) {
  ph_model *model = loader->model;
  if (node == NULL) return PH_OK;
  PH_TRY(ph_read_map(loader, node, "inputs"));
  model->inputs = ph_arena_array(loader->arena, node->count, sizeof(*model->inputs));
  if (model->inputs == NULL) return ph_fail_memory(loader->error);
  model->input_capacity = node->count;
  for (uint32_t i = 0; i < node->count; i++) {
    const ph_yaml_pair *pair = &node->pairs[i];
    if (!ph_is_name(pair->key))
      return ph_fail_at(loader->error, pair->place,
                        "'%s' is no name: an input takes letters, digits and '_', no digit first", pair->key);
    ph_model_input *input = &model->inputs[model->input_count++];
    *input = (ph_model_input){.name = pair->key, .place = pair->place, .dtype = PH_F32};
    PH_TRY(read_input(loader, pair->value, input));
    ph_entry entry = {.name = pair->key, .place = pair->place};
    PH_TRY(ph_model_add_value(
        loader, (ph_model_value){.path = pair->key, .place = pair->place, .kind = PH_VALUE_INPUT, .index = i},
        &entry.value));
    PH_TRY(ph_frame_add(loader, top, entry));
  }
  return PH_OK;
}

/* ---- the section `weights` ---- */

static ph_status read_prefixes(ph_loader *loader, const ph_yaml *node) {
  static const char *const none[] = {""};
  ph_model *model = loader->model;
  model->prefixes = none;
  model->prefix_count = 1;
  if (node == NULL) return PH_OK;
  const char *const *texts;
  PH_TRY(ph_read_texts(loader, node, "prefix", &texts, &model->prefix_count));
  const char **prefixes = ph_arena_array(loader->arena, model->prefix_count, sizeof(*prefixes));
  if (prefixes == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < model->prefix_count; i++) {
    const ph_yaml *at = node->kind == PH_YAML_LIST ? node->items[i] : node;
    bool has_round;
    PH_TRY(ph_key_expand(loader, NULL, texts[i], at->place, &prefixes[i], &has_round));
  }
  model->prefixes = prefixes;
  return PH_OK;
}

/* --weights replaces what the file says.  With --random a file that is only named by the config may be missing. */
static ph_status find_files(ph_loader *loader, const ph_yaml *node) {
  ph_model *model = loader->model;
  bool given = loader->options.weight_file_count > 0;
  const char *const *files = loader->options.weight_files;
  uint32_t count = loader->options.weight_file_count;
  if (!given && node != NULL) PH_TRY(ph_read_texts(loader, node, "file", &files, &count));
  const char **kept = ph_arena_array(loader->arena, count, sizeof(*kept));
  if (kept == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < count; i++) {
    const char *file =
        given ? ph_arena_copy(loader->arena, files[i], strlen(files[i])) : ph_path_resolve(loader, files[i]);
    if (file == NULL) return ph_fail_memory(loader->error);
    if (!given && model->random && access(file, F_OK) != 0)
      ph_loader_warn(loader, node->place, "%s is not there; --random makes its weights up", file);
    else
      kept[model->weight_file_count++] = file;
  }
  model->weight_files = kept;
  return PH_OK;
}

static ph_status read_weights(ph_loader *loader, ph_frame *top, const ph_yaml *node) {
  static const char *const known[] = {"file", "prefix", "tensors"};
  if (node != NULL) {
    PH_TRY(ph_read_map(loader, node, "weights"));
    PH_TRY(ph_check_keys(loader, node, "weights", known, 3));
  }
  PH_TRY(find_files(loader, node != NULL ? ph_yaml_get(node, "file") : NULL));
  PH_TRY(read_prefixes(loader, node != NULL ? ph_yaml_get(node, "prefix") : NULL));
  const ph_yaml *tensors = node != NULL ? ph_yaml_get(node, "tensors") : NULL;
  return tensors != NULL ? ph_weights_read(loader, top, tensors) : PH_OK;
}

static ph_status read_document(ph_loader *loader, ph_yaml *root) {
  ph_frame top = {.path = "", .first_path = "", .key_prefix = ""};
  ph_yaml *graph, *outputs;
  PH_TRY(read_head(loader, root));
  PH_TRY(ph_dims_read(loader, ph_yaml_get(root, "dims")));
  PH_TRY(ph_dims_override(loader));
  PH_TRY(ph_blocks_read(loader, ph_yaml_get(root, "blocks")));
  PH_TRY(read_inputs(loader, &top, ph_yaml_get(root, "inputs")));
  PH_TRY(read_weights(loader, &top, ph_yaml_get(root, "weights")));
  PH_TRY(ph_require(loader, root, "a config", "graph", &graph));
  PH_TRY(ph_states_read(loader, &top, ph_yaml_get(root, "state")));
  PH_TRY(ph_graph_read(loader, &top, graph));
  PH_TRY(ph_states_settle(loader, &top, ph_yaml_get(root, "state")));
  PH_TRY(ph_require(loader, root, "a config", "outputs", &outputs));
  PH_TRY(ph_outputs_read(loader, outputs));
  PH_TRY(ph_labels_read(loader, ph_yaml_get(root, "labels")));
  PH_TRY(ph_generate_read(loader, ph_yaml_get(root, "generate")));
  PH_TRY(ph_biases_settle(loader));
  ph_dims_finish(loader);
  ph_loader_warn_all(loader);
  return PH_OK;
}

/* ---- the model ---- */

static ph_status set_file(ph_model *model, const char *path, ph_error *error) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path, *dot = strrchr(base, '.');
  model->file = ph_arena_copy(&model->arena, path, strlen(path));
  model->folder = slash == NULL   ? "."
                  : slash == path ? "/"
                                  : ph_arena_copy(&model->arena, path, (size_t)(slash - path));
  model->name = ph_arena_copy(&model->arena, base, dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base));
  bool made = model->file != NULL && model->folder != NULL && model->name != NULL;
  return made ? PH_OK : ph_fail_memory(error);
}

static ph_status read_bytes(ph_loader *loader, const void *bytes, size_t size) {
  ph_yaml *root;
  PH_TRY(ph_yaml_parse(loader->arena, loader->model->file, bytes, size, &root, loader->error));
  return read_document(loader, root);
}

static ph_status read_file(ph_loader *loader, const char *path) {
  ph_file_map map;
  PH_TRY(ph_file_map_open(path, &map, loader->error));
  ph_status status = read_bytes(loader, map.data, map.size);
  ph_file_map_close(&map);
  return status;
}

/* `text` NULL: what is in the file. */
static ph_status load(const char *path, const char *text, const ph_model_options *options, ph_model **out,
                      ph_error *error) {
  ph_error local = PH_ERROR_INIT;
  ph_loader loader = {.error = &local};
  if (options != NULL) {
    size_t size = options->struct_size < sizeof(loader.options) ? options->struct_size : sizeof(loader.options);
    memcpy(&loader.options, options, size);
  }
  ph_model *model = calloc(1, sizeof(*model));
  if (model == NULL) return ph_fail_memory(error);
  if (pthread_mutex_init(&model->lock, NULL) != 0) {
    free(model);
    return ph_fail_memory(error);
  }
  model->random = loader.options.random;
  loader.model = model;
  loader.arena = &model->arena;
  ph_status status = set_file(model, path, &local);
  if (status == PH_OK) status = text != NULL ? read_bytes(&loader, text, strlen(text)) : read_file(&loader, path);
  ph_arena_free(&loader.scratch);
  if (status == PH_OK) {
    *out = model;
    return PH_OK;
  }
  ph_model_destroy(model);
  if (error != NULL) {
    uint32_t size = error->struct_size;
    *error = local;
    error->struct_size = size;
  }
  return status;
}

ph_status ph_model_load(const char *path, const ph_model_options *options, ph_model **out, ph_error *error) {
  return load(path, NULL, options, out, error);
}

ph_status ph_model_load_text(const char *path, const char *text, const ph_model_options *options, ph_model **out,
                             ph_error *error) {
  return load(path, text, options, out, error);
}

void ph_model_destroy(ph_model *model) {
  if (model == NULL) return;
  ph_weights_close(model);
  pthread_mutex_destroy(&model->lock);
  ph_arena arena = model->arena;
  ph_arena_free(&arena);
  free(model);
}

const char *ph_model_name(const ph_model *model) {
  return model->name;
}
uint32_t ph_model_input_count(const ph_model *model) {
  return model->input_count;
}
const char *ph_model_input_name(const ph_model *model, uint32_t index) {
  return index < model->input_count ? model->inputs[index].name : NULL;
}
ph_dtype ph_model_input_dtype(const ph_model *model, uint32_t index) {
  return index < model->input_count ? model->inputs[index].dtype : PH_DTYPE_NONE;
}
uint32_t ph_model_output_count(const ph_model *model) {
  return model->output_count;
}
const char *ph_model_output_alias(const ph_model *model, uint32_t index) {
  return index < model->output_count ? model->outputs[index].alias : NULL;
}
const char *ph_model_output_path(const ph_model *model, uint32_t index) {
  return index < model->output_count ? model->outputs[index].path : NULL;
}
