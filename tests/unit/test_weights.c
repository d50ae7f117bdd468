/* Weights: found in files by key and prefix, made from their init, made up; and what is said about those that are
 * nowhere. */
#include "config/weights.h"

#include <math.h>

#include "config_case.h"

#define MOST 8

/* A model and its weights, resolved at the config's own dims. */
typedef struct weight_case {
  ph_model *model;
  ph_dim dims[MOST];
  ph_tensor *weights[MOST];
} weight_case;

static ph_status resolve(void **state, weight_case *c, const char *text, ph_model_options options, ph_error *error) {
  *c = (weight_case){.model = case_load(state, text, options)};
  *error = (ph_error)PH_ERROR_INIT;
  assert_true(c->model->dim_count <= MOST && c->model->weight_count <= MOST);
  assert_ok(ph_bind_dims(c->model, NULL, c->dims, error), *error);
  return ph_weights_resolve(c->model, c->dims, c->weights, error);
}

static void finish(weight_case *c) {
  for (uint32_t i = 0; i < MOST; i++) ph_tensor_release(c->weights[i]);
  ph_model_destroy(c->model);
}

static void refused(void **state, const char *text, ph_model_options options, const char *expected) {
  weight_case c;
  ph_error error;
  assert_int_equal(resolve(state, &c, text, options, &error), PH_INVALID);
  const char *path = scratch_path(state, "case.yaml");
  assert_memory_equal(error.message, path, strlen(path));
  assert_string_equal(error.message + strlen(path), expected);
  for (uint32_t i = 0; i < MOST; i++) assert_null(c.weights[i]);
  finish(&c);
}

/* A file of f32 tensors [rows, columns] whose elements are all `value`. */
typedef struct stored {
  const char *name;
  int64_t rows, columns;
  float value;
} stored;

static const char *write_file(void **state, const char *file, const stored *tensors, size_t count) {
  const char *path = scratch_path(state, file), *names[MOST];
  ph_tensor *made[MOST];
  const ph_tensor *written[MOST];
  ph_error error = PH_ERROR_INIT;
  for (size_t i = 0; i < count; i++) {
    assert_ok(ph_tensor_create(PH_F32, 2, (int64_t[]){tensors[i].rows, tensors[i].columns}, &made[i], &error), error);
    for (size_t k = 0; k < made[i]->count; k++) ((float *)made[i]->data)[k] = tensors[i].value;
    names[i] = tensors[i].name;
    written[i] = made[i];
  }
  assert_ok(ph_tensor_file_write(path, names, written, count, &error), error);
  for (size_t i = 0; i < count; i++) ph_tensor_release(made[i]);
  return path;
}

#define WRITE(state, file, ...)                                                                                        \
  write_file(state, file, (const stored[]){__VA_ARGS__}, sizeof((const stored[]){__VA_ARGS__}) / sizeof(stored))

static float first(const ph_tensor *tensor) {
  return ((const float *)tensor->data)[0];
}

#define CONFIG(weights) "polyhead: 1\ndims: {a: 2, b: 3}\nweights: " weights "\ngraph: []\noutputs: [w]\n"

static void found_by_key(void **state) {
  WRITE(state, "w.safetensors", {"x.weight", 2, 3, 1}, {"y", 3, 2, 2}, {"z.gamma", 1, 1, 3});
  weight_case c;
  ph_error error;
  assert_ok(
      resolve(
          state, &c,
          CONFIG(
              "{file: w.safetensors, tensors: {w: {key: x.weight, shape: [a, b]}, same: x.weight, y: {key: y, dtype: "
              "f32}, z: {key: [z.weight, z.gamma]}}}"),
          (ph_model_options){0}, &error),
      error);
  assert_ptr_equal(c.weights[0], c.weights[1]); /* one key is one tensor */
  assert_true(first(c.weights[0]) == 1 && first(c.weights[2]) == 2 && first(c.weights[3]) == 3);
  assert_int_equal(c.weights[2]->dims[0], 3); /* an undeclared shape is the file's */
  ph_tensor *again[MOST];
  assert_ok(ph_weights_resolve(c.model, c.dims, again, &error), error);
  for (uint32_t i = 0; i < 4; i++) {
    assert_ptr_equal(again[i], c.weights[i]);
    ph_tensor_release(again[i]);
  }
  finish(&c);
}

