/* The .npy format: headers good and bad, and NumPy's own judgement of what we write. */
#include <polyhead/tensor.h>

#include "scratch.h"

enum { FILE_SIZE = 300000 };

/* A .npy in `out` with this version, dict (padded to `header_size` bytes) and data; returns its size. */
static size_t make_npy(char *out, int version, const char *dict, size_t header_size, const void *data,
                       size_t data_size) {
  size_t length = header_size > strlen(dict) ? header_size : strlen(dict);
  size_t at = version == 1 ? 10 : 12;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (char)version;
  out[7] = 0;
  for (size_t i = 8; i < at; i++) out[i] = (char)(length >> 8 * (i - 8));
  memset(out + at, ' ', length);
  memcpy(out + at, dict, strlen(dict));
  if (length > strlen(dict)) out[at + length - 1] = '\n';
  memcpy(out + at + length, data, data_size);
  return at + length + data_size;
}

static const float six[6] = {1, 2, 3, 4, 5, 6};

static ph_status read_npy(void **state, int version, const char *dict, size_t header_size, size_t data_size,
                          ph_tensor **out, ph_error *error) {
  static char bytes[FILE_SIZE];
  static const char zeros[FILE_SIZE / 2];
  const void *data = data_size == sizeof(six) ? (const void *)six : zeros;
  size_t size = make_npy(bytes, version, dict, header_size, data, data_size);
  ph_tensor_file *file;
  *out = NULL;
  PH_TRY(ph_tensor_file_open(scratch_file(state, "x.npy", bytes, size), &file, error));
  ph_status status = ph_tensor_file_get(file, 0, out, error);
  ph_tensor_file_close(file);
  return status;
}

#define SIX "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

static void assert_six(const ph_tensor *tensor) {
  assert_int_equal(tensor->dtype, PH_F32);
  assert_int_equal(tensor->rank, 2);
  assert_int_equal(tensor->dims[0], 2);
  assert_int_equal(tensor->dims[1], 3);
  assert_memory_equal(tensor->data, six, sizeof(six));
}

static void headers_that_are_right(void **state) {
  static const struct {
    int version;
    size_t header_size;
    const char *dict;
  } cases[] = {
      {1, 118, SIX},
      {2, 116, SIX},
      {3, 116, SIX},
      {1, 4096, SIX}, /* more than a byte can count */
      {2, 4096, SIX},
      {3, 4096, SIX},
      {2, 100000, SIX}, /* more than version 1 can count */
      {1, 0, SIX},      /* no padding */
      {1, 118, "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}"},
      {1, 118, "{\"fortran_order\":False,\"shape\":(2,3,),\"descr\":\"<f4\"}"},
      {1, 118, " {  'descr' : '=f4' , 'fortran_order' :\tFalse , 'shape' : ( 2 , 3 ) , } "},
      {1, 118, "{'descr': 'f4', 'fortran_order': False, 'shape': (2L, 3L), }"},
      {1, 117, SIX}, /* data not aligned to its element: copied */
      {1, 116, SIX},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor *tensor;
    assert_ok(read_npy(state, cases[i].version, cases[i].dict, cases[i].header_size, sizeof(six), &tensor, &error),
              error);
    assert_six(tensor);
    assert_int_equal((uintptr_t)tensor->data % sizeof(float), 0);
    ph_tensor_release(tensor);
  }
}

static void shapes_of_every_rank(void **state) {
  static const struct {
    const char *shape;
    uint32_t rank;
    int64_t dims[PH_MAX_RANK];
    size_t bytes;
  } cases[] = {
      {"()", 0, {0}, 4},
      {"( )", 0, {0}, 4},
      {"(184,)", 1, {184}, 736},
      {"(0,)", 1, {0}, 0},
      {"(3, 0, 2)", 3, {3, 0, 2}, 0},
      {"(1, 1, 1, 1, 1, 1, 1, 2)", 8, {1, 1, 1, 1, 1, 1, 1, 2}, 8},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char dict[200];
    ph_error error = PH_ERROR_INIT;
    ph_tensor *tensor;
    snprintf(dict, sizeof(dict), "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", cases[i].shape);
    assert_ok(read_npy(state, 1, dict, 118, cases[i].bytes, &tensor, &error), error);
    assert_int_equal(tensor->rank, cases[i].rank);
    assert_memory_equal(tensor->dims, cases[i].dims, sizeof(cases[i].dims));
    assert_int_equal(tensor->bytes, cases[i].bytes);
    ph_tensor_release(tensor);
  }
}

