/* The .npz format: a zip archive of .npy files, stored or deflated. */
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/error.h"
#include "tensor/file.h"
#include "tensor/npy.h"

#define ENDING ".npy"
enum { ENDING_LENGTH = sizeof(ENDING) - 1 };

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

ph_status ph_npz_open(ph_tensor_file *file, ph_error *error) {
  ph_file_map map = ph_mapping_bytes(file->mapping);
  zip_error_t reason;
  zip_error_init(&reason);
  zip_source_t *source = zip_source_buffer_create(map.data, map.size, 0, &reason);
  if (source != NULL) file->archive = zip_open_from_source(source, ZIP_RDONLY, &reason);
  if (file->archive == NULL) {
    ph_status status = ph_fail(error, PH_INVALID, "the archive cannot be read: %s", zip_error_strerror(&reason));
    zip_source_free(source);
    zip_error_fini(&reason);
    return status;
  }
  zip_error_fini(&reason);
  zip_int64_t members = zip_get_num_entries(file->archive, 0);
  for (zip_uint64_t i = 0; i < (zip_uint64_t)members; i++) {
    const char *name = zip_get_name(file->archive, i, 0);
    size_t length = name != NULL ? strlen(name) : 0;
    if (length < ENDING_LENGTH || strcmp(name + length - ENDING_LENGTH, ENDING) != 0) continue; /* a note, a folder */
    char *stem = ph_arena_copy(&file->arena, name, length - ENDING_LENGTH);
    ph_file_entry *entry = stem != NULL ? ph_tensor_file_add(file, stem) : NULL;
    if (entry == NULL) return ph_fail_memory(error);
    entry->member = i;
  }
  return PH_OK;
}

void ph_npz_close(ph_tensor_file *file) {
  if (file->archive != NULL) zip_discard(file->archive);
}

/* The member's size when unpacked, once it is believed: nothing is allocated for more than its packed bytes can hold.
 */
static ph_status believed_size(ph_tensor_file *file, const ph_file_entry *entry, size_t *out, ph_error *error) {
  enum { DEFLATE_LIMIT = 1032 }; /* deflate makes at most 258 bytes out of two bits */
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_t about;
  zip_stat_init(&about);
  if (zip_stat_index(file->archive, entry->member, 0, &about) != 0 || (about.valid & needed) != needed)
    return ph_fail(error, PH_INVALID, "the archive does not say how large it is");
  if (about.encryption_method != ZIP_EM_NONE) return ph_fail(error, PH_INVALID, "it is encrypted");
  if (about.comp_method != ZIP_CM_STORE && about.comp_method != ZIP_CM_DEFLATE)
    return ph_fail(error, PH_INVALID, "it is compressed by method %u: stored and deflated are taken",
                   about.comp_method);
  zip_uint64_t limit = about.comp_size;
  if (limit > ph_mapping_bytes(file->mapping).size) return ph_fail(error, PH_INVALID, "the archive is cut off");
  if (about.comp_method == ZIP_CM_DEFLATE) limit *= DEFLATE_LIMIT;
  if (about.size > limit)
    return ph_fail(error, PH_INVALID, "it says it is %llu bytes long, which its %llu packed bytes cannot hold",
                   (unsigned long long)about.size, (unsigned long long)about.comp_size);
  *out = (size_t)about.size;
  return PH_OK;
}

static ph_status read_bytes(zip_file_t *member, void *out, size_t size, ph_error *error) {
  unsigned char *at = out;
  while (size > 0) {
    zip_int64_t got = zip_fread(member, at, size);
    if (got < 0) return ph_fail(error, PH_INVALID, "it cannot be unpacked: %s", zip_file_strerror(member));
    if (got == 0) return ph_fail(error, PH_INVALID, "it is cut off");
    at += got;
    size -= (size_t)got;
  }
  return PH_OK;
}

/* The checksum is looked at where the member ends. */
static ph_status read_end(zip_file_t *member, ph_error *error) {
  char more;
  zip_int64_t got = zip_fread(member, &more, 1);
  if (got < 0) return ph_fail(error, PH_INVALID, "it cannot be unpacked: %s", zip_file_strerror(member));
  return got == 0 ? PH_OK : ph_fail(error, PH_INVALID, "it is longer than the archive says");
}

static ph_status read_header(zip_file_t *member, size_t size, ph_npy_header *out, ph_error *error) {
  if (size < PH_NPY_START) return ph_fail(error, PH_INVALID, "%zu bytes are no .npy", size);
  unsigned char start[PH_NPY_START];
  size_t header_size;
  PH_TRY(read_bytes(member, start, sizeof(start), error));
  PH_TRY(ph_npy_header_size(start, size, &header_size, error));
  unsigned char *header = malloc(header_size);
  if (header == NULL) return ph_fail_memory(error);
  memcpy(header, start, sizeof(start));
  ph_status status = read_bytes(member, header + sizeof(start), header_size - sizeof(start), error);
  if (status == PH_OK) status = ph_npy_header_read(header, header_size, size, out, error);
  free(header);
  return status;
}

static ph_status make_row_major(const ph_tensor *shape, ph_tensor **tensor, ph_error *error) {
  ph_tensor *transposed;
  PH_TRY(ph_tensor_create_raw(shape, &transposed, error));
  ph_tensor_transpose(shape, (*tensor)->data, transposed->data);
  ph_tensor_release(*tensor);
  *tensor = transposed;
  return PH_OK;
}