static void tensors_outlive_the_model(void **state) {
  WRITE(state, "w.safetensors", {"x", 2, 3, 5});
  weight_case c;
  ph_error error;
  assert_ok(resolve(state, &c, CONFIG("{file: w.safetensors, tensors: {w: x}}"), (ph_model_options){0}, &error), error);
  ph_model_destroy(c.model);
  c.model = NULL;
  assert_true(first(c.weights[0]) == 5);
  finish(&c);
}

static void several_files(void **state) {
  const char *one = WRITE(state, "one.safetensors", {"x", 1, 1, 1});
  const char *two = WRITE(state, "two.npz", {"x", 1, 1, 2}, {"y", 1, 1, 3});
  const char *files[] = {one, two};
  weight_case c;
  ph_error error;
  assert_ok(resolve(state, &c, CONFIG("{file: none.npz, tensors: {w: x, v: y}}"),
                    (ph_model_options){.weight_files = files, .weight_file_count = 2}, &error),
            error);
  assert_true(first(c.weights[0]) == 1 && first(c.weights[1]) == 3); /* the first file that holds it */
  finish(&c);
}

static void the_prefix_with_most_keys(void **state) {
  WRITE(state, "w.npz", {"x", 1, 1, 1}, {"m.x", 1, 1, 2}, {"m.y", 1, 1, 3}, {"n.y", 1, 1, 4}, {"n.z", 1, 1, 5});
  static const struct {
    const char *text;
    float values[2];
  } cases[] = {
      {CONFIG("{file: w.npz, prefix: [\"\", m.], tensors: {w: x, v: y}}"), {2, 3}},
      {CONFIG("{file: w.npz, prefix: [m., n.], tensors: {w: y, v: y}}"), {3, 3}},
      {CONFIG("{file: w.npz, prefix: [m., n.], tensors: {w: y, v: {key: [q, z], init: {fill: 9}, shape: [1, 1]}}}"),
       {4, 5}},
      {CONFIG("{file: w.npz, prefix: [n., m.], tensors: {w: y, v: {key: q, init: {fill: 9}, shape: [1, 1]}}}"), {4, 9}},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    weight_case c;
    ph_error error;
    assert_ok(resolve(state, &c, cases[i].text, (ph_model_options){0}, &error), error);
    for (uint32_t k = 0; k < 2; k++)
      if (first(c.weights[k]) != cases[i].values[k])
        fail_msg("case %zu: weight %u is %g", i, k, (double)first(c.weights[k]));
    finish(&c);
  }
}

static void made_from_init(void **state) {
  WRITE(state, "w.npz", {"x", 2, 3, 1});
  weight_case c;
  ph_error error;
  assert_ok(resolve(state, &c,
                    CONFIG("{file: w.npz, tensors: {w: {key: x, init: {fill: 7}, shape: [a, b]}, v: {key: no, init: "
                           "{fill: 7}, shape: "
                           "[a, b]}, u: {init: {values: [[1, 2]]}}, f: {init: {file: w.npz}}, h: {init: {fill: .5}, "
                           "dtype: f16, shape: [b]}}}"),
                    (ph_model_options){0}, &error),
            error);
  assert_true(first(c.weights[0]) == 1 && first(c.weights[1]) == 7 && first(c.weights[2]) == 1 &&
              first(c.weights[3]) == 1);
  assert_int_equal(c.weights[2]->rank, 2); /* an undeclared shape is that of the values, or of the file */
  assert_int_equal(c.weights[2]->dims[1], 2);
  assert_int_equal(c.weights[3]->dims[1], 3);
  assert_int_equal(c.weights[4]->dtype, PH_F16);
  ph_tensor *again[MOST];
  assert_ok(ph_weights_resolve(c.model, c.dims, again, &error), error);
  assert_ptr_equal(again[1], c.weights[1]); /* kept while the shape stays */
  for (uint32_t i = 0; i < 5; i++) ph_tensor_release(again[i]);
  finish(&c);
}

