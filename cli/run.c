/* polyhead run: runs a config and prints or writes its outputs. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "profile.h"
#include "records.h"
#include "saves.h"
#include "setup.h"

static bool is_declared(const ph_model *model, const char *path) {
  for (uint32_t i = 0; i < ph_model_output_count(model); i++)
    if (strcmp(ph_model_output_alias(model, i), path) == 0 || strcmp(ph_model_output_path(model, i), path) == 0)
      return true;
  return false;
}

/* The paths of -o that are no outputs of the config, each once. */
static ph_status paths_to_keep(const cli_saves *saves, const ph_model *model, const char ***out, uint32_t *out_count,
                               ph_error *error) {
  *out = ph_new_array(saves->count, sizeof(char *));
  if (*out == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < saves->count; i++) {
    bool known = is_declared(model, saves->pairs[i].name);
    for (uint32_t j = 0; j < *out_count; j++) known = known || strcmp((*out)[j], saves->pairs[i].name) == 0;
    if (!known) (*out)[(*out_count)++] = saves->pairs[i].name;
  }
  return PH_OK;
}

static void print_outputs(const ph_session *session) {
  for (uint32_t i = 0; i < ph_session_output_count(session); i++) {
    const ph_output *output = ph_session_output(session, i);
    ph_print_options how = {.struct_size = sizeof(how), .labels = output->labels};
    printf("%s%s  %s\n", i > 0 ? "\n" : "", output->alias, cli_type_text(output->tensor).text);
    ph_tensor_print(stdout, output->tensor, &how);
  }
}

static json_t *labels_json(const ph_output *output) {
  if (output->labels == NULL) return json_null();
  json_t *axes = json_array();
  for (uint32_t axis = 0; axis < output->tensor->rank; axis++) {
    const char *const *texts = output->labels[axis];
    json_t *list = texts != NULL ? json_array() : json_null();
    for (int64_t i = 0; texts != NULL && i < output->tensor->dims[axis]; i++)
      list = cli_json_append(list, cli_json_text(texts[i]));
    axes = cli_json_append(axes, list);
  }
  return axes;
}

static json_t *outputs_json(const ph_session *session) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < ph_session_output_count(session); i++) {
    const ph_output *output = ph_session_output(session, i);
    const ph_tensor *tensor = output->tensor;
    array = cli_json_append(array, json_pack("{so so ss so so so}", "name", cli_json_text(output->alias), "path",
                                             cli_json_text(output->path), "dtype", ph_dtype_text(tensor->dtype),
                                             "shape", cli_json_list(tensor->rank, tensor->dims), "labels",
                                             labels_json(output), "values", cli_json_values(tensor)));
  }
  return array;
}

static json_t *files_json(const cli_saves *saves, const ph_session *session) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < saves->count; i++) {
    const ph_tensor *tensor = cli_output_find(session, saves->pairs[i].name)->tensor;
    array =
        cli_json_append(array, json_pack("{so so ss so}", "path", cli_json_text(saves->pairs[i].name), "file",
                                         cli_json_text(saves->pairs[i].value), "dtype", ph_dtype_text(tensor->dtype),
                                         "shape", cli_json_list(tensor->rank, tensor->dims)));
  }
  return array;
}

static ph_status fill_document(const cli_options *options, const cli_saves *saves, const ph_model *model,
                               ph_session *session, json_t *json, ph_error *error) {
  PH_TRY(cli_json_set(json, "model", cli_json_text(ph_model_name(model)), error));
  PH_TRY(cli_json_set(json, "device", cli_json_device(ph_session_device(session)), error));
  if (saves->count > 0)
    PH_TRY(cli_json_set(json, "files", files_json(saves, session), error));
  else
    PH_TRY(cli_json_set(json, "outputs", outputs_json(session), error));
  if (options->profile) PH_TRY(cli_profile_fill(session, json, error));
  return PH_OK;
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  cli_saves saves = {0};
  cli_records records = {0};
  cli_inputs inputs = {0};
  ph_model *model = NULL;
  ph_context *context = NULL;
  ph_session *session = NULL;
  const char **keep = NULL;
  uint32_t keep_count = 0;
  ph_status status = cli_saves_open(options, &saves, error);
  if (status == PH_OK) status = cli_records_open(options, &records, error);
  if (status == PH_OK) status = cli_model_open(options, &model, error);
  if (status == PH_OK) status = cli_inputs_open(options, &inputs, error);
  if (status == PH_OK) status = paths_to_keep(&saves, model, &keep, &keep_count, error);
  if (status == PH_OK) status = cli_context_open(options, &context, error);
  if (status == PH_OK) status = cli_session_open(options, context, model, &inputs, keep, keep_count, &session, error);
  if (status == PH_OK) status = ph_session_run(session, error);
  if (status == PH_OK) cli_tell_moved(session);
  if (status == PH_OK && saves.count > 0) status = cli_saves_write(&saves, session, error);
  if (status == PH_OK) status = cli_records_write(&records, session, error);
  if (status == PH_OK && result->json != NULL)
    status = fill_document(options, &saves, model, session, result->json, error);
  if (status == PH_OK && result->json == NULL && saves.count == 0) print_outputs(session);
  if (status == PH_OK && result->json == NULL && options->profile) status = cli_profile_print(session, error);
  ph_session_destroy(session);
  ph_context_destroy(context);
  ph_model_destroy(model);
  cli_inputs_close(&inputs);
  cli_records_close(&records);
  cli_saves_close(&saves);
  free(keep);
  return status;
}

const cli_command cli_run = {
    .name = "run",
    .arguments = "CONFIG",
    .least = 1,
    .most = 1,
    .options = CLI_DEVICE | CLI_WEIGHTS | CLI_INPUT | CLI_OUTPUT | CLI_DIM | CLI_RANDOM | CLI_PROFILE | CLI_REPORT |
               CLI_TRACE | CLI_FALLBACK | CLI_COMMON,
    .summary = "run a config and print or write its outputs",
    .text = "Runs CONFIG on a device.  Without -o every output is printed: name, type, shape and values, shortened.\n"
            "With -o the values named go to files and nothing is printed; PATH is an output or any value on the way,\n"
            "and values for the same .npz or .safetensors share it.  Files appear whole or not at all.",
    .run = run,
};
