/* Tensors in memory: sizes, sharing, and the files they are written to and read from in general. */
#include <polyhead/tensor.h>
#include <pthread.h>

#include "base/dtype.h"
#include "scratch.h"

static void created_zeroed_and_aligned(void **state) {
  (void)state;
  static const ph_dtype dtypes[] = {PH_F32, PH_F16, PH_BF16, PH_I64, PH_I32, PH_BOOL, PH_F64};
  ph_error error = PH_ERROR_INIT;
  for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
    int64_t dims[] = {3, 1, 5};
    ph_tensor *tensor;
    assert_ok(ph_tensor_create(dtypes[i], 3, dims, &tensor, &error), error);
    assert_int_equal(tensor->dtype, dtypes[i]);
    assert_int_equal(tensor->rank, 3);
    assert_memory_equal(tensor->dims, dims, sizeof(dims));
    assert_int_equal(tensor->count, 15);
    assert_int_equal(tensor->bytes, 15 * ph_dtype_size(dtypes[i]));
    assert_int_equal((uintptr_t)tensor->data % 64, 0);
    for (size_t b = 0; b < tensor->bytes; b++) assert_int_equal(((unsigned char *)tensor->data)[b], 0);
    ph_tensor_release(tensor);
  }
}

static void single_and_empty(void **state) {
  (void)state;
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  assert_ok(ph_tensor_create(PH_I64, 0, NULL, &tensor, &error), error);
  assert_int_equal(tensor->count, 1);
  assert_int_equal(tensor->bytes, 8);
  ph_tensor_release(tensor);
  assert_ok(ph_tensor_create(PH_F32, 3, (int64_t[]){4, 0, 2}, &tensor, &error), error);
  assert_int_equal(tensor->count, 0);
  assert_int_equal(tensor->bytes, 0);
  assert_non_null(tensor->data);
  ph_tensor_release(tensor);
  ph_tensor_release(NULL);
}

static void bad_shapes(void **state) {
  (void)state;
  static const struct {
    ph_dtype dtype;
    uint32_t rank;
    int64_t dims[PH_MAX_RANK];
    const char *message;
  } cases[] = {
      {PH_F32, 1, {-1}, "negative"},
      {PH_F32, 2, {(int64_t)1 << 33, (int64_t)1 << 33}, "too large"},
      {PH_F32, 1, {INT64_MAX / 2}, "too large"},
      {PH_BOOL, 2, {INT64_MAX, 2}, "too large"},
      {PH_F32, 3, {(int64_t)1 << 33, (int64_t)1 << 33, 0}, "too large"}, /* strides would overflow */
      {PH_DTYPE_NONE, 1, {1}, "type"},
      {PH_F32, PH_MAX_RANK + 1, {1}, "axes"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor *tensor;
    assert_int_equal(ph_tensor_create(cases[i].dtype, cases[i].rank, cases[i].dims, &tensor, &error), PH_INVALID);
    assert_null(tensor);
    assert_contains(error.message, cases[i].message);
  }
}

static void *retain_and_release(void *tensor) {
  for (int i = 0; i < 20000; i++) ph_tensor_release(ph_tensor_retain(tensor));
  ph_tensor_release(tensor);
  return NULL;
}

static void counted_from_any_thread(void **state) {
  (void)state;
  enum { THREADS = 4 };
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  pthread_t threads[THREADS];
  assert_ok(ph_tensor_create(PH_F32, 1, (int64_t[]){8}, &tensor, &error), error);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, retain_and_release, ph_tensor_retain(tensor)), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  ((float *)tensor->data)[7] = 1; /* still ours; the sanitizer would see if not, and that it is freed */
  ph_tensor_release(tensor);
}

/* ---- files of any format
 * --------------------------------------------------------------------------------------------- */

