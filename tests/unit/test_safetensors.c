/* The .safetensors format, and crafted files that other readers followed out of bounds (user report R089). */
#include <polyhead/tensor.h>

#include "scratch.h"

enum { FILE_SIZE = 4096 };

/* A file of a header and `data_size` bytes 0, 1, 2 ..; `length` is what it says of the header's length. */
static const char *make_file(void **state, uint64_t length, const char *header, size_t data_size) {
  static unsigned char bytes[FILE_SIZE];
  size_t header_size = strlen(header);
  memcpy(bytes, &length, 8);
  memcpy(bytes + 8, header, header_size);
  for (size_t i = 0; i < data_size; i++) bytes[8 + header_size + i] = (unsigned char)i;
  return scratch_file(state, "x.safetensors", bytes, 8 + header_size + data_size);
}

static void tensors_are_found_and_mapped(void **state) {
  const char *header = "{\"__metadata__\":{\"format\":\"pt\"},"
                       "\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]},"
                       "\"ids\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
                       "\"a.b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[16,22]},"
                       "\"none\":{\"dtype\":\"F16\",\"shape\":[5,0],\"data_offsets\":[16,16]},"
                       "\"小红\":{\"dtype\":\"BOOL\",\"shape\":[0],\"data_offsets\":[22,22]}}   ";
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  assert_ok(ph_tensor_file_open(make_file(state, strlen(header), header, 22), &file, &error), error);
  static const struct {
    const char *name;
    ph_dtype dtype;
    uint32_t rank;
    size_t bytes;
    unsigned char first;
  } expected[] = {{"a.b", PH_BF16, 1, 6, 16},
                  {"ids", PH_I64, 0, 8, 0},
                  {"none", PH_F16, 2, 0, 0},
                  {"w", PH_F32, 2, 8, 8},
                  {"小红", PH_BOOL, 1, 0, 0}};
  assert_int_equal(ph_tensor_file_count(file), 5);
  for (size_t i = 0; i < 5; i++) {
    ph_tensor *tensor;
    assert_string_equal(ph_tensor_file_name(file, i), expected[i].name);
    assert_int_equal(ph_tensor_file_find(file, expected[i].name), i);
    assert_ok(ph_tensor_file_get(file, i, &tensor, &error), error);
    assert_int_equal(tensor->dtype, expected[i].dtype);
    assert_int_equal(tensor->rank, expected[i].rank);
    assert_int_equal(tensor->bytes, expected[i].bytes);
    for (size_t b = 0; b < tensor->bytes; b++)
      assert_int_equal(((unsigned char *)tensor->data)[b], expected[i].first + b);
    ph_tensor_release(tensor);
  }
  ph_tensor_file_close(file);
}

/* The header's length decides where data begins: wherever that is, elements are aligned. */
static void unaligned_data_is_copied(void **state) {
  for (int spaces = 0; spaces < 8; spaces++) {
    char header[200];
    snprintf(header, sizeof(header), "{\"w\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}}%*s", spaces,
             "");
    ph_error error = PH_ERROR_INIT;
    ph_tensor_file *file;
    ph_tensor *tensor;
    assert_ok(ph_tensor_file_open(make_file(state, strlen(header), header, 16), &file, &error), error);
    assert_ok(ph_tensor_file_get(file, 0, &tensor, &error), error);
    assert_int_equal((uintptr_t)tensor->data % 8, 0);
    assert_true(((int64_t *)tensor->data)[1] == 0x0f0e0d0c0b0a0908);
    ph_tensor_release(tensor);
    ph_tensor_file_close(file);
  }
}

#define ONE(dtype, shape, offsets) "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(first, second)                                                                                             \
  "{\"v\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" first "},\"w\":{\"dtype\":\"F32\",\"shape\":[1],"        \
  "\"data_offsets\":" second "}}"