static void kept_while_the_shape_stays(void **state) {
  weight_case c;
  ph_error error;
  const char *text =
      CONFIG("{tensors: {w: {init: {random: normal, seed: 1}, shape: [a, b]}, v: {init: {fill: 1}, shape: [b]}}}");
  assert_ok(resolve(state, &c, text, (ph_model_options){0}, &error), error);
  ph_tensor *again[MOST];
  c.dims[0].value = 4;
  assert_ok(ph_weights_resolve(c.model, c.dims, again, &error), error);
  assert_ptr_not_equal(again[0], c.weights[0]);
  assert_int_equal(again[0]->dims[0], 4);
  assert_ptr_equal(again[1], c.weights[1]);
  ph_tensor_release(again[0]);
  ph_tensor_release(again[1]);
  finish(&c);
}

static void made_up(void **state) {
  weight_case c;
  ph_error error;
  assert_ok(resolve(state, &c,
                    CONFIG("{tensors: {w: {key: x, shape: [20, 4]}, same: {key: x, shape: [20, 4]}, other: {key: y, "
                           "shape: [20, 4]}, "
                           "gain: {key: g, shape: [600]}, h: {key: h, shape: [4], dtype: bf16}, i: {key: i, shape: "
                           "[1], init: {fill: 3}}}}"),
                    (ph_model_options){.random = true}, &error),
            error);
  assert_ptr_equal(c.weights[0], c.weights[1]); /* one key is one tensor, here too */
  assert_memory_not_equal(c.weights[0]->data, c.weights[2]->data, c.weights[0]->bytes);
  double limit = sqrt(6.0 / 24), largest = 0;
  for (size_t i = 0; i < 80; i++) largest = fmax(largest, fabs((double)((const float *)c.weights[0]->data)[i]));
  assert_true(largest <= limit && largest > 0.9 * limit);
  largest = 0;
  for (size_t i = 0; i < 600; i++) largest = fmax(largest, fabs((double)((const float *)c.weights[3]->data)[i]));
  assert_true(largest <= 1 && largest > 0.95);
  assert_int_equal(c.weights[4]->dtype, PH_BF16);
  assert_true(first(c.weights[5]) == 3); /* an init comes first */
  finish(&c);
}

static void nowhere(void **state) {
  WRITE(state, "w.npz", {"layers.0.q_proj.weight", 2, 3, 1}, {"layers.0.k_proj.weight", 2, 3, 1});
  char expected[2 * SCRATCH_PATH_SIZE];
  const char *folder = *state;
  const ph_model_options none = {0};
#define SAYS(text, format)                                                                                             \
  snprintf(expected, sizeof(expected), format, folder);                                                                \
  refused(state, text, none, expected)
  SAYS(CONFIG("{file: w.npz, tensors: {w: layers.0.q_prj.weight}}"),
       ":3:34: error: weight 'w': there is no 'layers.0.q_prj.weight' in %s/w.npz; did you mean "
       "'layers.0.q_proj.weight'?");
  SAYS(CONFIG("{file: w.npz, prefix: layers.0, tensors: {w: q_proj.weight}}"),
       ":3:52: error: weight 'w': there is no 'layers.0q_proj.weight' in %s/w.npz; did you mean "
       "'layers.0.q_proj.weight'? A "
       "prefix lacks its '.'");
  SAYS(CONFIG("{file: w.npz, tensors: {w: {key: [nothing, like, this]}}}"),
       ":3:34: error: weight 'w': there is no 'nothing' in %s/w.npz");
  SAYS(CONFIG("{file: w.npz, tensors: {w: {key: layers.0.q_proj.weight, shape: [b, a]}}}"),
       ":3:34: error: weight 'w' is declared [3, 2], but 'layers.0.q_proj.weight' in %s/w.npz is [2, 3]; turned round "
       "it "
       "fits linear with layout: in_out instead of out_in, or the reverse");
  SAYS(CONFIG("{file: w.npz, tensors: {w: {key: layers.0.q_proj.weight, shape: [6]}}}"),
       ":3:34: error: weight 'w' is declared [6], but 'layers.0.q_proj.weight' in %s/w.npz is [2, 3]");
  SAYS(CONFIG("{file: w.npz, tensors: {w: {key: layers.0.q_proj.weight, dtype: f16}}}"),
       ":3:34: error: weight 'w' is declared f16, but 'layers.0.q_proj.weight' in %s/w.npz is f32");
  refused(state, CONFIG("{tensors: {w: k}}"), none,
          ":3:21: error: weight 'w' has neither a file nor an init: give --weights FILE, or --random to make it up");
  refused(state, CONFIG("{tensors: {w: k}}"), (ph_model_options){.random = true},
          ":3:21: error: weight 'w' is in no file, and --random cannot make it up without a shape: declare one");
  refused(state, CONFIG("{tensors: {w: {init: {fill: 1}}}}"), none,
          ":3:31: error: 'w' has no shape: declare one, shape: [..]");
  refused(state, CONFIG("{tensors: {w: {init: {fill: 1}, shape: [a - b]}}}"), none,
          ":3:21: error: axis 0 of weight 'w', a - b, is -1: an extent cannot be negative");
}

