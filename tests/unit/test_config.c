/* Loading configs: what a model holds, and every mistake with its place and its words. */
#include "config_case.h"

static const ph_model_options plain = {0};

/* The head of most cases: lines 1 to 3. */
#define HEAD       "polyhead: 1\ndims: {a: 2, b: a * 2}\ninputs: {x: {shape: [a, b]}}\n"
#define NODE(text) HEAD "graph:\n  - " text "\noutputs: [y]\n"
#define SOFTMAX    "{name: y, op: softmax, inputs: [x]}"

/* ---- what is read ---- */

static void a_whole_config(void **state) {
  ph_model *model =
      case_load(state,
                "polyhead: 1\n"
                "name: small\n"
                "description: a test\n"
                "dims: {seq: 3, model: 4, heads: 2, head: model / heads}\n"
                "inputs:\n"
                "  x: {shape: [seq, model], default: {random: normal, seed: 7}}\n"
                "  ids: {shape: [seq + 1], dtype: i64}\n"
                "weights:\n"
                "  file: w.safetensors\n"
                "  prefix: [\"\", \"model.{heads}.\"]\n"
                "  tensors: {w: {key: [w.weight, w.gamma], shape: [model, model], dtype: f16}, t: table}\n"
                "graph:\n"
                "  - {name: q, op: linear, inputs: {weight: w, x: x}, layout: in_out}\n"
                "  - {name: p, op: split, inputs: [q], axis: -1, into: {l: head, r: model - head}}\n"
                "  - {name: m, op: mul, inputs: [p.l, =sqrt(head)]}\n"
                "  - {name: s, op: softmax, inputs: [m]}\n"
                "  - {name: e, op: embedding, inputs: [ids, t]}\n"
                "outputs: {soft: s, log: s.lse, right: p.r, e: e}\n"
                "labels: {seq: [no, 小红, 7]}\n",
                plain);
  assert_string_equal(ph_model_name(model), "small");
  assert_string_equal(model->description, "a test");
  assert_int_equal(ph_model_input_count(model), 2);
  assert_string_equal(ph_model_input_name(model, 1), "ids");
  assert_null(ph_model_input_name(model, 2));
  assert_int_equal(model->inputs[0].dtype, PH_F32);
  assert_int_equal(model->inputs[0].initial.kind, PH_SOURCE_RANDOM);
  assert_int_equal(model->inputs[0].initial.seed, 7);
  assert_int_equal(model->inputs[1].dtype, PH_I64);
  assert_int_equal(model->inputs[1].initial.kind, PH_SOURCE_NONE);

  const ph_model_weight *w = &model->weights[0];
  assert_int_equal(model->weight_count, 2);
  assert_string_equal(w->path, "w");
  assert_int_equal(w->key_count, 2);
  assert_string_equal(w->keys[1], "w.gamma");
  assert_true(w->has_shape && w->rank == 2 && w->dtype == PH_F16);
  assert_false(model->weights[1].has_shape);
  assert_string_equal(model->weights[1].keys[0], "table");
  assert_int_equal(model->prefix_count, 2);
  assert_string_equal(model->prefixes[1], "model.2.");
  assert_int_equal(model->weight_file_count, 1);
  char path[SCRATCH_PATH_SIZE];
  snprintf(path, sizeof(path), "%s/w.safetensors", (const char *)*state);
  assert_string_equal(model->weight_files[0], path);

  assert_int_equal(model->node_count, 5);
  const ph_model_node *q = &model->nodes[0], *p = &model->nodes[1], *m = &model->nodes[2];
  assert_string_equal(q->path, "q");
  assert_int_equal(q->place.line, 13);
  assert_int_equal(q->call_place.line, 0);
  assert_int_equal(q->input_count, 3);
  assert_string_equal(model->values[q->inputs[0]].path, "x");
  assert_string_equal(model->values[q->inputs[1]].path, "w");
  assert_int_equal(q->inputs[2], PH_NONE);
  assert_int_equal(q->attr_count, 1);
  assert_string_equal(q->attrs[0].text, "in_out");
  assert_int_equal(p->output_count, 2);
  assert_string_equal(model->values[p->first_output + 1].path, "p.r");
  assert_int_equal(model->values[p->first_output + 1].slot, 1);
  assert_string_equal(p->attrs[1].names[0], "l");
  assert_int_equal(m->inputs[0], p->first_output);
  assert_int_equal(model->values[m->inputs[1]].kind, PH_VALUE_SCALAR);
  assert_string_equal(ph_expr_text(model->scalars[0]), "sqrt(head)");

  assert_int_equal(ph_model_output_count(model), 4);
  assert_string_equal(ph_model_output_alias(model, 1), "log");
  assert_string_equal(ph_model_output_path(model, 1), "s.lse");
  assert_string_equal(ph_model_output_path(model, 2), "p.r");
  assert_int_equal(model->label_count, 1);
  assert_int_equal(model->labels[0].count, 3);
  assert_string_equal(model->labels[0].texts[0], "no");
  assert_string_equal(model->labels[0].texts[2], "7");

  assert_int_equal(ph_model_value_find(model, "s.lse"), model->nodes[3].first_output + 1);
  assert_int_equal(ph_model_value_find(model, "ids"), 1);
  assert_int_equal(ph_model_value_find(model, "nothing"), PH_NONE);
  ph_model_destroy(model);
  ph_model_destroy(NULL);
}

