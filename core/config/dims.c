/* The section `dims`, what --dim replaces, and which dims may vary from run to run. */
#include <inttypes.h>
#include <string.h>

#include "config/loader.h"

/* Bounds the recursion through dims that name dims. */
enum { MAX_CHAIN = 64 };

ph_status ph_dims_read(ph_loader *loader, const ph_yaml *node) {
  if (node == NULL) return PH_OK;
  PH_TRY(ph_read_map(loader, node, "dims"));
  ph_model *model = loader->model;
  model->dims = ph_arena_array(loader->arena, node->count, sizeof(*model->dims));
  loader->dim_notes = ph_arena_array(&loader->scratch, node->count, sizeof(*loader->dim_notes));
  if (model->dims == NULL || loader->dim_notes == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < node->count; i++) {
    const ph_yaml_pair *pair = &node->pairs[i];
    if (!ph_is_name(pair->key))
      return ph_fail_at(loader->error, pair->place,
                        "'%s' is no name: a dim takes letters, digits and '_', no digit first", pair->key);
    if (strcmp(pair->key, "i") == 0)
      return ph_fail_at(loader->error, pair->place, "'i' is kept for the round of a repeat; give the dim another name");
    model->dims[i] = (ph_model_dim){.name = pair->key, .place = pair->place};
    if (!ph_names_add(&loader->dims, &loader->scratch, pair->key, i)) return ph_fail_memory(loader->error);
  }
  model->dim_count = model->dim_capacity = node->count;
  for (uint32_t i = 0; i < node->count; i++)
    PH_TRY(ph_read_expr(loader, NULL, node->pairs[i].value, node->pairs[i].key, &model->dims[i].expr));
  return PH_OK;
}

/* One --dim NAME=VALUE. */
static ph_status override_one(ph_loader *loader, const char *text) {
  const char *equals = strchr(text, '=');
  char *name = equals != NULL ? ph_arena_copy(&loader->scratch, text, (size_t)(equals - text)) : NULL;
  if (equals == NULL) return ph_fail(loader->error, PH_INVALID, "--dim %s: write NAME=VALUE", text);
  if (name == NULL) return ph_fail_memory(loader->error);
  uint32_t index = ph_names_find(&loader->dims, name);
  const char *const *names = ph_names_list(&loader->dims, &loader->scratch);
  if (index == PH_NONE)
    return ph_fail(loader->error, PH_INVALID, "--dim %s: %s has no dim '%s'%s", text, loader->model->file, name,
                   ph_loader_hint(loader, name, names, loader->dims.count));
  ph_number number;
  if (!ph_number_parse(equals + 1, &number) || number.problem != NULL || !number.is_integer || number.integer < 0)
    return ph_fail(loader->error, PH_INVALID, "--dim %s: '%s' is no integer of 0 or more", text, equals + 1);
  ph_model_dim *dim = &loader->model->dims[index];
  if (dim->overridden && dim->override != number.integer)
    return ph_fail(loader->error, PH_INVALID, "--dim %s: '%s' is given twice, and as %" PRId64 " before", text, name,
                   dim->override);
  dim->overridden = true;
  dim->override = number.integer;
  return PH_OK;
}

/* ---- values at load time ---- */

static ph_status evaluate(ph_loader *loader, uint32_t index);

typedef struct dim_reader {
  ph_loader *loader;
  bool overridden; /* a dim that was read so far is */
} dim_reader;

static ph_status read_dim(const void *user, const char *name, ph_dim *out, ph_error *error) {
  (void)error; /* it is the loader's */
  dim_reader *reader = *(dim_reader *const *)user;
  uint32_t index = ph_names_find(&reader->loader->dims, name);
  PH_TRY(evaluate(reader->loader, index));
  *out = (ph_dim){.value = reader->loader->dim_notes[index].value};
  reader->overridden = reader->overridden || reader->loader->dim_notes[index].overridden;
  return PH_OK;
}

static ph_status evaluate_at(ph_loader *loader, const ph_expr *expr, ph_place place, int64_t *out,
                             bool *out_overridden) {
  dim_reader reader = {.loader = loader}, *pointer = &reader;
  ph_scope scope = {read_dim, &pointer};
  ph_dim dim;
  ph_status status = ph_expr_integer(expr, &scope, &dim, loader->error);
  *out = dim.value;
  *out_overridden = reader.overridden;
  /* A dim further in may have named its place already. */
  bool placed = loader->error != NULL && strstr(loader->error->message, ": error: ") != NULL;
  return placed ? status : ph_place_prefix(loader->error, place, status);
}