static void files_that_cannot_be_read(void **state) {
  weight_case c;
  ph_error error;
  assert_int_equal(resolve(state, &c, CONFIG("{file: none.npz, tensors: {w: k}}"), (ph_model_options){0}, &error),
                   PH_IO);
  assert_contains(error.message, "none.npz");
  finish(&c);
  scratch_file(state, "bad.npz", "no tensors here", 15);
  assert_int_equal(resolve(state, &c, CONFIG("{file: bad.npz, tensors: {w: k}}"), (ph_model_options){0}, &error),
                   PH_INVALID);
  assert_contains(error.message, "bad.npz");
  finish(&c);
}

/* weights: PREFIX fills the weight, and the bias where a file holds one. */
static void prefixes_on_nodes(void **state) {
  const char *file = WRITE(state, "w.safetensors", {"m.l.0.q.weight", 2, 3, 1}, {"m.l.0.q.bias", 1, 1, 2},
                           {"m.l.0.k.weight", 2, 3, 3});
  const char *text = "polyhead: 1\ndims: {a: 2, b: 3}\ninputs: {x: {shape: [a, b]}}\nweights: {prefix: [\"\", m.]}\n"
                     "blocks: {u: {inputs: [x], graph: [{name: q, op: linear, inputs: [x], weights: q.}, "
                     "{name: k, op: linear, inputs: [x], weights: k.}], outputs: [q, k]}}\n"
                     "graph:\n  - {name: h, block: u, inputs: [x], weights: l.0.}\noutputs: [h, h.k]\n";
  weight_case c;
  ph_error error;
  assert_ok(resolve(state, &c, text, (ph_model_options){.weight_files = &file, .weight_file_count = 1}, &error), error);
  const ph_model_node *q = &c.model->nodes[0], *k = &c.model->nodes[1];
  assert_string_equal(c.model->values[q->inputs[1]].path, "h.q.weight");
  assert_string_equal(c.model->values[q->inputs[2]].path, "h.q.bias");
  assert_true(first(c.weights[c.model->values[q->inputs[2]].index]) == 2);
  assert_true(first(c.weights[c.model->values[k->inputs[1]].index]) == 3);
  assert_int_equal(k->inputs[2], PH_NONE);
  finish(&c);
  ph_model *model = case_load(state, text, (ph_model_options){0}); /* without files there is no bias */
  assert_int_equal(model->nodes[0].inputs[2], PH_NONE);
  ph_model_destroy(model);
}

static void collect(void *user, const char *text) {
  strcat(strcat(user, text), "\n");
}