ph_status ph_npz_get(ph_tensor_file *file, const ph_file_entry *entry, ph_tensor **out, ph_error *error) {
  size_t size = 0;
  PH_TRY(believed_size(file, entry, &size, error));
  zip_file_t *member = zip_fopen_index(file->archive, entry->member, 0);
  if (member == NULL) return ph_fail(error, PH_INVALID, "it cannot be unpacked: %s", zip_strerror(file->archive));
  ph_tensor *tensor = NULL;
  ph_npy_header header;
  ph_status status = read_header(member, size, &header, error);
  if (status == PH_OK) status = ph_tensor_create_raw(&header.shape, &tensor, error);
  if (status == PH_OK) status = read_bytes(member, tensor->data, tensor->bytes, error);
  if (status == PH_OK) status = read_end(member, error);
  if (status == PH_OK && header.fortran_order && header.shape.rank > 1)
    status = make_row_major(&header.shape, &tensor, error);
  zip_fclose(member);
  if (status == PH_OK)
    *out = tensor;
  else
    ph_tensor_release(tensor);
  return status;
}

/* ---- writing --------------------------------------------------------------------------------------------------------
 */

/* Adds one member whose header and data stay where they are until the archive is closed. */
static ph_status add_member(zip_t *archive, const char *name, const ph_tensor *tensor, ph_arena *arena,
                            ph_error *error) {
  enum { JANUARY_1_1980 = 1 << 5 | 1 }; /* as NumPy does: the same tensors make the same file */
  ph_text text = {0};
  ph_status status = ph_npy_header_write(tensor, &text, error);
  char *header = status == PH_OK ? ph_arena_copy(arena, text.data, text.length) : NULL;
  size_t header_size = text.length;
  ph_text_free(&text);
  if (status == PH_INVALID) ph_error_prefix(error, "tensor '%s': ", name);
  PH_TRY(status);
  char *member_name = ph_arena_text(arena, "%s" ENDING, name);
  if (header == NULL || member_name == NULL) return ph_fail_memory(error);
  zip_buffer_fragment_t parts[2] = {{(zip_uint8_t *)header, header_size}, {tensor->data, tensor->bytes}};
  zip_source_t *source = zip_source_buffer_fragment(archive, parts, tensor->bytes > 0 ? 2 : 1, 0);
  if (source == NULL) return ph_fail_memory(error);
  zip_int64_t index = zip_file_add(archive, member_name, source, ZIP_FL_ENC_UTF_8);
  if (index < 0) { /* the names are known to differ */
    status = ph_fail(error, PH_INVALID, "the name of tensor '%s' is not UTF-8: %s", name, zip_strerror(archive));
    zip_source_free(source);
    return status;
  }
  if (zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, (zip_uint64_t)index, 0, JANUARY_1_1980, 0) != 0)
    return ph_fail(error, PH_INTERNAL, "tensor '%s' cannot be stored: %s", name, zip_strerror(archive));
  return PH_OK;
}

/* Copies the finished archive from memory to the file. */
static ph_status put_archive(zip_source_t *memory, ph_file_writer *writer, ph_error *error) {
  enum { PIECE = 64 * 1024 };
  if (zip_source_open(memory) != 0) return ph_fail_memory(error);
  char *piece = malloc(PIECE);
  ph_status status = piece != NULL ? PH_OK : ph_fail_memory(error);
  while (status == PH_OK) {
    zip_int64_t got = zip_source_read(memory, piece, PIECE);
    if (got < 0) status = ph_fail(error, PH_INTERNAL, "the archive was not kept in memory");
    if (got <= 0) break;
    status = ph_file_writer_put(writer, piece, (size_t)got, error);
  }
  free(piece);
  zip_source_close(memory);
  return status;
}

/* The archive is made in memory and then written: libzip's own writing would not sync, and leaves files behind. */
ph_status ph_npz_write(ph_file_writer *writer, const char *const *names, const ph_tensor *const *tensors, size_t count,
                       ph_error *error) {
  if (count == 0) return ph_fail(error, PH_INVALID, "a .npz holds at least one tensor");
  ph_arena arena = {0};
  zip_t *archive = NULL;
  ph_status status = PH_OK;
  zip_source_t *memory = zip_source_buffer_create(NULL, 0, 0, NULL);
  if (memory != NULL) archive = zip_open_from_source(memory, ZIP_CREATE | ZIP_TRUNCATE, NULL);
  if (archive == NULL) {
    zip_source_free(memory);
    return ph_fail_memory(error);
  }
  zip_source_keep(memory); /* it outlives the archive that is written to it */
  for (size_t i = 0; i < count && status == PH_OK; i++)
    status = add_member(archive, names[i], tensors[i], &arena, error);
  if (status == PH_OK && zip_close(archive) != 0)
    status = ph_fail(error, PH_OUT_OF_MEMORY, "the archive cannot be made: %s", zip_strerror(archive));
  else if (status == PH_OK)
    archive = NULL;
  if (archive != NULL) zip_discard(archive);
  if (status == PH_OK) status = put_archive(memory, writer, error);
  zip_source_free(memory);
  ph_arena_free(&arena);
  return status;
}