static void defaults_of_the_head(void **state) {
  ph_model *model = case_load(state, NODE(SOFTMAX), plain);
  assert_string_equal(ph_model_name(model), "case"); /* as the file is called */
  assert_int_equal(model->prefix_count, 1);
  assert_string_equal(model->prefixes[0], "");
  assert_int_equal(model->weight_file_count, 0);
  ph_model_destroy(model);
}

static void dims_that_vary(void **state) {
  ph_model *model =
      case_load(state,
                "polyhead: 1\n"
                "dims: {batch: 2, seq: 3, model: 4, wide: 2 * model, rounds: 2, both: 3, n: 1}\n"
                "inputs: {x: {shape: [batch, seq, model]}, y: {shape: [both, rounds, 2 * n]}, z: {shape: [wide]}}\n"
                "weights: {tensors: {w: {key: w, shape: [wide, 2 * both]}, v: {key: \"v.{rounds}\"}}}\n"
                "graph: []\noutputs: [x]\n",
                plain);
  static const bool varies[] = {true, true, false, false, false, false, false};
  for (uint32_t i = 0; i < 7; i++)
    if (model->dims[i].varies != varies[i]) fail_msg("%s", model->dims[i].name);
  assert_true(model->dims[4].overridden && model->dims[4].override == 2); /* a key was written out by it */
  assert_false(model->dims[0].overridden);
  ph_model_destroy(model);
}

static void dims_given_from_outside(void **state) {
  static const char *const given[] = {"a=5", "a=5"};
  ph_model *model = case_load(state, NODE(SOFTMAX), (ph_model_options){.dims = given, .dim_count = 2});
  assert_true(model->dims[0].overridden && model->dims[0].override == 5);
  assert_false(model->dims[1].overridden);
  ph_model_destroy(model);
  static const char *const wrong[][2] = {
      {"c=1", "--dim c=1: %s has no dim 'c'"},
      {"a", "--dim a: write NAME=VALUE"},
      {"a=", "--dim a=: '' is no integer of 0 or more"},
      {"a=-1", "--dim a=-1: '-1' is no integer of 0 or more"},
      {"a=1.5", "--dim a=1.5: '1.5' is no integer of 0 or more"},
      {"a=010", "--dim a=010: '010' is no integer of 0 or more"},
      {"a=9223372036854775808", "--dim a=9223372036854775808: '9223372036854775808' is no integer of 0 or more"},
      {"a=6", "--dim a=6: 'a' is given twice, and as 5 before"},
  };
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    const char *both[] = {"a=5", wrong[i][0]};
    bool twice = strncmp(wrong[i][0], "a=6", 3) == 0;
    char expected[SCRATCH_PATH_SIZE];
    snprintf(expected, sizeof(expected), wrong[i][1], scratch_path(state, "case.yaml"));
    case_refused_with(state, NODE(SOFTMAX),
                      (ph_model_options){.dims = twice ? both : both + 1, .dim_count = twice ? 2 : 1}, expected);
  }
}

static void files_that_are_not_there(void **state) {
  ph_model *model;
  ph_error error = PH_ERROR_INIT;
  assert_int_equal(ph_model_load(scratch_path(state, "none.yaml"), NULL, &model, &error), PH_IO);
  assert_contains(error.message, "none.yaml");
  assert_int_equal(ph_model_load(*state, NULL, &model, NULL), PH_IO); /* a folder */
}

static void weight_files_are_replaced(void **state) {
  static const char *const given[] = {"other.npz"};
  const char *text = HEAD "weights: {file: [one.npz, /two.npz], tensors: {w: k}}\ngraph: []\noutputs: [x, w]\n";
  ph_model *model = case_load(state, text, plain);
  assert_int_equal(model->weight_file_count, 2);
  assert_string_equal(model->weight_files[0], scratch_path(state, "one.npz"));
  assert_string_equal(model->weight_files[1], "/two.npz");
  ph_model_destroy(model);
  model = case_load(state, text, (ph_model_options){.weight_files = given, .weight_file_count = 1});
  assert_int_equal(model->weight_file_count, 1);
  assert_string_equal(model->weight_files[0], "other.npz");
  ph_model_destroy(model);
}

