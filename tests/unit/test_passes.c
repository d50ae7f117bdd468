/* Passes over nets: epilogues, merged projections, views. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "graph/net.h"
#include "passes/epilogue.h"
#include "passes/fuse.h"
#include "passes/merge.h"
#include "passes/views.h"
#include "runtime/lower.h"

static const ph_place here = {"test.yaml", 3, 5};

typedef struct fixture {
  ph_net *net;
  ph_pool pool;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  f->net = calloc(1, sizeof(*f->net));
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  ph_net_destroy(f->net);
  ph_pool_free(&f->pool);
  free(f);
  return 0;
}

static uint32_t constant(fixture *f, uint32_t rank, const int64_t *dims, float first) {
  ph_tensor *tensor;
  uint32_t value;
  assert_int_equal(ph_tensor_create(PH_F32, rank, dims, &tensor, NULL), PH_OK);
  for (size_t i = 0; i < tensor->count; i++) ((float *)tensor->data)[i] = first + (float)i;
  assert_int_equal(ph_net_add_constant(f->net, "c", tensor, &value, NULL), PH_OK);
  ph_tensor_release(tensor);
  return value;
}
#define DIMS(...)                                                                                                      \
  sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]) {                                                    \
    __VA_ARGS__                                                                                                        \
  }
#define CONSTANT(f, ...) constant((f), DIMS(__VA_ARGS__), 0)
#define INPUT(f, ...)    input((f), CONSTANT((f), __VA_ARGS__))
#define ADD(f, path, op, ...)                                                                                          \
  add((f), (path), (op), (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), NULL, 0)

static uint32_t input(fixture *f, uint32_t value) {
  f->net->values[value].kind = PH_TENSOR_INPUT;
  return value;
}

static uint32_t add(fixture *f, const char *path, const char *op, const uint32_t *inputs, uint32_t count,
                    const ph_net_attr_value *attrs, uint32_t attr_count) {
  uint32_t out;
  ph_error error = PH_ERROR_INIT;
  if (ph_net_add_node(f->net, ph_op_find(op), path, here, inputs, count, attrs, attr_count, NULL, &out, &error) !=
      PH_OK)
    fail_msg("%s", error.message);
  return out;
}

static ph_net_attr_value integer(const char *name, int64_t value) {
  return (ph_net_attr_value){.name = name, .value = {.kind = PH_ATTR_I64, .as.i64 = value}};
}
static ph_net_attr_value text(const char *name, const char *value) {
  return (ph_net_attr_value){.name = name, .value = {.kind = PH_ATTR_STRING, .as.string = value}};
}
static ph_net_attr_value list(const char *name, uint32_t count, const int64_t *items) {
  return (ph_net_attr_value){.name = name, .value = {.kind = PH_ATTR_I64_LIST, .as.list = {items, count}}};
}

static uint32_t with(fixture *f, const char *path, const char *op, uint32_t x, ph_net_attr_value attr) {
  return add(f, path, op, &x, 1, &attr, 1);
}

/* The ops in order, with blanks between. */
static void expect_ops(const fixture *f, const char *expected) {
  char text[512] = "";
  for (uint32_t n = 0; n < f->net->node_count; n++) {
    if (n > 0) strcat(text, " ");
    strcat(text, f->net->nodes[n]->op->name);
  }
  assert_string_equal(text, expected);
}

static void expect_note(const fixture *f, uint32_t node, const char *part) {
  const char *note = f->net->nodes[node]->note;
  if (note == NULL || strstr(note, part) == NULL) fail_msg("'%s' lacks '%s'", note != NULL ? note : "", part);
}

/* ---- epilogues ---- */

static void what_follows_a_linear_becomes_part_of_it(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, 3), residual = INPUT(f, 2, 4), bias = CONSTANT(f, 4);
  uint32_t sum = ADD(f, "product", "linear", x, CONSTANT(f, 4, 3));
  uint32_t biased = ADD(f, "biased", "add", bias, sum);
  uint32_t active = with(f, "active", "gelu", biased, text("form", "tanh"));
  uint32_t y = ADD(f, "y", "add", residual, active);
  f->net->values[y].kept = true;
  assert_int_equal(ph_fuse_epilogues(f->net, NULL), PH_OK);
  expect_ops(f, "fused_linear");
  const ph_net_node *fused = f->net->nodes[0];
  assert_string_equal(fused->path, "y");
  assert_int_equal(fused->outputs[0], y);
  assert_int_equal(fused->inputs[0], x);
  assert_int_equal(fused->inputs[2], bias);
  assert_int_equal(fused->inputs[3], residual);
  assert_string_equal(ph_net_node_attr(fused, "activation")->value.as.string, "gelu");
  assert_string_equal(ph_net_node_attr(fused, "form")->value.as.string, "tanh");
  assert_int_equal(fused->step_count, 4);
  assert_int_equal(ph_write_out(f->net, 0, NULL), PH_OK);
  expect_ops(f, "linear add gelu add");
}

