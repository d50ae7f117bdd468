/* Making tensors from SOURCE; see source.h. */
#include "config/source.h"

#include <inttypes.h>
#include <math.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/random.h"

static ph_status create(const ph_type *type, ph_tensor **out, ph_error *error) {
  int64_t dims[PH_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; i++) dims[i] = type->dims[i].value;
  return ph_tensor_create(type->dtype, type->rank, dims, out, error);
}

static bool same_shape(const ph_type *type, uint32_t rank, const int64_t *dims) {
  if (type->rank != rank) return false;
  for (uint32_t i = 0; i < rank; i++)
    if (type->dims[i].value != dims[i]) return false;
  return true;
}

static ph_type type_of(ph_dtype dtype, uint32_t rank, const int64_t *dims) {
  ph_type type = {.dtype = dtype, .rank = rank};
  for (uint32_t i = 0; i < rank; i++) type.dims[i].value = dims[i];
  return type;
}

/* One element as it was written: true and false are for bool alone, decimals for real types. */
static ph_status put(const ph_source *source, const char *path, ph_tensor *to, size_t index, double real,
                     const int64_t *integer, ph_error *error) {
  const char *type = ph_dtype_name(to->dtype);
  if (source->all_bool && to->dtype != PH_BOOL)
    return ph_fail_at(error, source->place, "'%s' is %s, but true and false are for bool", path, type);
  if (ph_dtype_is_real(to->dtype)) {
    ph_write_real(to->dtype, to->data, index, real);
    return PH_OK;
  }
  if (integer == NULL)
    return ph_fail_at(error, source->place, "'%s' is %s, but not all its values are integers", path, type);
  if (to->dtype == PH_BOOL && *integer != 0 && *integer != 1)
    return ph_fail_at(error, source->place, "'%s' is bool, which takes true and false, not %" PRId64, path, *integer);
  if (to->dtype == PH_I32 && (*integer < INT32_MIN || *integer > INT32_MAX))
    return ph_fail_at(error, source->place, "'%s' is i32, which %" PRId64 " does not fit", path, *integer);
  ph_write_integer(to->dtype, to->data, index, *integer);
  return PH_OK;
}

static ph_status fill_values(const ph_source *source, const char *path, ph_tensor *to, ph_error *error) {
  for (size_t i = 0; i < source->value_count; i++)
    PH_TRY(put(source, path, to, i, source->reals[i], source->integers != NULL ? &source->integers[i] : NULL, error));
  return PH_OK;
}

static ph_status fill_all(const ph_source *source, const char *path, const ph_scope *scope, ph_tensor *to,
                          ph_error *error) {
  double real = source->fill_value;
  ph_dim whole = {.value = source->all_bool ? (int64_t)source->fill_value : 0};
  bool is_integer = source->all_bool, varies;
  if (source->fill != NULL && ph_dtype_is_real(to->dtype)) {
    PH_TRY(ph_place_prefix(error, source->place, ph_expr_real(source->fill, scope, &real, &varies, error)));
  } else if (source->fill != NULL) {
    PH_TRY(ph_place_prefix(error, source->place, ph_expr_integer(source->fill, scope, &whole, error)));
    is_integer = true;
  }
  for (size_t i = 0; i < to->count; i++)
    PH_TRY(put(source, path, to, i, real, is_integer ? &whole.value : NULL, error));
  return PH_OK;
}

static ph_status fill_random(const ph_source *source, const char *path, ph_tensor *to, ph_error *error) {
  uint64_t key = ph_random_key(source->seed, path);
  if (to->dtype == PH_BOOL && source->distribution == PH_UNIFORM) {
    for (size_t i = 0; i < to->count; i++) ph_write_integer(PH_BOOL, to->data, i, ph_random_unit(key, i) >= 0.5);
    return PH_OK;
  }
  if (!ph_dtype_is_real(to->dtype))
    return ph_fail_at(error, source->place, "'%s' is %s, and random numbers are for real types%s", path,
                      ph_dtype_name(to->dtype), to->dtype == PH_BOOL ? "; uniform makes true and false, too" : "");
  double limit = 1;
  if (source->distribution == PH_XAVIER_UNIFORM) {
    if (to->rank < 2)
      return ph_fail_at(error, source->place, "'%s' has rank %u, and xavier_uniform needs 2 axes", path, to->rank);
    limit = sqrt(6.0 / ((double)to->dims[to->rank - 1] + (double)to->dims[to->rank - 2]));
  }
  for (size_t i = 0; i < to->count; i++) {
    double value =
        source->distribution == PH_NORMAL ? ph_random_normal(key, i) : limit * (2 * ph_random_unit(key, i) - 1);
    ph_write_real(to->dtype, to->data, i, value);
  }
  return PH_OK;
}

