/* Cases made elsewhere: folders made up here, right ones and malformed ones, on the reference. */
#include "../unit/scratch.h"

#include <math.h>
#include <sys/stat.h>

#include "base/dtype.h"
#include "config/load_text.h"
#include "conform/external.h"
#include "conform/external_verdict.h"

/* ---- making a folder ---- */

/* A case being written to FOLDER/group/case. */
typedef struct maker {
  char folder[SCRATCH_PATH_SIZE];
  ph_text inputs, outputs;
} maker;

static void make_folder(const char *path) {
  assert_int_equal(mkdir(path, 0700), 0);
}

static maker begin(void **state) {
  maker m = {0};
  make_folder(scratch_path(state, "group"));
  snprintf(m.folder, sizeof(m.folder), "%s", scratch_path(state, "group/case"));
  make_folder(m.folder);
  return m;
}

static const char *numpy_name(ph_dtype dtype) {
  return dtype == PH_F32 ? "float32" : dtype == PH_F16 ? "float16" : dtype == PH_BOOL ? "bool" : "int64";
}

static ph_tensor *new_tensor(ph_dtype dtype, uint32_t rank, const int64_t *dims, const double *values) {
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor;
  assert_ok(ph_tensor_create(dtype, rank, dims, &tensor, &error), error);
  for (size_t i = 0; i < tensor->count; i++)
    if (ph_dtype_is_real(dtype))
      ph_write_real(dtype, tensor->data, i, values[i]);
    else
      ph_write_integer(dtype, tensor->data, i, (int64_t)values[i]);
  return tensor;
}

/* Writes ROLE.npy and describes it as it is. */
static void add(maker *m, ph_text *list, const char *role, ph_dtype dtype, uint32_t rank, const int64_t *dims,
                const double *values) {
  ph_error error = PH_ERROR_INIT;
  ph_tensor *tensor = new_tensor(dtype, rank, dims, values);
  char path[SCRATCH_PATH_SIZE + 64];
  const char *name = "";
  snprintf(path, sizeof(path), "%s/%s.npy", m->folder, role);
  const ph_tensor *only = tensor;
  assert_ok(ph_tensor_file_write(path, &name, &only, 1, &error), error);
  ph_tensor_release(tensor);
  ph_text_add(list, "%s{\"role\": \"%s\", \"present\": true, \"file\": \"%s.npy\", \"dtype\": \"%s\", \"shape\": [",
              list->length > 0 ? ", " : "", role, role, numpy_name(dtype));
  for (uint32_t i = 0; i < rank; i++) ph_text_add(list, "%s%lld", i > 0 ? ", " : "", (long long)dims[i]);
  ph_text_add(list, "]}");
}

#define DIMS(...)                                                                                                      \
  (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                                            \
    __VA_ARGS__                                                                                                        \
  }
#define VALUES(...)                                                                                                    \
  (const double[]) {                                                                                                   \
    __VA_ARGS__                                                                                                        \
  }
#define INPUT(m, role, dtype, dims, values)  add((m), &(m)->inputs, role, dtype, dims, values)
#define OUTPUT(m, role, dtype, dims, values) add((m), &(m)->outputs, role, dtype, dims, values)

static void write_text(const char *folder, const char *name, const char *text) {
  char path[SCRATCH_PATH_SIZE + 64];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void finish(maker *m, const char *op, const char *attributes, const char *tolerance) {
  ph_text text = {0};
  ph_text_add(&text,
              "{\"op\": \"%s\", \"attributes\": {%s}, \"inputs\": [%s], \"outputs\": [%s], "
              "\"tolerance\": {\"rtol\": 0, \"atol\": 1e-6%s}}",
              op, attributes, m->inputs.length > 0 ? m->inputs.data : "", m->outputs.length > 0 ? m->outputs.data : "",
              tolerance);
  assert_false(text.failed);
  write_text(m->folder, "case.json", text.data);
  ph_text_free(&text);
  ph_text_free(&m->inputs);
  ph_text_free(&m->outputs);
}

/* y = relu(x) with what was stored for y; one element of x is negative. */
static void make_relu(void **state, const char *attributes, const double stored[3], const char *tolerance) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(3), VALUES(-1, 2, 3));
  OUTPUT(&m, "Y", PH_F32, DIMS(3), stored);
  finish(&m, "Relu", attributes, tolerance);
}

