/* Opening plugins, configs, inputs and sessions as the options say. */
#include "setup.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "output.h"

static void log_message(void *user, ph_log_level level, const char *text) {
  (void)user;
  if (level == PH_LOG_ERROR)
    cli_print_error(text);
  else if (level == PH_LOG_WARN)
    cli_print_warning(text);
  else
    fprintf(stderr, "polyhead: %s\n", text);
}

static ph_status log_level(const cli_options *options, ph_log_level *out, ph_error *error) {
  static const char *const names[] = {"error", "warn", "info", "debug"};
  *out = options->verbose == 0 ? PH_LOG_WARN : options->verbose == 1 ? PH_LOG_INFO : PH_LOG_DEBUG;
  const char *wanted = getenv("POLYHEAD_LOG");
  if (wanted == NULL || wanted[0] == '\0' || options->verbose > 0) return PH_OK;
  for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcasecmp(wanted, names[i]) != 0) continue;
    *out = (ph_log_level)i;
    return PH_OK;
  }
  return ph_fail(error, PH_INVALID, "POLYHEAD_LOG takes error, warn, info or debug, not '%s'", wanted);
}

ph_status cli_context_options(const cli_options *options, ph_context_options *out, ph_error *error) {
  *out = (ph_context_options){.struct_size = sizeof(*out),
                              .plugins = options->plugins.items,
                              .plugin_count = options->plugins.count,
                              .log = log_message};
  return log_level(options, &out->log_level, error);
}

ph_status cli_context_open(const cli_options *options, ph_context **out, ph_error *error) {
  ph_context_options wanted;
  PH_TRY(cli_context_options(options, &wanted, error));
  return ph_context_create(&wanted, out, error);
}

static void warn(void *user, const char *text) {
  (void)user;
  cli_print_warning(text);
}

ph_status cli_model_options(const cli_options *options, ph_model_options *out, ph_error *error) {
  cli_pair *dims = NULL;
  *out = (ph_model_options){.struct_size = sizeof(*out),
                            .weight_files = options->weights.items,
                            .weight_file_count = options->weights.count,
                            .dims = options->dims.items,
                            .dim_count = options->dims.count,
                            .random = options->random,
                            .warn = warn};
  ph_status status = cli_pairs_parse(&options->dims, "--dim takes NAME=VALUE", &dims, error);
  if (status == PH_OK) status = cli_pairs_check_once(dims, options->dims.count, "--dim", error);
  cli_pairs_free(dims, options->dims.count);
  return status;
}

ph_status cli_model_open(const cli_options *options, ph_model **out, ph_error *error) {
  ph_model_options wanted;
  PH_TRY(cli_model_options(options, &wanted, error));
  return ph_model_load(options->arguments.items[0], &wanted, out, error);
}

/* FILE:KEY, where FILE is there; else the whole is a file's name. */
static ph_status split_key(const char *text, char **out_file, const char **out_key, ph_error *error) {
  const char *colon = strrchr(text, ':');
  *out_file = strdup(text);
  if (*out_file == NULL) return ph_fail_memory(error);
  if (colon == NULL || access(text, F_OK) == 0) return PH_OK;
  char *end = *out_file + (colon - text);
  *end = '\0';
  if (access(*out_file, F_OK) == 0)
    *out_key = colon + 1;
  else
    *end = ':';
  return PH_OK;
}

static ph_status no_such_key(const ph_tensor_file *file, const char *path, const cli_pair *pair, const char *key,
                             ph_error *error) {
  size_t count = ph_tensor_file_count(file);
  const char **names = ph_new_array(count, sizeof(char *));
  if (names == NULL) return ph_fail_memory(error);
  for (size_t i = 0; i < count; i++) names[i] = ph_tensor_file_name(file, i);
  const char *nearest = ph_nearest(key, names, count);
  if (nearest == NULL && count > 0) nearest = names[0];
  free(names);
  if (nearest == NULL) return ph_fail(error, PH_INVALID, "-i %s: '%s' holds no tensors", pair->name, path);
  return ph_fail(error, PH_INVALID, "-i %s: '%s' has no tensor '%s'; to take '%s' write -i %s=%s:%s", pair->name, path,
                 key, nearest, pair->name, path, nearest);
}