static void says_what_is_no_tensor_file(void **state) {
  static const struct {
    const char *name;
    const char *bytes;
    size_t size;
    const char *message;
  } cases[] = {
      {"empty.npy", "", 0, "empty"},
      {"text.npy", "hello, world\n", 13, "no .npy, .npz or .safetensors"},
      {"short.npy", "\x93NUMPY", 6, "cut off"},
      {"short.npz", "PK\3\4", 4, "archive"},
      {"short.safetensors", "\1\0\0", 3, "cut off"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    ph_tensor_file *file;
    const char *path = scratch_file(state, cases[i].name, cases[i].bytes, cases[i].size);
    assert_int_equal(ph_tensor_file_open(path, &file, &error), PH_INVALID);
    assert_null(file);
    assert_contains(error.message, path);
    assert_contains(error.message, cases[i].message);
  }
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  assert_int_equal(ph_tensor_file_open(scratch_path(state, "missing.npy"), &file, &error), PH_IO);
  assert_contains(error.message, "missing.npy");
  assert_int_equal(ph_tensor_file_open(*state, &file, &error), PH_IO);
  ph_tensor_file_close(NULL);
}

static void refuses_what_cannot_be_written(void **state) {
  ph_error error = PH_ERROR_INIT;
  ph_tensor *single, *brain, *wide;
  assert_ok(ph_tensor_create(PH_F32, 1, (int64_t[]){2}, &single, &error), error);
  assert_ok(ph_tensor_create(PH_BF16, 1, (int64_t[]){2}, &brain, &error), error);
  assert_ok(ph_tensor_create(PH_F64, 1, (int64_t[]){2}, &wide, &error), error);
  const struct {
    const char *path;
    const char *names[2];
    const ph_tensor *tensors[2];
    size_t count;
    const char *message;
  } cases[] = {
      {"a.txt", {"a"}, {single}, 1, "the ending must be"},
      {"npy", {"a"}, {single}, 1, "the ending must be"},
      {"a.npy", {"a", "b"}, {single, single}, 2, "a .npz holds several"},
      {"a.npy", {NULL}, {NULL}, 0, "holds one tensor"},
      {"a.npz", {NULL}, {NULL}, 0, "at least one"},
      {"a.npy", {"a"}, {brain}, 1, "bf16: write a .safetensors"},
      {"a.npz", {"a", "b"}, {single, brain}, 2, "tensor 'b': NumPy's formats are not written for bf16"},
      {"a.npy", {"a"}, {wide}, 1, "f64"},
      {"a.safetensors", {"a"}, {wide}, 1, "f64"},
      {"a.npz", {"a", "a"}, {single, single}, 2, "two tensors are named 'a'"},
      {"a.safetensors", {"b", "b"}, {single, brain}, 2, "two tensors are named 'b'"},
      {"a.safetensors", {""}, {single}, 1, "no name"},
      {"a.safetensors", {"__metadata__"}, {single}, 1, "__metadata__"},
      {"a.safetensors", {"\xff"}, {single}, 1, "UTF-8"},
      {"a.npz", {"\xff"}, {single}, 1, "UTF-8"},
  };
  int files = scratch_count(*state);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *path = scratch_path(state, cases[i].path);
    assert_int_equal(ph_tensor_file_write(path, cases[i].names, cases[i].tensors, cases[i].count, &error), PH_INVALID);
    assert_contains(error.message, path);
    assert_contains(error.message, cases[i].message);
    assert_int_equal(scratch_count(*state), files);
  }
  const char *nowhere = scratch_path(state, "nowhere/a.npy");
  assert_int_equal(ph_tensor_file_write(nowhere, (const char *[]){"a"}, (const ph_tensor *[]){single}, 1, &error),
                   PH_IO);
  assert_contains(error.message, nowhere);
  ph_tensor_release(single);
  ph_tensor_release(brain);
  ph_tensor_release(wide);
}