/* ---- running it ---- */

static ph_case_source *open_source(void **state) {
  ph_error error = PH_ERROR_INIT;
  ph_case_source *source;
  assert_ok(ph_external_open(*state, &source, &error), error);
  return source;
}

static void run_on(ph_case_source *source, uint32_t index, ph_case_result *result) {
  ph_error error = PH_ERROR_INIT;
  ph_context_options options = {.struct_size = sizeof(options)};
  ph_case_run run = {0};
  assert_ok(ph_context_create(&options, &run.context, &error), error);
  assert_ok(ph_context_open_device(run.context, "reference", &run.device, &error), error);
  assert_ok(ph_tally_create(&run.tally, &error), error);
  *result = (ph_case_result){.name = source->cases[index].name};
  assert_ok(source->run(source, index, &run, result, &error), error);
  ph_tally_destroy(run.tally);
  ph_open_device_close(run.device);
  ph_context_destroy(run.context);
}

static ph_case_result run_only(void **state) {
  ph_case_result result;
  ph_case_source *source = open_source(state);
  assert_int_equal(source->case_count, 1);
  assert_string_equal(source->cases[0].name, "group/case");
  run_on(source, 0, &result);
  source->close(source);
  return result;
}

static void expect(void **state, ph_case_state wanted, const char *part) {
  ph_case_result result = run_only(state);
  if (result.state != wanted)
    fail_msg("%s, not %s: %s", ph_case_state_name(result.state), ph_case_state_name(wanted), result.reason);
  assert_contains(result.reason, part);
}

/* ---- right and wrong values ---- */

static void a_right_value_passes(void **state) {
  make_relu(state, "", VALUES(0, 2, 3), "");
  ph_case_result result = run_only(state);
  assert_int_equal(result.state, PH_CASE_PASS);
  assert_true(result.trusted && !result.empty);
  assert_int_equal(result.nodes, 1);
  assert_int_equal(result.compared, 6); /* by the oracle and by what is stored */
}

static void a_wrong_value_is_named(void **state) {
  make_relu(state, "", VALUES(0, 2, 3.001), "");
  expect(state, PH_CASE_FAIL, "output Y, element [2], is 3, but 3.00099993 is stored and 1e-06 is allowed; 1 of 3");
}

static void a_stored_nan_fails(void **state) {
  make_relu(state, "", VALUES(0, (double)NAN, 3), ", \"equal_nan\": true");
  expect(state, PH_CASE_FAIL, "element [1], is 2, but nan is stored");
}

static void only_zeros_are_marked(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(3), VALUES(-1, -2, -3));
  OUTPUT(&m, "Y", PH_F32, DIMS(3), VALUES(0, 0, 0));
  finish(&m, "Relu", "", "");
  ph_case_result result = run_only(state);
  assert_int_equal(result.state, PH_CASE_PASS);
  assert_true(result.empty && !result.trusted);
}

/* The verdict alone: what the device gave, what is stored, and whether NaN may meet NaN. */
static ph_case_state verdict(ph_dtype got_dtype, double got, double stored, bool equal_nan) {
  const int64_t one = 1;
  ph_external_case of = {.rtol = 0.5, .atol = 0.25, .equal_nan = equal_nan};
  ph_tensor *a = new_tensor(got_dtype, 1, &one, &got), *b = new_tensor(PH_F32, 1, &one, &stored);
  ph_external_tensor tensor = {.role = "Y", .data = b};
  ph_external_answer answer = {.alias = "Y", .stored = &tensor};
  ph_case_result result = {.name = "case"};
  ph_external_verdict(&of, &answer, a, &result);
  ph_tensor_release(a);
  ph_tensor_release(b);
  return result.state;
}