static void a_bias_alone_leaves_a_linear(void **state) {
  fixture *f = *state;
  uint32_t bias = CONSTANT(f, 4), y;
  y = ADD(f, "y", "add", ADD(f, "p", "linear", INPUT(f, 2, 3), CONSTANT(f, 4, 3)), bias);
  assert_int_equal(ph_fuse_epilogues(f->net, NULL), PH_OK);
  expect_ops(f, "linear");
  assert_int_equal(f->net->nodes[0]->inputs[2], bias);
  assert_int_equal(f->net->nodes[0]->outputs[0], y);
}

static void a_residual_made_later_is_waited_for(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, 3), product = ADD(f, "p", "linear", x, CONSTANT(f, 3, 3));
  uint32_t other = ADD(f, "other", "exp", x);
  ADD(f, "y", "add", product, other);
  assert_int_equal(ph_fuse_epilogues(f->net, NULL), PH_OK);
  expect_ops(f, "exp fused_linear");
}

static void a_wanted_value_keeps_a_linear_apart(void **state) {
  fixture *f = *state;
  uint32_t product = ADD(f, "p", "linear", INPUT(f, 2, 3), CONSTANT(f, 4, 3));
  f->net->values[product].kept = true;
  ADD(f, "y", "relu", product);
  assert_int_equal(ph_fuse_epilogues(f->net, NULL), PH_OK);
  expect_ops(f, "linear relu");
  expect_note(f, 1, "wanted");
}

static void a_value_read_twice_keeps_a_linear_apart(void **state) {
  fixture *f = *state;
  uint32_t product = ADD(f, "p", "linear", INPUT(f, 2, 3), CONSTANT(f, 4, 3));
  ADD(f, "y", "relu", product);
  ADD(f, "z", "exp", product);
  assert_int_equal(ph_fuse_epilogues(f->net, NULL), PH_OK);
  expect_ops(f, "linear relu exp");
  expect_note(f, 1, "elsewhere");
}

/* What is fused before an odd step stays fused. */
static void another_order_stays_steps(void **state) {
  fixture *f = *state;
  uint32_t active = ADD(f, "a", "relu", ADD(f, "p", "linear", INPUT(f, 2, 3), CONSTANT(f, 4, 3)));
  ADD(f, "y", "add", active, CONSTANT(f, 4));
  assert_int_equal(ph_fuse_epilogues(f->net, NULL), PH_OK);
  expect_ops(f, "fused_linear add");
  expect_note(f, 1, "behind the activation");
}

static void a_sum_that_broadcasts_is_no_residual(void **state) {
  fixture *f = *state;
  uint32_t product = ADD(f, "p", "linear", INPUT(f, 2, 3), CONSTANT(f, 4, 3));
  ADD(f, "y", "add", product, INPUT(f, 5, 2, 4));
  assert_int_equal(ph_fuse_epilogues(f->net, NULL), PH_OK);
  expect_ops(f, "linear add");
  expect_note(f, 1, "another shape");
}

/* ---- merged projections ---- */

enum { WIDTH = 64, DEPTH = 128 };
static const ph_merge_limits ample = {UINT64_C(1) << 30, UINT64_C(1) << 30};

static uint32_t projection(fixture *f, const char *path, uint32_t x, bool biased, bool in_out) {
  uint32_t weight = in_out ? CONSTANT(f, DEPTH, WIDTH) : CONSTANT(f, WIDTH, DEPTH);
  const uint32_t inputs[] = {x, weight, biased ? constant(f, DIMS(WIDTH), 1000) : PH_NONE};
  ph_net_attr_value layout = text("layout", in_out ? "in_out" : "out_in");
  return add(f, path, "linear", inputs, 3, &layout, 1);
}