/* ---- what is refused ---- */

typedef struct refusal {
  const char *text, *message;
} refusal;

static void all_refused(void **state, const refusal *cases, size_t count) {
  for (size_t i = 0; i < count; i++) case_refused(state, cases[i].text, cases[i].message);
}

#define ALL_REFUSED(state, cases) all_refused((state), (cases), sizeof(cases) / sizeof((cases)[0]))

static void mistakes_at_the_top(void **state) {
  static const refusal cases[] = {
      {"", ":1:1: error: the file is empty"},
      {"[]", ":1:1: error: a config must be a mapping, not a list"},
      {"name: x\n", ":1:1: error: a config needs 'polyhead'"},
      {"polyhead: 2\n",
       ":1:11: error: polyhead: '2' is no version of the language that is known here; there is polyhead: 1"},
      {"polyhead: 1\ninput: {}\n", ":2:1: error: a config has no 'input'; did you mean 'inputs'?"},
      {"polyhead: 1\n", ":1:1: error: a config needs 'graph'"},
      {"polyhead: 1\ngraph: []\n", ":1:1: error: a config needs 'outputs'"},
      {"polyhead: 1\ngraph: {}\noutputs: [x]\n", ":2:8: error: graph must be a list, not a mapping"},
      {"polyhead: 1\nname: [a]\n", ":2:7: error: name must be text, not a list"},
      {HEAD "state: {c: {shape: [1]}}\ngraph: []\noutputs: [x]\n", ":4:12: error: a state needs 'next'"},
      {HEAD "state: {x: {shape: [1], next: x}}\ngraph: []\noutputs: [x]\n",
       ":4:9: error: 'x' is taken: line 3 has it already; inputs, weights and nodes share their names"},
      {HEAD "state: {c: {shape: [1], next: d}}\ngraph: []\noutputs: [x]\n", ":4:31: error: there is no value 'd'"},
      {HEAD "state: {c: {shape: [1], next: 3}}\ngraph: []\noutputs: [x]\n",
       ":4:31: error: a state becomes a value, not a number"},
      {HEAD "graph: []\noutputs: [x]\ngenerate: {ids: x}\n", ":6:11: error: generate needs 'past'"},
      {HEAD "graph: []\noutputs: []\n",
       ":5:10: error: outputs are a list of paths or a mapping {ALIAS: PATH}, and at least one"},
      {HEAD "graph: []\noutputs: x\n",
       ":5:10: error: outputs are a list of paths or a mapping {ALIAS: PATH}, and at least one"},
      {HEAD "graph: []\noutputs: [x, x]\n", ":5:14: error: the output 'x' stands here twice"},
      {HEAD "graph: []\noutputs: {a.b: x}\n",
       ":5:11: error: 'a.b' is no name: an alias takes letters, digits and '_', no digit first"},
      {HEAD "graph: []\noutputs: [z]\n", ":5:11: error: there is no value 'z'"},
      {HEAD "graph: []\noutputs: [[x]]\n", ":5:11: error: an output must be text, not a list"},
      {HEAD "graph: []\noutputs: [{i}]\n",
       ":5:11: error: an output must be text, not a mapping; text that begins with '{' needs quotes"},
  };
  ALL_REFUSED(state, cases);
}

#define DIMS(text) "polyhead: 1\ndims: " text "\ngraph: []\noutputs: [x]\n"

static void mistakes_in_dims(void **state) {
  static const refusal cases[] = {
      {DIMS("[a]"), ":2:7: error: dims must be a mapping, not a list"},
      {DIMS("{i: 1}"), ":2:8: error: 'i' is kept for the round of a repeat; give the dim another name"},
      {DIMS("{1a: 1}"), ":2:8: error: '1a' is no name: a dim takes letters, digits and '_', no digit first"},
      {DIMS("{a.b: 1}"), ":2:8: error: 'a.b' is no name: a dim takes letters, digits and '_', no digit first"},
      {DIMS("{model: 1, b: modl}"), ":2:21: error: there is no dim 'modl'; did you mean 'model'?"},
      {DIMS("{a: 010}"), ":2:11: error: '010' has a leading zero"},
      {DIMS("{a: }"), ":2:11: error: a must be a number or an expression, not nothing"},
      {DIMS("{a: [1]}"), ":2:11: error: a must be a number or an expression, not a list"},
      {DIMS("{a: 2 +}"), ":2:11: error: '2 +' ends where a number, a dim or '(' is expected"},
      {DIMS("{a: 2 * i}"), ":2:11: error: 'i' is the round of a repeat, and there is none here"},
      {DIMS("{a: a}"), ":2:8: error: the dims go in a circle: a -> a"},
      {DIMS("{z: 1, a: b + 1, b: c, c: 2 * a}"), ":2:14: error: the dims go in a circle: a -> b -> c -> a"},
      {DIMS("{a: 1, a: 2}"), ":2:14: error: 'a' stands here a second time; the first is at line 2"},
  };
  ALL_REFUSED(state, cases);
}