static void fortran_order_is_transposed(void **state) {
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  static const float rows[6] = {1, 3, 5, 2, 4, 6};
  assert_ok(read_npy(state, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 118, sizeof(six), &tensor,
                     &error),
            error);
  assert_memory_equal(tensor->data, rows, sizeof(rows));
  ph_tensor_release(tensor);
  /* Element [i, j, k] of (1, 3, 2) lies at i + j + 3 k. */
  static const float cube[6] = {1, 4, 2, 5, 3, 6};
  assert_ok(read_npy(state, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3, 2), }", 118, sizeof(six),
                     &tensor, &error),
            error);
  assert_memory_equal(tensor->data, cube, sizeof(cube));
  ph_tensor_release(tensor);
  assert_ok(
      read_npy(state, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }", 118, sizeof(six), &tensor, &error),
      error);
  assert_memory_equal(tensor->data, six, sizeof(six));
  ph_tensor_release(tensor);
}

static void headers_that_are_wrong(void **state) {
  static const struct {
    int version;
    const char *dict;
    size_t data_size;
    const char *message;
  } cases[] = {
      {4, SIX, 24, "version 4.0"},
      {0, SIX, 24, "version 0.0"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (184), }", 736, "(184,) would be one"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': 184, }", 736, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': [6], }", 24, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", 24, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", 4, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3), }", 24, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3), }", 24, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (06,), }", 24, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", 24, "not a tuple"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3), }", 24, "negative"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 6), }", 24, "more than 8 axes"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (8589934592, 8589934592), }", 24, "too large"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", 24, "64 bits"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }", 24, "64 bits"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }", 24, "cut off"},
      {1, SIX, 23, "cut off: its shape needs 24 bytes, and there are 23"},
      {1, SIX, 0, "cut off"},
      {1, SIX, 25, "something follows the data"},
      {1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24, "'>f4' is big-endian"},
      {1, "{'descr': '>i8', 'fortran_order': False, 'shape': (3,), }", 24, "'>i8' is big-endian"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", 24, "f64, which is not taken: save it with"},
      {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (24,), }", 24, "'|u1' is not taken"},
      {1, "{'descr': '|V2', 'fortran_order': False, 'shape': (12,), }", 24, "bf16 values travel in .safetensors"},
      {1, "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", 24, "'|O' is not taken"},
      {1, "{'descr': '', 'fortran_order': False, 'shape': (3,), }", 24, "'' is not taken"},
      {1, "{'descr': '<', 'fortran_order': False, 'shape': (3,), }", 24, "'<' is not taken"},
      {1, "{'descr': '<f4f4f4f4f4f4f4f4f4f4f4f4', 'fortran_order': False, 'shape': (3,), }", 24, "is not taken"},
      {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", 24, "structured array"},
      {1, "{'descr': 4, 'fortran_order': False, 'shape': (6,), }", 24, "'descr' is not a text"},
      {1, "{'descr': '<f4', 'fortran_order': false, 'shape': (2, 3), }", 24, "neither True nor False"},
      {1, "{'descr': '<f4', 'fortran_order': 'True', 'shape': (2, 3), }", 24, "neither True nor False"},
      {1, "{'descr': '<f4', 'shape': (2, 3), }", 24, "lacks"},
      {1, "{}", 24, "lacks"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'shape': (6,)}", 24, "'shape' twice"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", 24, "unknown key 'more'"},
      {1, "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}", 24, "a ',' or '}' is missing"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", 24, "a ',' or '}' is missing"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}}", 24, "follows the dict"},
      {1, "{'descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}", 24, "not a dict"},
      {1, "{'de\\x73cr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 24, "not a dict"},
      {1, "{descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}", 24, "not a dict"},
      {1, "('descr', '<f4')", 24, "not a dict"},
      {1, "", 24, "not a dict"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor *tensor;
    ph_status status = read_npy(state, cases[i].version, cases[i].dict, 118, cases[i].data_size, &tensor, &error);
    if (status != PH_INVALID) fail_msg("%s: status %d", cases[i].dict, status);
    assert_contains(error.message, "x.npy: ");
    assert_contains(error.message, cases[i].message);
  }
}

/* Every file cut off anywhere is refused, and nothing is read behind its end. */
static void every_cut_is_refused(void **state) {
  char bytes[400];
  for (int version = 1; version <= 3; version++) {
    size_t size = make_npy(bytes, version, SIX, 118, six, sizeof(six));
    for (size_t cut = 0; cut < size; cut++) {
      ph_error error = PH_ERROR_INIT;
      ph_tensor_file *file;
      assert_int_equal(ph_tensor_file_open(scratch_file(state, "cut.npy", bytes, cut), &file, &error), PH_INVALID);
    }
  }
}

static void lying_header_lengths(void **state) {
  char bytes[400];
  for (int version = 1; version <= 2; version++)
    for (unsigned fill = 0; fill < 256; fill += 255) {
      size_t size = make_npy(bytes, version, SIX, 118, six, sizeof(six));
      memset(bytes + 8, (int)fill, version == 1 ? 2 : 4);
      ph_error error = PH_ERROR_INIT;
      ph_tensor_file *file;
      assert_int_equal(ph_tensor_file_open(scratch_file(state, "lie.npy", bytes, size), &file, &error), PH_INVALID);
      assert_contains(error.message, fill == 0 ? "too short" : "cut off");
    }
}

/* A header has no business being this long, and in an archive it would have to be unpacked to be read. */
static void endless_headers_are_refused(void **state) {
  enum { LENGTH = (1 << 20) + 1 };
  char *bytes = malloc(LENGTH + 100);
  assert_non_null(bytes);
  size_t size = make_npy(bytes, 2, SIX, LENGTH, six, sizeof(six));
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  assert_int_equal(ph_tensor_file_open(scratch_file(state, "endless.npy", bytes, size), &file, &error), PH_INVALID);
  assert_contains(error.message, "the header is 1048577 bytes long");
  free(bytes);
}

static void bools_are_0_or_1(void **state) {
  char bytes[400];
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  ph_tensor *tensor;
  const char *dict = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }";
  size_t size = make_npy(bytes, 1, dict, 118, "\0\1\2", 3);
  assert_ok(ph_tensor_file_open(scratch_file(state, "b.npy", bytes, size), &file, &error), error);
  assert_int_equal(ph_tensor_file_get(file, 0, &tensor, &error), PH_INVALID);
  assert_null(tensor);
  assert_contains(error.message, "element 2");
  ph_tensor_file_close(file);
}

/* Data that is aligned is not copied: who reads a model twice has it in memory once. */
static void aligned_data_stays_mapped(void **state) {
  char bytes[400];
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  ph_tensor *first, *second;
  size_t size = make_npy(bytes, 1, SIX, 118, six, sizeof(six));
  assert_ok(ph_tensor_file_open(scratch_file(state, "m.npy", bytes, size), &file, &error), error);
  assert_ok(ph_tensor_file_get(file, 0, &first, &error), error);
  assert_ok(ph_tensor_file_get(file, 0, &second, &error), error);
  assert_ptr_equal(first->data, second->data);
  ph_tensor_file_close(file);
  ph_tensor_release(first);
  assert_six(second);
  ph_tensor_release(second);
  assert_ok(ph_tensor_file_open(scratch_path(state, "m.npy"), &file, &error), error);
  assert_int_equal(ph_tensor_file_get(file, 1, &first, &error), PH_INVALID);
  ph_tensor_file_close(file);
}

static void numpy_loads_what_we_write(void **state) {
  if (system("python3 -c 'import numpy' 2>/dev/null") != 0) {
    print_message("skipped: python3 has no numpy\n");
    skip();
  }
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensors[3];
  static const char *const names[] = {"a", "b.c", "小红"};
  assert_ok(ph_tensor_create(PH_F32, 2, (int64_t[]){2, 3}, &tensors[0], &error), error);
  assert_ok(ph_tensor_create(PH_I64, 0, NULL, &tensors[1], &error), error);
  assert_ok(ph_tensor_create(PH_BOOL, 3, (int64_t[]){3, 0, 1}, &tensors[2], &error), error);
  memcpy(tensors[0]->data, six, sizeof(six));
  *(int64_t *)tensors[1]->data = -7;
  for (int i = 0; i < 3; i++) {
    char name[] = "0.npy";
    name[0] = (char)('0' + i);
    const ph_tensor *one = tensors[i];
    assert_ok(ph_tensor_file_write(scratch_path(state, name), names, &one, 1, &error), error);
  }
  assert_ok(ph_tensor_file_write(scratch_path(state, "all.npz"), names, (const ph_tensor *const *)tensors, 3, &error),
            error);
  for (int i = 0; i < 3; i++) ph_tensor_release(tensors[i]);
  char command[2000];
  snprintf(command, sizeof(command),
           "cd '%s' && python3 -c \"\n"
           "import numpy as np\n"
           "z = np.load('all.npz')\n"
           "assert sorted(z.files) == ['a', 'b.c', '小红'], z.files\n"
           "for a in np.load('0.npy'), z['a']:\n"
           "  assert a.dtype == 'float32' and a.tolist() == [[1, 2, 3], [4, 5, 6]], a\n"
           "for a in np.load('1.npy'), z['b.c']:\n"
           "  assert a.dtype == 'int64' and a.shape == () and a == -7, a\n"
           "for a in np.load('2.npy'), z['小红']:\n"
           "  assert a.dtype == 'bool' and a.shape == (3, 0, 1), a\n"
           "\"",
           (const char *)*state);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers_that_are_right),      cmocka_unit_test(shapes_of_every_rank),
      cmocka_unit_test(fortran_order_is_transposed), cmocka_unit_test(headers_that_are_wrong),
      cmocka_unit_test(every_cut_is_refused),        cmocka_unit_test(lying_header_lengths),
      cmocka_unit_test(endless_headers_are_refused), cmocka_unit_test(bools_are_0_or_1),
      cmocka_unit_test(aligned_data_stays_mapped),   cmocka_unit_test(numpy_loads_what_we_write),
  };
  return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