static void projections_of_one_value_become_one(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, DEPTH), q = projection(f, "h.q", x, false, false), k = projection(f, "h.k", x, true, false);
  uint32_t v = projection(f, "h.v", x, false, false);
  assert_int_equal(ph_merge_projections(f->net, &f->pool, &ample, NULL), PH_OK);
  expect_ops(f, "linear slice slice slice");
  const ph_net_node *merged = f->net->nodes[0];
  assert_string_equal(merged->path, "h.q+k+v");
  assert_true(ph_is_merged(merged));
  const float *weight = f->net->values[merged->inputs[1]].tensor->data;
  assert_true(weight[WIDTH * DEPTH - 1] == WIDTH * DEPTH - 1 && weight[WIDTH * DEPTH] == 0);
  const float *bias = f->net->values[merged->inputs[2]].tensor->data;
  assert_true(bias[WIDTH - 1] == 0 && bias[WIDTH] == 1000 && bias[2 * WIDTH] == 0);
  const uint32_t values[] = {q, k, v};
  for (uint32_t i = 0; i < 3; i++) assert_int_equal(f->net->nodes[1 + i]->outputs[0], values[i]);
  assert_int_equal(ph_write_out(f->net, 0, NULL), PH_OK);
  expect_ops(f, "linear linear linear");
}

static void weights_in_out_lie_side_by_side(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, DEPTH);
  projection(f, "q", x, false, true);
  projection(f, "k", x, false, true);
  assert_int_equal(ph_merge_projections(f->net, &f->pool, &ample, NULL), PH_OK);
  const float *weight = f->net->values[f->net->nodes[0]->inputs[1]].tensor->data;
  assert_true(weight[WIDTH - 1] == WIDTH - 1 && weight[WIDTH] == 0 && weight[2 * WIDTH] == WIDTH);
}

static void merged_weights_are_made_once(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, DEPTH);
  projection(f, "q", x, false, false);
  projection(f, "k", x, false, false);
  assert_int_equal(ph_merge_projections(f->net, &f->pool, &ample, NULL), PH_OK);
  const ph_tensor *first = f->net->values[f->net->nodes[0]->inputs[1]].tensor;
  assert_int_equal(ph_write_out(f->net, 0, NULL), PH_OK);
  assert_int_equal(ph_merge_projections(f->net, &f->pool, &ample, NULL), PH_OK);
  assert_ptr_equal(f->net->values[f->net->nodes[0]->inputs[1]].tensor, first);
}

static void a_wanted_projection_stays_apart(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, DEPTH), q = projection(f, "q", x, false, false);
  projection(f, "k", x, false, false);
  projection(f, "v", x, false, false);
  f->net->values[q].kept = true;
  assert_int_equal(ph_merge_projections(f->net, &f->pool, &ample, NULL), PH_OK);
  expect_ops(f, "linear linear slice slice");
  assert_string_equal(f->net->nodes[1]->path, "k+v");
}

static void other_inputs_layouts_and_sizes_stay_apart(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, DEPTH);
  projection(f, "q", x, false, false);
  projection(f, "k", x, false, true);
  projection(f, "v", INPUT(f, 2, DEPTH), false, false);
  ADD(f, "odd", "linear", x, CONSTANT(f, WIDTH + 1, DEPTH));
  assert_int_equal(ph_merge_projections(f->net, &f->pool, &ample, NULL), PH_OK);
  expect_ops(f, "linear linear linear linear");
}

static void a_merge_that_is_too_large_says_so(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, DEPTH);
  projection(f, "q", x, false, false);
  projection(f, "k", x, false, false);
  const ph_merge_limits small = {WIDTH * DEPTH * sizeof(float), UINT64_C(1) << 30};
  assert_int_equal(ph_merge_projections(f->net, &f->pool, &small, NULL), PH_OK);
  expect_ops(f, "linear linear");
  expect_note(f, 0, "too large");
}

/* ---- views ---- */

static void expect_layout(const fixture *f, uint32_t value, uint32_t root, int64_t offset, uint32_t rank,
                          const int64_t *strides) {
  ph_value_layout at = ph_value_layout_of(f->net, value);
  assert_int_equal(at.root, root);
  assert_int_equal(ph_value_root(f->net, value), root);
  assert_int_equal(at.offset, offset);
  assert_int_equal(at.rank, rank);
  for (uint32_t i = 0; i < rank; i++) {
    assert_int_equal(at.dims[i].value, f->net->values[value].type.dims[i].value);
    assert_int_equal(at.strides[i].value, strides[i]);
  }
}

