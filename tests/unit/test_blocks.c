/* Blocks: calls, repeats, prefixes, paths, and every mistake with its place and its words. */
#include "config_case.h"

static const ph_model_options plain = {0};

#define HEAD "polyhead: 1\ndims: {a: 2, n: 3}\ninputs: {x: {shape: [a, n]}}\nblocks:\n"
/* `block` stands on line 5, the call on line 7. */
#define CALL(block, call, outputs)                                                                                     \
  HEAD "  u: {" block "}\ngraph:\n  - {name: h, block: u, " call "}\noutputs: [" outputs "]\n"
#define RELU   "inputs: [x], graph: [{name: y, op: relu, inputs: [x]}], outputs: [y]"
#define LINEAR "inputs: [x], weights: {w: k.w}, graph: [{name: y, op: linear, inputs: [x, w]}], outputs: [y]"

static const char *node_input(const ph_model *model, uint32_t node, uint32_t role) {
  return model->values[model->nodes[node].inputs[role]].path;
}

static void a_block_called_once(void **state) {
  ph_model *model = case_load(state, CALL(LINEAR, "inputs: {x: x}, weights: \"l{n}.\"", "h, h.y"), plain);
  assert_int_equal(model->node_count, 1);
  assert_string_equal(model->nodes[0].path, "h.y");
  assert_int_equal(model->nodes[0].place.line, 5);
  assert_int_equal(model->nodes[0].call_place.line, 7);
  assert_string_equal(node_input(model, 0, 0), "x");
  assert_string_equal(node_input(model, 0, 1), "h.w");
  assert_string_equal(model->weights[0].path, "h.w");
  assert_string_equal(model->weights[0].keys[0], "l3.k.w");
  assert_string_equal(ph_model_output_alias(model, 0), "h");
  assert_string_equal(ph_model_output_path(model, 0), "h.y");
  assert_int_equal(ph_model_value_find(model, "h"), ph_model_value_find(model, "h.y"));
  assert_int_equal(ph_model_value_find(model, "h.x"), ph_model_value_find(model, "x"));
  ph_model_destroy(model);
}

static void rounds_feed_each_other(void **state) {
  ph_model *model =
      case_load(state, CALL(LINEAR, "inputs: [x], repeat: n, weights: \"l.{i + 1}.\"", "h, h.1.y, h.y, h.2.x"), plain);
  assert_int_equal(model->node_count, 3);
  static const char *const fed[] = {"x", "h.0.y", "h.1.y"}, *const keys[] = {"l.1.k.w", "l.2.k.w", "l.3.k.w"};
  for (uint32_t i = 0; i < 3; i++) {
    assert_string_equal(node_input(model, i, 0), fed[i]);
    assert_string_equal(model->weights[i].keys[0], keys[i]);
  }
  static const char *const paths[] = {"h.2.y", "h.1.y", "h.2.y", "h.1.y"};
  for (uint32_t i = 0; i < 4; i++) assert_string_equal(ph_model_output_path(model, i), paths[i]);
  assert_int_equal(ph_model_value_find(model, "h"), ph_model_value_find(model, "h.2.y"));
  assert_false(model->dims[1].varies); /* the graph depends on it */
  assert_true(model->dims[1].overridden && model->dims[1].override == 3);
  assert_true(model->dims[0].varies);
  ph_model_destroy(model);
}

static void repeats_follow_dim(void **state) {
  static const char *const given[] = {"n=5"};
  ph_model *model =
      case_load(state, CALL(RELU, "inputs: [x], repeat: n", "h"), (ph_model_options){.dims = given, .dim_count = 1});
  assert_int_equal(model->node_count, 5);
  ph_model_destroy(model);
}

static void carry_says_what_feeds_what(void **state) {
  ph_model *model = case_load(
      state,
      CALL("inputs: [x, z, k], graph: [{name: s, op: add, inputs: [x, z]}, {name: p, op: mul, inputs: [s, k]}], "
           "outputs: {sum: s, product: p}",
           "inputs: [x, x, x], repeat: 3, carry: {x: product, z: sum}", "h, h.product, h.0.sum"),
      plain);
  assert_string_equal(node_input(model, 2, 0), "h.0.p");
  assert_string_equal(node_input(model, 2, 1), "h.0.s");
  assert_string_equal(node_input(model, 5, 1), "x");
  static const char *const paths[] = {"h.2.s", "h.2.p", "h.0.s"};
  for (uint32_t i = 0; i < 3; i++) assert_string_equal(ph_model_output_path(model, i), paths[i]);
  ph_model_destroy(model);
}

