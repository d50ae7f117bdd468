/* Inputs that do not lie dense: each element has a place of its own, and a backend sees the strides that lead there. */
#include "../../unit/scratch.h"

#include "config/load_text.h"
#include "conform/judge.h"
#include "graph/net.h"
#include "runtime/lower.h"

static ph_type type_of(uint32_t rank, const int64_t *dims) {
  ph_type type = {.dtype = PH_F32, .rank = rank};
  for (uint32_t i = 0; i < rank; i++) type.dims[i].value = dims[i];
  return type;
}

static void places_differ(void **state) {
  (void)state;
  static const int64_t shapes[][4] = {{5},       {1},          {3, 4},       {4, 1},      {2, 3, 4},
                                      {1, 5, 1}, {2, 3, 4, 5}, {1, 2, 1, 3}, {7, 1, 2, 2}};
  static const uint32_t ranks[] = {1, 1, 2, 2, 3, 3, 4, 4, 4};
  for (size_t s = 0; s < sizeof(ranks) / sizeof(ranks[0]); s++) {
    ph_type type = type_of(ranks[s], shapes[s]);
    int64_t strides[PH_MAX_RANK], index[PH_MAX_RANK] = {0}, count = 0;
    int64_t span = ph_strided_layout(&type, strides);
    assert_true(ph_type_count(&type, &count));
    assert_true(span > count);
    bool *taken = calloc((size_t)span, 1);
    assert_non_null(taken);
    for (int64_t i = 0; i < count; i++) {
      int64_t at = 0;
      for (uint32_t k = 0; k < type.rank; k++) at += index[k] * strides[k];
      assert_in_range(at, 0, span - 1);
      assert_false(taken[at]);
      taken[at] = true;
      for (uint32_t k = type.rank; k-- > 0 && ++index[k] == type.dims[k].value;) index[k] = 0;
    }
    free(taken);
  }
}

static void heads_and_rows_change_places(void **state) {
  (void)state;
  ph_type type = type_of(4, (const int64_t[]){2, 3, 4, 5});
  int64_t strides[PH_MAX_RANK];
  assert_int_equal(ph_strided_layout(&type, strides), 2 * 4 * 3 * 8);
  const int64_t expected[4] = {4 * 3 * 8, 8, 3 * 8, 1};
  assert_memory_equal(strides, expected, sizeof(expected));
}

/* What a backend sees of q, of a mask that repeats over heads, and of a constant, which stays as it is. */
static void lowered_views(void **state) {
  (void)state;
  static const char text[] = "polyhead: 1\n"
                             "inputs:\n"
                             "  q: {shape: [2, 3, 4, 5]}\n  k: {shape: [2, 3, 6, 5]}\n"
                             "  m: {shape: [4, 6]}\n"
                             "weights: {tensors: {v: {shape: [2, 3, 6, 5], init: {fill: 1}}}}\n"
                             "graph: [{name: y, op: attention, inputs: {q: q, k: k, v: v, mask: m}}]\n"
                             "outputs: [y]\n";
  ph_model *model;
  ph_net *net;
  ph_tensor *v;
  ph_lowered *lowered;
  ph_error error = PH_ERROR_INIT;
  assert_ok(ph_model_load_text("case.yaml", text, NULL, &model, &error), error);
  assert_ok(ph_tensor_create(PH_F32, 4, (const int64_t[]){2, 3, 6, 5}, &v, &error), error);
  assert_ok(ph_bind(model, NULL, &v, NULL, &net, &error), error);
  assert_ok(ph_lower(net, net->nodes, 1, PH_LOWER_STRIDED, &lowered, &error), error);
  const ph_node *node = lowered->graph.nodes[0];
  const ph_tensor_desc *q = lowered->graph.tensors[node->inputs[0]], *mask = lowered->graph.tensors[node->inputs[3]];
  const ph_tensor_desc *constant = lowered->graph.tensors[node->inputs[2]];
  assert_memory_equal(q->strides, ((const int64_t[]){96, 8, 24, 1}), 4 * sizeof(int64_t));
  assert_int_equal(mask->rank, 4);
  assert_memory_equal(mask->strides, ((const int64_t[]){0, 0, 9, 1}), 4 * sizeof(int64_t));
  assert_memory_equal(constant->strides, ((const int64_t[]){90, 30, 5, 1}), 4 * sizeof(int64_t));
  assert_int_equal(lowered->storages[lowered->tensor_storage[node->inputs[0]]].bytes, 192 * sizeof(float));
  assert_int_equal(lowered->storages[lowered->tensor_storage[node->outputs[0]]].bytes, 120 * sizeof(float));
  ph_lowered_destroy(lowered);
  ph_net_destroy(net);
  ph_tensor_release(v);
  ph_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(places_differ), cmocka_unit_test(heads_and_rows_change_places),
                                     cmocka_unit_test(lowered_views)};
  return cmocka_run_group_tests_name("strided", tests, NULL, NULL);
}
