/* The .safetensors format: 8 bytes of header length, a JSON header, the data.
 * https://huggingface.co/docs/safetensors: tensors cover the data without holes and without overlap. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "tensor/file.h"

#define METADATA "__metadata__"
enum { LENGTH_SIZE = 8, LARGEST_HEADER = 100 * 1000 * 1000 /* as the format's own reader allows */ };

static const struct {
  ph_dtype dtype;
  const char *name;
} types[] = {{PH_F32, "F32"}, {PH_F16, "F16"}, {PH_BF16, "BF16"}, {PH_I64, "I64"}, {PH_I32, "I32"}, {PH_BOOL, "BOOL"}};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static ph_dtype type_named(const char *name) {
  for (size_t i = 0; i < TYPES; i++)
    if (strcmp(types[i].name, name) == 0) return types[i].dtype;
  return PH_DTYPE_NONE;
}

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

/* Element `index` of an array of integers >= 0. */
static bool read_extent(const json_t *array, size_t index, int64_t *out) {
  const json_t *value = json_array_get(array, index);
  if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
  *out = json_integer_value(value);
  return true;
}

static ph_status read_shape(const json_t *array, ph_tensor *shape, ph_error *error) {
  if (!json_is_array(array)) return ph_fail(error, PH_INVALID, "it has no 'shape'");
  if (json_array_size(array) > PH_MAX_RANK)
    return ph_fail(error, PH_INVALID, "'shape' has more than %d axes", PH_MAX_RANK);
  shape->rank = (uint32_t)json_array_size(array);
  for (uint32_t axis = 0; axis < shape->rank; axis++)
    if (!read_extent(array, axis, &shape->dims[axis]))
      return ph_fail(error, PH_INVALID, "axis %u of 'shape' is no integer >= 0", axis);
  return ph_tensor_measure(shape, error);
}

/* Fills an entry; its offset counts from the start of the data, and *out_end is where its data ends. */
static ph_status read_entry(ph_tensor_file *file, const json_t *about, size_t data_size, ph_file_entry *entry,
                            ph_error *error) {
  const json_t *offsets = json_object_get(about, "data_offsets");
  const char *type = json_string_value(json_object_get(about, "dtype"));
  int64_t begin, end;
  if (type == NULL) return ph_fail(error, PH_INVALID, "it has no 'dtype'");
  if (json_array_size(offsets) != 2 || !read_extent(offsets, 0, &begin) || !read_extent(offsets, 1, &end))
    return ph_fail(error, PH_INVALID, "'data_offsets' is not two integers >= 0");
  if (end < begin)
    return ph_fail(error, PH_INVALID, "its data ends (%lld) before it begins (%lld)", (long long)end, (long long)begin);
  if ((uint64_t)end > data_size)
    return ph_fail(error, PH_INVALID, "its data ends at byte %lld, and there are %zu", (long long)end, data_size);
  entry->offset = (size_t)begin;
  entry->shape.bytes = (size_t)(end - begin);
  entry->shape.dtype = type_named(type);
  if (entry->shape.dtype == PH_DTYPE_NONE) {
    /* Such a tensor does no harm until somebody wants it. */
    entry->refused = ph_arena_text(&file->arena, "type %s is not taken: F32, F16, BF16, I64, I32 and BOOL are%s", type,
                                   strcmp(type, "F64") == 0 ? "; convert it to F32" : "");
    return entry->refused != NULL ? PH_OK : ph_fail_memory(error);
  }
  PH_TRY(read_shape(json_object_get(about, "shape"), &entry->shape, error));
  if (entry->shape.bytes == (uint64_t)(end - begin)) return PH_OK;
  return ph_fail(error, PH_INVALID, "its shape needs %zu bytes, and 'data_offsets' spans %lld", entry->shape.bytes,
                 (long long)(end - begin));
}

static int compare_offsets(const void *a, const void *b) {
  const ph_file_entry *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return (x->shape.bytes > y->shape.bytes) - (x->shape.bytes < y->shape.bytes); /* empty ones first */
}

/* Each tensor must begin where the one before it ends. */
static ph_status check_cover(ph_tensor_file *file, size_t data_size, ph_error *error) {
  if (file->count > 1) qsort(file->entries, file->count, sizeof(*file->entries), compare_offsets);
  size_t end = 0;
  for (uint32_t i = 0; i < file->count; i++) {
    const ph_file_entry *entry = &file->entries[i];
    if (entry->offset < end)
      return ph_fail(error, PH_INVALID, "the data of tensors '%s' and '%s' overlaps", file->entries[i - 1].name,
                     entry->name);
    if (entry->offset > end)
      return ph_fail(error, PH_INVALID, "%zu bytes before the data of tensor '%s' belong to no tensor",
                     entry->offset - end, entry->name);
    end += entry->shape.bytes;
  }
  if (end == data_size) return PH_OK;
  return ph_fail(error, PH_INVALID, "%zu bytes at the end belong to no tensor", data_size - end);
}

static ph_status read_header(ph_tensor_file *file, json_t *header, size_t data_size, ph_error *error) {
  const char *name;
  json_t *about;
  json_object_foreach(header, name, about) {
    if (strcmp(name, METADATA) == 0) {
      if (!json_is_object(about)) return ph_fail(error, PH_INVALID, METADATA " in the header is not an object");
      continue;
    }
    ph_file_entry *entry = ph_tensor_file_add(file, name);
    if (entry == NULL) return ph_fail_memory(error);
    ph_status status = read_entry(file, about, data_size, entry, error);
    if (status != PH_OK) {
      ph_error_prefix(error, "tensor '%s': ", name);
      return status;
    }
  }
  return check_cover(file, data_size, error);
}