static void the_round_is_a_number(void **state) {
  ph_model *model = case_load(
      state,
      CALL("inputs: [x], weights: {w: {key: \"k{i}\", init: {fill: 10 * i}, shape: [i + 1]}}, "
           "graph: [{name: m, op: add, inputs: [x, =i + 1]}, {name: y, op: mul, inputs: [m, w]}], outputs: [y]",
           "inputs: [x], repeat: 2", "h"),
      plain);
  ph_scope none = {NULL, NULL};
  ph_error error = PH_ERROR_INIT;
  ph_dim dim;
  for (int64_t i = 0; i < 2; i++) {
    assert_ok(ph_expr_integer(model->scalars[i], &none, &dim, &error), error);
    assert_int_equal(dim.value, i + 1);
    assert_ok(ph_expr_integer(model->weights[i].dims[0], &none, &dim, &error), error);
    assert_int_equal(dim.value, i + 1);
    assert_ok(ph_expr_integer(model->weights[i].init.fill, &none, &dim, &error), error);
    assert_int_equal(dim.value, 10 * i);
  }
  assert_string_equal(model->weights[1].keys[0], "k1");
  ph_model_destroy(model);
}

/* A block inside a block: prefixes are put one behind the other as they stand, and rounds are one's own. */
static void calls_nest(void **state) {
  ph_model *model =
      case_load(state,
                HEAD "  inner: {" LINEAR "}\n"
                     "  outer: {inputs: [x], graph: [{name: f, block: inner, inputs: [x], weights: ffn/}, "
                     "{name: g, block: inner, inputs: [f], repeat: 2, weights: \"g{i}_\"}], outputs: [g, f]}\n"
                     "graph:\n"
                     "  - {name: h, block: outer, inputs: [x], repeat: 2, weights: \"layer_{i}/\"}\n"
                     "outputs: {y: h, f: h.1.f, g: h.0.g.1.y, h: h.f}\n",
                plain);
  static const char *const keys[] = {"layer_0/ffn/k.w", "layer_0/g0_k.w", "layer_0/g1_k.w",
                                     "layer_1/ffn/k.w", "layer_1/g0_k.w", "layer_1/g1_k.w"};
  assert_int_equal(model->weight_count, 6);
  for (uint32_t i = 0; i < 6; i++) assert_string_equal(model->weights[i].keys[0], keys[i]);
  static const char *const paths[] = {"h.1.g.1.y", "h.1.f.y", "h.0.g.1.y", "h.1.f.y"};
  for (uint32_t i = 0; i < 4; i++) assert_string_equal(ph_model_output_path(model, i), paths[i]);
  assert_string_equal(node_input(model, 3, 0), "h.0.g.1.y");
  assert_int_equal(model->nodes[3].call_place.line, 6);
  ph_model_destroy(model);
}

/* {i} inside the outer prefix does for a block that is called once inside; a repeat inside needs its own or shared. */
static void prefixes_of_nested_repeats(void **state) {
#define NESTED(inner_call, outer_call)                                                                                 \
  HEAD "  inner: {" LINEAR "}\n  outer: {inputs: [x], graph: [{name: f, block: inner, inputs: [x]" inner_call          \
       "}], outputs: [f]}\ngraph:\n  - {name: h, block: outer, inputs: [x]" outer_call "}\noutputs: [h]\n"
  ph_model_destroy(case_load(state, NESTED(", repeat: 2, shared: true", ", repeat: 2, weights: \"{i}.\""), plain));
  ph_model_destroy(case_load(state, NESTED(", weights: f.", ", repeat: 2, weights: \"{i}.\""), plain));
  case_refused(state, NESTED(", repeat: 2", ", repeat: 2, weights: \"{i}.\""),
               ":6:32: error: every round of 'f' would read the same weights: put {i} into the prefix, as in "
               "\"layers.{i}.\", or say shared: true (in block 'outer', called at line 8)");
  case_refused(state, NESTED(", repeat: 2, shared: true", ", repeat: 2"),
               ":8:5: error: every round of 'h' would read the same weights: put {i} into the prefix, as in "
               "\"layers.{i}.\", or say shared: true");
}

static void shared_weights_are_one(void **state) {
  ph_model *model = case_load(state, CALL(LINEAR, "inputs: [x], repeat: 2, weights: l., shared: true", "h"), plain);
  assert_string_equal(model->weights[0].keys[0], "l.k.w");
  assert_string_equal(model->weights[1].keys[0], "l.k.w");
  assert_int_equal(model->weights[1].first, 0);
  ph_model_destroy(model);
}