static ph_status evaluate(ph_loader *loader, uint32_t index) {
  const ph_model_dim *dim = &loader->model->dims[index];
  ph_dim_note *note = &loader->dim_notes[index];
  if (note->state == PH_DIM_KNOWN) return PH_OK;
  if (dim->overridden) {
    note->value = dim->override;
    note->overridden = true;
  } else {
    PH_TRY(evaluate_at(loader, dim->expr, dim->place, &note->value, &note->overridden));
    if (note->value < 0)
      return ph_fail_at(loader->error, dim->place, "dim '%s' is %" PRId64 ", but a dim cannot be negative", dim->name,
                        note->value);
  }
  note->state = PH_DIM_KNOWN;
  return PH_OK;
}

ph_status ph_dims_evaluate(ph_loader *loader, const ph_expr *expr, ph_place place, int64_t *out) {
  bool overridden;
  return evaluate_at(loader, expr, place, out, &overridden);
}

/* ---- cycles ---- */

typedef struct cycle_search {
  ph_loader *loader;
  uint32_t path[MAX_CHAIN]; /* the dims under way, in order */
  uint32_t depth;
  ph_status status;
} cycle_search;

static ph_status fail_cycle(cycle_search *search, uint32_t index) {
  ph_loader *loader = search->loader;
  const ph_model_dim *dims = loader->model->dims;
  uint32_t from = search->depth;
  while (search->path[--from] != index) {
  }
  const char *text = dims[index].name;
  for (uint32_t i = from + 1; i < search->depth; i++) {
    text = ph_arena_text(&loader->scratch, "%s -> %s", text, dims[search->path[i]].name);
    if (text == NULL) return ph_fail_memory(loader->error);
  }
  return ph_fail_at(loader->error, dims[index].place, "the dims go in a circle: %s -> %s", text, dims[index].name);
}

static void search_from(void *user, const char *name) {
  cycle_search *search = user;
  uint32_t index = ph_names_find(&search->loader->dims, name);
  ph_dim_note *note = &search->loader->dim_notes[index];
  if (search->status != PH_OK || note->state == PH_DIM_KNOWN) return;
  if (note->state == PH_DIM_BUSY) {
    search->status = fail_cycle(search, index);
    return;
  }
  if (search->depth == MAX_CHAIN) {
    const ph_model_dim *dim = &search->loader->model->dims[index];
    search->status = ph_fail_at(search->loader->error, dim->place,
                                "dim '%s' lies at the end of a chain of more than %d dims", dim->name, MAX_CHAIN);
    return;
  }
  note->state = PH_DIM_BUSY;
  search->path[search->depth++] = index;
  ph_expr_names(search->loader->model->dims[index].expr, search_from, search);
  search->depth--;
  note->state = PH_DIM_KNOWN;
}

ph_status ph_dims_override(ph_loader *loader) {
  for (uint32_t i = 0; i < loader->options.dim_count; i++) PH_TRY(override_one(loader, loader->options.dims[i]));
  cycle_search search = {.loader = loader};
  for (uint32_t i = 0; i < loader->model->dim_count; i++) search_from(&search, loader->model->dims[i].name);
  for (uint32_t i = 0; i < loader->model->dim_count; i++) loader->dim_notes[i].state = PH_DIM_UNKNOWN;
  return search.status;
}

/* ---- which dims vary ---- */

static void pin(void *user, const char *name) {
  ph_loader *loader = user;
  uint32_t index = ph_names_find(&loader->dims, name);
  if (loader->dim_notes[index].pinned) return;
  loader->dim_notes[index].pinned = true;
  ph_expr_names(loader->model->dims[index].expr, pin, loader);
}

void ph_dims_pin(ph_loader *loader, const ph_expr *expr) {
  ph_expr_names(expr, pin, loader);
}

static void fix(void *user, const char *name) {
  ph_loader *loader = user;
  uint32_t index = ph_names_find(&loader->dims, name);
  if (loader->dim_notes[index].fixed) return;
  loader->dim_notes[index].fixed = true;
  ph_expr_names(loader->model->dims[index].expr, fix, loader);
}

void ph_dims_fix(ph_loader *loader, const ph_expr *expr) {
  ph_dims_pin(loader, expr);
  ph_expr_names(expr, fix, loader);
}

void ph_dims_finish(ph_loader *loader) {
  for (uint32_t i = 0; i < loader->model->dim_count; i++) {
    ph_model_dim *dim = &loader->model->dims[i];
    const ph_dim_note *note = &loader->dim_notes[i];
    dim->varies = note->input && !note->pinned;
    if (!note->fixed || note->state != PH_DIM_KNOWN) continue;
    dim->overridden = true;
    dim->override = note->value;
  }
}