static void the_rule_of_the_case(void **state) {
  (void)state;
  double inf = (double)INFINITY, nan = (double)NAN;
  assert_int_equal(verdict(PH_F32, 3.25, 2, false), PH_CASE_PASS); /* 0.25 + 0.5 * 2 away */
  assert_int_equal(verdict(PH_F32, 3.2500005, 2, false), PH_CASE_FAIL);
  assert_int_equal(verdict(PH_F32, -3.25, -2, false), PH_CASE_PASS);
  assert_int_equal(verdict(PH_F16, 2, 2, false), PH_CASE_FAIL); /* another type */
  assert_int_equal(verdict(PH_F32, -inf, -inf, false), PH_CASE_PASS);
  assert_int_equal(verdict(PH_F32, inf, -inf, false), PH_CASE_FAIL);
  assert_int_equal(verdict(PH_F32, 3e38, inf, false), PH_CASE_FAIL);
  assert_int_equal(verdict(PH_F32, inf, 1, false), PH_CASE_FAIL);
  assert_int_equal(verdict(PH_F32, nan, nan, false), PH_CASE_FAIL);
  assert_int_equal(verdict(PH_F32, nan, nan, true), PH_CASE_PASS);
  assert_int_equal(verdict(PH_F32, nan, 1, true), PH_CASE_FAIL);
  assert_int_equal(verdict(PH_F32, 1, nan, true), PH_CASE_FAIL);
}

static void another_shape_fails(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(3), VALUES(1, 2, 3));
  OUTPUT(&m, "Y", PH_F32, DIMS(1, 3), VALUES(1, 2, 3));
  finish(&m, "Relu", "", "");
  expect(state, PH_CASE_FAIL, "output Y is f32 [3], but f32 [1, 3] is stored");
}

/* ---- what has no place ---- */

static void an_unknown_op_is_unsupported(void **state) {
  maker m = begin(state);
  finish(&m, "Frobnicate", "", "");
  expect(state, PH_CASE_UNSUPPORTED, "op Frobnicate is not mapped");
}

static void an_unknown_attribute_is_unsupported(void **state) {
  make_relu(state, "\"leak\": 0.1, \"none\": null", VALUES(0, 2, 3), "");
  expect(state, PH_CASE_UNSUPPORTED, "the attribute leak of op Relu is not mapped");
}

static void an_unknown_input_is_unsupported(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(1), VALUES(1));
  INPUT(&m, "slope", PH_F32, DIMS(1), VALUES(1));
  OUTPUT(&m, "Y", PH_F32, DIMS(1), VALUES(1));
  finish(&m, "Relu", "", "");
  expect(state, PH_CASE_UNSUPPORTED, "the input slope of op Relu is not mapped");
}

static void an_unknown_output_is_unsupported(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(1), VALUES(1));
  OUTPUT(&m, "Y", PH_F32, DIMS(1), VALUES(1));
  OUTPUT(&m, "sign", PH_F32, DIMS(1), VALUES(1));
  finish(&m, "Relu", "", "");
  expect(state, PH_CASE_UNSUPPORTED, "the output sign of op Relu is not mapped");
}

static void an_unknown_type_is_unsupported(void **state) {
  make_relu(state, "", VALUES(0, 2, 3), "");
  write_text(scratch_path(state, "group/case"), "case.json",
             "{\"op\": \"Relu\", \"attributes\": {}, \"outputs\": [], \"tolerance\": {\"rtol\": 0, \"atol\": 0}, "
             "\"inputs\": [{\"role\": \"X\", \"present\": true, \"file\": \"X.npy\", \"dtype\": \"float64\", "
             "\"shape\": [3]}]}");
  expect(state, PH_CASE_UNSUPPORTED, "'X' is float64: float32, float16, int64, int32 and bool are taken");
}

/* ---- malformed folders ---- */

