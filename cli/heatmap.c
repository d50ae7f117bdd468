/* polyhead heatmap: values of a run as a picture. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "command.h"
#include "json.h"
#include "setup.h"

/* The values to draw. */
typedef struct choice {
  const char **paths; /* owned texts */
  uint32_t count;
  size_t capacity;
} choice;

static ph_status add_path(choice *chosen, const char *path, ph_error *error) {
  char *copy = strdup(path);
  if (copy == NULL || !ph_grow(&chosen->paths, &chosen->capacity, (size_t)chosen->count + 1, sizeof(*chosen->paths))) {
    free(copy);
    return ph_fail_memory(error);
  }
  chosen->paths[chosen->count++] = copy;
  return PH_OK;
}

static void free_choice(choice *chosen) {
  for (uint32_t i = 0; i < chosen->count; i++) free((char *)chosen->paths[i]);
  free(chosen->paths);
}

static ph_status add_matching(choice *chosen, const char *pattern, const ph_session *session, ph_error *error) {
  uint32_t before = chosen->count;
  for (uint32_t n = 0; n < ph_session_node_count(session); n++) {
    const ph_node_report *node = ph_session_node(session, n);
    const char *const alone[] = {node->path, NULL};
    for (const char *const *path = node->members != NULL ? node->members : alone; *path != NULL; path++)
      if (fnmatch(pattern, *path, 0) == 0) PH_TRY(add_path(chosen, *path, error));
  }
  if (chosen->count > before) return PH_OK;
  return ph_fail(error, PH_INVALID, "no value is called like '%s'; 'polyhead check' lists the nodes", pattern);
}

/* Names with * ? [ ] stand for all values that match, in the order of the graph. */
static ph_status choose(const cli_options *options, ph_context *context, ph_model *model, choice *chosen,
                        ph_error *error) {
  ph_session *session = NULL;
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < options->tensors.count && status == PH_OK; i++) {
    const char *path = options->tensors.items[i];
    if (strpbrk(path, "*?[") == NULL) {
      status = add_path(chosen, path, error);
      continue;
    }
    ph_session_options quiet = {.struct_size = sizeof(quiet), .device = "reference"};
    if (session == NULL) status = ph_session_create(context, model, &quiet, &session, error);
    if (status == PH_OK) status = ph_session_prepare(session, true, error);
    if (status == PH_OK) status = add_matching(chosen, path, session, error);
  }
  ph_session_destroy(session);
  return status;
}

static ph_status read_head(const cli_options *options, int64_t *out, ph_error *error) {
  char *end;
  *out = -1;
  if (options->head == NULL) return PH_OK;
  long long head = strtoll(options->head, &end, 10);
  if (*options->head == '\0' || *end != '\0' || head < 0)
    return ph_fail(error, PH_INVALID, "--head takes a number from 0 on, not '%s'", options->head);
  *out = head;
  return PH_OK;
}

static ph_status draw(const cli_options *options, const ph_session *session, uint32_t declared, const choice *chosen,
                      const char *format, char **out, size_t *out_size, ph_error *error) {
  const ph_tensor **tensors = ph_new_array(chosen->count, sizeof(*tensors));
  if (tensors == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < chosen->count; i++) tensors[i] = ph_session_output(session, declared + i)->tensor;
  const ph_output *first = ph_session_output(session, declared);
  uint32_t rank = first->tensor->rank;
  bool labelled = first->labels != NULL && rank >= 2;
  ph_heatmap_options how = {.struct_size = sizeof(how),
                            .title = options->tensors.items[0],
                            .names = chosen->paths,
                            .row_labels = labelled ? first->labels[rank - 2] : NULL,
                            .column_labels = labelled ? first->labels[rank - 1] : NULL};
  ph_status status = read_head(options, &how.head, error);
  if (status == PH_OK) status = ph_heatmap_draw(tensors, chosen->count, format, &how, out, out_size, error);
  free(tensors);
  return status;
}

static ph_status find_format(const cli_options *options, const char **out, ph_error *error) {
  if (options->tensors.count == 0)
    return ph_fail(error, PH_INVALID,
                   "heatmap needs the value to draw: --tensor PATH; 'polyhead check' lists the nodes");
  if (options->outputs.count != 1)
    return ph_fail(error, PH_INVALID, "heatmap needs one file to write: -o FILE.svg or -o FILE.png");
  const char *dot = strrchr(options->outputs.items[0], '.');
  *out = dot != NULL ? dot + 1 : "";
  if (strcmp(*out, "svg") == 0 || strcmp(*out, "png") == 0) return PH_OK;
  return ph_fail(error, PH_INVALID, "'%s' ends neither in .svg nor in .png", options->outputs.items[0]);
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  const char *format;
  PH_TRY(find_format(options, &format, error));
  ph_file_writer *file = NULL;
  ph_context *context = NULL;
  ph_model *model = NULL;
  ph_session *session = NULL;
  cli_inputs inputs = {0};
  choice chosen = {0};
  char *picture = NULL;
  size_t size = 0;
  ph_status status = ph_file_writer_create(options->outputs.items[0], &file, error);
  if (status == PH_OK) status = cli_model_open(options, &model, error);
  if (status == PH_OK) status = cli_inputs_open(options, &inputs, error);
  if (status == PH_OK) status = cli_context_open(options, &context, error);
  if (status == PH_OK) status = choose(options, context, model, &chosen, error);
  if (status == PH_OK)
    status = cli_session_open(options, context, model, &inputs, chosen.paths, chosen.count, &session, error);
  if (status == PH_OK) status = ph_session_run(session, error);
  if (status == PH_OK)
    status = draw(options, session, ph_model_output_count(model), &chosen, format, &picture, &size, error);
  if (status == PH_OK) status = ph_file_writer_put(file, picture, size, error);
  if (status == PH_OK) {
    status = ph_file_writer_commit(file, error);
    file = NULL;
  }
  if (status == PH_OK && result->json != NULL)
    status = cli_json_set(result->json, "file", cli_json_text(options->outputs.items[0]), error);
  ph_file_writer_abandon(file);
  free(picture);
  free_choice(&chosen);
  ph_session_destroy(session);
  ph_context_destroy(context);
  cli_inputs_close(&inputs);
  ph_model_destroy(model);
  return status;
}

const cli_command cli_heatmap = {
    .name = "heatmap",
    .arguments = "CONFIG",
    .least = 1,
    .most = 1,
    .options = CLI_DEVICE | CLI_WEIGHTS | CLI_INPUT | CLI_OUTPUT | CLI_DIM | CLI_RANDOM | CLI_TENSOR | CLI_HEAD |
               CLI_FALLBACK | CLI_COMMON,
    .summary = "draw a value of a run as coloured cells",
    .text =
        "Runs CONFIG and draws the value of --tensor into the file of -o, FILE.svg or FILE.png: [rows, columns],\n"
        "[heads, rows, columns] or, of the first sample, [batch, heads, rows, columns].  One head with --head, else "
        "all\n"
        "as a grid; several values, as in --tensor 'h.*.weights', as the rows of one.  Rows and columns are named by\n"
        "the labels of the config; small maps show their numbers.",
    .run = run,
};
