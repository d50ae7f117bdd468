/* Files of tensors: opening, finding, reading; the formats are in files of their own. */
#include "tensor/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tensor/npy.h"

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), tail = strlen(ending);
  return length >= tail && strcmp(text + length - tail, ending) == 0;
}

ph_file_entry *ph_tensor_file_add(ph_tensor_file *file, const char *name) {
  ph_file_entry *entry =
      ph_arena_push(&file->arena, &file->entries, &file->count, &file->capacity, sizeof(*file->entries));
  if (entry == NULL) return NULL;
  entry->name = ph_arena_copy(&file->arena, name, strlen(name));
  return entry->name != NULL ? entry : NULL;
}

/* ---- opening --------------------------------------------------------------------------------------------------------
 */

/* Chooses by the first bytes, which cannot be wrong by accident as an ending can; a .safetensors has no magic but '{'.
 */
static ph_status read_entries(ph_tensor_file *file, ph_error *error) {
  enum { MAGIC_SIZE = 6, ZIP_SIZE = 4, BRACE_AT = 8 };
  ph_file_map map = ph_mapping_bytes(file->mapping);
  if (map.size >= MAGIC_SIZE && memcmp(map.data, PH_NPY_MAGIC, MAGIC_SIZE) == 0) return ph_npy_open(file, error);
  if (map.size >= ZIP_SIZE && (memcmp(map.data, "PK\3\4", ZIP_SIZE) == 0 || memcmp(map.data, "PK\5\6", ZIP_SIZE) == 0))
    return ph_npz_open(file, error);
  if (ends_with(file->path, ".safetensors") || (map.size > BRACE_AT && map.data[BRACE_AT] == '{'))
    return ph_safetensors_open(file, error);
  if (map.size == 0) return ph_fail(error, PH_INVALID, "the file is empty");
  return ph_fail(error, PH_INVALID, "this is no .npy, .npz or .safetensors");
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const ph_file_entry *)a)->name, ((const ph_file_entry *)b)->name);
}

static ph_status sort_entries(ph_tensor_file *file, ph_error *error) {
  if (file->count > 1) qsort(file->entries, file->count, sizeof(*file->entries), compare_names);
  for (uint32_t i = 1; i < file->count; i++)
    if (compare_names(&file->entries[i - 1], &file->entries[i]) == 0)
      return ph_fail(error, PH_INVALID, "tensor '%s' is there twice", file->entries[i].name);
  return PH_OK;
}

ph_status ph_tensor_file_open(const char *path, ph_tensor_file **out, ph_error *error) {
  *out = NULL;
  ph_tensor_file *file = calloc(1, sizeof(*file));
  if (file == NULL) return ph_fail_memory(error);
  ph_status status = PH_OK;
  file->path = ph_arena_copy(&file->arena, path, strlen(path));
  if (file->path == NULL) {
    status = ph_fail_memory(error);
    goto fail;
  }
  status = ph_mapping_open(path, &file->mapping, error);
  if (status != PH_OK) goto fail;
  status = read_entries(file, error);
  if (status == PH_OK) status = sort_entries(file, error);
  if (status != PH_OK) {
    ph_error_prefix(error, "%s: ", path);
    goto fail;
  }
  *out = file;
  return PH_OK;
fail:
  ph_tensor_file_close(file);
  return status;
}

void ph_tensor_file_close(ph_tensor_file *file) {
  if (file == NULL) return;
  ph_npz_close(file);
  ph_mapping_release(file->mapping);
  ph_arena_free(&file->arena);
  free(file);
}

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

size_t ph_tensor_file_count(const ph_tensor_file *file) {
  return file->count;
}

const char *ph_tensor_file_name(const ph_tensor_file *file, size_t index) {
  return file->entries[index].name;
}

size_t ph_tensor_file_find(const ph_tensor_file *file, const char *name) {
  if (file->count == 0) return SIZE_MAX;
  ph_file_entry key = {.name = name};
  const ph_file_entry *found = bsearch(&key, file->entries, file->count, sizeof(key), compare_names);
  return found != NULL ? (size_t)(found - file->entries) : SIZE_MAX;
}

static ph_status get(ph_tensor_file *file, const ph_file_entry *entry, ph_tensor **out, ph_error *error) {
  if (entry->refused != NULL) return ph_fail(error, PH_INVALID, "%s", entry->refused);
  if (file->archive != NULL)
    PH_TRY(ph_npz_get(file, entry, out, error));
  else
    PH_TRY(ph_tensor_from_mapping(file->mapping, entry->offset, &entry->shape, entry->fortran_order, out, error));
  ph_status status = ph_tensor_check_bools(*out, error);
  if (status == PH_OK) return PH_OK;
  ph_tensor_release(*out);
  *out = NULL;
  return status;
}