static const char *layout_warnings(void **state, const char *node, const char *key, const char *shape) {
  static char warned[2048];
  char text[1024];
  snprintf(text, sizeof(text),
           "polyhead: 1\ninputs: {x: {shape: [1, 2]}}\nweights: {tensors: {w: {key: %s, shape: %s}}}\ngraph:\n  - "
           "{name: y, %s}\noutputs: [y]\n",
           key, shape, node);
  weight_case c;
  ph_error error;
  warned[0] = '\0';
  ph_notes notes = {collect, warned};
  assert_ok(resolve(state, &c, text, (ph_model_options){.random = true}, &error), error);
  ph_weights_check_layouts(c.model, c.weights, &notes);
  ph_weights_check_layouts(c.model, c.weights, NULL);
  finish(&c);
  const char *path = scratch_path(state, "case.yaml");
  return warned[0] != '\0' ? warned + strlen(path) : warned;
}

static void square_weights_in_the_other_layout(void **state) {
#define LINEAR "op: linear, inputs: [x, w]"
  assert_string_equal(
      layout_warnings(state, LINEAR, "h.0.attn.c_proj.weight", "[2, 2]"),
      ":5:5: warning: node 'y': its weight is square, and 'c_proj' weights usually lie in_out, but the layout "
      "here is out_in\n");
  assert_string_equal(
      layout_warnings(state, LINEAR ", layout: in_out", "l.0.self_attn.q_proj.weight", "[2, 2]"),
      ":5:5: warning: node 'y': its weight is square, and 'q_proj' weights usually lie out_in, but the layout "
      "here is in_out\n");
  assert_string_equal(layout_warnings(state, LINEAR ", layout: in_out", "h.0.attn.c_proj.weight", "[2, 2]"), "");
  assert_string_equal(layout_warnings(state, LINEAR, "l.0.self_attn.q_proj.weight", "[2, 2]"), "");
  assert_string_equal(layout_warnings(state, LINEAR, "h.0.attn.c_proj.weight", "[3, 2]"), "");
  assert_string_equal(layout_warnings(state, LINEAR, "whatever.weight", "[2, 2]"), "");
  assert_string_equal(layout_warnings(state, "op: matmul, inputs: [x, w]", "c_proj.weight", "[2, 2]"), "");
}

static void real_weights(void **state) {
  (void)state;
  const char *folder = shared_folder("");
  if (folder == NULL) skip();
  char config[SCRATCH_PATH_SIZE + 64], file[SCRATCH_PATH_SIZE + 64];
  snprintf(config, sizeof(config), "%sconfigs/models/stories260k_plain.yaml", folder);
  snprintf(file, sizeof(file), "%smodels/stories260k/model.safetensors", folder);
  const char *files[] = {file};
  ph_model_options options = {.struct_size = sizeof(options), .weight_files = files, .weight_file_count = 1};
  ph_error error = PH_ERROR_INIT;
  ph_model *model;
  assert_ok(ph_model_load(config, &options, &model, &error), error);
  assert_int_equal(model->weight_count, 2 + 5 * 9);
  ph_dim dims[16];
  ph_tensor *weights[64];
  ph_net *net;
  assert_ok(ph_bind_dims(model, NULL, dims, &error), error);
  assert_ok(ph_weights_resolve(model, dims, weights, &error), error);
  assert_ok(ph_bind(model, dims, weights, NULL, &net, &error), error);
  ph_net_destroy(net);
  for (uint32_t i = 0; i < model->weight_count; i++) ph_tensor_release(weights[i]);
  ph_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(found_by_key),
      cmocka_unit_test(tensors_outlive_the_model),
      cmocka_unit_test(several_files),
      cmocka_unit_test(the_prefix_with_most_keys),
      cmocka_unit_test(made_from_init),
      cmocka_unit_test(kept_while_the_shape_stays),
      cmocka_unit_test(made_up),
      cmocka_unit_test(nowhere),
      cmocka_unit_test(files_that_cannot_be_read),
      cmocka_unit_test(prefixes_on_nodes),
      cmocka_unit_test(square_weights_in_the_other_layout),
      cmocka_unit_test(real_weights),
  };
  return cmocka_run_group_tests_name("weights", tests, scratch_create, scratch_remove);
}
