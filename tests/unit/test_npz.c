/* The .npz format: archives as NumPy makes them, and archives that lie. */
#include <polyhead/tensor.h>
#include <zip.h>

#include "scratch.h"

#define DICT "{'descr': '<f4', 'fortran_order': %s, 'shape': (2, 3), }"
static const float six[6] = {1, 2, 3, 4, 5, 6};

enum { NPY_SIZE = 128 + sizeof(six) };

static void make_npy(char out[NPY_SIZE], bool fortran_order) {
  memset(out, ' ', 128);
  memcpy(out, "\x93NUMPY\1\0\x76\0", 10);
  int length = snprintf(out + 10, 118, DICT, fortran_order ? "True" : "False");
  out[10 + length] = ' ';
  out[127] = '\n';
  memcpy(out + 128, six, sizeof(six));
}

typedef struct member {
  const char *name;
  const char *bytes;
  size_t size;
  int32_t method;
} member;

static const char *make_zip(void **state, const char *name, const member *members, size_t count) {
  const char *path = scratch_path(state, name);
  zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
  assert_non_null(archive);
  for (size_t i = 0; i < count; i++) {
    zip_source_t *source = zip_source_buffer(archive, members[i].bytes, members[i].size, 0);
    zip_int64_t index = zip_file_add(archive, members[i].name, source, ZIP_FL_ENC_UTF_8);
    assert_true(index >= 0);
    assert_int_equal(zip_set_file_compression(archive, (zip_uint64_t)index, members[i].method, 0), 0);
  }
  assert_int_equal(zip_close(archive), 0);
  return path;
}

/* The whole file, to be spoilt; freed by the caller. */
static char *read_all(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *out_size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*out_size);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *out_size, file), *out_size);
  fclose(file);
  return bytes;
}

static ph_status get_named(const char *path, const char *name, ph_tensor **out, ph_error *error) {
  ph_tensor_file *file;
  *out = NULL;
  PH_TRY(ph_tensor_file_open(path, &file, error));
  size_t index = ph_tensor_file_find(file, name);
  ph_status status = index == SIZE_MAX ? PH_INTERNAL : ph_tensor_file_get(file, index, out, error);
  ph_tensor_file_close(file);
  return status;
}

static void stored_and_deflated(void **state) {
  char rows[NPY_SIZE], columns[NPY_SIZE];
  make_npy(rows, false);
  make_npy(columns, true);
  const member members[] = {
      {"z.npy", rows, NPY_SIZE, ZIP_CM_STORE},     {"小红/w.npy", rows, NPY_SIZE, ZIP_CM_DEFLATE},
      {"note.txt", "hello", 5, ZIP_CM_STORE},      {"f.npy", columns, NPY_SIZE, ZIP_CM_DEFLATE},
      {"fs.npy", columns, NPY_SIZE, ZIP_CM_STORE},
  };
  const char *path = make_zip(state, "good.npz", members, 5);
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  assert_ok(ph_tensor_file_open(path, &file, &error), error);
  assert_int_equal(ph_tensor_file_count(file), 4);
  static const char *const names[] = {"f", "fs", "z", "小红/w"}; /* sorted */
  static const float transposed[6] = {1, 3, 5, 2, 4, 6};
  for (size_t i = 0; i < 4; i++) {
    ph_tensor *tensor;
    assert_string_equal(ph_tensor_file_name(file, i), names[i]);
    assert_int_equal(ph_tensor_file_find(file, names[i]), i);
    assert_ok(ph_tensor_file_get(file, i, &tensor, &error), error);
    assert_int_equal(tensor->rank, 2);
    assert_memory_equal(tensor->data, names[i][0] == 'f' ? transposed : six, sizeof(six));
    ph_tensor_release(tensor);
  }
  assert_int_equal(ph_tensor_file_find(file, "note.txt"), SIZE_MAX);
  assert_int_equal(ph_tensor_file_find(file, "z.npy"), SIZE_MAX);
  ph_tensor_file_close(file);
}