static void long_chains_of_dims(void **state) {
  char text[4096] = "polyhead: 1\ndims:\n";
  for (int i = 0; i < 100; i++) sprintf(text + strlen(text), "  d%d: d%d + 1\n", i, i + 1);
  strcat(text, "  d100: 1\ngraph: []\noutputs: [x]\n");
  case_refused(state, text, ":67:3: error: dim 'd64' lies at the end of a chain of more than 64 dims");
}

#define INPUT(text)   "polyhead: 1\ndims: {a: 2, b: 4}\ninputs: {x: " text "}\ngraph: []\noutputs: [x]\n"
#define DEFAULT(text) INPUT("{shape: [a, b], default: " text "}")

static void mistakes_in_inputs(void **state) {
  static const refusal cases[] = {
      {INPUT("3"), ":3:13: error: an input must be a mapping, not '3'"},
      {INPUT("{}"), ":3:13: error: an input needs 'shape'"},
      {INPUT("{shpe: [a]}"), ":3:14: error: an input has no 'shpe'; did you mean 'shape'?"},
      {INPUT("{shape: a}"), ":3:21: error: shape must be a list, not 'a'"},
      {INPUT("{shape: [a, c]}"), ":3:25: error: there is no dim 'c'"},
      {INPUT("{shape: [1, 1, 1, 1, 1, 1, 1, 1, 1]}"), ":3:21: error: the shape has 9 axes; 8 is the most"},
      {INPUT("{shape: [a], dtype: f64}"),
       ":3:33: error: 'f64' is no dtype; there are f32, f16, bf16, i64, i32 and bool"},
      {INPUT("{shape: [a], hold: maybe}"), ":3:32: error: hold must be true or false, not 'maybe'"},
      {INPUT("{shape: [a], hold: yes}"), ":3:32: error: hold must be true or false, not 'yes'"},
      {"polyhead: 1\ninputs: {x.y: {shape: []}}\ngraph: []\noutputs: [x]\n",
       ":2:10: error: 'x.y' is no name: an input takes letters, digits and '_', no digit first"},
      {"polyhead: 1\ninputs: {w: {shape: []}}\nweights: {tensors: {w: k}}\ngraph: []\noutputs: [w]\n",
       ":3:21: error: 'w' is taken: line 2 has it already; inputs, weights and nodes share their names"},
      {DEFAULT("3"), ":3:38: error: a source must be a mapping, not '3'"},
      {DEFAULT("{}"),
       ":3:38: error: a source is one of {values: ..}, {file: ..}, {fill: ..} and {random: .., seed: ..}"},
      {DEFAULT("{fill: 1, file: x}"),
       ":3:38: error: a source is one of {values: ..}, {file: ..}, {fill: ..} and {random: .., seed: ..}"},
      {DEFAULT("{fill: 1, seed: 1}"),
       ":3:38: error: a source is one of {values: ..}, {file: ..}, {fill: ..} and {random: .., seed: ..}"},
      {DEFAULT("{value: 1}"), ":3:39: error: a source has no 'value'; did you mean 'values'?"},
      {DEFAULT("{fill: c}"), ":3:45: error: there is no dim 'c'"},
      {DEFAULT("{fill: 010}"), ":3:45: error: 010 has a leading zero"},
      {DEFAULT("{random: gauss}"), ":3:47: error: random is normal, uniform or xavier_uniform, not 'gauss'"},
      {DEFAULT("{random: unifrom}"),
       ":3:47: error: random is normal, uniform or xavier_uniform, not 'unifrom'; did you mean 'uniform'?"},
      {DEFAULT("{random: normal, seed: -1}"), ":3:61: error: seed must be an integer of 0 or more, not '-1'"},
      {DEFAULT("{random: normal, seed: 1.5}"), ":3:61: error: seed must be an integer of 0 or more, not '1.5'"},
      {DEFAULT("{values: [[1, 2], [3]]}"), ":3:56: error: this list has 1 entries, but the first one beside it has 2"},
      {DEFAULT("{values: [[1, 2], 3]}"), ":3:56: error: a list of 2 is expected, not '3'"},
      {DEFAULT("{values: [1, [2]]}"), ":3:51: error: a number, true, false, nan or inf is expected, not a list"},
      {DEFAULT("{values: [1, x]}"), ":3:51: error: a number, true, false, nan or inf is expected, not 'x'"},
      {DEFAULT("{values: [1, '2']}"), ":3:51: error: a number, true, false, nan or inf is expected, not '2'"},
      {DEFAULT("{values: [1, true]}"), ":3:51: error: values are numbers, or true and false, but not both"},
      {DEFAULT("{values: [1, 010]}"), ":3:51: error: 010 has a leading zero"},
      {DEFAULT("{values: [[[[[[[[[1]]]]]]]]]}"),
       ":3:55: error: values are nested deeper than the 8 axes that a tensor may have"},
      {DEFAULT("{file: [x]}"), ":3:45: error: file must be text, not a list"},
  };
  ALL_REFUSED(state, cases);
}