/* What is written comes back the same, element by element, in every format and type that it has. */
static void all_types_and_shapes_come_back(void **state) {
  static const ph_dtype dtypes[] = {PH_F32, PH_F16, PH_I64, PH_I32, PH_BOOL, PH_BF16};
  static const struct {
    uint32_t rank;
    int64_t dims[PH_MAX_RANK];
  } shapes[] = {{0, {0}}, {1, {7}}, {2, {3, 5}}, {3, {2, 0, 4}}, {PH_MAX_RANK, {1, 2, 1, 3, 1, 1, 2, 1}}};
  static const char *const endings[] = {"t.npy", "t.npz", "t.safetensors"};
  for (size_t d = 0; d < 6; d++)
    for (size_t s = 0; s < 5; s++)
      for (size_t e = dtypes[d] == PH_BF16 ? 2 : 0; e < 3; e++) {
        ph_error error = PH_ERROR_INIT;
        ph_tensor *tensor, *back;
        ph_tensor_file *file;
        const char *path = scratch_path(state, endings[e]);
        assert_ok(ph_tensor_create(dtypes[d], shapes[s].rank, shapes[s].dims, &tensor, &error), error);
        for (size_t b = 0; b < tensor->bytes; b++)
          ((unsigned char *)tensor->data)[b] = (unsigned char)(dtypes[d] == PH_BOOL ? b % 3 == 0 : b * 37 + 1);
        assert_ok(ph_tensor_file_write(path, (const char *[]){"x.y"}, (const ph_tensor *[]){tensor}, 1, &error), error);
        assert_ok(ph_tensor_file_open(path, &file, &error), error);
        assert_int_equal(ph_tensor_file_count(file), 1);
        assert_string_equal(ph_tensor_file_name(file, 0), e == 0 ? "" : "x.y");
        assert_ok(ph_tensor_file_get(file, 0, &back, &error), error);
        ph_tensor_file_close(file); /* tensors outlive their file */
        assert_int_equal(back->dtype, tensor->dtype);
        assert_int_equal(back->rank, tensor->rank);
        assert_memory_equal(back->dims, tensor->dims, sizeof(tensor->dims));
        assert_int_equal(back->count, tensor->count);
        assert_int_equal(back->bytes, tensor->bytes);
        assert_non_null(back->data);
        assert_memory_equal(back->data, tensor->data, tensor->bytes);
        ph_tensor_release(back);
        ph_tensor_release(tensor);
      }
}

static void shared_models_load(void **state) {
  (void)state;
  const char *shared = getenv("POLYHEAD_SHARED");
  char path[SCRATCH_PATH_SIZE];
  snprintf(path, sizeof(path), "%s/models/stories260k/model.safetensors",
           shared != NULL ? shared : TEST_SOURCE_DIR "/../shared");
  if (access(path, R_OK) != 0) {
    print_message("skipped: %s is not there\n", path);
    skip();
  }
  ph_error error = PH_ERROR_INIT;
  ph_tensor_file *file;
  ph_tensor *tensor;
  assert_ok(ph_tensor_file_open(path, &file, &error), error);
  size_t index = ph_tensor_file_find(file, "model.embed_tokens.weight");
  assert_true(index < ph_tensor_file_count(file));
  assert_int_equal(ph_tensor_file_find(file, "model.embed_tokens"), SIZE_MAX);
  assert_ok(ph_tensor_file_get(file, index, &tensor, &error), error);
  assert_int_equal(tensor->dtype, PH_F32);
  assert_int_equal(tensor->rank, 2);
  assert_int_equal(tensor->dims[0], 512);
  assert_int_equal(tensor->dims[1], 64);
  ph_tensor_release(tensor);
  ph_tensor_file_close(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(created_zeroed_and_aligned),
      cmocka_unit_test(single_and_empty),
      cmocka_unit_test(bad_shapes),
      cmocka_unit_test(counted_from_any_thread),
      cmocka_unit_test(says_what_is_no_tensor_file),
      cmocka_unit_test(refuses_what_cannot_be_written),
      cmocka_unit_test(all_types_and_shapes_come_back),
      cmocka_unit_test(shared_models_load),
  };
  return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
