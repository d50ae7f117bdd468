#include "bench/cases.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "config/load_text.h"
#include "conform/required.h"
#include "conform/sources.h"

static ph_status is_suite_file(const char *path, bool *out, ph_error *error) {
  ph_file_map map;
  ph_arena arena = {0};
  ph_yaml *root;
  PH_TRY(ph_file_map_open(path, &map, error));
  ph_status status = ph_yaml_parse(&arena, path, map.data, map.size, &root, error);
  if (status == PH_OK) *out = root->kind == PH_YAML_MAP && ph_yaml_get(root, "polyhead_suite") != NULL;
  ph_arena_free(&arena);
  ph_file_map_close(&map);
  return status;
}

static ph_status add_case(ph_bench_cases *cases, ph_arena *arena, ph_bench_case one, ph_error *error) {
  ph_bench_case *slot = ph_arena_push(arena, &cases->items, &cases->count, &cases->capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(error);
  *slot = one;
  return PH_OK;
}

static ph_status add_suite(ph_bench_cases *cases, ph_arena *arena, const char *path, unsigned set, const char *filter,
                           ph_error *error) {
  ph_suite *suite;
  PH_TRY(ph_suite_read(path, &suite, error));
  ph_suite **slot = ph_arena_push(arena, &cases->suites, &cases->suite_count, &cases->suite_capacity, sizeof(*slot));
  if (slot == NULL) {
    ph_suite_destroy(suite);
    return ph_fail_memory(error);
  }
  *slot = suite;
  for (uint32_t i = 0; i < suite->case_count; i++) {
    const ph_case *listed = &suite->listed[i];
    if ((listed->sets & set) == 0 || (filter != NULL && !ph_case_matches(filter, listed->name))) continue;
    PH_TRY(add_case(cases, arena, (ph_bench_case){.name = listed->name, .suite = suite, .index = i}, error));
  }
  return PH_OK;
}

/* "bench_linear" is the suite of that name that comes with the library, where no file is called so. */
static const char *find_file(ph_arena *arena, const char *path) {
  if (strchr(path, '/') != NULL || access(path, F_OK) == 0) return path;
  const char *folder = ph_suites_folder(arena);
  const char *own = folder != NULL ? ph_arena_text(arena, "%s/%s.yaml", folder, path) : NULL;
  return own != NULL && access(own, F_OK) == 0 ? own : path;
}

static ph_status add_file(ph_bench_cases *cases, ph_arena *arena, const char *path, unsigned set, const char *filter,
                          ph_error *error) {
  bool suite;
  path = find_file(arena, path);
  PH_TRY(is_suite_file(path, &suite, error));
  if (suite) return add_suite(cases, arena, path, set, filter, error);
  if (filter != NULL && !ph_case_matches(filter, path)) return PH_OK;
  const char *copy = ph_arena_text(arena, "%s", path);
  if (copy == NULL) return ph_fail_memory(error);
  return add_case(cases, arena, (ph_bench_case){.name = copy, .config = copy}, error);
}

ph_status ph_bench_cases_open(const ph_bench_options *options, ph_arena *arena, ph_bench_cases *out, ph_error *error) {
  *out = (ph_bench_cases){0};
  unsigned set;
  const char *const *files = options->files;
  uint32_t count = options->file_count;
  PH_TRY(ph_set_named(options->set != NULL ? options->set : options->filter != NULL ? "full" : "ci", &set, error));
  if (count == 0) PH_TRY(ph_bench_suites(arena, &files, &count, error));
  for (uint32_t i = 0; i < count; i++) PH_TRY(add_file(out, arena, files[i], set, options->filter, error));
  if (out->count > 0) return PH_OK;
  if (options->filter != NULL)
    return ph_fail(error, PH_INVALID, "there is no case '%s'; --list names those there are", options->filter);
  return ph_fail(error, PH_INVALID, "the set has no case; take --set full");
}

void ph_bench_cases_close(ph_bench_cases *cases) {
  for (uint32_t i = 0; i < cases->suite_count; i++) ph_suite_destroy(cases->suites[i]);
  *cases = (ph_bench_cases){0};
}

ph_status ph_bench_case_load(const ph_bench_case *one, const ph_model_options *options, uint64_t seed, ph_model **out,
                             ph_error *error) {
  if (one->config != NULL) return ph_model_load(one->config, options, out, error);
  ph_text text = {0};
  ph_status status = ph_suite_config(one->suite, one->index, seed, &text, error);
  if (status == PH_OK) status = ph_model_load_text(one->name, text.data, NULL, out, error);
  ph_text_free(&text);
  return status;
}
