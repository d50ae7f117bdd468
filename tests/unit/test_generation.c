/* The section `generate` and labels from a vocabulary: what is read, where files are sought, every mistake in words. */
#include "config_case.h"

#include <sys/stat.h>

static const ph_model_options plain = {0};

/* Lines 1 to 12. */
#define HEAD                                                                                                           \
  "polyhead: 1\n"                                                                                                      \
  "dims: {batch: 1, seq: 1, slots: 8, model: 4, far: 2}\n"                                                             \
  "inputs:\n"                                                                                                          \
  "  ids: {dtype: i64, shape: [batch, seq]}\n"                                                                         \
  "  other: {dtype: i32, shape: [batch, far], default: {fill: 0}}\n"                                                   \
  "  past: {dtype: i64, shape: [batch], default: {fill: 0}}\n"                                                         \
  "weights: {tensors: {table: {shape: [slots, model], init: {random: normal, seed: 1}}}}\n"                            \
  "graph:\n"                                                                                                           \
  "  - {name: x, op: embedding, inputs: [ids, table]}\n"                                                               \
  "  - {name: logits, op: linear, inputs: [x, table]}\n"                                                               \
  "  - {name: o, op: embedding, inputs: [other, table]}\n"                                                             \
  "  - {name: p, op: positions, inputs: {like: ids, offset: past}}\n"
#define CONFIG(outputs, rest) HEAD "outputs: " outputs "\n" rest "\n" /* lines 13 and 14 */
#define GENERATE(text)        CONFIG("[logits, o, p]", "generate: {" text "}")

static void everything_is_read(void **state) {
  scratch_file(state, "there.json", "[]", 2);
  ph_model *model = case_load(state,
                              CONFIG("{scores: logits, o: o, p: p}",
                                     "generate: {ids: ids, past: past, logits: scores, source: other, vocabulary: "
                                     "there.json, source_vocabulary: gone.json, start: <s>, stop: [2, '2']}"),
                              plain);
  const ph_generation *how = ph_model_generation(model);
  assert_non_null(how);
  assert_string_equal(ph_model_input_name(model, how->ids), "ids");
  assert_string_equal(ph_model_input_name(model, how->past), "past");
  assert_string_equal(ph_model_input_name(model, how->source), "other");
  assert_int_equal(ph_model_input_dtype(model, how->source), PH_I32);
  assert_string_equal(ph_model_output_alias(model, how->logits), "scores");
  assert_string_equal(how->vocabulary, "there.json");
  assert_string_equal(how->vocabulary_path, scratch_path(state, "there.json"));
  assert_string_equal(how->source_vocabulary, "gone.json");
  assert_null(how->source_vocabulary_path);
  assert_string_equal(how->start.text, "<s>");
  assert_int_equal(how->stop_count, 2);
  assert_null(how->stops[0].text);
  assert_int_equal(how->stops[0].id, 2);
  assert_string_equal(how->stops[1].text, "2");
  ph_model_destroy(model);
}

/* Beside the config first, then beside the weights. */
static void files_are_sought_in_two_places(void **state) {
  char folder[SCRATCH_PATH_SIZE], weights[SCRATCH_PATH_SIZE + 8];
  snprintf(folder, sizeof(folder), "%s", scratch_path(state, "weights"));
  assert_int_equal(mkdir(folder, 0700), 0);
  snprintf(weights, sizeof(weights), "%s/w.npz", folder);
  const char *const files[] = {weights};
  const ph_model_options options = {.weight_files = files, .weight_file_count = 1};
  scratch_file(state, "weights/far.json", "[]", 2);
  static const char text[] = GENERATE("ids: ids, past: past, logits: logits, vocabulary: far.json, start: 1");
  ph_model *model = case_load(state, text, options);
  assert_string_equal(ph_model_generation(model)->vocabulary_path, scratch_path(state, "weights/far.json"));
  assert_int_equal(ph_model_generation(model)->source, PH_NONE);
  ph_model_destroy(model);
  scratch_file(state, "far.json", "[]", 2);
  model = case_load(state, text, options);
  assert_string_equal(ph_model_generation(model)->vocabulary_path, scratch_path(state, "far.json"));
  ph_model_destroy(model);
}

static void without_the_section(void **state) {
  ph_model *model = case_load(state, CONFIG("[logits, o, p]", ""), plain);
  assert_null(ph_model_generation(model));
  assert_int_equal(ph_model_input_dtype(model, 9), PH_DTYPE_NONE);
  ph_model_destroy(model);
}

#define REST ", logits: logits, vocabulary: v.json, start: 1"

static void mistakes(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {CONFIG("[logits, o, p]", "generate: [ids]"), ":14:11: error: generate must be a mapping, not a list"},
      {GENERATE("idss: ids"), ":14:12: error: generate has no 'idss'; did you mean 'ids'?"},
      {GENERATE("ids: ids"), ":14:11: error: generate needs 'past'"},
      {GENERATE("ids: idz, past: past" REST), ":14:17: error: there is no input 'idz'; did you mean 'ids'?"},
      {GENERATE("ids: past, past: past" REST),
       ":14:17: error: ids must be an input of integers, [batch, length]; 'past' is i64 with 1 axes"},
      {GENERATE("ids: ids, past: other" REST),
       ":14:28: error: past must be an input of integers, [batch]; 'other' is i32 with 2 axes"},
      {GENERATE("ids: ids, past: past, logits: logit, vocabulary: v, start: 1"),
       ":14:42: error: there is no output 'logit'; did you mean 'logits'?"},
      {GENERATE("ids: ids, past: past, logits: x, vocabulary: v, start: 1"),
       ":14:42: error: there is no output 'x'"}, /* a value, but no output */
      {GENERATE("ids: ids, past: past, logits: logits, vocabulary: v, start: -1"),
       ":14:72: error: start must be a token or an id, not '-1'"},
      {GENERATE("ids: ids, past: past" REST ", stop: 2"), ":14:86: error: stop must be a list, not '2'"},
      {GENERATE("ids: ids, past: past" REST ", source_vocabulary: v"),
       ":14:99: error: source_vocabulary needs 'source', the input that it is for"},
      {CONFIG("[logits, o, p]", "labels: {seq: {ids: ids}}"), ":14:15: error: labels needs 'vocabulary'"},
      {CONFIG("[logits, o, p]", "labels: {seq: {ids: other, vocabulary: v}}"),
       ":14:21: error: 'other' is no input of integers with an axis 'seq'"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) case_refused(state, cases[i].text, cases[i].message);
}

/* Without weights nobody expects their vocabulary; with them, a name that is wrong should not go unnoticed. */
static void labels_without_their_file(void **state) {
  static const char text[] = CONFIG("[logits, o, p]", "labels: {seq: {ids: ids, vocabulary: none.txt}}");
  case_warns(state, text, plain, "");
  const char *const files[] = {scratch_path(state, "w.npz")};
  case_warns(state, text, (ph_model_options){.weight_files = files, .weight_file_count = 1},
             ":14:38: warning: the labels of 'seq' are dropped: none.txt is neither beside the config nor beside the "
             "weights\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_read),        cmocka_unit_test(files_are_sought_in_two_places),
      cmocka_unit_test(without_the_section),       cmocka_unit_test(mistakes),
      cmocka_unit_test(labels_without_their_file),
  };
  return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