#define WEIGHTS(text) HEAD "weights: " text "\ngraph: []\noutputs: [x]\n"

static void mistakes_in_weights(void **state) {
  static const refusal cases[] = {
      {WEIGHTS("[w]"), ":4:10: error: weights must be a mapping, not a list"},
      {WEIGHTS("{w: k}"), ":4:11: error: weights has no 'w'"},
      {WEIGHTS("{prefixes: k}"), ":4:11: error: weights has no 'prefixes'; did you mean 'prefix'?"},
      {WEIGHTS("{file: []}"), ":4:17: error: file is an empty list"},
      {WEIGHTS("{tensors: {w: }}"), ":4:24: error: key must be text, not nothing"},
      {WEIGHTS("{tensors: {w: [k]}}"), ":4:24: error: a weight that is no key must be a mapping, not a list"},
      {WEIGHTS("{tensors: {w: {shape: [a]}}}"), ":4:24: error: a weight needs a key, an init or both"},
      {WEIGHTS("{tensors: {w: {key: []}}}"), ":4:30: error: key is an empty list"},
      {WEIGHTS("{tensors: {w: {keys: k}}}"), ":4:25: error: a weight has no 'keys'; did you mean 'key'?"},
      {WEIGHTS("{tensors: {w/x: k}}"),
       ":4:21: error: 'w/x' is no name: a weight takes letters, digits and '_', no digit first"},
      {WEIGHTS("{tensors: {w: \"k.{a\"}}"),
       ":4:24: error: 'k.{a' holds a brace without its partner; {EXPRESSION} stands for its value"},
      {WEIGHTS("{tensors: {w: \"k.}\"}}"),
       ":4:24: error: 'k.}' holds a brace without its partner; {EXPRESSION} stands for its value"},
      {WEIGHTS("{tensors: {w: \"k.{c}\"}}"), ":4:24: error: there is no dim 'c'"},
      {WEIGHTS("{tensors: {w: \"k.{a / 4}\"}}"), ":4:24: error: 'a / 4' is 2 / 4, which does not come out even"},
      {WEIGHTS("{tensors: {w: \"k.{i}\"}}"), ":4:24: error: 'i' is the round of a repeat, and there is none here"},
      {WEIGHTS("{tensors: {w: {i}}}"), ":4:25: error: a weight has no 'i'"},
  };
  ALL_REFUSED(state, cases);
}