static void a_missing_tensor_fails(void **state) {
  make_relu(state, "", VALUES(0, 2, 3), "");
  assert_int_equal(unlink(scratch_path(state, "group/case/X.npy")), 0);
  expect(state, PH_CASE_FAIL, "group/case/X.npy");
}

static void a_cut_tensor_fails(void **state) {
  make_relu(state, "", VALUES(0, 2, 3), "");
  assert_int_equal(truncate(scratch_path(state, "group/case/Y.npy"), 100), 0);
  expect(state, PH_CASE_FAIL, "group/case/Y.npy");
}

static void a_lying_shape_fails(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(3), VALUES(1, 2, 3));
  OUTPUT(&m, "Y", PH_F32, DIMS(3), VALUES(1, 2, 3));
  *strrchr(m.inputs.data, '3') = '4';
  finish(&m, "Relu", "", "");
  expect(state, PH_CASE_FAIL, "X.npy holds f32 [3], but case.json says f32 [4]");
}

static void a_lying_type_fails(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F16, DIMS(3), VALUES(1, 2, 3));
  OUTPUT(&m, "Y", PH_F32, DIMS(3), VALUES(1, 2, 3));
  memcpy(strstr(m.inputs.data, "float16"), "float32", strlen("float32"));
  finish(&m, "Relu", "", "");
  expect(state, PH_CASE_FAIL, "X.npy holds f16 [3], but case.json says f32 [3]");
}

static void nothing_stored_fails(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(1), VALUES(1));
  finish(&m, "Relu", "", "");
  expect(state, PH_CASE_FAIL, "the case stores no output: there is nothing to compare");
}

static void a_missing_input_fails(void **state) {
  maker m = begin(state);
  INPUT(&m, "A", PH_F32, DIMS(1), VALUES(1));
  OUTPUT(&m, "C", PH_F32, DIMS(1), VALUES(1));
  finish(&m, "Add", "", "");
  expect(state, PH_CASE_FAIL, "the input B is needed and absent");
}

static void a_wrong_rank_fails(void **state) {
  maker m = begin(state);
  INPUT(&m, "Q", PH_F32, DIMS(1, 1), VALUES(1));
  finish(&m, "Attention", "", "");
  expect(state, PH_CASE_FAIL, "the input Q has 2 axes, but needs 3 to 4");
}

static void an_attribute_of_another_type_fails(void **state) {
  make_relu(state, "", VALUES(0, 2, 3), "");
  maker m = {0};
  snprintf(m.folder, sizeof(m.folder), "%s", scratch_path(state, "group/case"));
  INPUT(&m, "X", PH_F32, DIMS(3), VALUES(1, 2, 3));
  OUTPUT(&m, "Y", PH_F32, DIMS(3), VALUES(1, 2, 3));
  finish(&m, "Softmax", "\"axis\": \"last\"", "");
  expect(state, PH_CASE_FAIL, "the attribute axis must be an integer");
}

