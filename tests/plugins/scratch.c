/* A scratch folder for tests of the loader. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char root[64];
ph_text scratch_log;
ph_error scratch_error = PH_ERROR_INIT;

int scratch_setup(void **state) {
  (void)state;
  strcpy(root, "/tmp/polyhead-loader-XXXXXX");
  if (mkdtemp(root) == NULL) return -1;
  unsetenv("POLYHEAD_PLUGIN_PATH");
  return setenv("POLYHEAD_CACHE_DIR", scratch_path("cache"), 1);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status;
  (void)kind;
  (void)place;
  return remove(path);
}

int scratch_teardown(void **state) {
  (void)state;
  ph_text_free(&scratch_log);
  return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_path(const char *name) {
  static char buffers[8][512];
  static unsigned next;
  char *buffer = buffers[next++ % 8];
  snprintf(buffer, sizeof(buffers[0]), "%s/%s", root, name);
  return buffer;
}

void scratch_folder(const char *name) {
  assert_int_equal(mkdir(scratch_path(name), 0755), 0);
}

static void write_bytes(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(scratch_path(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fchmod(fileno(file), 0644), 0);
  assert_int_equal(fclose(file), 0);
}

void scratch_write(const char *name, const char *bytes) {
  write_bytes(name, bytes, strlen(bytes));
}

void scratch_module(const char *module, const char *name) {
  char path[512];
  snprintf(path, sizeof(path), TEST_MODULES "/%s.so", module);
  ph_file_map map;
  if (ph_file_map_open(path, &map, &scratch_error) != PH_OK) fail_msg("%s", scratch_error.message);
  write_bytes(name, map.data, map.size);
  ph_file_map_close(&map);
}

void scratch_record(void *user, ph_log_level level, const char *text) {
  ph_text_add(user, "%d %s\n", (int)level, text);
}

ph_status scratch_try(const char *path, const char *file, ph_context **out) {
  if (path != NULL)
    setenv("POLYHEAD_PLUGIN_PATH", path, 1);
  else
    unsetenv("POLYHEAD_PLUGIN_PATH");
  ph_context_options options = {.struct_size = sizeof(options),
                                .plugins = &file,
                                .plugin_count = file != NULL ? 1 : 0,
                                .log = scratch_record,
                                .log_user = &scratch_log,
                                .log_level = PH_LOG_DEBUG};
  return ph_context_create(&options, out, &scratch_error);
}

ph_context *scratch_load(const char *const *modules) {
  scratch_folder("p");
  for (; *modules != NULL; modules++) {
    char name[128];
    snprintf(name, sizeof(name), "p/%s.so", *modules);
    scratch_module(*modules, name);
  }
  ph_context *context = NULL;
  if (scratch_try(scratch_path("p"), NULL, &context) != PH_OK) fail_msg("%s", scratch_error.message);
  return context;
}

const ph_plugin_info *scratch_plugin(const ph_context *context, const char *file) {
  for (uint32_t i = 0; i < ph_context_plugin_count(context); i++) {
    const ph_plugin_info *info = ph_context_plugin(context, i);
    const char *slash = strrchr(info->path, '/');
    if (strcmp(slash != NULL ? slash + 1 : info->path, file) == 0) return info;
  }
  fail_msg("%s is not listed", file);
  return NULL;
}

void assert_contains(const char *text, const char *part) {
  if (text == NULL || strstr(text, part) == NULL) fail_msg("'%s' does not contain '%s'", text, part);
}