/* Made-up ones, too: round 0 makes them, also for a block inside; a key with {i} is another weight in each round. */
static void shared_weights_are_made_once(void **state) {
#define SEEDED "inputs: [x], weights: {w: {shape: [n, n], init: {random: normal, seed: 1}}}, " GRAPH
#define GRAPH  "graph: [{name: y, op: linear, inputs: [x, w]}], outputs: [y]"
  ph_model *model = case_load(state,
                              HEAD "  inner: {" SEEDED "}\n"
                                   "  outer: {inputs: [x], weights: {own: {key: \"o{i}\", shape: [n, n]}}, "
                                   "graph: [{name: o, op: linear, inputs: [x, own]}, "
                                   "{name: f, block: inner, inputs: [o]}], outputs: [f]}\n"
                                   "graph:\n"
                                   "  - {name: h, block: outer, inputs: [x], repeat: 3, shared: true}\n"
                                   "  - {name: k, block: inner, inputs: [h]}\n"
                                   "outputs: [k]\n",
                              plain);
  static const uint32_t first[] = {0, 1, 2, 1, 4, 1, 6}; /* own and w of each round, then k's */
  assert_int_equal(model->weight_count, 7);
  for (uint32_t i = 0; i < 7; i++) assert_int_equal(model->weights[i].first, first[i]);
  ph_model_destroy(model);
}

static void outputs_may_be_inputs(void **state) {
  ph_model *model =
      case_load(state, CALL("inputs: [x], graph: [], outputs: [x]", "inputs: [x], repeat: 3", "h"), plain);
  assert_int_equal(model->node_count, 0);
  assert_string_equal(ph_model_output_path(model, 0), "x");
  ph_model_destroy(model);
}

static void inner_values_of_composites(void **state) {
#define MHA                                                                                                            \
  "inputs: [x], weights: {w: {key: k, shape: [n, n]}}, graph: [{name: y, op: multi_head_attention, heads: 1, inputs: " \
  "{x: x, w_q: w, w_k: w, w_v: w, w_o: w}}], outputs: [y]"
  ph_model *model = case_load(state, CALL(MHA, "inputs: [x], repeat: 2, shared: true", "h.1.y.weights, h.0.y"), plain);
  assert_string_equal(ph_model_output_path(model, 0), "h.1.y.weights");
  ph_model_destroy(model);
  case_refused(state, CALL(MHA, "inputs: [x]", "h.y.wieghts"),
               ":8:11: error: there is no value 'h.y.wieghts'; did you mean 'weights'?");
  case_refused(state, CALL(RELU, "inputs: [x]", "h.y.weights"), ":8:11: error: there is no value 'h.y.weights'");
}

#define REFUSED(block, call, message)                                                                                  \
  { CALL(block, call, "h"), message }