static void a_bad_member_spoils_itself_alone(void **state) {
  char good[NPY_SIZE], doubles[NPY_SIZE], longer[NPY_SIZE + 1];
  make_npy(good, false);
  make_npy(doubles, false);
  memcpy(strstr(doubles + 10, "<f4"), "<f8", 3);
  make_npy(longer, false);
  longer[NPY_SIZE] = 'x';
  const member members[] = {
      {"good.npy", good, NPY_SIZE, ZIP_CM_STORE},
      {"doubles.npy", doubles, NPY_SIZE, ZIP_CM_STORE},
      {"cut.npy", good, NPY_SIZE - 1, ZIP_CM_DEFLATE},
      {"longer.npy", longer, NPY_SIZE + 1, ZIP_CM_STORE},
      {"text.npy", "hello, world", 12, ZIP_CM_STORE},
      {"short.npy", "hello", 5, ZIP_CM_STORE},
      {"empty.npy", "", 0, ZIP_CM_STORE},
      {"header.npy", good, 100, ZIP_CM_STORE},
  };
  static const char *const messages[] = {NULL,      "f64",     "cut off", "follows the data",
                                         "no .npy", "no .npy", "no .npy", "cut off"};
  const char *path = make_zip(state, "mixed.npz", members, 8);
  for (size_t i = 0; i < 8; i++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor *tensor;
    char name[32];
    snprintf(name, sizeof(name), "%.*s", (int)(strlen(members[i].name) - 4), members[i].name);
    ph_status status = get_named(path, name, &tensor, &error);
    assert_int_equal(status, messages[i] == NULL ? PH_OK : PH_INVALID);
    ph_tensor_release(tensor);
    if (messages[i] == NULL) continue;
    assert_contains(error.message, path);
    assert_contains(error.message, name);
    assert_contains(error.message, messages[i]);
  }
}

static void damaged_data_is_noticed(void **state) {
  char npy[NPY_SIZE];
  make_npy(npy, false);
  static const int32_t methods[] = {ZIP_CM_STORE, ZIP_CM_DEFLATE};
  for (size_t m = 0; m < 2; m++) {
    const member one = {"a.npy", npy, NPY_SIZE, methods[m]};
    size_t size;
    char *bytes = read_all(make_zip(state, "a.npz", &one, 1), &size);
    size_t data_at = 30 + strlen("a.npy"); /* behind the local header */
    bytes[data_at + (m == 0 ? NPY_SIZE - 2 : 40)] ^= 0x10;
    ph_error error = PH_ERROR_INIT;
    ph_tensor *tensor;
    assert_int_equal(get_named(scratch_file(state, "b.npz", bytes, size), "a", &tensor, &error), PH_INVALID);
    assert_null(tensor);
    free(bytes);
  }
}

/* Wherever the file ends, nothing is read beyond it. */
static void every_cut_is_refused(void **state) {
  char npy[NPY_SIZE];
  make_npy(npy, false);
  const member one = {"a.npy", npy, NPY_SIZE, ZIP_CM_DEFLATE};
  size_t size;
  char *bytes = read_all(make_zip(state, "a.npz", &one, 1), &size);
  for (size_t cut = 0; cut < size; cut++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor *tensor;
    assert_int_equal(get_named(scratch_file(state, "cut.npz", bytes, cut), "a", &tensor, &error), PH_INVALID);
  }
  free(bytes);
}

/* A member that claims to unpack to gigabytes must be refused before they are allocated: in the directory at the end of
 * the archive the unpacked size lies 24 bytes behind the record's signature. */
static void a_bomb_is_refused_before_it_is_unpacked(void **state) {
  char npy[NPY_SIZE];
  make_npy(npy, false);
  char *shape = strstr(npy + 10, "(2, 3)");
  memcpy(shape, "(1000,1000,1000)}    ", 21);
  const member one = {"a.npy", npy, NPY_SIZE, ZIP_CM_DEFLATE};
  size_t size;
  char *bytes = read_all(make_zip(state, "a.npz", &one, 1), &size);
  uint32_t claimed = 128 + 4000000000u;
  for (size_t i = 0; i + 4 < size; i++)
    if (memcmp(bytes + i, "PK\1\2", 4) == 0) memcpy(bytes + i + 24, &claimed, sizeof(claimed));
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  assert_int_equal(get_named(scratch_file(state, "bomb.npz", bytes, size), "a", &tensor, &error), PH_INVALID);
  assert_contains(error.message, "cannot hold");
  free(bytes);
}

