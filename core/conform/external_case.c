#include "conform/external_case.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"

/* What the functions below share; `path` is that of case.json. */
typedef struct reader {
  ph_external_case *of;
  const char *folder, *path;
  ph_error *error;
} reader;

static const json_t *member(const json_t *object, const char *name, json_type type) {
  const json_t *value = json_object_get(object, name);
  return value != NULL && json_typeof(value) == type ? value : NULL;
}

static ph_status need(const reader *r, const json_t *object, const char *name, json_type type, const char *kind,
                      const json_t **out) {
  *out = member(object, name, type);
  return *out != NULL ? PH_OK : ph_fail(r->error, PH_INVALID, "%s: '%s' must be there and be %s", r->path, name, kind);
}

static bool is_name(const char *text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return text[0] != '\0' && strspn(text, letters) == strlen(text) && (text[0] < '0' || text[0] > '9');
}

/* ---- tensors ---- */

static ph_dtype dtype_of(const char *numpy) {
  static const struct {
    const char *numpy;
    ph_dtype dtype;
  } types[] = {
      {"float32", PH_F32}, {"float16", PH_F16}, {"int64", PH_I64}, {"int32", PH_I32}, {"bool", PH_BOOL},
  };
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (strcmp(types[i].numpy, numpy) == 0) return types[i].dtype;
  return PH_DTYPE_NONE;
}

static ph_status read_shape(const reader *r, const json_t *shape, ph_external_tensor *out) {
  size_t rank = json_array_size(shape);
  if (rank > PH_MAX_RANK)
    return ph_fail(r->error, PH_INVALID, "%s: '%s' has %zu axes; %d is the most", r->path, out->role, rank,
                   PH_MAX_RANK);
  out->rank = (uint32_t)rank;
  for (uint32_t i = 0; i < out->rank; i++) {
    const json_t *extent = json_array_get(shape, i);
    if (!json_is_integer(extent) || json_integer_value(extent) < 0)
      return ph_fail(r->error, PH_INVALID, "%s: the shape of '%s' must hold integers of 0 or more", r->path, out->role);
    out->dims[i] = json_integer_value(extent);
  }
  return PH_OK;
}

static ph_status read_tensor(const reader *r, const json_t *json, ph_external_tensor *out) {
  const json_t *role, *present, *file, *type, *shape;
  PH_TRY(need(r, json, "role", JSON_STRING, "a text", &role));
  out->role = json_string_value(role);
  if (!is_name(out->role))
    return ph_fail(r->error, PH_INVALID, "%s: the role '%s' is no name: it takes letters, digits and '_'", r->path,
                   out->role);
  present = json_object_get(json, "present");
  if (!json_is_boolean(present))
    return ph_fail(r->error, PH_INVALID, "%s: 'present' of '%s' must be true or false", r->path, out->role);
  out->present = json_is_true(present);
  if (!out->present) return PH_OK;
  PH_TRY(need(r, json, "file", JSON_STRING, "the name of a .npy", &file));
  PH_TRY(need(r, json, "dtype", JSON_STRING, "the name of a type", &type));
  PH_TRY(need(r, json, "shape", JSON_ARRAY, "a list", &shape));
  if (strchr(json_string_value(file), '/') != NULL)
    return ph_fail(r->error, PH_INVALID, "%s: '%s' lies in %s, but must lie beside case.json", r->path, out->role,
                   json_string_value(file));
  out->file = ph_arena_text(&r->of->arena, "%s/%s", r->folder, json_string_value(file));
  if (out->file == NULL) return ph_fail_memory(r->error);
  out->type = json_string_value(type);
  out->dtype = dtype_of(out->type);
  return read_shape(r, shape, out);
}

static ph_status read_tensors(const reader *r, const char *name, ph_external_tensor **out, uint32_t *out_count) {
  const json_t *list;
  PH_TRY(need(r, r->of->json, name, JSON_ARRAY, "a list", &list));
  *out = ph_arena_array(&r->of->arena, json_array_size(list), sizeof(**out));
  if (*out == NULL) return ph_fail_memory(r->error);
  for (; *out_count < json_array_size(list); ++*out_count)
    PH_TRY(read_tensor(r, json_array_get(list, *out_count), &(*out)[*out_count]));
  return PH_OK;
}

/* ---- the whole ---- */

