/* SOURCE made into tensors: values, files, fills and random numbers, of every type. */
#include "config/source.h"

#include <math.h>
#include <polyhead/polyhead.h>

#include "base/dtype.h"
#include "base/random.h"
#include "config_case.h"

/* A model of one input, its concrete type, and what its default is made into. */
typedef struct source_case {
  ph_model *model;
  ph_dim dims[2];
  ph_dim_scope storage;
  ph_scope scope;
  ph_tensor *tensor;
} source_case;

static ph_status make(void **state, source_case *c, const char *input, ph_error *error) {
  char text[1024];
  snprintf(text, sizeof(text), "polyhead: 1\ndims: {a: 2, n: 3}\ninputs: {x: {%s}}\ngraph: []\noutputs: [x]\n", input);
  *c = (source_case){.model = case_load(state, text, (ph_model_options){0})};
  *error = (ph_error)PH_ERROR_INIT;
  assert_ok(ph_bind_dims(c->model, NULL, c->dims, error), *error);
  c->storage = (ph_dim_scope){c->model, c->dims};
  c->scope = ph_scope_of_dims(&c->storage);
  const ph_model_input *x = &c->model->inputs[0];
  ph_type type = {.dtype = x->dtype, .rank = x->rank};
  for (uint32_t i = 0; i < x->rank; i++)
    assert_ok(ph_expr_integer(x->dims[i], &c->scope, &type.dims[i], error), *error);
  return ph_source_make(&x->initial, x->name, &type, &c->scope, &c->tensor, error);
}

static void finish(source_case *c) {
  ph_tensor_release(c->tensor);
  ph_model_destroy(c->model);
}

static void makes(void **state, const char *input, ph_dtype dtype, size_t count, const double *expected) {
  source_case c;
  ph_error error;
  assert_ok(make(state, &c, input, &error), error);
  assert_int_equal(c.tensor->dtype, dtype);
  assert_int_equal(c.tensor->count, count);
  for (size_t i = 0; i < count; i++) {
    double got = ph_read_real(dtype, c.tensor->data, i);
    if (!(got == expected[i] || (isnan(got) && isnan(expected[i])))) fail_msg("%s: [%zu] is %g", input, i, got);
  }
  finish(&c);
}

#define REALS(...)                                                                                                     \
  (const double[]) {                                                                                                   \
    __VA_ARGS__                                                                                                        \
  }

static void values_and_fills(void **state) {
  makes(state, "shape: [a, n], default: {values: [[1, 2.5, -3], [.5, 1e2, +1.e-1]]}", PH_F32, 6,
        REALS(1, 2.5, -3, .5, 100, (double)0.1f));
  makes(state, "shape: [5], default: {values: [nan, .nan, inf, -inf, -.inf]}", PH_F32, 5,
        REALS(NAN, NAN, INFINITY, -INFINITY, -INFINITY));
  makes(state, "shape: [n], dtype: i64, default: {values: [9007199254740993, -1, 0]}", PH_I64, 3,
        REALS(9007199254740992, -1, 0));
  makes(state, "shape: [a], dtype: i32, default: {values: [2147483647, -2147483648]}", PH_I32, 2,
        REALS(2147483647, -2147483648.0));
  makes(state, "shape: [a], dtype: bool, default: {values: [true, false]}", PH_BOOL, 2, REALS(1, 0));
  makes(state, "shape: [a], dtype: bool, default: {values: [0, 1]}", PH_BOOL, 2, REALS(0, 1));
  makes(state, "shape: [a], dtype: f16, default: {values: [1.0009, 65504]}", PH_F16, 2, REALS(1.0009765625, 65504));
  makes(state, "shape: [1], dtype: bf16, default: {values: [1.01]}", PH_BF16, 1, REALS(1.0078125));
  makes(state, "shape: [], default: {values: 7}", PH_F32, 1, REALS(7));
  makes(state, "shape: [2, 0], default: {values: [[], []]}", PH_F32, 0, NULL);
  makes(state, "shape: [a], default: {fill: 1 / n}", PH_F32, 2, REALS((double)(1 / 3.0f), (double)(1 / 3.0f)));
  makes(state, "shape: [a], default: {fill: sqrt(16) + a}", PH_F32, 2, REALS(6, 6));
  makes(state, "shape: [a], dtype: i64, default: {fill: -n}", PH_I64, 2, REALS(-3, -3));
  makes(state, "shape: [a], dtype: bool, default: {fill: true}", PH_BOOL, 2, REALS(1, 1));
  makes(state, "shape: [a], default: {fill: -inf}", PH_F32, 2, REALS(-INFINITY, -INFINITY));
  makes(state, "shape: [1], default: {fill: nan}", PH_F32, 1, REALS(NAN));
  source_case c;
  ph_error error;
  assert_ok(make(state, &c, "shape: [1], dtype: i64, default: {values: [9007199254740993]}", &error), error);
  assert_int_equal(ph_read_integer(PH_I64, c.tensor->data, 0), 9007199254740993); /* more than a double holds */
  finish(&c);
}