static void a_malformed_case_json_fails(void **state) {
#define HEAD         "{\"op\": \"Relu\", \"attributes\": {}, \"tolerance\": {\"rtol\": 0, \"atol\": 0}"
#define TENSOR(text) HEAD ", \"outputs\": [], \"inputs\": [" text "]}"
  static const struct {
    const char *text, *reason;
  } files[] = {
      {"{\"op\": ", "case.json:1:"},
      {"[]", "'op' must be there and be a text"},
      {"{\"op\": \"Relu\", \"op\": \"Relu\"}", "case.json:1:"},
      {"{\"op\": \"Relu\"}", "'attributes' must be there and be a mapping"},
      {HEAD "}", "'inputs' must be there and be a list"},
      {"{\"op\": \"Relu\", \"attributes\": {}, \"inputs\": [], \"outputs\": []}", "'tolerance' must be there"},
      {"{\"op\": \"Relu\", \"attributes\": {}, \"inputs\": [], \"outputs\": [], \"tolerance\": {\"rtol\": -1, "
       "\"atol\": 0}}",
       "'tolerance' needs rtol and atol, numbers of 0 or more"},
      {TENSOR("3"), "'role' must be there"},
      {TENSOR("{\"role\": \"X: 1\"}"), "the role 'X: 1' is no name"},
      {TENSOR("{\"role\": \"X\"}"), "'present' of 'X' must be true or false"},
      {TENSOR("{\"role\": \"X\", \"present\": true}"), "'file' must be there"},
      {TENSOR("{\"role\": \"X\", \"present\": true, \"file\": \"../X.npy\", \"dtype\": \"bool\", \"shape\": []}"),
       "must lie beside case.json"},
      {TENSOR("{\"role\": \"X\", \"present\": true, \"file\": \"X.npy\", \"dtype\": \"bool\", \"shape\": [-1]}"),
       "the shape of 'X' must hold integers of 0 or more"},
      {TENSOR("{\"role\": \"X\", \"present\": true, \"file\": \"X.npy\", \"dtype\": \"bool\", "
              "\"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1]}"),
       "'X' has 9 axes; 8 is the most"},
  };
  maker m = begin(state);
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    write_text(m.folder, "case.json", files[i].text);
    expect(state, PH_CASE_FAIL, files[i].reason);
  }
}

static void lost_cases_fail(void **state) {
  make_relu(state, "", VALUES(0, 2, 3), "");
  make_folder(scratch_path(state, "group/empty"));
  write_text(*state, "index.tsv", "group\tcase\top\ngroup\tcase\tRelu\ngroup\tgone\tRelu");
  ph_case_source *source = open_source(state);
  ph_case_result result;
  assert_int_equal(source->case_count, 3);
  static const char *const names[] = {"group/case", "group/empty", "group/gone"};
  for (uint32_t i = 0; i < 3; i++) {
    assert_string_equal(source->cases[i].name, names[i]);
    run_on(source, i, &result);
    assert_int_equal(result.state, i == 0 ? PH_CASE_PASS : PH_CASE_FAIL);
    if (i > 0) assert_contains(result.reason, "case.json cannot be read");
  }
  source->close(source);
}

static void a_folder_without_cases_is_refused(void **state) {
  ph_error error = PH_ERROR_INIT;
  ph_case_source *source;
  assert_int_equal(ph_external_open(*state, &source, &error), PH_INVALID);
  assert_contains(error.message, "holds no case");
  assert_int_equal(ph_external_open(scratch_path(state, "gone"), &source, &error), PH_IO);
  assert_contains(error.message, "gone cannot be read as a folder");
}

/* ---- what the stored cases do not reach ---- */

/* One query of zeros over three keys, so that the weights are alike for all keys that are allowed. */
static void make_attention(void **state, ph_dtype mask_dtype, const double *mask, const char *attributes,
                           double expected) {
  maker m = begin(state);
  INPUT(&m, "Q", PH_F32, DIMS(1, 1, 1, 2), VALUES(0, 0));
  INPUT(&m, "K", PH_F32, DIMS(1, 1, 3, 2), VALUES(1, 2, 3, 4, 5, 6));
  INPUT(&m, "V", PH_F32, DIMS(1, 1, 3, 1), VALUES(1, 3, 8));
  if (mask != NULL) INPUT(&m, "attn_mask", mask_dtype, DIMS(1, 2), mask);
  OUTPUT(&m, "Y", PH_F32, DIMS(1, 1, 1, 1), &expected);
  finish(&m, "Attention", attributes, "");
}

static void a_short_float_mask_ends_the_keys(void **state) {
  make_attention(state, PH_F32, VALUES(0, 0), "", 2);
  expect(state, PH_CASE_PASS, "");
}

static void a_short_bool_mask_ends_the_keys(void **state) {
  make_attention(state, PH_BOOL, VALUES(0, 1), "", 3);
  expect(state, PH_CASE_PASS, "");
}