static ph_status open_input(const cli_pair *pair, ph_tensor **out, ph_error *error) {
  char *path = NULL;
  const char *key = NULL;
  ph_tensor_file *file = NULL;
  ph_status status = split_key(pair->value, &path, &key, error);
  if (status == PH_OK) status = ph_tensor_file_open(path, &file, error);
  if (status != PH_OK) goto done;
  size_t index = 0;
  bool single = ph_tensor_file_count(file) == 1 && ph_tensor_file_name(file, 0)[0] == '\0'; /* .npy */
  if (single && key != NULL) {
    status = ph_fail(error, PH_INVALID, "-i %s: '%s' holds one tensor without a name; leave ':%s' away", pair->name,
                     path, key);
    goto done;
  }
  if (!single) {
    index = ph_tensor_file_find(file, key != NULL ? key : pair->name);
    if (index == SIZE_MAX) {
      status = no_such_key(file, path, pair, key != NULL ? key : pair->name, error);
      goto done;
    }
  }
  status = ph_tensor_file_get(file, index, out, error);
done:
  ph_tensor_file_close(file);
  free(path);
  return status;
}

ph_status cli_inputs_open(const cli_options *options, cli_inputs *out, ph_error *error) {
  *out = (cli_inputs){.count = options->inputs.count};
  PH_TRY(cli_pairs_parse(&options->inputs, "-i takes NAME=FILE", &out->pairs, error));
  PH_TRY(cli_pairs_check_once(out->pairs, out->count, "-i", error));
  out->tensors = ph_new_array(out->count, sizeof(ph_tensor *));
  if (out->tensors == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < out->count; i++) PH_TRY(open_input(&out->pairs[i], &out->tensors[i], error));
  return PH_OK;
}

void cli_inputs_close(cli_inputs *inputs) {
  if (inputs->tensors != NULL)
    for (uint32_t i = 0; i < inputs->count; i++) ph_tensor_release(inputs->tensors[i]);
  free(inputs->tensors);
  cli_pairs_free(inputs->pairs, inputs->count);
  *inputs = (cli_inputs){0};
}

/* Nobody should have to guess where a run took place; nor, where it is the plain reference, why. */
static void announce_device(const cli_options *options, ph_context *context, const ph_device_entry *device) {
  bool chosen = options->devices.count > 0 && strcasecmp(options->devices.items[0], "auto") != 0;
  if (chosen && options->verbose == 0) return;
  fprintf(stderr, "device: %s (%s, %s; %s, %s)\n", device->spec, cli_device_kind_text(device->info.kind),
          device->info.name, device->info.platform, device->info.driver);
  if (chosen || strcmp(device->backend, "reference") != 0) return;
  for (uint32_t i = 0; i < ph_context_problem_count(context); i++)
    fprintf(stderr, "device: %s\n", ph_context_problem(context, i));
}

ph_status cli_session_open(const cli_options *options, ph_context *context, ph_model *model, const cli_inputs *inputs,
                           const char *const *keep, uint32_t keep_count, ph_session **out, ph_error *error) {
  ph_session_options wanted = {.struct_size = sizeof(wanted),
                               .device = options->devices.count > 0 ? options->devices.items[0] : NULL,
                               .fallback = options->fallback,
                               .keep = keep,
                               .keep_count = keep_count,
                               .times = options->profile || options->report != NULL || options->trace != NULL,
                               .attention = options->report != NULL};
  ph_session *session = NULL;
  PH_TRY(ph_session_create(context, model, &wanted, &session, error));
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < inputs->count && status == PH_OK; i++)
    status = ph_session_set_input(session, inputs->pairs[i].name, inputs->tensors[i], error);
  if (status != PH_OK) {
    ph_session_destroy(session);
    return status;
  }
  announce_device(options, context, ph_session_device(session));
  *out = session;
  return PH_OK;
}

void cli_tell_moved(const ph_session *session) {
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    if (node->reason != NULL)
      fprintf(stderr, "polyhead: node '%s' (%s) ran on %s: %s\n", node->path, node->op, node->device, node->reason);
  }
}