static void heads_are_split_by_strides(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, 5, 12);
  ph_net_attr_value part[] = {integer("axis", 2), integer("start", 4), integer("stop", 10)};
  uint32_t slice = add(f, "slice", "slice", &x, 1, part, 3);
  uint32_t heads = with(f, "heads", "split_heads", slice, integer("heads", 2));
  uint32_t turned = with(f, "turned", "transpose", heads, list("axes", 4, (int64_t[]){0, 1, 3, 2}));
  uint32_t whole = with(f, "whole", "reshape", heads, list("shape", 4, (int64_t[]){2, 2, 5, 3}));
  uint32_t flat = with(f, "flat", "reshape", heads, list("shape", 1, (int64_t[]){60}));
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  expect_layout(f, slice, x, 4, DIMS(60, 12, 1));
  expect_layout(f, heads, x, 4, DIMS(60, 3, 12, 1));
  expect_layout(f, turned, x, 4, DIMS(60, 3, 1, 12));
  expect_layout(f, whole, x, 4, DIMS(60, 3, 12, 1));
  expect_layout(f, flat, flat, 0, DIMS(1));
  assert_int_equal(f->net->nodes[0]->way, PH_NODE_VIEW);
  assert_int_equal(f->net->nodes[4]->way, PH_NODE_RUNS);
  expect_note(f, 4, "no strides");
}

static void extents_are_joined_divided_and_repeated(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 4, 6), row = INPUT(f, 1, 3);
  uint32_t divided = with(f, "a", "reshape", x, list("shape", 4, (int64_t[]){2, 2, 1, 6}));
  uint32_t joined = with(f, "b", "reshape", divided, list("shape", 2, (int64_t[]){8, 3}));
  uint32_t repeated = with(f, "c", "expand", row, list("shape", 3, (int64_t[]){2, 5, 3}));
  const char *names[] = {"left", "right", NULL};
  ph_net_attr_value split[] = {integer("axis", 0), list("into", 2, (int64_t[]){1, 3})};
  uint32_t parts;
  assert_int_equal(ph_net_add_node(f->net, ph_op_find("split"), "d", here, &x, 1, split, 2, names, &parts, NULL),
                   PH_OK);
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  expect_layout(f, divided, x, 0, DIMS(12, 6, 6, 1));
  expect_layout(f, joined, x, 0, DIMS(3, 1));
  expect_layout(f, repeated, row, 0, DIMS(0, 0, 1));
  expect_layout(f, parts, x, 0, DIMS(6, 1));
  expect_layout(f, parts + 1, x, 6, DIMS(6, 1));
}

/* attention writes its heads where concat_heads would put them; what is wanted is then not copied either. */
static void heads_are_written_where_they_are_joined(void **state) {
  fixture *f = *state;
  uint32_t q = INPUT(f, 2, 3, 5, 4), mixed = ADD(f, "mixed", "attention", q, q, q);
  const uint32_t x[] = {mixed};
  uint32_t merged = add(f, "merged", "concat_heads", x, 1, NULL, 0);
  f->net->values[merged].kept = true;
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  expect_layout(f, merged, merged, 0, DIMS(60, 12, 1));
  expect_layout(f, mixed, merged, 0, DIMS(60, 4, 12, 1));
  ph_lowered *lowered;
  assert_int_equal(ph_lower(f->net, f->net->nodes, 2, PH_LOWER_RUN, &lowered, NULL), PH_OK);
  assert_int_equal(lowered->graph.node_count, 1);
  const ph_tensor_desc *y = lowered->graph.tensors[lowered->graph.nodes[0]->outputs[0]];
  assert_int_equal(y->kind, PH_TENSOR_OUTPUT);
  assert_int_equal(y->strides[1], 4);
  assert_int_equal(lowered->storages[lowered->tensor_storage[lowered->graph.nodes[0]->outputs[0]]].value, merged);
  ph_lowered_destroy(lowered);
}

/* An op that may not write strided gets no strided place: what it gives is copied. */
static void others_write_dense(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, 3, 5, 4), active = ADD(f, "a", "relu", x);
  uint32_t merged = ADD(f, "merged", "concat_heads", active);
  f->net->values[merged].kept = true;
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  assert_int_equal(f->net->nodes[1]->way, PH_NODE_RUNS);
  expect_layout(f, active, active, 0, DIMS(60, 20, 4, 1));
  expect_note(f, 1, "wanted");
}

static void what_is_wanted_lies_dense(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, 5, 12), heads = with(f, "heads", "split_heads", x, integer("heads", 2));
  f->net->values[heads].kept = true;
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  assert_int_equal(f->net->nodes[0]->way, PH_NODE_RUNS);
  expect_note(f, 0, "wanted");
}

