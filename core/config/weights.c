/* Finding and making weights; see weights.h. */
#include "config/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "config/names.h"
#include "config/source.h"

typedef struct open_file {
  ph_tensor_file *file;
  ph_tensor **taken; /* by its tensors: those that were asked for */
} open_file;

typedef struct made_tensor {
  ph_tensor *tensor; /* NULL: not made yet */
  ph_type type;
} made_tensor;

struct ph_weights {
  open_file *files;
  uint32_t file_count;
  const char *prefix;
  made_tensor *made; /* by weight: from init or random */
  uint32_t made_count;
};

/* ---- files ---- */

static bool find_key(const struct ph_weights *store, const char *prefix, const char *key, uint32_t *out_file,
                     size_t *out_index) {
  ph_text full = {0};
  ph_text_add(&full, "%s%s", prefix, key);
  bool found = false;
  for (uint32_t i = 0; !full.failed && i < store->file_count && !found; i++) {
    *out_file = i;
    *out_index = ph_tensor_file_find(store->files[i].file, full.data);
    found = *out_index != SIZE_MAX;
  }
  ph_text_free(&full);
  return found;
}

static bool find_weight(const struct ph_weights *store, const char *prefix, const ph_model_weight *weight,
                        uint32_t *out_file, size_t *out_index) {
  for (uint32_t i = 0; i < weight->key_count; i++)
    if (find_key(store, prefix, weight->keys[i], out_file, out_index)) return true;
  return false;
}

static void choose_prefix(const ph_model *model, struct ph_weights *store) {
  uint32_t most = 0, file;
  size_t index;
  store->prefix = model->prefixes[0];
  if (model->prefix_count == 1) return;
  for (uint32_t i = 0; i < model->prefix_count; i++) {
    uint32_t found = 0;
    for (uint32_t w = 0; w < model->weight_count; w++)
      found += find_weight(store, model->prefixes[i], &model->weights[w], &file, &index);
    if (found <= most) continue;
    most = found;
    store->prefix = model->prefixes[i];
  }
}

ph_status ph_weights_open(ph_model *model, ph_error *error) {
  if (model->store != NULL) return PH_OK;
  struct ph_weights *store = calloc(1, sizeof(*store));
  if (store == NULL) return ph_fail_memory(error);
  ph_status status = PH_OK;
  store->files = ph_new_array(model->weight_file_count, sizeof(*store->files));
  if (store->files == NULL) status = ph_fail_memory(error);
  for (uint32_t i = 0; status == PH_OK && i < model->weight_file_count; i++) {
    open_file *file = &store->files[store->file_count];
    status = ph_tensor_file_open(model->weight_files[i], &file->file, error);
    if (status != PH_OK) break;
    store->file_count++;
    file->taken = ph_new_array(ph_tensor_file_count(file->file), sizeof(ph_tensor *));
    if (file->taken == NULL) status = ph_fail_memory(error);
  }
  model->store = store;
  if (status == PH_OK)
    choose_prefix(model, store);
  else
    ph_weights_close(model);
  return status;
}

void ph_weights_close(ph_model *model) {
  struct ph_weights *store = model->store;
  if (store == NULL) return;
  for (uint32_t i = 0; i < store->file_count; i++) {
    size_t count = ph_tensor_file_count(store->files[i].file);
    for (size_t k = 0; store->files[i].taken != NULL && k < count; k++) ph_tensor_release(store->files[i].taken[k]);
    free(store->files[i].taken);
    ph_tensor_file_close(store->files[i].file);
  }
  for (uint32_t i = 0; i < store->made_count; i++) ph_tensor_release(store->made[i].tensor);
  free(store->made);
  free(store->files);
  free(store);
  model->store = NULL;
}

bool ph_weights_has(const ph_model *model, const char *key) {
  uint32_t file;
  size_t index;
  return find_key(model->store, model->store->prefix, key, &file, &index);
}

/* ---- one weight ---- */

typedef struct resolver {
  ph_model *model;
  struct ph_weights *store;
  ph_scope scope;
  ph_arena arena;
  ph_names random_keys; /* of weights made up in this call, to the first weight of that key */
  ph_error *error;
} resolver;