static ph_status read_tolerance(const reader *r) {
  const json_t *tolerance, *rtol, *atol, *nan;
  PH_TRY(need(r, r->of->json, "tolerance", JSON_OBJECT, "a mapping", &tolerance));
  rtol = json_object_get(tolerance, "rtol");
  atol = json_object_get(tolerance, "atol");
  nan = json_object_get(tolerance, "equal_nan");
  if (!json_is_number(rtol) || !json_is_number(atol) || json_number_value(rtol) < 0 || json_number_value(atol) < 0)
    return ph_fail(r->error, PH_INVALID, "%s: 'tolerance' needs rtol and atol, numbers of 0 or more", r->path);
  if (nan != NULL && !json_is_boolean(nan))
    return ph_fail(r->error, PH_INVALID, "%s: 'equal_nan' of the tolerance must be true or false", r->path);
  r->of->rtol = json_number_value(rtol);
  r->of->atol = json_number_value(atol);
  r->of->equal_nan = json_is_true(nan);
  return PH_OK;
}

static ph_status read_json(const reader *r) {
  json_error_t problem;
  ph_external_case *of = r->of;
  of->json = json_load_file(r->path, JSON_REJECT_DUPLICATES, &problem);
  if (of->json == NULL) {
    bool absent = json_error_code(&problem) == json_error_cannot_open_file;
    return absent ? ph_fail(r->error, PH_IO, "%s cannot be read", r->path)
                  : ph_fail(r->error, PH_INVALID, "%s:%d:%d: error: %s", r->path, problem.line, problem.column,
                            problem.text);
  }
  const json_t *op;
  PH_TRY(need(r, of->json, "op", JSON_STRING, "a text", &op));
  of->op = json_string_value(op);
  PH_TRY(need(r, of->json, "attributes", JSON_OBJECT, "a mapping", &of->attributes));
  PH_TRY(read_tensors(r, "inputs", &of->inputs, &of->input_count));
  PH_TRY(read_tensors(r, "outputs", &of->outputs, &of->output_count));
  return read_tolerance(r);
}

ph_status ph_external_case_read(const char *folder, ph_external_case **out, ph_error *error) {
  ph_external_case *of = ph_new_array(1, sizeof(*of));
  if (of == NULL) return ph_fail_memory(error);
  const char *path = ph_arena_text(&of->arena, "%s/case.json", folder);
  reader r = {.of = of, .folder = folder, .path = path, .error = error};
  ph_status status = path != NULL ? read_json(&r) : ph_fail_memory(error);
  if (status == PH_OK)
    *out = of;
  else
    ph_external_case_destroy(of);
  return status;
}

void ph_external_case_destroy(ph_external_case *of) {
  if (of == NULL) return;
  ph_external_case_unload(of);
  json_decref(of->json);
  ph_arena_free(&of->arena);
  free(of);
}

/* ---- the data ---- */

ph_type ph_external_type(ph_dtype dtype, uint32_t rank, const int64_t *dims) {
  ph_type type = {.dtype = dtype, .rank = rank};
  for (uint32_t i = 0; i < rank; i++) type.dims[i].value = dims[i];
  return type;
}

bool ph_external_same_type(const ph_type *a, const ph_type *b) {
  bool same = a->dtype == b->dtype && a->rank == b->rank;
  for (uint32_t i = 0; same && i < a->rank; i++) same = a->dims[i].value == b->dims[i].value;
  return same;
}

static ph_status check(const ph_external_tensor *tensor, ph_error *error) {
  ph_type said = ph_external_type(tensor->dtype, tensor->rank, tensor->dims);
  ph_type found = ph_external_type(tensor->data->dtype, tensor->data->rank, tensor->data->dims);
  if (ph_external_same_type(&said, &found)) return PH_OK;
  return ph_fail(error, PH_INVALID, "%s holds %s %s, but case.json says %s %s", tensor->file,
                 ph_dtype_name(found.dtype), ph_type_text(&found), ph_dtype_name(said.dtype), ph_type_text(&said));
}

static ph_status load(ph_external_tensor *tensor, ph_error *error) {
  if (!tensor->present || tensor->data != NULL) return PH_OK;
  if (tensor->dtype == PH_DTYPE_NONE)
    return ph_fail(error, PH_UNSUPPORTED, "'%s' is %s: float32, float16, int64, int32 and bool are taken", tensor->role,
                   tensor->type);
  ph_tensor_file *file;
  PH_TRY(ph_tensor_file_open(tensor->file, &file, error));
  ph_status status = ph_tensor_file_get(file, 0, &tensor->data, error);
  ph_tensor_file_close(file);
  PH_TRY(status);
  return check(tensor, error);
}

ph_status ph_external_case_load(ph_external_case *of, ph_error *error) {
  for (uint32_t i = 0; i < of->input_count; i++) PH_TRY(load(&of->inputs[i], error));
  for (uint32_t i = 0; i < of->output_count; i++) PH_TRY(load(&of->outputs[i], error));
  return PH_OK;
}

static void unload(ph_external_tensor *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    ph_tensor_release(tensors[i].data);
    tensors[i].data = NULL;
  }
}

void ph_external_case_unload(ph_external_case *of) {
  unload(of->inputs, of->input_count);
  unload(of->outputs, of->output_count);
}