static void causal_without_a_past_is_top_left(void **state) {
  make_attention(state, PH_F32, NULL, "\"is_causal\": 1", 1);
  expect(state, PH_CASE_PASS, "");
}

static void a_window_looks_ahead(void **state) {
  make_attention(state, PH_F32, NULL, "\"left_window_size\": 0, \"right_window_size\": 1", 2);
  expect(state, PH_CASE_PASS, "");
}

static void double_precision_is_unsupported(void **state) {
  make_attention(state, PH_F32, NULL, "\"softmax_precision\": 11", 4);
  expect(state, PH_CASE_UNSUPPORTED, "softmax_precision 11 is not mapped");
}

static void a_present_key_without_a_past(void **state) {
  maker m = begin(state);
  INPUT(&m, "Q", PH_F32, DIMS(1, 1, 2), VALUES(0, 0));
  INPUT(&m, "K", PH_F32, DIMS(1, 2, 2), VALUES(1, 2, 3, 4));
  INPUT(&m, "V", PH_F32, DIMS(1, 2, 2), VALUES(1, 3, 5, 7));
  OUTPUT(&m, "Y", PH_F32, DIMS(1, 1, 2), VALUES(3, 5));
  OUTPUT(&m, "present_key", PH_F32, DIMS(1, 2, 2, 1), VALUES(1, 3, 2, 4));
  finish(&m, "Attention", "\"q_num_heads\": 2, \"kv_num_heads\": 2", "");
  expect(state, PH_CASE_PASS, "");
}

static void swish_with_an_alpha(void **state) {
  maker m = begin(state);
  INPUT(&m, "X", PH_F32, DIMS(1), VALUES(2));
  OUTPUT(&m, "Y", PH_F32, DIMS(1), VALUES(2 / (1 + exp(-1.0))));
  finish(&m, "Swish", "\"alpha\": 0.5", "");
  expect(state, PH_CASE_PASS, "");
}

static void softmax_over_all_axes_behind(void **state) {
  maker m = begin(state);
  INPUT(&m, "input", PH_F32, DIMS(1, 2, 2), VALUES(0, 0, 0, 0));
  OUTPUT(&m, "output", PH_F32, DIMS(1, 2, 2), VALUES(.25, .25, .25, .25));
  finish(&m, "Softmax", "\"axis\": 1, \"_coerce_2d\": true", "");
  expect(state, PH_CASE_PASS, "");
}

/* Half types go in as they are and come out as they are stored. */
static void scores_of_halves_are_stored_as_halves(void **state) {
  maker m = begin(state);
  INPUT(&m, "Q", PH_F16, DIMS(1, 1, 1, 1), VALUES(2));
  INPUT(&m, "K", PH_F16, DIMS(1, 1, 2, 1), VALUES(3, 3));
  INPUT(&m, "V", PH_F16, DIMS(1, 1, 2, 1), VALUES(1, 2));
  OUTPUT(&m, "Y", PH_F16, DIMS(1, 1, 1, 1), VALUES(1.5));
  OUTPUT(&m, "qk_matmul_output", PH_F16, DIMS(1, 1, 1, 2), VALUES(6, 6));
  finish(&m, "Attention", "\"qk_matmul_output_mode\": 0", "");
  expect(state, PH_CASE_PASS, "");
}

/* ---- as a config ---- */

static void what_is_shown_is_a_config(void **state) {
  make_attention(state, PH_BOOL, VALUES(0, 1), "\"scale\": 0.1, \"softcap\": 2", 3);
  ph_case_source *source = open_source(state);
  ph_error error = PH_ERROR_INIT;
  ph_text text = {0};
  assert_ok(source->show(source, 0, 0, &text, &error), error);
  assert_contains(text.data, "# Y must be within 1e-06 + 0 * |stored| of ");
  assert_contains(text.data, "{name: fused, op: attention, inputs: {q: Q, k: K, v: V, mask: whole_mask}, "
                             "scale: 0.10000000000000001, softcap: 2, polarity: attend}");
  assert_contains(text.data, "outputs: {weights: weights, Y: fused, Y_in_steps: mixed}");
  ph_model *model;
  assert_ok(ph_model_load_text("shown.yaml", text.data, NULL, &model, &error), error);
  ph_model_destroy(model);
  ph_text_free(&text);
  source->close(source);
}