ph_status ph_safetensors_open(ph_tensor_file *file, ph_error *error) {
  ph_file_map map = ph_mapping_bytes(file->mapping);
  if (map.size < LENGTH_SIZE)
    return ph_fail(error, PH_INVALID, "the file is cut off: %zu bytes are no .safetensors", map.size);
  uint64_t length;
  memcpy(&length, map.data, sizeof(length));
  if (length > map.size - LENGTH_SIZE)
    return ph_fail(error, PH_INVALID, "the header says it is %llu bytes long, and the file has %zu",
                   (unsigned long long)length, map.size);
  if (length > LARGEST_HEADER)
    return ph_fail(error, PH_INVALID, "the header is %llu bytes long, more than the %d that are taken",
                   (unsigned long long)length, LARGEST_HEADER);
  const char *text = (const char *)map.data + LENGTH_SIZE;
  if (length == 0 || text[0] != '{') return ph_fail(error, PH_INVALID, "the header does not begin with '{'");
  json_error_t reason;
  json_t *header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &reason);
  if (header == NULL)
    return ph_fail(error, PH_INVALID, "the header is not sound JSON: %s at byte %d", reason.text, reason.position);
  size_t before = LENGTH_SIZE + (size_t)length;
  ph_status status = read_header(file, header, map.size - before, error);
  json_decref(header);
  for (uint32_t i = 0; i < file->count; i++) file->entries[i].offset += before;
  return status;
}

/* ---- writing --------------------------------------------------------------------------------------------------------
 */

typedef struct named_tensor {
  const char *name;
  const ph_tensor *tensor;
} named_tensor;

/* Wide elements first, so that each tensor is aligned to its element; then by name. */
static int compare_items(const void *a, const void *b) {
  const named_tensor *x = a, *y = b;
  size_t m = ph_dtype_size(x->tensor->dtype), n = ph_dtype_size(y->tensor->dtype);
  if (m != n) return m > n ? -1 : 1;
  return strcmp(x->name, y->name);
}

static ph_status add_item(json_t *header, const named_tensor *item, size_t *offset, ph_error *error) {
  const ph_tensor *tensor = item->tensor;
  const char *type = NULL;
  for (size_t i = 0; i < TYPES; i++)
    if (types[i].dtype == tensor->dtype) type = types[i].name;
  if (type == NULL)
    return ph_fail(error, PH_INVALID, "tensor '%s': type %s is not written", item->name, ph_dtype_name(tensor->dtype));
  if (strcmp(item->name, METADATA) == 0) return ph_fail(error, PH_INVALID, "no tensor may be named " METADATA);
  size_t end;
  if (!ph_add_size(*offset, tensor->bytes, &end) || end > PTRDIFF_MAX)
    return ph_fail(error, PH_INVALID, "the tensors are too large for one file");
  json_t *shape = json_array();
  bool made = shape != NULL;
  for (uint32_t axis = 0; axis < tensor->rank; axis++)
    made = made && json_array_append_new(shape, json_integer(tensor->dims[axis])) == 0;
  json_t *about = json_pack("{s:s, s:o, s:[I, I]}", "dtype", type, "shape", shape, "data_offsets", (json_int_t)*offset,
                            (json_int_t)end);
  if (!made || about == NULL) {
    json_decref(about);
    return ph_fail_memory(error);
  }
  *offset = end;
  if (json_object_set_new(header, item->name, about) == 0) return PH_OK;
  return ph_fail(error, PH_INVALID, "the name of tensor '%s' is not UTF-8", item->name);
}

static ph_status put_header(ph_file_writer *writer, const json_t *header, ph_error *error) {
  char *text = json_dumps(header, JSON_COMPACT);
  if (text == NULL) return ph_fail_memory(error);
  static const char spaces[LENGTH_SIZE + 1] = "        ";
  size_t length = strlen(text), padding = (LENGTH_SIZE - length % LENGTH_SIZE) % LENGTH_SIZE;
  uint64_t stored = length + padding;
  ph_status status = ph_file_writer_put(writer, &stored, sizeof(stored), error);
  if (status == PH_OK) status = ph_file_writer_put(writer, text, length, error);
  if (status == PH_OK) status = ph_file_writer_put(writer, spaces, padding, error);
  free(text);
  return status;
}

ph_status ph_safetensors_write(ph_file_writer *writer, const char *const *names, const ph_tensor *const *tensors,
                               size_t count, ph_error *error) {
  named_tensor *items = ph_new_array(count, sizeof(*items));
  json_t *header = json_object();
  size_t offset = 0;
  ph_status status = items != NULL && header != NULL ? PH_OK : ph_fail_memory(error);
  if (status != PH_OK) goto finish;
  for (size_t i = 0; i < count; i++) items[i] = (named_tensor){names[i], tensors[i]};
  qsort(items, count, sizeof(*items), compare_items);
  for (size_t i = 0; i < count && status == PH_OK; i++) status = add_item(header, &items[i], &offset, error);
  if (status == PH_OK) status = put_header(writer, header, error);
  for (size_t i = 0; i < count && status == PH_OK; i++)
    status = ph_file_writer_put(writer, items[i].tensor->data, items[i].tensor->bytes, error);
finish:
  json_decref(header);
  free(items);
  return status;
}
