#define _GNU_SOURCE /* dladdr */
#include "conform/sources.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "conform/external.h"
#include "conform/suite.h"

/* ---- the library's own folder ---- */

/* The marker of a build tree holds the way to the source. */
static const char *read_marker(const char *path, ph_arena *arena) {
  ph_file_map map;
  if (ph_file_map_open(path, &map, NULL) != PH_OK) return NULL;
  const char *text = ph_arena_copy(arena, (const char *)map.data, map.size);
  ph_file_map_close(&map);
  return text;
}

const char *ph_suites_folder(ph_arena *arena) {
  static const char anchor = 0;
  Dl_info self;
  char real[PATH_MAX];
  if (dladdr(&anchor, &self) == 0 || self.dli_fname == NULL || realpath(self.dli_fname, real) == NULL) return NULL;
  *strrchr(real, '/') = '\0';
  const char *marker = ph_arena_text(arena, "%s/polyhead-build-tree", real);
  const char *source = marker != NULL ? read_marker(marker, arena) : NULL;
  if (source != NULL) return ph_arena_text(arena, "%s/configs/suites", source);
  return ph_arena_text(arena, "%s/%s", real, POLYHEAD_SUITES_FROM_LIBRARY);
}

/* ---- opening ---- */

static ph_status add(ph_source_list *list, ph_arena *arena, ph_case_source *source, const char *path, ph_error *error) {
  ph_case_source **slot = ph_arena_push(arena, &list->items, &list->count, &list->capacity, sizeof(*slot));
  if (slot == NULL) {
    source->close(source);
    return ph_fail_memory(error);
  }
  source->path = path;
  *slot = source;
  return PH_OK;
}

/* Suites whose names begin so, and the one of that name, are there to be timed: too large for the oracle. */
static const char bench_prefix[] = "bench_", tune_suite[] = "tune.yaml";

static bool is_yaml(const char *name) {
  size_t length = strlen(name);
  return length > 5 && name[0] != '.' && strcmp(name + length - 5, ".yaml") == 0;
}

static bool is_bench(const char *name) {
  return strncmp(name, bench_prefix, sizeof(bench_prefix) - 1) == 0;
}

static int is_suite(const struct dirent *entry) {
  return is_yaml(entry->d_name) && !is_bench(entry->d_name) && strcmp(entry->d_name, tune_suite) != 0;
}

static int is_bench_suite(const struct dirent *entry) {
  return is_yaml(entry->d_name) && is_bench(entry->d_name);
}

/* Byte order, so that the order does not hang on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static ph_status open_folder(ph_source_list *list, ph_arena *arena, const char *folder, const char *given,
                             ph_error *error) {
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, is_suite, by_name);
  if (count < 0) return ph_fail(error, PH_IO, "cannot read the folder '%s': %s", folder, strerror(errno));
  ph_case_source *source;
  ph_status status = PH_OK;
  for (int i = 0; i < count; i++) {
    if (status == PH_OK) {
      const char *file = ph_arena_text(arena, "%s/%s", folder, entries[i]->d_name);
      status = file == NULL ? ph_fail_memory(error) : ph_suite_open(file, &source, error);
      if (status == PH_OK) status = add(list, arena, source, given, error);
    }
    free(entries[i]);
  }
  free(entries);
  if (count > 0) return status;
  PH_TRY(ph_external_open(folder, &source, error));
  return add(list, arena, source, given, error);
}

static ph_status open_path(ph_source_list *list, ph_arena *arena, const char *path, ph_error *error) {
  struct stat about;
  if (stat(path, &about) != 0) return ph_fail(error, PH_IO, "cannot read the suite '%s': %s", path, strerror(errno));
  if (S_ISDIR(about.st_mode)) return open_folder(list, arena, path, path, error);
  ph_case_source *source;
  PH_TRY(ph_suite_open(path, &source, error));
  return add(list, arena, source, path, error);
}

ph_status ph_sources_open(const char *const *paths, uint32_t path_count, ph_arena *arena, ph_source_list *out,
                          ph_error *error) {
  *out = (ph_source_list){0};
  for (uint32_t i = 0; i < path_count; i++) {
    const char *path = ph_arena_text(arena, "%s", paths[i]);
    if (path == NULL) return ph_fail_memory(error);
    PH_TRY(open_path(out, arena, path, error));
  }
  if (path_count > 0) return PH_OK;
  const char *folder = ph_suites_folder(arena);
  if (folder == NULL) return ph_fail(error, PH_IO, "the suites of the library cannot be found: name them with --suite");
  return open_folder(out, arena, folder, NULL, error);
}

void ph_sources_close(ph_source_list *list) {
  for (uint32_t i = 0; i < list->count; i++) list->items[i]->close(list->items[i]);
  list->count = 0;
}

/* ---- benches ---- */

ph_status ph_bench_suites(ph_arena *arena, const char *const **out, uint32_t *out_count, ph_error *error) {
  struct dirent **entries = NULL;
  const char *folder = ph_suites_folder(arena);
  if (folder == NULL)
    return ph_fail(error, PH_IO, "the suites of the library cannot be found: name a config or a suite");
  int count = scandir(folder, &entries, is_bench_suite, by_name);
  if (count < 0) return ph_fail(error, PH_IO, "cannot read the folder '%s': %s", folder, strerror(errno));
  const char **paths = ph_arena_array(arena, (size_t)count, sizeof(*paths));
  bool failed = paths == NULL;
  for (int i = 0; i < count; i++) {
    if (!failed) failed = (paths[i] = ph_arena_text(arena, "%s/%s", folder, entries[i]->d_name)) == NULL;
    free(entries[i]);
  }
  free(entries);
  if (failed) return ph_fail_memory(error);
  *out = paths;
  *out_count = (uint32_t)count;
  return PH_OK;
}