static void what_cannot_be_mapped_cannot_be_shown(void **state) {
  maker m = begin(state);
  finish(&m, "Frobnicate", "", "");
  ph_case_source *source = open_source(state);
  ph_error error = PH_ERROR_INIT;
  ph_text text = {0};
  assert_int_equal(source->show(source, 0, 0, &text, &error), PH_UNSUPPORTED);
  assert_contains(error.message, "op Frobnicate is not mapped");
  assert_null(text.data);
  source->close(source);
}

static void a_folder_of_any_name(void **state) {
  char odd[SCRATCH_PATH_SIZE];
  make_relu(state, "", VALUES(0, 2, 3), "");
  snprintf(odd, sizeof(odd), "%s/a \"b\" \\n: {#} '\x01\xc3\xa9", (const char *)*state);
  assert_int_equal(rename(scratch_path(state, "group"), odd), 0);
  ph_case_source *source = open_source(state);
  ph_case_result result;
  run_on(source, 0, &result);
  if (result.state != PH_CASE_PASS) fail_msg("%s", result.reason);
  source->close(source);
}

int main(void) {
#define EXTERNAL_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_create, scratch_remove)
  const struct CMUnitTest tests[] = {
      EXTERNAL_TEST(a_right_value_passes),
      EXTERNAL_TEST(a_wrong_value_is_named),
      EXTERNAL_TEST(a_stored_nan_fails),
      EXTERNAL_TEST(only_zeros_are_marked),
      EXTERNAL_TEST(the_rule_of_the_case),
      EXTERNAL_TEST(another_shape_fails),
      EXTERNAL_TEST(an_unknown_op_is_unsupported),
      EXTERNAL_TEST(an_unknown_attribute_is_unsupported),
      EXTERNAL_TEST(an_unknown_input_is_unsupported),
      EXTERNAL_TEST(an_unknown_output_is_unsupported),
      EXTERNAL_TEST(an_unknown_type_is_unsupported),
      EXTERNAL_TEST(a_missing_tensor_fails),
      EXTERNAL_TEST(a_cut_tensor_fails),
      EXTERNAL_TEST(a_lying_shape_fails),
      EXTERNAL_TEST(a_lying_type_fails),
      EXTERNAL_TEST(nothing_stored_fails),
      EXTERNAL_TEST(a_missing_input_fails),
      EXTERNAL_TEST(a_wrong_rank_fails),
      EXTERNAL_TEST(an_attribute_of_another_type_fails),
      EXTERNAL_TEST(a_malformed_case_json_fails),
      EXTERNAL_TEST(lost_cases_fail),
      EXTERNAL_TEST(a_folder_without_cases_is_refused),
      EXTERNAL_TEST(a_short_float_mask_ends_the_keys),
      EXTERNAL_TEST(a_short_bool_mask_ends_the_keys),
      EXTERNAL_TEST(causal_without_a_past_is_top_left),
      EXTERNAL_TEST(a_window_looks_ahead),
      EXTERNAL_TEST(double_precision_is_unsupported),
      EXTERNAL_TEST(a_present_key_without_a_past),
      EXTERNAL_TEST(swish_with_an_alpha),
      EXTERNAL_TEST(softmax_over_all_axes_behind),
      EXTERNAL_TEST(scores_of_halves_are_stored_as_halves),
      EXTERNAL_TEST(what_is_shown_is_a_config),
      EXTERNAL_TEST(what_cannot_be_mapped_cannot_be_shown),
      EXTERNAL_TEST(a_folder_of_any_name),
  };
  return cmocka_run_group_tests_name("external", tests, NULL, NULL);
}