static void refused(void **state, const char *input, const char *expected) {
  source_case c;
  ph_error error;
  assert_int_equal(make(state, &c, input, &error), PH_INVALID);
  const char *path = scratch_path(state, "case.yaml");
  assert_memory_equal(error.message, path, strlen(path));
  assert_string_equal(error.message + strlen(path), expected);
  finish(&c);
}

static void what_does_not_fit(void **state) {
  refused(state, "shape: [a, n], default: {values: [[1, 2], [3, 4], [5, 6]]}",
          ":3:38: error: 'x' is [2, 3], but its values are written as [3, 2]");
  refused(state, "shape: [a], default: {values: [[1, 2]]}",
          ":3:35: error: 'x' is [2], but its values are written as [1, 2]");
  refused(state, "shape: [a], dtype: i64, default: {values: [1, 2.5]}",
          ":3:47: error: 'x' is i64, but not all its values are integers");
  refused(state, "shape: [a], dtype: i64, default: {values: [1, nan]}",
          ":3:47: error: 'x' is i64, but not all its values are integers");
  refused(state, "shape: [1], dtype: i64, default: {values: [9223372036854775808]}",
          ":3:47: error: 'x' is i64, but not all its values are integers");
  refused(state, "shape: [1], dtype: i32, default: {values: [2147483648]}",
          ":3:47: error: 'x' is i32, which 2147483648 does not fit");
  refused(state, "shape: [1], dtype: bool, default: {values: [2]}",
          ":3:48: error: 'x' is bool, which takes true and false, not 2");
  refused(state, "shape: [1], default: {values: [true]}", ":3:35: error: 'x' is f32, but true and false are for bool");
  refused(state, "shape: [1], dtype: i64, default: {fill: false}",
          ":3:47: error: 'x' is i64, but true and false are for bool");
  refused(state, "shape: [1], dtype: i64, default: {fill: inf}",
          ":3:47: error: 'x' is i64, but not all its values are integers");
  refused(state, "shape: [1], dtype: i64, default: {fill: 1 / n}",
          ":3:47: error: '1 / n' is 1 / 3, which does not come out even");
  refused(state, "shape: [1], default: {fill: 1 / (n - 3)}", ":3:35: error: '1 / (n - 3)' is no finite number");
  refused(state, "shape: [a], dtype: i64, default: {random: normal}",
          ":3:47: error: 'x' is i64, and random numbers are for real types");
  refused(state, "shape: [a], default: {random: xavier_uniform}",
          ":3:35: error: 'x' has rank 1, and xavier_uniform needs 2 axes");
}

