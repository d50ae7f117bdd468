/* Suites: what a family becomes, the bits that its seeds give, and mistakes named by line. */
#include "../../unit/scratch.h"

#include "base/dtype.h"
#include "config/load_text.h"
#include "conform/required.h"
#include "conform/suite.h"
#include "runtime/session.h"

#define HEAD "polyhead_suite: 1\n"

static ph_suite *suite_of(void **state, const char *text) {
  ph_suite *suite;
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_file(state, "suite.yaml", text, strlen(text));
  assert_ok(ph_suite_read(path, &suite, &error), error);
  return suite;
}

static void has_cases(const ph_suite *suite, size_t count, const char *const *names, const unsigned *sets) {
  assert_int_equal(suite->case_count, count);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(suite->listed[i].name, names[i]);
    if (sets != NULL) assert_int_equal(suite->listed[i].sets, sets[i]);
  }
}

static void shows(const ph_suite *suite, uint32_t index, uint64_t seed, const char *expected) {
  ph_text text = {0};
  ph_error error = PH_ERROR_INIT;
  assert_ok(ph_suite_config(suite, index, seed, &text, &error), error);
  assert_string_equal(text.data, expected);
  ph_text_free(&text);
}

/* ---- what a family becomes ---- */

static void values_and_sets(void **state) {
  enum { SMOKE = PH_SET_SMOKE | PH_SET_CI | PH_SET_FULL, CI = PH_SET_CI | PH_SET_FULL };
  ph_suite *suite = suite_of(state, HEAD "cases:\n"
                                         "  - name: softmax.rows\n"
                                         "    op: softmax\n"
                                         "    sets: [tiny, smoke]\n"
                                         "    vary: {n: {tiny: [1, 5], full: [4099]}, t: {tiny: [f32], ci: [f16]}}\n"
                                         "    exclude: [{n: [1, 4099], t: f16}]\n"
                                         "    dims: {r: 3, n: 7}\n"
                                         "    inputs: {x: [$t, r, n]}\n"
                                         "    node: {inputs: [x]}\n");
  has_cases(suite, 4,
            (const char *const[]){"softmax.rows/n=1,t=f32", "softmax.rows/n=5,t=f32", "softmax.rows/n=5,t=f16",
                                  "softmax.rows/n=4099,t=f32"},
            (const unsigned[]){SMOKE | PH_SET_TINY, SMOKE | PH_SET_TINY, CI, PH_SET_FULL});
  ph_suite_destroy(suite);
}