static void mistakes_in_nodes(void **state) {
  static const refusal cases[] = {
      {NODE("y"), ":5:5: error: a node must be a mapping, not 'y'"},
      {NODE("{op: softmax, inputs: [x]}"), ":5:5: error: a node needs 'name'"},
      {NODE("{name: y, inputs: [x]}"), ":5:5: error: node 'y' needs either 'op' or 'block'"},
      {NODE("{name: y, op: softmax, block: b}"), ":5:5: error: node 'y' needs either 'op' or 'block', not both"},
      {NODE("{name: y.z, op: softmax}"),
       ":5:12: error: 'y.z' is no name: a node's name takes letters, digits and '_', no digit first"},
      {NODE("{name: x, op: softmax, inputs: [x]}"),
       ":5:5: error: 'x' is taken: line 3 has it already; inputs, weights and nodes share their names"},
      {NODE("{name: y, op: sofmax, inputs: [x]}"), ":5:19: error: there is no op 'sofmax'; did you mean 'softmax'?"},
      {NODE("{name: y, op: qqqqqq, inputs: [x]}"), ":5:19: error: there is no op 'qqqqqq'"},
      {NODE("{name: y, op: softmax, inputs: [x], axs: 1}"),
       ":5:41: error: node 'y' (op softmax) has no 'axs'; did you mean 'axis'?"},
      {NODE("{name: y, op: softmax, inputs: [x], sinks: x}"),
       ":5:41: error: 'sinks' is an input of op softmax: write it inside inputs: {..}"},
      {NODE("{name: y, op: softmax, inputs: [x], scale: 1, scale: 1}"),
       ":5:51: error: 'scale' stands here a second time; the first is at line 5"},
      {NODE("{name: y, op: softmax, inputs: x}"),
       ":5:36: error: inputs must be a list, [a, b], or a mapping, {role: value}, not 'x'"},
      {NODE("{name: y, op: softmax, inputs: [x, x]}"),
       ":5:40: error: op softmax takes 1 input by position, but 2 are given; others go by name, inputs: {role: value}"},
      {NODE("{name: y, op: relu, inputs: [x, x]}"), ":5:37: error: op relu takes 1 input by position, but 2 are given"},
      {NODE("{name: y, op: softmax, inputs: {z: x}}"), ":5:37: error: op softmax has no input 'z'"},
      {NODE("{name: y, op: softmax, inputs: {x: x, snks: x}}"),
       ":5:43: error: op softmax has no input 'snks'; did you mean 'sinks'?"},
      {NODE("{name: y, op: matmul, inputs: [x]}"), ":5:5: error: node 'y': op matmul needs the input 'b'"},
      {NODE("{name: y, op: concat, axis: 0}"), ":5:5: error: node 'y': op concat needs the input 'x'"},
      {NODE("{name: y, op: softcap, inputs: [x]}"), ":5:5: error: node 'y': op softcap needs 'cap'"},
      {NODE("{name: y, op: softmax, inputs: [xx]}"), ":5:37: error: there is no value 'xx'; did you mean 'x'?"},
      {NODE("{name: y, op: softmax, inputs: [a]}"), ":5:37: error: 'a' is a dim; as a number it is written '=a'"},
      {NODE("{name: y, op: softmax, inputs: [y]}"),
       ":5:37: error: 'y' is made only at line 5: a node uses what stands above it, so nodes cannot go in a circle"},
      {NODE("{name: y, op: relu, inputs: [z]}\n  - {name: z, op: relu, inputs: [y]}"),
       ":5:34: error: 'z' is made only at line 6: a node uses what stands above it, so nodes cannot go in a circle"},
      {NODE("{name: y, op: softmax, inputs: [x.y]}"), ":5:37: error: 'x' has no outputs: it is no node"},
      {NODE("{name: y, op: softmax, inputs: [-x]}"),
       ":5:37: error: '-x' is no value: write NAME, NODE.out, a number or =EXPRESSION"},
      {NODE("{name: y, op: softmax, inputs: []}"), ":5:5: error: node 'y': op softmax needs the input 'x'"},
      {NODE("{name: y, op: softmax, inputs: [null]}"), ":5:37: error: a value must be text, not nothing"},
      {NODE("{name: y, op: add, inputs: [x, =c]}"), ":5:36: error: there is no dim 'c'"},
      {NODE("{name: y, op: add, inputs: [x, =x]}"),
       ":5:36: error: 'x' is a value; only dims and numbers can stand here"},
      {NODE("{name: y, op: add, inputs: [x, 010]}"), ":5:36: error: '010' has a leading zero"},
      {NODE("{name: y, op: softmax, inputs: [x], weights: p.}"),
       ":5:50: error: op softmax has no input 'weight' that a prefix could fill"},
      {HEAD
       "weights: {tensors: {w: k}}\ngraph:\n  - {name: y, op: linear, inputs: [x, w], weights: p.}\noutputs: [y]\n",
       ":6:52: error: the input 'weight' is given twice: by 'inputs' and by 'weights'"},
      {HEAD "graph:\n  - {name: p, op: split, inputs: [x], axis: 1, into: {l: 1, r: 3}}\n  - {name: y, op: relu, "
            "inputs: [p]}\noutputs: [y]\n",
       ":6:34: error: 'p' has several outputs: say p.l, p.r"},
      {HEAD
       "graph:\n  - {name: p, op: softmax, inputs: [x]}\n  - {name: y, op: relu, inputs: [p.lsee]}\noutputs: [y]\n",
       ":6:34: error: 'p' has no output 'lsee'; there are p.y, p.lse; did you mean 'lse'?"},
      {HEAD "graph:\n  - {name: y, op: relu, inputs: [x]}\n  - {name: y, op: relu, inputs: [x]}\noutputs: [y]\n",
       ":6:5: error: 'y' is taken: line 5 has it already; inputs, weights and nodes share their names"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    /* What the op table says about the missing part follows, and is the table's business. */
    ph_model *model;
    char message[512];
    assert_int_equal(case_load_bytes(state, cases[i].text, strlen(cases[i].text), plain, &model, message, NULL),
                     PH_INVALID);
    size_t length = strlen(cases[i].message);
    bool doc_follows = strstr(cases[i].message, " needs ") != NULL && message[length] == ',';
    if (strncmp(message, cases[i].message, length) != 0 || (message[length] != '\0' && !doc_follows))
      fail_msg("     got: %s\nexpected: %s", message, cases[i].message);
  }
}

static void mistakes_in_attributes(void **state) {
  static const refusal cases[] = {
      {NODE("{name: y, op: gelu, inputs: [x], form: erff}"),
       ":5:44: error: form is erf or tanh, not 'erff'; did you mean 'erf'?"},
      {NODE("{name: y, op: gelu, inputs: [x], form: [erf]}"), ":5:44: error: form must be text, not a list"},
      {NODE("{name: y, op: mask, inputs: [x], causal: yes}"), ":5:46: error: causal must be true or false, not 'yes'"},
      {NODE("{name: y, op: mask, inputs: [x], causal: 1}"), ":5:46: error: causal must be true or false, not '1'"},
      {NODE("{name: y, op: mask, inputs: [x], window: 3}"), ":5:46: error: window must be a list, not '3'"},
      {NODE("{name: y, op: mask, inputs: [x], window: [3, w]}"), ":5:50: error: there is no dim 'w'"},
      {NODE("{name: y, op: softmax, inputs: [x], axis: [1]}"),
       ":5:47: error: axis must be a number or an expression, not a list"},
      {NODE("{name: y, op: softmax, inputs: [x], axis: null}"),
       ":5:47: error: axis must be a number or an expression, not nothing"},
      {NODE("{name: y, op: softcap, inputs: [x], cap: inf}"), ":5:46: error: there is no dim 'inf'"},
      {NODE("{name: y, op: cast, inputs: [x], to: int}"),
       ":5:42: error: 'int' is no dtype; there are f32, f16, bf16, i64, i32 and bool"},
      {NODE("{name: y, op: split, inputs: [x], axis: 1, into: [1]}"),
       ":5:54: error: into must be a mapping, not a list"},
      {NODE("{name: y, op: split, inputs: [x], axis: 1, into: {}}"), ":5:54: error: into names no part"},
      {NODE("{name: y, op: split, inputs: [x], axis: 1, into: {1: 2}}"),
       ":5:55: error: '1' is no name: a part takes letters, digits and '_', no digit first"},
  };
  ALL_REFUSED(state, cases);
  ph_model *model = case_load(state, NODE("{name: y, op: scaled_scores, inputs: [x, x], scale: null}"), plain);
  assert_int_equal(model->nodes[0].attr_count, 0); /* absent, as it may be */
  ph_model_destroy(model);
}

#define LABELS(text) NODE(SOFTMAX) "labels: " text "\n"

static void mistakes_in_labels(void **state) {
  static const refusal cases[] = {
      {LABELS("[x]"), ":7:9: error: labels must be a mapping, not a list"},
      {LABELS("{aa: [x, y]}"), ":7:10: error: there is no dim 'aa' that labels could belong to; did you mean 'a'?"},
      {LABELS("{a: x}"), ":7:13: error: labels must be a list, not 'x'"},
      {LABELS("{a: [x]}"), ":7:13: error: 1 labels for dim 'a', which is 2"},
      {LABELS("{a: [小红，很]}"), ":7:13: error: 1 labels for dim 'a', which is 2; '小红，很' holds a full-width "
                                  "comma: labels are separated by ','"},
      {LABELS("{a: [x, [y]]}"), ":7:17: error: a label must be text, not a list"},
      {LABELS("{a: {ids: x, vocabulary: v.json}}"), ":7:19: error: 'x' is no input of integers with an axis 'a'"},
  };
  ALL_REFUSED(state, cases);
}

/* ---- what is warned about ---- */

static void labels_of_changed_dims_are_dropped(void **state) {
  static const char *const given[] = {"a=3"};
  const ph_model_options options = {.dims = given, .dim_count = 1};
  case_warns(state, LABELS("{a: [x, y]}"), options,
             ":7:13: warning: the 2 labels of 'a' are dropped: --dim made it 3\n");
  case_warns(state, LABELS("{b: [w, x, y, z]}"), options,
             ":7:13: warning: the 4 labels of 'b' are dropped: --dim made it 6\n");
  case_warns(state, LABELS("{a: [x, y, z]}"), options, "");
  case_warns(
      state,
      "polyhead: 1\ndims: {a: 2, b: 2}\ninputs: {x: {shape: [a]}}\ngraph: []\noutputs: [x]\nlabels: {b: [p, q]}\n",
      plain, ":6:10: warning: the labels of 'b' match no axis: no shape has it as an extent\n");
}

static void unused_names(void **state) {
  case_warns(state,
             "polyhead: 1\n"
             "dims: {a: 2, lost: 3}\n"
             "inputs: {x: {shape: [a]}, idle: {shape: [a]}}\n"
             "weights: {tensors: {w: {init: {fill: 1}, shape: [a]}}}\n"
             "blocks: {never: {inputs: [], graph: [], outputs: [z]}}\n"
             "graph:\n"
             "  - {name: y, op: relu, inputs: [x]}\n"
             "  - {name: dead, op: relu, inputs: [x]}\n"
             "outputs: [y]\n",
             plain,
             ":3:27: warning: the input 'idle' is not used\n"
             ":4:21: warning: the weight 'w' is not used\n"
             ":8:5: warning: nothing uses the node 'dead'\n"
             ":5:10: warning: nothing calls the block 'never', so it is not checked\n"
             ":2:14: warning: the dim 'lost' is not used\n");
  case_warns(state, NODE(SOFTMAX), plain, "");
}

#define MASK(input, polarity)                                                                                          \
  "polyhead: 1\ninputs: {x: {shape: [2, 2]}, m: {" input "}}\ngraph:\n"                                                \
  "  - {name: y, op: mask, inputs: {scores: x, mask: m}" polarity "}\noutputs: [y]\n"

static void float_masks_of_0_and_1(void **state) {
  case_warns(
      state, MASK("shape: [2], default: {values: [1, 0]}", ""), plain,
      ":2:30: warning: the mask 'm' holds only 0 and 1, and a float mask is added to the scores; for a mask that "
      "selects say dtype: bool\n");
  case_warns(state, MASK("shape: [2], default: {values: [0, 0]}", ""), plain, "");
  case_warns(state, MASK("shape: [2], default: {values: [0, -1]}", ""), plain, "");
  case_warns(state, MASK("shape: [2], dtype: bool, default: {values: [true, false]}", ", polarity: attend"), plain, "");
}

static void random_weights_need_no_file(void **state) {
  case_warns(state, WEIGHTS("{file: none.safetensors, tensors: {w: k}}"), plain,
             ":4:45: warning: the weight 'w' is not used\n");
  char text[1024], expected[SCRATCH_PATH_SIZE + 128];
  snprintf(text, sizeof(text),
           HEAD "weights: {file: none.safetensors, tensors: {w: {key: k, shape: [a]}}}\ngraph: []\noutputs: [x, w]\n");
  snprintf(expected, sizeof(expected), ":4:17: warning: %s is not there; --random makes its weights up\n",
           scratch_path(state, "none.safetensors"));
  case_warns(state, text, (ph_model_options){.random = true}, expected);
}

/* ---- the samples ---- */

static void samples_load(void **state) {
  (void)state;
  static const char *const samples[] = {
      "configs/five_words.yaml",
      "configs/hard_and_soft.yaml",
      "configs/cross_attention.yaml",
      "configs/cross_attention_composite.yaml",
      "configs/stories_layer0.yaml",
      "configs/window_lengths_gqa_softcap.yaml",
      "configs/models/stories260k_plain.yaml",
      "configs/models/vit.yaml",
      "configs/ring_cache.yaml",
      "configs/models/gpt2.yaml",
      "configs/models/stories260k.yaml",
      "configs/models/transliteration.yaml",
  };
  if (shared_folder("configs") == NULL) skip();
  for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
    const char *path = shared_folder(samples[i]);
    assert_non_null(path);
    warnings warned = {.path = path};
    ph_model_options options = {.struct_size = sizeof(options), .warn = collect_warning, .warn_user = &warned};
    ph_error error = PH_ERROR_INIT;
    ph_model *model = NULL;
    ph_status status = ph_model_load(path, &options, &model, &error);
    ph_model_destroy(model);
    assert_ok(status, error);
    assert_string_equal(warned.text, "");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_config),
      cmocka_unit_test(defaults_of_the_head),
      cmocka_unit_test(dims_that_vary),
      cmocka_unit_test(dims_given_from_outside),
      cmocka_unit_test(files_that_are_not_there),
      cmocka_unit_test(weight_files_are_replaced),
      cmocka_unit_test(mistakes_at_the_top),
      cmocka_unit_test(mistakes_in_dims),
      cmocka_unit_test(long_chains_of_dims),
      cmocka_unit_test(mistakes_in_inputs),
      cmocka_unit_test(mistakes_in_weights),
      cmocka_unit_test(mistakes_in_nodes),
      cmocka_unit_test(mistakes_in_attributes),
      cmocka_unit_test(mistakes_in_labels),
      cmocka_unit_test(labels_of_changed_dims_are_dropped),
      cmocka_unit_test(unused_names),
      cmocka_unit_test(float_masks_of_0_and_1),
      cmocka_unit_test(random_weights_need_no_file),
      cmocka_unit_test(samples_load),
  };
  return cmocka_run_group_tests_name("config", tests, scratch_create, scratch_remove);
}