static ph_status declared_type(resolver *r, const ph_model_weight *weight, ph_type *out) {
  *out = (ph_type){.dtype = weight->dtype != PH_DTYPE_NONE ? weight->dtype : PH_F32, .rank = weight->rank};
  for (uint32_t i = 0; i < weight->rank; i++) {
    ph_status status = ph_expr_integer(weight->dims[i], &r->scope, &out->dims[i], r->error);
    PH_TRY(ph_place_prefix(r->error, weight->place, status));
    if (out->dims[i].value < 0)
      return ph_fail_at(r->error, weight->place, "axis %u of weight '%s', %s, is %lld: an extent cannot be negative", i,
                        weight->path, ph_expr_text(weight->dims[i]), (long long)out->dims[i].value);
  }
  return PH_OK;
}

static bool is_transposed(const ph_type *a, const ph_type *b) {
  return a->rank == 2 && b->rank == 2 && a->dims[0].value == b->dims[1].value && a->dims[1].value == b->dims[0].value;
}

static ph_status check_declared(resolver *r, const ph_model_weight *weight, const char *file, const char *key,
                                const ph_tensor *tensor) {
  ph_type declared, found = {.dtype = tensor->dtype, .rank = tensor->rank};
  if (weight->dtype != PH_DTYPE_NONE && weight->dtype != tensor->dtype)
    return ph_fail_at(r->error, weight->place, "weight '%s' is declared %s, but '%s' in %s is %s", weight->path,
                      ph_dtype_name(weight->dtype), key, file, ph_dtype_name(tensor->dtype));
  if (!weight->has_shape) return PH_OK;
  PH_TRY(declared_type(r, weight, &declared));
  bool same = declared.rank == tensor->rank;
  for (uint32_t i = 0; i < tensor->rank; i++) {
    found.dims[i].value = tensor->dims[i];
    same = same && declared.dims[i].value == tensor->dims[i];
  }
  if (same) return PH_OK;
  return ph_fail_at(r->error, weight->place, "weight '%s' is declared %s, but '%s' in %s is %s%s", weight->path,
                    ph_type_text(&declared), key, file, ph_type_text(&found),
                    is_transposed(&declared, &found)
                        ? "; turned round it fits linear with layout: in_out instead of out_in, or the reverse"
                        : "");
}

static ph_status take(resolver *r, const ph_model_weight *weight, uint32_t file, size_t index, ph_tensor **out) {
  open_file *from = &r->store->files[file];
  const char *key = ph_tensor_file_name(from->file, index);
  if (from->taken[index] == NULL) {
    ph_status status = ph_tensor_file_get(from->file, index, &from->taken[index], r->error);
    PH_TRY(ph_place_prefix(r->error, weight->place, status));
  }
  PH_TRY(check_declared(r, weight, r->model->weight_files[file], key, from->taken[index]));
  *out = ph_tensor_retain(from->taken[index]);
  return PH_OK;
}

static bool same_type(const ph_type *a, const ph_type *b) {
  bool same = a->dtype == b->dtype && a->rank == b->rank;
  for (uint32_t i = 0; same && i < a->rank; i++) same = a->dims[i].value == b->dims[i].value;
  return same;
}

static void keep(made_tensor *slot, ph_tensor *tensor, ph_type type) {
  ph_tensor_release(slot->tensor);
  *slot = (made_tensor){ph_tensor_retain(tensor), type};
}

static ph_status make_from_init(resolver *r, uint32_t index, ph_tensor **out) {
  const ph_model_weight *weight = &r->model->weights[index];
  made_tensor *slot = &r->store->made[index];
  ph_type type;
  PH_TRY(declared_type(r, weight, &type));
  if (slot->tensor == NULL || (weight->has_shape && !same_type(&slot->type, &type))) {
    ph_tensor *fresh;
    PH_TRY(weight->has_shape
               ? ph_source_make(&weight->init, weight->path, &type, &r->scope, &fresh, r->error)
               : ph_source_make_any_shape(&weight->init, weight->path, type.dtype, &r->scope, &fresh, r->error));
    keep(slot, fresh, type);
    ph_tensor_release(fresh);
  }
  *out = ph_tensor_retain(slot->tensor);
  return PH_OK;
}