/* The seeds, and the bits below, were made with an independent implementation: they are the same on every machine. */
static void config_of_a_case(void **state) {
  ph_suite *suite = suite_of(
      state, HEAD
      "options:\n"
      "  mask:\n"
      "    bool: {inputs: {m: [bool, s]}, node: {inputs: {mask: m}, polarity: attend}, before: [{name: z, op: relu, "
      "inputs: [q]}]}\n"
      "  window:\n"
      "    yes: {node: {window: $span}}\n"
      "templates:\n"
      "  heads:\n"
      "    dims: {s: 5, d: 4}\n"
      "    let: {t: null, span: [1, 0]}\n"
      "    inputs: {q: [$t, s, d], k: {shape: [s, d], default: {fill: 2}}, v: [s, d], gone: [s]}\n"
      "    node: {inputs: {q: q, k: k, v: v}, scale: $scale}\n"
      "cases:\n"
      "  - name: attention.all\n"
      "    op: attention\n"
      "    use: [heads]\n"
      "    vary: {mask: [none, bool], window: [yes], \"s d\": [[3, 2]], scale: [null, 0.5]}\n"
      "    inputs: {gone: null}\n"
      "    node: {align: top_left}\n");
  has_cases(suite, 4,
            (const char *const[]){"attention.all/window=yes,s=3,d=2,scale=none",
                                  "attention.all/window=yes,s=3,d=2,scale=0.5",
                                  "attention.all/mask=bool,window=yes,s=3,d=2,scale=none",
                                  "attention.all/mask=bool,window=yes,s=3,d=2,scale=0.5"},
            NULL);
  shows(suite, 0, 0,
        "polyhead: 1\nname: \"attention.all/window=yes,s=3,d=2,scale=none\"\ndims: {s: 3, d: 2}\ninputs:\n"
        "  q: {shape: [s, d], default: {random: normal, seed: 1940991111620024}}\n"
        "  k: {shape: [s, d], default: {fill: 2}}\n"
        "  v: {shape: [s, d], default: {random: normal, seed: 1940991111620024}}\n"
        "graph:\n"
        "  - {name: y, op: attention, inputs: {q: q, k: k, v: v}, align: top_left, window: [1, 0]}\n"
        "outputs: [y, y.lse]\n");
  shows(suite, 3, 7,
        "polyhead: 1\nname: \"attention.all/mask=bool,window=yes,s=3,d=2,scale=0.5\"\ndims: {s: 3, d: 2}\ninputs:\n"
        "  q: {shape: [s, d], default: {random: normal, seed: 7531590717743262}}\n"
        "  k: {shape: [s, d], default: {fill: 2}}\n"
        "  v: {shape: [s, d], default: {random: normal, seed: 7531590717743262}}\n"
        "  m: {shape: [s], dtype: bool, default: {random: uniform, seed: 7531590717743262}}\n"
        "graph:\n"
        "  - {name: z, op: relu, inputs: [q]}\n"
        "  - {name: y, op: attention, inputs: {q: q, k: k, v: v, mask: m}, scale: 0.5, align: top_left, "
        "polarity: attend, window: [1, 0]}\n"
        "outputs: [y, y.lse]\n");
  ph_suite_destroy(suite);
}

static void bits_are_pinned(void **state) {
  static const char text[] = HEAD "cases:\n"
                                  "  - {name: relu.pinned, op: relu, inputs: {x: [4]}, node: {inputs: [x]}}\n"
                                  "  - {name: relu.half, op: relu, inputs: {x: [f16, 4]}, node: {inputs: [x]}}\n";
  static const uint32_t single[4] = {0x3fe52b8c, 0xbff3fe58, 0x3ea97960, 0xbfad9688};
  static const uint16_t half[4] = {0x34ef, 0x35fa, 0x312e, 0x370e};
  ph_suite *suite = suite_of(state, text);
  for (uint32_t i = 0; i < 2; i++) {
    ph_text config = {0};
    ph_model *model;
    ph_context *context;
    ph_session *session;
    ph_error error = PH_ERROR_INIT;
    assert_ok(ph_suite_config(suite, i, 0, &config, &error), error);
    assert_ok(ph_model_load_text("case.yaml", config.data, NULL, &model, &error), error);
    ph_context_options none = {.struct_size = sizeof(none)};
    ph_session_options options = {
        .struct_size = sizeof(options), .device = "reference", .keep = (const char *[]){"x"}, .keep_count = 1};
    assert_ok(ph_context_create(&none, &context, &error), error);
    assert_ok(ph_session_create(context, model, &options, &session, &error), error);
    assert_ok(ph_session_run(session, &error), error);
    const ph_tensor *x = ph_session_output(session, 1)->tensor;
    assert_memory_equal(x->data, i == 0 ? (const void *)single : (const void *)half, x->bytes);
    ph_session_destroy(session);
    ph_context_destroy(context);
    ph_model_destroy(model);
    ph_text_free(&config);
  }
  ph_suite_destroy(suite);
}

static void dims_of_later_runs(void **state) {
  ph_suite *suite = suite_of(state, HEAD "cases:\n"
                                         "  - {name: relu.again, op: relu, dims: {n: 2}, inputs: {x: [n]}, node: "
                                         "{inputs: [x]}, rebind: [{n: 1}, {n: 5}]}\n");
  ph_arena arena = {0};
  ph_error error = PH_ERROR_INIT;
  const char *const *dims;
  uint32_t count;
  for (uint32_t step = 0; step < 3; step++) {
    assert_ok(ph_suite_rebind(suite, 0, step, &arena, &dims, &count, &error), error);
    assert_int_equal(count, step < 2);
    if (step < 2) assert_string_equal(dims[0], step == 0 ? "n=1" : "n=5");
  }
  ph_arena_free(&arena);
  ph_suite_destroy(suite);
}