/* A backend is told that dims of constants never vary. */
static void a_constant_has_no_view_that_varies(void **state) {
  fixture *f = *state;
  uint32_t table = CONSTANT(f, 8, 4);
  ph_net_attr_value part[] = {integer("axis", 0), integer("start", 0), integer("stop", 5)};
  add(f, "fixed", "slice", &table, 1, part, 3);
  part[2].varies = true;
  add(f, "varying", "slice", &table, 1, part, 3);
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  assert_int_equal(f->net->nodes[0]->way, PH_NODE_VIEW);
  assert_int_equal(f->net->nodes[1]->way, PH_NODE_RUNS);
  expect_note(f, 1, "varies");
}

/* Heads that were split and are joined again are rows as before; where the split is a copy, the join is one, too. */
static void a_view_taken_back_takes_others_with_it(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, 5, 12), heads = with(f, "heads", "split_heads", x, integer("heads", 2));
  uint32_t joined = ADD(f, "joined", "concat_heads", heads);
  ADD(f, "y", "relu", joined);
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  expect_layout(f, joined, x, 0, DIMS(60, 12, 1));
  ph_unview(f->net, f->net->nodes[0], "a test wants it");
  expect_layout(f, heads, heads, 0, DIMS(60, 30, 6, 1));
  expect_layout(f, joined, joined, 0, DIMS(60, 12, 1));
  assert_int_equal(f->net->nodes[1]->way, PH_NODE_RUNS);
  expect_note(f, 1, "a copy itself");
}

/* Two parts of one value are two tensors in one memory, which lives until the last of them is read. */
static void views_keep_their_memory_alive(void **state) {
  fixture *f = *state;
  uint32_t x = INPUT(f, 2, 32), wide = ADD(f, "wide", "relu", x);
  ph_net_attr_value left[] = {integer("axis", 1), integer("start", 0), integer("stop", 16)};
  ph_net_attr_value right[] = {integer("axis", 1), integer("start", 16), integer("stop", 32)};
  uint32_t a = add(f, "a", "slice", &wide, 1, left, 3), b = add(f, "b", "slice", &wide, 1, right, 3);
  ADD(f, "u", "exp", a);
  ADD(f, "w", "exp", b);
  assert_int_equal(ph_view_moves(f->net, NULL), PH_OK);
  ph_lowered *lowered;
  assert_int_equal(ph_lower(f->net, f->net->nodes, f->net->node_count, PH_LOWER_RUN, &lowered, NULL), PH_OK);
  assert_int_equal(lowered->graph.node_count, 3);
  assert_int_equal(lowered->node_of[2], 4);
  uint32_t left_tensor = lowered->graph.nodes[1]->inputs[0], right_tensor = lowered->graph.nodes[2]->inputs[0];
  uint32_t storage = lowered->tensor_storage[left_tensor];
  assert_int_equal(lowered->tensor_storage[right_tensor], storage);
  assert_int_equal(lowered->tensor_offset[left_tensor], 0);
  assert_int_equal(lowered->tensor_offset[right_tensor], 64);
  assert_int_equal(lowered->storages[storage].kind, PH_TENSOR_INNER);
  assert_int_equal(lowered->storages[storage].bytes, 256);
  assert_int_equal(lowered->storages[storage].last, 2);
  ph_lowered_destroy(lowered);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(what_follows_a_linear_becomes_part_of_it),
      TEST(a_bias_alone_leaves_a_linear),
      TEST(a_residual_made_later_is_waited_for),
      TEST(a_wanted_value_keeps_a_linear_apart),
      TEST(a_value_read_twice_keeps_a_linear_apart),
      TEST(another_order_stays_steps),
      TEST(a_sum_that_broadcasts_is_no_residual),
      TEST(projections_of_one_value_become_one),
      TEST(weights_in_out_lie_side_by_side),
      TEST(merged_weights_are_made_once),
      TEST(a_wanted_projection_stays_apart),
      TEST(other_inputs_layouts_and_sizes_stay_apart),
      TEST(a_merge_that_is_too_large_says_so),
      TEST(heads_are_split_by_strides),
      TEST(extents_are_joined_divided_and_repeated),
      TEST(heads_are_written_where_they_are_joined),
      TEST(others_write_dense),
      TEST(what_is_wanted_lies_dense),
      TEST(a_constant_has_no_view_that_varies),
      TEST(a_view_taken_back_takes_others_with_it),
      TEST(views_keep_their_memory_alive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