static void crafted_files_are_refused(void **state) {
  static const struct {
    const char *header;
    size_t data_size;
    const char *message;
  } cases[] = {
      {ONE("\"F32\"", "[1000,1000]", "[0,4]"), 4, "tensor 'w': its shape needs 4000000 bytes"},
      {ONE("\"F32\"", "[1]", "[0,8]"), 8, "tensor 'w': its shape needs 4 bytes"},
      {ONE("\"F32\"", "[1]", "[4,0]"), 4, "tensor 'w': its data ends (0) before it begins (4)"},
      {ONE("\"F32\"", "[2]", "[0,8]"), 4, "tensor 'w': its data ends at byte 8, and there are 4"},
      {ONE("\"F32\"", "[1]", "[9223372036854775803,9223372036854775807]"), 4, "tensor 'w'"},
      {ONE("\"F32\"", "[1]", "[-4,0]"), 4, "tensor 'w': 'data_offsets'"},
      {ONE("\"F32\"", "[1]", "[0,18446744073709551615]"), 4, "JSON"},
      {ONE("\"F32\"", "[1]", "[0,4.0]"), 4, "tensor 'w': 'data_offsets'"},
      {ONE("\"F32\"", "[1]", "[0,\"4\"]"), 4, "tensor 'w': 'data_offsets'"},
      {ONE("\"F32\"", "[1]", "[0]"), 4, "tensor 'w': 'data_offsets'"},
      {ONE("\"F32\"", "[1]", "[0,4,4]"), 4, "tensor 'w': 'data_offsets'"},
      {ONE("\"F32\"", "[1]", "{\"0\":0,\"1\":4}"), 4, "tensor 'w': 'data_offsets'"},
      {ONE("\"F32\"", "[-1]", "[0,4]"), 4, "tensor 'w': axis 0"},
      {ONE("\"F32\"", "[1.0]", "[0,4]"), 4, "tensor 'w': axis 0"},
      {ONE("\"F32\"", "1", "[0,4]"), 4, "tensor 'w': it has no 'shape'"},
      {ONE("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "tensor 'w': 'shape' has more than 8 axes"},
      {ONE("\"F32\"", "[8589934592,8589934592]", "[0,4]"), 4, "tensor 'w': the shape is too large"},
      {ONE("\"F32\"", "[4294967296,4294967296,0]", "[0,0]"), 0, "tensor 'w': the shape is too large"},
      {ONE("7", "[1]", "[0,4]"), 4, "tensor 'w': it has no 'dtype'"},
      {ONE("\"X9\"", "[1]", "[0,8]"), 4, "tensor 'w': its data ends at byte 8"}, /* of unknown type: checked too */
      {TWO("[0,4]", "[0,4]"), 4, "'v' and 'w' overlap"},
      {TWO("[0,4]", "[2,6]"), 6, "'v' and 'w' overlap"},
      {TWO("[2,6]", "[0,4]"), 6, "'w' and 'v' overlap"},
      {TWO("[0,4]", "[6,10]"), 10, "2 bytes before the data of tensor 'w' belong to no tensor"},
      {TWO("[4,8]", "[8,12]"), 12, "4 bytes before the data of tensor 'v' belong to no tensor"},
      {TWO("[0,4]", "[4,8]"), 11, "3 bytes at the end belong to no tensor"},
      {"{}", 1, "1 bytes at the end belong to no tensor"},
      {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "tensor 'w': 'data_offsets'"},
      {"{\"w\":7}", 0, "tensor 'w'"},
      {"{\"__metadata__\":7}", 0, "__metadata__"},
      {"{\"w\":{},\"w\":{}}", 0, "duplicate"},
      {"{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "duplicate"},
      {"{\"w\":", 0, "JSON"},
      {"{} x", 0, "JSON"},
      {"{\"\xff\":{}}", 0, "JSON"},
      {"{\"a\\u0000b\":{}}", 0, "JSON"},
      {"[]", 0, "'{'"},
      {" {}", 0, "'{'"},
      {"", 0, "'{'"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor_file *file;
    const char *path = make_file(state, strlen(cases[i].header), cases[i].header, cases[i].data_size);
    ph_status status = ph_tensor_file_open(path, &file, &error);
    if (status != PH_INVALID) fail_msg("%s: status %d", cases[i].header, status);
    assert_null(file);
    assert_contains(error.message, "x.safetensors: ");
    assert_contains(error.message, cases[i].message);
  }
}

static void lying_header_lengths(void **state) {
  const char *header = ONE("\"F32\"", "[1]", "[0,4]");
  uint64_t right = strlen(header);
  const uint64_t lengths[] = {
      0, 1, right - 1, right + 5, UINT64_MAX, UINT64_MAX - 4, UINT64_MAX - 7, INT64_MAX, (uint64_t)1 << 32};
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor_file *file;
    assert_int_equal(ph_tensor_file_open(make_file(state, lengths[i], header, 4), &file, &error), PH_INVALID);
    assert_contains(error.message, "header");
  }
}

static void every_cut_is_refused(void **state) {
  const char *header = ONE("\"F32\"", "[2]", "[0,8]");
  unsigned char bytes[200] = {(unsigned char)strlen(header)};
  memcpy(bytes + 8, header, strlen(header));
  for (size_t cut = 0; cut < 8 + strlen(header) + 8; cut++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor_file *file;
    assert_int_equal(ph_tensor_file_open(scratch_file(state, "cut.safetensors", bytes, cut), &file, &error),
                     PH_INVALID);
  }
}

/* A type that we do not take harms nobody until it is asked for; then it is named. */
static void unknown_types_are_refused_when_wanted(void **state) {
  const char *header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                       "\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[4,12]},"
                       "\"e\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[12,14]}}";
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  ph_tensor *tensor;
  assert_ok(ph_tensor_file_open(make_file(state, strlen(header), header, 14), &file, &error), error);
  assert_int_equal(ph_tensor_file_count(file), 3);
  assert_ok(ph_tensor_file_get(file, ph_tensor_file_find(file, "w"), &tensor, &error), error);
  ph_tensor_release(tensor);
  assert_int_equal(ph_tensor_file_get(file, ph_tensor_file_find(file, "d"), &tensor, &error), PH_INVALID);
  assert_null(tensor);
  assert_contains(error.message, "tensor 'd': type F64 is not taken");
  assert_contains(error.message, "convert it to F32");
  assert_int_equal(ph_tensor_file_get(file, ph_tensor_file_find(file, "e"), &tensor, &error), PH_INVALID);
  assert_contains(error.message, "tensor 'e': type F8_E4M3 is not taken");
  ph_tensor_file_close(file);
}

static void bools_are_0_or_1(void **state) {
  const char *header = ONE("\"BOOL\"", "[3]", "[0,3]"); /* the bytes 0, 1, 2 */
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  ph_tensor *tensor;
  assert_ok(ph_tensor_file_open(make_file(state, strlen(header), header, 3), &file, &error), error);
  assert_int_equal(ph_tensor_file_get(file, 0, &tensor, &error), PH_INVALID);
  assert_contains(error.message, "tensor 'w': element 2");
  ph_tensor_file_close(file);
}

/* Written files keep every tensor aligned to its element, whatever the order of the names. */
static void written_tensors_are_mapped(void **state) {
  static const ph_dtype dtypes[] = {PH_BOOL, PH_F16, PH_F32, PH_I64};
  static const char *const names[] = {"a", "b", "c", "d"};
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensors[4];
  for (int i = 0; i < 4; i++) {
    assert_ok(ph_tensor_create(dtypes[i], 1, (int64_t[]){3}, &tensors[i], &error), error);
    memset(tensors[i]->data, i == 0 ? 1 : i * 16, tensors[i]->bytes);
  }
  const char *path = scratch_path(state, "all.safetensors");
  assert_ok(ph_tensor_file_write(path, names, (const ph_tensor *const *)tensors, 4, &error), error);
  ph_tensor_file *file;
  assert_ok(ph_tensor_file_open(path, &file, &error), error);
  for (size_t i = 0; i < 4; i++) {
    ph_tensor *first, *second;
    assert_ok(ph_tensor_file_get(file, i, &first, &error), error);
    assert_ok(ph_tensor_file_get(file, i, &second, &error), error);
    assert_ptr_equal(first->data, second->data); /* not copied */
    assert_int_equal(first->dtype, dtypes[i]);
    assert_memory_equal(first->data, tensors[i]->data, tensors[i]->bytes);
    ph_tensor_release(first);
    ph_tensor_release(second);
    ph_tensor_release(tensors[i]);
  }
  ph_tensor_file_close(file);
  assert_ok(ph_tensor_file_write(path, NULL, NULL, 0, &error), error);
  assert_ok(ph_tensor_file_open(path, &file, &error), error);
  assert_int_equal(ph_tensor_file_count(file), 0);
  assert_int_equal(ph_tensor_file_find(file, "a"), SIZE_MAX);
  ph_tensor_file_close(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_are_found_and_mapped),
      cmocka_unit_test(unaligned_data_is_copied),
      cmocka_unit_test(crafted_files_are_refused),
      cmocka_unit_test(lying_header_lengths),
      cmocka_unit_test(every_cut_is_refused),
      cmocka_unit_test(unknown_types_are_refused_when_wanted),
      cmocka_unit_test(bools_are_0_or_1),
      cmocka_unit_test(written_tensors_are_mapped),
  };
  return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
