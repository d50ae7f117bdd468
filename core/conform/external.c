#include "conform/external.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "config/load_text.h"
#include "conform/external_list.h"
#include "conform/external_map.h"
#include "conform/external_verdict.h"

/* A case, and what became of reading it. */
typedef struct external_item {
  const char *folder;
  ph_external_case *read; /* NULL: `problem` says why */
  ph_error problem;
} external_item;

typedef struct external_source {
  ph_case_source base;
  ph_arena arena;
  ph_case *cases;
  external_item *items;
  uint32_t count;
} external_source;

/* ---- one case ---- */

/* Its config.  `map` is to be freed in any case; what could not be read of the case is said here. */
static ph_status write_config(external_source *source, uint32_t index, ph_external_map *map, ph_text *out,
                              ph_error *error) {
  external_item *item = &source->items[index];
  *map = (ph_external_map){0};
  if (item->read == NULL) return ph_fail(error, item->problem.code, "%s", item->problem.message);
  PH_TRY(ph_external_case_load(item->read, error));
  PH_TRY(ph_external_map_case(item->read, map, error));
  ph_external_map_text(map, source->cases[index].name, out);
  return out->failed ? ph_fail_memory(error) : PH_OK;
}

/* Where nothing else than zeros is right, no kernel of zeros can be told from a right one; that is so, and no fault. */
static bool only_zeros(const ph_external_map *map) {
  for (uint32_t i = 0; i < map->answer_count; i++) {
    const ph_tensor *stored = map->answers[i].stored != NULL ? map->answers[i].stored->data : NULL;
    for (size_t e = 0; stored != NULL && e < stored->count; e++)
      if (ph_read_real(stored->dtype, stored->data, e) != 0) return false;
  }
  return true;
}

/* The oracle's verdict comes first: it fills the session's outputs.  No op is named: every node counts, and none may be
 * run by another device. */
static ph_status judge(ph_case_run *run, const ph_external_map *map, ph_model *model, ph_case_result *result,
                       ph_error *error) {
  ph_session *session;
  PH_TRY(ph_case_session(run, NULL, model, result, &session, error));
  if (session == NULL) return PH_OK;
  ph_status status = ph_case_judge(run, NULL, session, result, error);
  if (status == PH_OK && result->state == PH_CASE_PASS)
    for (uint32_t i = 0; i < map->answer_count; i++)
      if (map->answers[i].stored != NULL)
        ph_external_verdict(map->of, &map->answers[i], ph_session_output(session, i)->tensor, result);
  result->empty = result->empty || (!result->trusted && only_zeros(map));
  ph_session_destroy(session);
  return status;
}

static ph_status run_case(ph_case_source *base, uint32_t index, ph_case_run *run, ph_case_result *result,
                          ph_error *error) {
  external_source *source = (external_source *)base;
  external_item *item = &source->items[index];
  ph_error problem = PH_ERROR_INIT;
  ph_external_map map;
  ph_text config = {0};
  ph_model *model = NULL;
  ph_status status = write_config(source, index, &map, &config, &problem);
  if (status == PH_OK) status = ph_model_load_text(source->cases[index].name, config.data, NULL, &model, &problem);
  if (status == PH_OK) {
    status = judge(run, &map, model, result, error);
  } else {
    ph_case_set_failure(result, status, &problem);
    status = PH_OK;
  }
  ph_model_destroy(model);
  ph_text_free(&config);
  ph_external_map_free(&map);
  if (item->read != NULL) ph_external_case_unload(item->read);
  return status;
}

static ph_status show_case(ph_case_source *base, uint32_t index, uint64_t seed, ph_text *out, ph_error *error) {
  (void)seed; /* nothing in it is random */
  external_source *source = (external_source *)base;
  external_item *item = &source->items[index];
  ph_external_map map;
  ph_text config = {0};
  ph_status status = write_config(source, index, &map, &config, error);
  if (status == PH_OK) {
    ph_text_add(out, "# %s: %s of %s\n", source->cases[index].name, item->read->op, item->folder);
    for (uint32_t i = 0; i < map.answer_count; i++)
      if (map.answers[i].stored != NULL)
        ph_text_add(out, "# %s must be within %g + %g * |stored| of %s\n", map.answers[i].alias, item->read->atol,
                    item->read->rtol, map.answers[i].stored->file);
    ph_text_put(out, config.data, config.length);
    if (out->failed) status = ph_fail_memory(error);
  }
  ph_text_free(&config);
  ph_external_map_free(&map);
  if (item->read != NULL) ph_external_case_unload(item->read);
  return status;
}

/* ---- the folder ---- */

static void close_source(ph_case_source *base) {
  external_source *source = (external_source *)base;
  if (source == NULL) return;
  for (uint32_t i = 0; i < source->count; i++) ph_external_case_destroy(source->items[i].read);
  ph_arena_free(&source->arena);
  free(source);
}

static ph_status read_case(external_source *source, const char *root, const char *name, ph_error *error) {
  external_item *item = &source->items[source->count];
  ph_case *listed = &source->cases[source->count++];
  *item = (external_item){.problem = PH_ERROR_INIT};
  *listed = (ph_case){.name = name, .sets = PH_SET_TINY | PH_SET_SMOKE | PH_SET_CI | PH_SET_FULL};
  item->folder = strcmp(name, ".") == 0 ? root : ph_arena_text(&source->arena, "%s/%s", root, name);
  if (item->folder == NULL) return ph_fail_memory(error);
  ph_status status = ph_external_case_read(item->folder, &item->read, &item->problem);
  return status == PH_OUT_OF_MEMORY ? ph_fail_memory(error) : PH_OK;
}

static ph_status open_folder(external_source *source, const char *path, ph_error *error) {
  const char **names;
  uint32_t count;
  char *whole = realpath(path, NULL); /* so that what `show` prints runs from anywhere */
  const char *root = whole != NULL ? ph_arena_text(&source->arena, "%s", whole) : path;
  free(whole);
  source->base.path = ph_arena_text(&source->arena, "%s", path);
  if (root == NULL || source->base.path == NULL) return ph_fail_memory(error);
  PH_TRY(ph_external_list(root, &source->arena, &names, &count, error));
  source->items = ph_arena_array(&source->arena, count, sizeof(*source->items));
  source->cases = ph_arena_array(&source->arena, count, sizeof(*source->cases));
  if (source->items == NULL || source->cases == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < count; i++) PH_TRY(read_case(source, root, names[i], error));
  source->base.cases = source->cases;
  source->base.case_count = count;
  return PH_OK;
}

ph_status ph_external_open(const char *path, ph_case_source **out, ph_error *error) {
  external_source *source = ph_new_array(1, sizeof(*source));
  if (source == NULL) return ph_fail_memory(error);
  source->base = (ph_case_source){.run = run_case, .show = show_case, .close = close_source};
  ph_status status = open_folder(source, path, error);
  if (status == PH_OK)
    *out = &source->base;
  else
    close_source(&source->base);
  return status;
}