static ph_status make_random(resolver *r, uint32_t index, ph_tensor **out) {
  const ph_model_weight *weight = &r->model->weights[index];
  made_tensor *slot = &r->store->made[index];
  if (!weight->has_shape)
    return ph_fail_at(r->error, weight->place,
                      "weight '%s' is in no file, and --random cannot make it up without a shape: declare one",
                      weight->path);
  ph_type type;
  PH_TRY(declared_type(r, weight, &type));
  const char *name = weight->key_count > 0 ? weight->keys[0] : weight->path;
  uint32_t first = ph_names_find(&r->random_keys, name); /* one key is one tensor, here too */
  if (first == PH_NONE && !ph_names_add(&r->random_keys, &r->arena, name, index)) return ph_fail_memory(r->error);
  if (first != PH_NONE && same_type(&r->store->made[first].type, &type)) keep(slot, r->store->made[first].tensor, type);
  if (slot->tensor == NULL || !same_type(&slot->type, &type)) {
    ph_source source = {.kind = PH_SOURCE_RANDOM,
                        .place = weight->place,
                        .distribution = weight->rank >= 2 ? PH_XAVIER_UNIFORM : PH_UNIFORM};
    ph_tensor *fresh;
    PH_TRY(ph_source_make(&source, name, &type, &r->scope, &fresh, r->error));
    keep(slot, fresh, type);
    ph_tensor_release(fresh);
  }
  *out = ph_tensor_retain(slot->tensor);
  return PH_OK;
}

/* ---- what to say when it is nowhere ---- */

/* True where `with_dot` is `key` with one "." put in. */
static bool lacks_dot(const char *key, const char *with_dot) {
  size_t at = 0;
  while (key[at] != '\0' && key[at] == with_dot[at]) at++;
  return with_dot[at] == '.' && strcmp(key + at, with_dot + at + 1) == 0;
}

static ph_status fail_missing(resolver *r, const ph_model_weight *weight) {
  const struct ph_weights *store = r->store;
  if (weight->key_count == 0 || store->file_count == 0)
    return ph_fail_at(r->error, weight->place,
                      "weight '%s' has neither a file nor an init: give --weights FILE, or --random to make it up",
                      weight->path);
  const char *key = ph_arena_text(&r->arena, "%s%s", store->prefix, weight->keys[0]);
  size_t count = 0, filled = 0;
  for (uint32_t i = 0; i < store->file_count; i++) count += ph_tensor_file_count(store->files[i].file);
  const char **names = ph_arena_array(&r->arena, count, sizeof(*names));
  if (key == NULL || names == NULL) return ph_fail_memory(r->error);
  const char *dotted = NULL;
  for (uint32_t i = 0; i < store->file_count; i++)
    for (size_t k = 0; k < ph_tensor_file_count(store->files[i].file); k++) {
      names[filled] = ph_tensor_file_name(store->files[i].file, k);
      if (lacks_dot(key, names[filled])) dotted = names[filled];
      filled++;
    }
  const char *near = dotted != NULL ? dotted : ph_nearest(key, names, count);
  return ph_fail_at(r->error, weight->place, "weight '%s': there is no '%s' in %s%s%s%s%s%s", weight->path, key,
                    r->model->weight_files[0], store->file_count > 1 ? " or the other files" : "",
                    near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "",
                    dotted != NULL ? " A prefix lacks its '.'" : "");
}

/* ---- all of them ---- */

static ph_status resolve_one(resolver *r, uint32_t index, ph_tensor **out) {
  const ph_model_weight *weight = &r->model->weights[index];
  uint32_t file;
  size_t at;
  if (find_weight(r->store, r->store->prefix, weight, &file, &at)) return take(r, weight, file, at, out);
  if (weight->init.kind != PH_SOURCE_NONE) return make_from_init(r, index, out);
  return r->model->random ? make_random(r, index, out) : fail_missing(r, weight);
}

ph_status ph_weights_resolve(ph_model *model, const ph_dim *dims, ph_tensor **out, ph_error *error) {
  PH_TRY(ph_weights_open(model, error));
  struct ph_weights *store = model->store;
  if (store->made == NULL) {
    store->made = ph_new_array(model->weight_count, sizeof(*store->made));
    if (store->made == NULL) return ph_fail_memory(error);
    store->made_count = model->weight_count;
  }
  ph_tensor **found = ph_new_array(model->weight_count, sizeof(*found));
  if (found == NULL) return ph_fail_memory(error);
  ph_dim_scope storage = {model, dims};
  resolver r = {.model = model, .store = store, .scope = ph_scope_of_dims(&storage), .error = error};
  ph_status status = PH_OK;
  for (uint32_t i = 0; status == PH_OK && i < model->weight_count; i++) {
    uint32_t first = model->weights[i].first;
    if (first == i)
      status = resolve_one(&r, i, &found[i]);
    else
      found[i] = ph_tensor_retain(found[first]);
  }
  for (uint32_t i = 0; i < model->weight_count; i++) {
    if (status == PH_OK)
      out[i] = found[i];
    else
      ph_tensor_release(found[i]);
  }
  free(found);
  ph_arena_free(&r.arena);
  return status;
}