static void mistakes(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {HEAD "  u: [x]\ngraph: []\noutputs: [x]\n", ":5:6: error: a block must be a mapping, not a list"},
      {HEAD "  u.v: {" RELU "}\ngraph: []\noutputs: [x]\n",
       ":5:3: error: 'u.v' is no name: a block takes letters, digits and '_', no digit first"},
      REFUSED("inputs: [x], nodes: []", "inputs: [x]", ":5:20: error: block 'u' has no 'nodes'"),
      REFUSED("graph: [], outputs: [x]", "inputs: [x]", ":5:6: error: block 'u' needs 'inputs'"),
      REFUSED("inputs: [x], outputs: [x]", "inputs: [x]", ":5:6: error: block 'u' needs 'graph'"),
      REFUSED("inputs: [x], graph: []", "inputs: [x]", ":5:6: error: block 'u' needs 'outputs'"),
      REFUSED("inputs: [x], graph: [], outputs: []", "inputs: [x]",
              ":5:40: error: a block's outputs are a list of names or a mapping, and at least one"),
      REFUSED("inputs: [x], state: {c: {shape: [1], next: d}}, graph: [], outputs: [x]", "inputs: [x]",
              ":5:50: error: there is no value 'd' (in block 'u', called at line 7)"),
      REFUSED(
          "inputs: [x, x], graph: [], outputs: [x]", "inputs: [x, x]",
          ":5:19: error: 'x' is taken: line 5 has it already; inputs, weights and nodes share their names (in block "
          "'u', called at line 7)"),
      REFUSED("inputs: [x], graph: [{name: y, op: relu, inputs: [z]}], outputs: [y]", "inputs: [x]",
              ":5:57: error: there is no value 'z' (in block 'u', called at line 7)"),
      REFUSED("inputs: [z], graph: [{name: y, op: relu, inputs: [x]}], outputs: [y]", "inputs: [x]",
              ":5:57: error: block 'u' does not see 'x': make it one of the block's inputs (in block 'u', called at "
              "line 7)"),
      REFUSED("inputs: [x], graph: [{name: y, op: relu, inputs: [x]}], outputs: [yy]", "inputs: [x]",
              ":5:73: error: there is no value 'yy'; did you mean 'y'? (in block 'u', called at line 7)"),
      REFUSED("inputs: [x], graph: [{name: y, op: relu, inputs: [x]}], outputs: {y: x}", "inputs: [x]",
              ":5:73: error: the output 'y' is another value than the block's own 'y' of line 5 (in block 'u', called "
              "at line 7)"),
      REFUSED("inputs: [x], graph: [{name: y, op: relu, inputs: [x]}], outputs: [y, y]", "inputs: [x]",
              ":5:76: error: the output 'y' stands here twice (in block 'u', called at line 7)"),
      REFUSED("inputs: [x], graph: [{name: y, op: add, inputs: [x, =i]}], outputs: [y]", "inputs: [x]",
              ":5:59: error: 'i' is the round of a repeat, and there is none here (in block 'u', called at line 7)"),
      REFUSED("inputs: [x], graph: [{name: y, block: u, inputs: [x]}], outputs: [y]", "inputs: [x]",
              ":5:45: error: block 'u' calls itself: u -> u (in block 'u', called at line 7)"),
      {HEAD "  u: {inputs: [x], graph: [{name: y, block: v, inputs: [x]}], outputs: [y]}\n"
            "  v: {inputs: [x], graph: [{name: y, block: u, inputs: [x]}], outputs: [y]}\n"
            "graph:\n  - {name: h, block: u, inputs: [x]}\noutputs: [h]\n",
       ":6:45: error: block 'u' calls itself: u -> v -> u (in block 'v', called at line 5) (in block 'u', called at "
       "line 8)"},
      {CALL(RELU, "inputs: [x], wieghts: k", "h"),
       ":7:38: error: node 'h' (block u) has no 'wieghts'; did you mean 'weights'?"},
      {HEAD "  layer: {" RELU "}\ngraph:\n  - {name: h, block: leyer, inputs: [x]}\noutputs: [h]\n",
       ":7:22: error: there is no block 'leyer'; did you mean 'layer'?"},
      REFUSED(RELU, "inputs: x", ":7:33: error: inputs must be a list or a mapping, not 'x'"),
      REFUSED(RELU, "inputs: []", ":7:33: error: block 'u' takes 1 input, but 0 are given"),
      REFUSED(RELU, "inputs: [x, x]", ":7:33: error: block 'u' takes 1 input, but 2 are given"),
      REFUSED(RELU, "inputs: {z: x}", ":7:34: error: block 'u' has no input 'z'"),
      REFUSED(RELU, "inputs: {}", ":7:5: error: node 'h': block 'u' needs the input 'x'"),
      REFUSED(RELU, "repeat: 2", ":7:5: error: node 'h': block 'u' needs the input 'x'"),
      REFUSED(RELU, "inputs: [x], repeat: 0", ":7:46: error: repeat is 0; it must be at least 1"),
      REFUSED(RELU, "inputs: [x], repeat: n - 4", ":7:46: error: repeat is -1; it must be at least 1"),
      REFUSED(RELU, "inputs: [x], repeat: 1.5", ":7:46: error: '1.5' is no integer, which is needed here"),
      REFUSED(RELU, "inputs: [x], repeat: m", ":7:46: error: there is no dim 'm'"),
      REFUSED(RELU, "inputs: [x], shared: true", ":7:46: error: 'shared' means something only beside 'repeat'"),
      REFUSED(RELU, "inputs: [x], carry: {x: y}", ":7:38: error: 'carry' means something only beside 'repeat'"),
      REFUSED(RELU, "inputs: [x], repeat: 2, carry: {x: z}", ":7:60: error: block 'u' has no output 'z'"),
      REFUSED(RELU, "inputs: [x], repeat: 2, carry: {z: y}", ":7:57: error: block 'u' has no input 'z'"),
      REFUSED("inputs: [], graph: [{name: y, op: relu, inputs: [1]}], outputs: [y]", "repeat: 2",
              ":7:5: error: block 'u' has no input that the next round could start from"),
      REFUSED(LINEAR, "inputs: [x], weights: \"l.{i}.\"",
              ":7:47: error: 'i' is the round of a repeat, and there is none here"),
      REFUSED(LINEAR, "inputs: [x], weights: [l]", ":7:47: error: weights must be text, not a list"),
      REFUSED(LINEAR, "inputs: [x], weights: {i}",
              ":7:47: error: weights must be text, not a mapping; text that begins with '{' needs quotes"),
      REFUSED(LINEAR, "inputs: [x], repeat: 2, weights: l.",
              ":7:58: error: every round of 'h' would read the same weights: put {i} into the prefix, as in "
              "\"layers.{i}.\", or say shared: true"),
      {CALL(RELU, "inputs: [x], repeat: n", "h.3.y"), ":8:11: error: there is no value 'h.3.y'; did you mean 'h.0.y'?"},
      {CALL(RELU, "inputs: [x], repeat: n", "h.weights"),
       ":8:11: error: there is no value 'h.weights'; inside a repeat it is NODE.ROUND.NAME, rounds from 0"},
      {HEAD "  u: {" RELU
            "}\ngraph:\n  - {name: h, block: u, inputs: [x]}\n  - {name: z, op: relu, inputs: [h.q]}\noutputs: [z]\n",
       ":8:34: error: 'h' has no output 'q'; there are h.y"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) case_refused(state, cases[i].text, cases[i].message);
}