static void pairs_are_listed(void **state) {
  ph_suite *suite = suite_of(state, HEAD "options: {a: {x: {}, y: {}}, b: {x: {}}}\n"
                                         "cases:\n"
                                         "  - name: relu.pairs\n"
                                         "    op: relu\n"
                                         "    pairs: true\n"
                                         "    vary: {a: [none, x, y], b: [none, x], n: [1, 2]}\n"
                                         "    exclude: [{a: x, b: x}]\n"
                                         "    dims: {n: 1}\n"
                                         "    inputs: {x: [n]}\n"
                                         "    node: {inputs: [x]}\n");
  assert_int_equal(suite->pair_count, 3 * 2 + 3 * 2 + 2 * 2 - 1);
  assert_in_range(suite->case_count, 6, 8);
  for (uint32_t i = 0; i < suite->pair_count; i++) {
    bool met = false;
    for (uint32_t c = 0; c < suite->case_count; c++) {
      bool has[2] = {false, false};
      for (uint32_t o = 0; o < suite->listed[c].option_count; o++)
        for (uint32_t k = 0; k < 2; k++)
          has[k] = has[k] || strcmp(suite->listed[c].options[o], suite->pairs[i].options[k]) == 0;
      met = met || (has[0] && has[1]);
    }
    assert_true(met);
  }
  ph_suite_destroy(suite);
}

/* ---- mistakes ---- */

static void refuses(void **state, const char *text, const char *expected) {
  ph_suite *suite = NULL;
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_file(state, "suite.yaml", text, strlen(text));
  ph_status status = ph_suite_read(path, &suite, &error);
  ph_text config = {0};
  if (status == PH_OK) status = ph_suite_config(suite, 0, 0, &config, &error);
  ph_text_free(&config);
  ph_suite_destroy(suite);
  size_t skip = strncmp(error.message, path, strlen(path)) == 0 ? strlen(path) : 0;
  if (status != PH_INVALID || strcmp(error.message + skip, expected) != 0)
    fail_msg("status %d\n     got: %s\nexpected: %s\nin\n%s", (int)status, error.message + skip, expected, text);
}

#define FAMILY "cases:\n  - {name: relu.x, op: relu, dims: {n: 2}, inputs: {x: [n]}, node: {inputs: [x]}"