static void random_numbers(void **state) {
  source_case c;
  ph_error error;
  assert_ok(make(state, &c, "shape: [100, a, n], default: {random: normal, seed: 7}", &error), error);
  uint64_t key = ph_random_key(7, "x");
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 600; i++) {
    double value = (double)((const float *)c.tensor->data)[i];
    assert_true(value == (double)(float)ph_random_normal(key, i));
    sum += value;
    squares += value * value;
  }
  assert_true(fabs(sum / 600) < 0.2 && fabs(squares / 600 - 1) < 0.2);
  finish(&c);
  assert_ok(make(state, &c, "shape: [600], default: {random: uniform}", &error), error);
  key = ph_random_key(0, "x");
  double least = 1, most = -1;
  for (size_t i = 0; i < 600; i++) {
    double value = (double)((const float *)c.tensor->data)[i];
    assert_true(value == (double)(float)(2 * ph_random_unit(key, i) - 1));
    least = fmin(least, value);
    most = fmax(most, value);
  }
  assert_true(least < -0.95 && most > 0.95);
  finish(&c);
  assert_ok(make(state, &c, "shape: [50, 4, 20], default: {random: xavier_uniform, seed: 1}", &error), error);
  double limit = sqrt(6.0 / 24), largest = 0;
  for (size_t i = 0; i < c.tensor->count; i++)
    largest = fmax(largest, fabs((double)((const float *)c.tensor->data)[i]));
  assert_true(largest <= limit && largest > 0.99 * limit);
  finish(&c);
}

/* The seed is mixed with the path, so that two values never get the same numbers. */
static void random_numbers_differ_by_path(void **state) {
  source_case c;
  ph_error error;
  assert_ok(make(state, &c, "shape: [4], default: {random: normal, seed: 7}", &error), error);
  ph_type type = {.dtype = PH_F32, .rank = 1, .dims = {{.value = 4}}};
  ph_tensor *again, *other;
  assert_ok(ph_source_make(&c.model->inputs[0].initial, "x", &type, &c.scope, &again, &error), error);
  assert_ok(ph_source_make(&c.model->inputs[0].initial, "h.1.x", &type, &c.scope, &other, &error), error);
  assert_memory_equal(c.tensor->data, again->data, again->bytes);
  assert_memory_not_equal(c.tensor->data, other->data, other->bytes);
  ph_tensor_release(again);
  ph_tensor_release(other);
  finish(&c);
}

static void write_tensors(const char *path, size_t count, ph_dtype dtype) {
  static const char *const names[] = {"a", "b"};
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  assert_ok(ph_tensor_create(dtype, 2, (int64_t[]){2, 3}, &tensor, &error), error);
  for (size_t i = 0; i < 6 && dtype == PH_F32; i++) ((float *)tensor->data)[i] = (float)i;
  const ph_tensor *const both[] = {tensor, tensor};
  assert_ok(ph_tensor_file_write(path, names, both, count, &error), error);
  ph_tensor_release(tensor);
}

static void files(void **state) {
  write_tensors(scratch_path(state, "x.npy"), 1, PH_F32);
  write_tensors(scratch_path(state, "ids.npy"), 1, PH_I64);
  write_tensors(scratch_path(state, "two.npz"), 2, PH_F32);
  makes(state, "shape: [a, n], default: {file: x.npy}", PH_F32, 6, REALS(0, 1, 2, 3, 4, 5));
  char message[2 * SCRATCH_PATH_SIZE];
  const char *folder = *state;
  snprintf(message, sizeof(message), ":3:38: error: 'x' is [3, 2], but %s/x.npy holds [2, 3]", folder);
  refused(state, "shape: [n, a], default: {file: x.npy}", message);
  snprintf(message, sizeof(message), ":3:38: error: 'x' is f32, but %s/ids.npy holds i64", folder);
  refused(state, "shape: [a, n], default: {file: ids.npy}", message);
  snprintf(message, sizeof(message), ":3:38: error: %s/two.npz holds 2 tensors, and 'x' needs a file of one, a .npy",
           folder);
  refused(state, "shape: [a, n], default: {file: two.npz}", message);
  source_case c;
  ph_error error;
  assert_int_equal(make(state, &c, "shape: [a, n], default: {file: none.npy}", &error), PH_IO);
  assert_contains(error.message, "case.yaml:3:38: error: ");
  assert_contains(error.message, "none.npy");
  finish(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_and_fills),
      cmocka_unit_test(what_does_not_fit),
      cmocka_unit_test(random_numbers),
      cmocka_unit_test(random_numbers_differ_by_path),
      cmocka_unit_test(files),
  };
  return cmocka_run_group_tests_name("source", tests, scratch_create, scratch_remove);
}