/* ---- file ---- */

static ph_status take_only_tensor(const ph_source *source, const char *path, ph_tensor_file *file, ph_tensor **out,
                                  ph_error *error) {
  size_t count = ph_tensor_file_count(file);
  if (count != 1)
    return ph_fail(error, PH_INVALID, "%s holds %zu tensors, and '%s' needs a file of one, a .npy", source->file, count,
                   path);
  return ph_tensor_file_get(file, 0, out, error);
}

/* `type` may be NULL: any shape. */
static ph_status read_file(const ph_source *source, const char *path, ph_dtype dtype, const ph_type *type,
                           ph_tensor **out, ph_error *error) {
  ph_tensor_file *file;
  ph_tensor *tensor;
  PH_TRY(ph_place_prefix(error, source->place, ph_tensor_file_open(source->file, &file, error)));
  ph_status status = ph_place_prefix(error, source->place, take_only_tensor(source, path, file, &tensor, error));
  ph_tensor_file_close(file);
  PH_TRY(status);
  if (tensor->dtype != dtype)
    status = ph_fail_at(error, source->place, "'%s' is %s, but %s holds %s", path, ph_dtype_name(dtype), source->file,
                        ph_dtype_name(tensor->dtype));
  else if (type != NULL && !same_shape(type, tensor->rank, tensor->dims)) {
    ph_type found = type_of(tensor->dtype, tensor->rank, tensor->dims);
    status = ph_fail_at(error, source->place, "'%s' is %s, but %s holds %s", path, ph_type_text(type), source->file,
                        ph_type_text(&found));
  }
  if (status == PH_OK)
    *out = tensor;
  else
    ph_tensor_release(tensor);
  return status;
}

ph_status ph_source_make(const ph_source *source, const char *path, const ph_type *type, const ph_scope *scope,
                         ph_tensor **out, ph_error *error) {
  if (source->kind == PH_SOURCE_FILE) return read_file(source, path, type->dtype, type, out, error);
  if (source->kind == PH_SOURCE_VALUES && !same_shape(type, source->rank, source->dims)) {
    ph_type written = type_of(type->dtype, source->rank, source->dims);
    return ph_fail_at(error, source->place, "'%s' is %s, but its values are written as %s", path, ph_type_text(type),
                      ph_type_text(&written));
  }
  ph_tensor *tensor;
  PH_TRY(ph_place_prefix(error, source->place, create(type, &tensor, error)));
  ph_status status = source->kind == PH_SOURCE_VALUES ? fill_values(source, path, tensor, error)
                     : source->kind == PH_SOURCE_FILL ? fill_all(source, path, scope, tensor, error)
                                                      : fill_random(source, path, tensor, error);
  if (status == PH_OK)
    *out = tensor;
  else
    ph_tensor_release(tensor);
  return status;
}

ph_status ph_source_make_any_shape(const ph_source *source, const char *path, ph_dtype dtype, const ph_scope *scope,
                                   ph_tensor **out, ph_error *error) {
  if (source->kind == PH_SOURCE_FILE) return read_file(source, path, dtype, NULL, out, error);
  if (source->kind != PH_SOURCE_VALUES)
    return ph_fail_at(error, source->place, "'%s' has no shape: declare one, shape: [..]", path);
  ph_type type = type_of(dtype, source->rank, source->dims);
  return ph_source_make(source, path, &type, scope, out, error);
}