static void mistakes(void **state) {
  refuses(state, "polyhead: 1\n", ":1:1: error: a suite has no key 'polyhead'");
  refuses(state, "cases: []\n", ":1:1: error: a suite says polyhead_suite: 1");
  refuses(state, HEAD FAMILY ", exlude: []}\n", ":3:83: error: a family has no key 'exlude'; did you mean 'exclude'?");
  refuses(state, HEAD "cases:\n  - {name: a, op: rellu}\n", ":3:19: error: there is no op 'rellu'");
  refuses(state, HEAD "cases:\n  - {op: relu}\n", ":3:5: error: a family needs a name");
  refuses(state, HEAD "cases:\n  - {name: a/b, op: relu}\n", ":3:12: error: 'a/b' cannot stand in a case's name");
  refuses(state, HEAD "cases:\n  - {name: a, node: {inputs: [x]}}\n", ":3:5: error: a family with a node names its op");
  refuses(state, HEAD FAMILY ", sets: [larger]}\n",
          ":3:90: error: 'larger' is no set; there are tiny, smoke, ci and full");
  refuses(state, HEAD FAMILY ", vary: {n: [1, 1]}}\n", ":3:97: error: n=1 stands here twice");
  refuses(state, HEAD FAMILY ", vary: {n: 5}}\n", ":3:93: error: what varies must be a mapping, not '5'");
  refuses(state, HEAD FAMILY ", vary: {n: [{a: 1}]}}\n", ":3:94: error: a value that varies is no mapping");
  refuses(state, HEAD FAMILY ", vary: {\"n m\": [[1]]}}\n",
          ":3:98: error: a list of 2 values is expected, one for each name");
  refuses(state, HEAD FAMILY ", vary: {m: [1]}}\n",
          ":3:5: error: 'm' varies, but it is no dim, no option, and nothing is $m");
  refuses(state, HEAD FAMILY ", vary: {n: [1]}, exclude: [{m: 1}]}\n",
          ":3:110: error: 'm' does not vary by itself here");
  refuses(state, HEAD FAMILY ", vary: {n: [1]}, exclude: [{n: 2}]}\n", ":3:113: error: n does not take the value '2'");
  refuses(state, HEAD FAMILY ", vary: {n: [1]}, exclude: [{n: 1}]}\n",
          ":3:5: error: the family 'relu.x' has no case: all combinations are excluded");
  refuses(state, HEAD FAMILY ", use: [heads]}\n", ":3:89: error: no template 'heads'");
  refuses(state, HEAD "options: {a: {x: {}}}\n" FAMILY ", vary: {a: [y]}}\n", ":4:94: error: options has no a 'y'");
  refuses(state, HEAD FAMILY ", outputs: [$what]}\n",
          ":3:93: error: nothing says what $what is: name it in `vary` or `let`");
  refuses(state, HEAD FAMILY ", graph: []}\n", ":3:5: error: a family has either a node or a graph");
  refuses(state, HEAD FAMILY ", pairs: 3}\n", ":3:90: error: pairs is true or false, not '3'");
  refuses(state, HEAD "cases:\n  - {name: a, op: relu, inputs: {x: [i64, 3]}, node: {inputs: [x]}}\n",
          ":3:34: error: 'x' needs a default: nobody knows which integers it takes");
  refuses(state,
          HEAD "cases:\n  - {name: a, op: relu, inputs: {}, node: {}}\n  - {name: a, op: relu, inputs: {}, node: {}}\n",
          ":4:12: error: 'a' stands here a second time; the first is at line 3");
}

/* ---- what a backend promises ---- */

static void required(void **state) {
  static const char text[] = "ops: [relu, exp]\nexpected_fail:\n  - {case: 'relu.*', reason: not yet}\n";
  ph_arena arena = {0};
  ph_required read;
  ph_error error = PH_ERROR_INIT;
  assert_ok(ph_required_read(scratch_file(state, "r.yaml", text, sizeof(text) - 1), &arena, &read, &error), error);
  assert_true(ph_required_op(&read, "exp"));
  assert_false(ph_required_op(&read, "add"));
  assert_string_equal(ph_required_fail(&read, "relu.x/n=1"), "not yet");
  assert_null(ph_required_fail(&read, "exp.relu"));
  static const char *const wrong[][2] = {
      {"ops: [rellu]\n", ":1:7: error: there is no op 'rellu'"},
      {"ops: some\n", ":1:6: error: ops is all, or a list of ops"},
      {"opps: all\n", ":1:1: error: 'opps' is not known here; there are ops and expected_fail"},
      {"expected_fail: [{case: a}]\n", ":1:17: error: an expected fail is {case: PATTERN, reason: TEXT}"},
  };
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    const char *path = scratch_file(state, "r.yaml", wrong[i][0], strlen(wrong[i][0]));
    assert_int_equal(ph_required_read(path, &arena, &read, &error), PH_INVALID);
    assert_string_equal(error.message + strlen(path), wrong[i][1]);
  }
  ph_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_and_sets),  cmocka_unit_test(config_of_a_case),
                                     cmocka_unit_test(bits_are_pinned),  cmocka_unit_test(dims_of_later_runs),
                                     cmocka_unit_test(pairs_are_listed), cmocka_unit_test(mistakes),
                                     cmocka_unit_test(required)};
  return cmocka_run_group_tests_name("suite", tests, scratch_create, scratch_remove);
}