/* Short files that would grow without end are refused at once. */
static void growth_is_bounded(void **state) {
  case_refused(state, CALL(RELU, "inputs: [x], repeat: 1000000000", "h"),
               ":7:5: error: the blocks grow to more than 250000 entries when they are written out; repeat less");
  char text[8192] = HEAD;
  for (int i = 0; i < 30; i++)
    sprintf(text + strlen(text),
            "  v%d: {inputs: [x], graph: [{name: p, block: v%d, inputs: [x]}, {name: q, block: v%d, inputs: [p]}], "
            "outputs: [q]}\n",
            i, i + 1, i + 1);
  strcat(
      text,
      "  v30: {inputs: [x], graph: [], outputs: [x]}\ngraph:\n  - {name: h, block: v0, inputs: [x]}\noutputs: [h]\n");
  ph_model *model;
  char message[512];
  assert_int_equal(case_load_bytes(state, text, strlen(text), plain, &model, message, NULL), PH_INVALID);
  assert_contains(
      message,
      "error: the blocks grow to more than 250000 entries when they are written out; repeat less (in block 'v");
  strcpy(text, HEAD);
  for (int i = 0; i < 40; i++)
    sprintf(text + strlen(text), "  v%d: {inputs: [x], graph: [{name: p, block: v%d, inputs: [x]}], outputs: [p]}\n", i,
            i + 1);
  strcat(
      text,
      "  v40: {inputs: [x], graph: [], outputs: [x]}\ngraph:\n  - {name: h, block: v0, inputs: [x]}\noutputs: [h]\n");
  case_refused(
      state, text,
      ":36:47: error: blocks call each other deeper than 32 (in block 'v31', called at line 35) (in block 'v30', "
      "called at line 34) (in block 'v29', called at line 33)");
}

static void unused_parts_of_blocks(void **state) {
  /* `lse` of round 0 alone, `y` as what feeds the next round: both used.  `w` and `dead` never are. */
  case_warns(state,
             CALL("inputs: [x], weights: {w: \"k{i}\"}, graph: [{name: y, op: softmax, inputs: [x]}, {name: dead, op: "
                  "relu, inputs: "
                  "[x]}, {name: seen, op: relu, inputs: [y.lse]}], outputs: [y]",
                  "inputs: [x], repeat: 3", "h, h.0.seen"),
             plain,
             ":5:30: warning: the weight 'h.0.w' is not used\n"
             ":5:87: warning: nothing uses the node 'h.0.dead'\n");
  case_warns(state, CALL(RELU, "inputs: [x], repeat: 3", "x"), plain, ":7:5: warning: nothing uses the node 'h'\n");
  case_warns(state, CALL(RELU, "inputs: [x], repeat: 3", "h.0.y"), plain, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_block_called_once),
      cmocka_unit_test(rounds_feed_each_other),
      cmocka_unit_test(repeats_follow_dim),
      cmocka_unit_test(carry_says_what_feeds_what),
      cmocka_unit_test(the_round_is_a_number),
      cmocka_unit_test(calls_nest),
      cmocka_unit_test(prefixes_of_nested_repeats),
      cmocka_unit_test(shared_weights_are_one),
      cmocka_unit_test(shared_weights_are_made_once),
      cmocka_unit_test(outputs_may_be_inputs),
      cmocka_unit_test(inner_values_of_composites),
      cmocka_unit_test(mistakes),
      cmocka_unit_test(growth_is_bounded),
      cmocka_unit_test(unused_parts_of_blocks),
  };
  return cmocka_run_group_tests_name("blocks", tests, scratch_create, scratch_remove);
}
