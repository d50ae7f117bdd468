/* For tests of the loader: configs given as text, what is said about them, and where the shared samples are. */
#ifndef POLYHEAD_TESTS_CONFIG_CASE_H
#define POLYHEAD_TESTS_CONFIG_CASE_H

#include "graph/net.h"
#include "quick.h"
#include "scratch.h"

/* Warnings of a load, one per line, without the file's name. */
typedef struct warnings {
  const char *path;
  char text[4096];
} warnings;

static inline void collect_warning(void *user, const char *text) {
  warnings *to = user;
  size_t used = strlen(to->text), skip = strlen(to->path);
  assert_memory_equal(text, to->path, skip);
  snprintf(to->text + used, sizeof(to->text) - used, "%s\n", text + skip);
}

/* The status of loading `text`; *out is NULL unless it is PH_OK.  `message` (of the size of an error's) gets the error
 * without the file's name, or "". */
static inline ph_status case_load_bytes(void **state, const void *bytes, size_t size, ph_model_options options,
                                        ph_model **out, char *message, warnings *warned) {
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_file(state, "case.yaml", bytes, size);
  options.struct_size = sizeof(options);
  if (warned != NULL) {
    *warned = (warnings){.path = path};
    options.warn = collect_warning;
    options.warn_user = warned;
  }
  *out = NULL;
  clock_t start = clock();
  ph_status status = ph_model_load(path, &options, out, &error);
  assert_quick(start);
  size_t skip = strncmp(error.message, path, strlen(path)) == 0 ? strlen(path) : 0;
  if (message != NULL) strcpy(message, status != PH_OK ? error.message + skip : "");
  if (status == PH_OK && message == NULL) assert_int_equal(error.code, PH_OK);
  return status;
}

static inline ph_model *case_load(void **state, const char *text, ph_model_options options) {
  ph_model *model;
  char message[512];
  if (case_load_bytes(state, text, strlen(text), options, &model, message, NULL) != PH_OK)
    fail_msg("%s\nin\n%s", message, text);
  return model;
}

static inline void case_refused_with(void **state, const char *text, ph_model_options options, const char *expected) {
  ph_model *model;
  char message[512];
  ph_status status = case_load_bytes(state, text, strlen(text), options, &model, message, NULL);
  ph_model_destroy(model);
  if (status != PH_INVALID || strcmp(message, expected) != 0)
    fail_msg("status %d\n     got: %s\nexpected: %s\nin\n%s", (int)status, message, expected, text);
}

/* `expected` is the whole message after the file's name: ":5:19: error: there is no op ..." */
static inline void case_refused(void **state, const char *text, const char *expected) {
  case_refused_with(state, text, (ph_model_options){0}, expected);
}

static inline void case_warns(void **state, const char *text, ph_model_options options, const char *expected) {
  ph_model *model;
  char message[512];
  warnings warned;
  if (case_load_bytes(state, text, strlen(text), options, &model, message, &warned) != PH_OK)
    fail_msg("%s\nin\n%s", message, text);
  ph_model_destroy(model);
  if (strcmp(warned.text, expected) != 0) fail_msg("     got: %s\nexpected: %s\nin\n%s", warned.text, expected, text);
}

/* The folder of samples beside the checkout, or NULL after saying that the test is skipped. */
static inline const char *shared_folder(const char *part) {
  static char path[SCRATCH_PATH_SIZE];
  const char *given = getenv("POLYHEAD_SHARED");
  if (given != NULL)
    snprintf(path, sizeof(path), "%s/%s", given, part);
  else
    snprintf(path, sizeof(path), "%s/../shared/%s", TEST_SOURCE_DIR, part);
  if (access(path, R_OK) == 0) return path;
  print_message("skipped: %s is not there; POLYHEAD_SHARED may name the folder of samples\n", path);
  return NULL;
}

#endif