/* Archives of other tools. */
static void other_methods_are_named(void **state) {
  char npy[NPY_SIZE];
  make_npy(npy, false);
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  const member one = {"a.npy", npy, NPY_SIZE, ZIP_CM_STORE};
  size_t size;
  char *bytes = read_all(make_zip(state, "a.npz", &one, 1), &size);
  for (size_t i = 0; i + 4 < size; i++) {
    if (memcmp(bytes + i, "PK\3\4", 4) == 0) bytes[i + 8] = ZIP_CM_LZMA;
    if (memcmp(bytes + i, "PK\1\2", 4) == 0) bytes[i + 10] = ZIP_CM_LZMA;
  }
  assert_int_equal(get_named(scratch_file(state, "lzma.npz", bytes, size), "a", &tensor, &error), PH_INVALID);
  assert_contains(error.message, "compressed by method 14");
  for (size_t i = 0; i + 4 < size; i++) {
    if (memcmp(bytes + i, "PK\3\4", 4) == 0) bytes[i + 6] |= 1, bytes[i + 8] = ZIP_CM_STORE;
    if (memcmp(bytes + i, "PK\1\2", 4) == 0) bytes[i + 8] |= 1, bytes[i + 10] = ZIP_CM_STORE;
  }
  assert_int_equal(get_named(scratch_file(state, "secret.npz", bytes, size), "a", &tensor, &error), PH_INVALID);
  assert_contains(error.message, "it is encrypted");
  free(bytes);
}

static void names_must_differ(void **state) {
  char npy[NPY_SIZE];
  make_npy(npy, false);
  const member two[] = {{"a.npy", npy, NPY_SIZE, ZIP_CM_STORE}, {"b.npy", npy, NPY_SIZE, ZIP_CM_STORE}};
  size_t size;
  char *bytes = read_all(make_zip(state, "a.npz", two, 2), &size);
  for (size_t i = 0; i + 5 < size; i++)
    if (memcmp(bytes + i, "b.npy", 5) == 0) bytes[i] = 'a';
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  assert_int_equal(ph_tensor_file_open(scratch_file(state, "twice.npz", bytes, size), &file, &error), PH_INVALID);
  assert_contains(error.message, "'a' is there twice");
  free(bytes);
}

/* The same tensors make the same file, at any time of day. */
static void written_archives_are_reproducible(void **state) {
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  assert_ok(ph_tensor_create(PH_F32, 1, (int64_t[]){100}, &tensor, &error), error);
  const ph_tensor *tensors[] = {tensor, tensor};
  static const char *const names[] = {"a", "b"};
  assert_ok(ph_tensor_file_write(scratch_path(state, "1.npz"), names, tensors, 2, &error), error);
  assert_ok(ph_tensor_file_write(scratch_path(state, "2.npz"), names, tensors, 2, &error), error);
  size_t first_size, second_size;
  char *first = read_all(scratch_path(state, "1.npz"), &first_size);
  char *second = read_all(scratch_path(state, "2.npz"), &second_size);
  assert_int_equal(first_size, second_size);
  assert_memory_equal(first, second, first_size);
  static const char january_1_1980[4] = {0, 0, 0x21, 0};
  assert_memory_equal(first + 10, january_1_1980, 4);
  free(first);
  free(second);
  ph_tensor_release(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stored_and_deflated),
      cmocka_unit_test(a_bad_member_spoils_itself_alone),
      cmocka_unit_test(damaged_data_is_noticed),
      cmocka_unit_test(every_cut_is_refused),
      cmocka_unit_test(a_bomb_is_refused_before_it_is_unpacked),
      cmocka_unit_test(other_methods_are_named),
      cmocka_unit_test(names_must_differ),
      cmocka_unit_test(written_archives_are_reproducible),
  };
  return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