ph_status ph_tensor_file_get(ph_tensor_file *file, size_t index, ph_tensor **out, ph_error *error) {
  *out = NULL;
  if (index >= file->count) return ph_fail(error, PH_INVALID, "%s: there is no tensor number %zu", file->path, index);
  const ph_file_entry *entry = &file->entries[index];
  ph_status status = get(file, entry, out, error);
  if (status == PH_OK) return PH_OK;
  if (entry->name[0] != '\0')
    ph_error_prefix(error, "%s: tensor '%s': ", file->path, entry->name);
  else
    ph_error_prefix(error, "%s: ", file->path);
  return status;
}

/* ---- a .npy: one entry without a name
 * -------------------------------------------------------------------------------- */

ph_status ph_npy_open(ph_tensor_file *file, ph_error *error) {
  ph_file_map map = ph_mapping_bytes(file->mapping);
  size_t header_size;
  ph_npy_header header;
  PH_TRY(ph_npy_header_size(map.data, map.size, &header_size, error));
  PH_TRY(ph_npy_header_read(map.data, header_size, map.size, &header, error));
  ph_file_entry *entry = ph_tensor_file_add(file, "");
  if (entry == NULL) return ph_fail_memory(error);
  entry->shape = header.shape;
  entry->fortran_order = header.fortran_order;
  entry->offset = header.size;
  return PH_OK;
}

/* ---- writing
 * ---------------------------------------------------------------------------------------------------------- */

static ph_status write_npy(ph_file_writer *writer, const ph_tensor *tensor, ph_error *error) {
  ph_text header = {0};
  ph_status status = ph_npy_header_write(tensor, &header, error);
  if (status == PH_OK) status = ph_file_writer_put(writer, header.data, header.length, error);
  if (status == PH_OK) status = ph_file_writer_put(writer, tensor->data, tensor->bytes, error);
  ph_text_free(&header);
  return status;
}

typedef enum file_format { NPY, NPZ, SAFETENSORS } file_format;

static ph_status choose_format(const char *path, file_format *out, ph_error *error) {
  if (ends_with(path, ".npy"))
    *out = NPY;
  else if (ends_with(path, ".npz"))
    *out = NPZ;
  else if (ends_with(path, ".safetensors"))
    *out = SAFETENSORS;
  else
    return ph_fail(error, PH_INVALID, "cannot write '%s': the ending must be .npy, .npz or .safetensors", path);
  return PH_OK;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ph_status check_names(const char *path, const char *const *names, size_t count, ph_error *error) {
  const char **sorted = ph_new_array(count, sizeof(*sorted));
  if (sorted == NULL) return ph_fail_memory(error);
  ph_status status = PH_OK;
  for (size_t i = 0; i < count; i++) sorted[i] = names[i];
  qsort(sorted, count, sizeof(*sorted), compare_texts);
  for (size_t i = 0; i < count && status == PH_OK; i++)
    if (sorted[i][0] == '\0')
      status = ph_fail(error, PH_INVALID, "cannot write '%s': a tensor has no name", path);
    else if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0)
      status = ph_fail(error, PH_INVALID, "cannot write '%s': two tensors are named '%s'", path, sorted[i]);
  free(sorted);
  return status;
}

ph_status ph_tensor_file_write(const char *path, const char *const *names, const ph_tensor *const *tensors,
                               size_t count, ph_error *error) {
  file_format format;
  PH_TRY(choose_format(path, &format, error));
  if (format == NPY && count != 1)
    return ph_fail(error, PH_INVALID, "cannot write '%s': a .npy holds one tensor, not %zu: a .npz holds several", path,
                   count);
  if (format != NPY) PH_TRY(check_names(path, names, count, error));
  ph_file_writer *writer;
  PH_TRY(ph_file_writer_create(path, &writer, error));
  ph_status status;
  if (format == NPY)
    status = write_npy(writer, tensors[0], error);
  else if (format == NPZ)
    status = ph_npz_write(writer, names, tensors, count, error);
  else
    status = ph_safetensors_write(writer, names, tensors, count, error);
  if (status == PH_OK) return ph_file_writer_commit(writer, error);
  ph_file_writer_abandon(writer);
  if (status == PH_INVALID) ph_error_prefix(error, "cannot write '%s': ", path);
  return status;
}
