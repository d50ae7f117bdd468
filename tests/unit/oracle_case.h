/* One node with its operands, built in a few lines, for the tests of the oracle and of the reference. */
#ifndef POLYHEAD_TESTS_ORACLE_CASE_H
#define POLYHEAD_TESTS_ORACLE_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "oracle/oracle.h"
#include "oracle/tolerance.h"

#define DIMS(...)                                                                                                      \
  (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                                  \
    __VA_ARGS__                                                                                                        \
  }
#define SCALAR 0, NULL
#define REALS(...)                                                                                                     \
  (const double[]) {                                                                                                   \
    __VA_ARGS__                                                                                                        \
  }
#define NO  ((double)-INFINITY)
#define INF ((double)INFINITY)
#define NOT ((double)NAN)

enum { CASE_TENSORS = 16 };

typedef struct oracle_case {
  ph_tensor_desc tensors[CASE_TENSORS];
  const ph_tensor_desc *pointers[CASE_TENSORS];
  void *data[CASE_TENSORS];
  ph_attr attrs[CASE_TENSORS];
  int64_t lists[CASE_TENSORS][PH_MAX_RANK]; /* of the attribute with the same index */
  uint32_t inputs[CASE_TENSORS], outputs[CASE_TENSORS];
  ph_oracle_output results[CASE_TENSORS];
  ph_node node;
  const ph_node *nodes[1];
  ph_graph graph;
} oracle_case;

static inline int64_t case_elements(const ph_tensor_desc *desc) {
  int64_t count = 1;
  for (uint32_t i = 0; i < desc->rank; i++) count *= desc->dims[i];
  return count;
}

/* The case's pointers into itself; it must not move afterwards. */
static inline void case_open(oracle_case *c, const char *op) {
  *c = (oracle_case){0};
  c->node = (ph_node){.struct_size = sizeof(ph_node),
                      .op = op,
                      .op_version = 1,
                      .id = "node",
                      .inputs = c->inputs,
                      .outputs = c->outputs,
                      .attrs = c->attrs};
  c->nodes[0] = &c->node;
  c->graph = (ph_graph){sizeof(ph_graph), c->pointers, 0, c->nodes, 1};
}

static inline uint32_t case_tensor(oracle_case *c, ph_tensor_kind kind, ph_dtype dtype, uint32_t rank,
                                   const int64_t *dims) {
  uint32_t index = c->graph.tensor_count++;
  assert_true(index < CASE_TENSORS);
  ph_tensor_desc *desc = &c->tensors[index];
  *desc = (ph_tensor_desc){.struct_size = sizeof(*desc), .name = "tensor", .kind = kind, .dtype = dtype, .rank = rank};
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    desc->dims[i] = dims[i];
    desc->strides[i] = stride;
    stride *= dims[i];
  }
  c->pointers[index] = desc;
  return index;
}

/* The next input, its elements rounded to `dtype` from `values` in row-major order. */
static inline void case_input(oracle_case *c, ph_dtype dtype, uint32_t rank, const int64_t *dims,
                              const double *values) {
  uint32_t index = case_tensor(c, PH_TENSOR_INPUT, dtype, rank, dims);
  int64_t count = case_elements(&c->tensors[index]);
  if (count > 0) c->data[index] = calloc((size_t)count, ph_dtype_size(dtype));
  for (int64_t i = 0; i < count; i++) {
    if (ph_dtype_is_real(dtype))
      ph_write_real(dtype, c->data[index], (size_t)i, values[i]);
    else
      ph_write_integer(dtype, c->data[index], (size_t)i, (int64_t)values[i]);
  }
  c->inputs[c->node.input_count++] = index;
}

/* The next input, every element the same. */
static inline void case_fill(oracle_case *c, ph_dtype dtype, uint32_t rank, const int64_t *dims, double value) {
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; i++) count *= dims[i];
  double *values = calloc(count > 0 ? (size_t)count : 1, sizeof(double));
  for (int64_t i = 0; i < count; i++) values[i] = value;
  case_input(c, dtype, rank, dims, values);
  free(values);
}

/* The next `count` roles are left out. */
static inline void case_absent(oracle_case *c, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) c->inputs[c->node.input_count++] = PH_NONE;
}

/* Gives the last input other dims and strides: what a host does to repeat, transpose or slice without a copy. */
static inline void case_restride(oracle_case *c, uint32_t rank, const int64_t *dims, const int64_t *strides) {
  ph_tensor_desc *desc = &c->tensors[c->inputs[c->node.input_count - 1]];
  desc->rank = rank;
  memcpy(desc->dims, dims, rank * sizeof(int64_t));
  memcpy(desc->strides, strides, rank * sizeof(int64_t));
}

static inline void case_output(oracle_case *c, ph_dtype dtype, uint32_t rank, const int64_t *dims) {
  c->outputs[c->node.output_count++] = case_tensor(c, PH_TENSOR_OUTPUT, dtype, rank, dims);
}
static inline void case_no_output(oracle_case *c) {
  c->outputs[c->node.output_count++] = PH_NONE;
}

static inline void case_integer(oracle_case *c, const char *name, int64_t value) {
  c->attrs[c->node.attr_count++] = (ph_attr){.name = name, .kind = PH_ATTR_I64, .as.i64 = value};
}
static inline void case_real(oracle_case *c, const char *name, double value) {
  c->attrs[c->node.attr_count++] = (ph_attr){.name = name, .kind = PH_ATTR_F64, .as.f64 = value};
}
static inline void case_text(oracle_case *c, const char *name, const char *value) {
  c->attrs[c->node.attr_count++] = (ph_attr){.name = name, .kind = PH_ATTR_STRING, .as.string = value};
}
static inline void case_list(oracle_case *c, const char *name, uint32_t count, const int64_t *items) {
  int64_t *list = c->lists[c->node.attr_count];
  memcpy(list, items, count * sizeof(int64_t));
  c->attrs[c->node.attr_count++] =
      (ph_attr){.name = name, .kind = PH_ATTR_I64_LIST, .as.list = {.items = list, .count = count}};
}

static inline ph_status case_try(oracle_case *c, bool magnitudes) {
  ph_oracle_outputs_free(c->results, c->node.output_count);
  return ph_oracle_node(&c->graph, 0, (const void *const *)c->data, magnitudes, c->results, NULL);
}
static inline void case_run(oracle_case *c) {
  assert_int_equal(case_try(c, true), PH_OK);
}

static inline void case_close(oracle_case *c) {
  ph_oracle_outputs_free(c->results, c->node.output_count);
  for (uint32_t i = 0; i < CASE_TENSORS; i++) free(c->data[i]);
}

/* Equal in class, and within `within` where finite. */
static inline void assert_near(double got, double expected, double within) {
  bool same = isnan(expected) ? isnan(got) : isinf(expected) ? got == expected : fabs(got - expected) <= within;
  if (!same) fail_msg("got %.9g instead of %.9g", got, expected);
}

static inline void case_expect(const oracle_case *c, uint32_t output, int64_t count, const double *expected,
                               double within) {
  assert_int_equal(c->results[output].count, count);
  for (int64_t i = 0; i < count; i++) assert_near(c->results[output].real[i], expected[i], within);
}
#define EXPECT(c, output, within, ...)                                                                                 \
  case_expect((c), (output), (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), REALS(__VA_ARGS__), (within))

static inline void case_expect_all(const oracle_case *c, uint32_t output, double expected, double within) {
  for (int64_t i = 0; i < c->results[output].count; i++) assert_near(c->results[output].real[i], expected, within);
}

static inline void case_expect_integers(const oracle_case *c, uint32_t output, int64_t count, const int64_t *expected) {
  assert_int_equal(c->results[output].count, count);
  for (int64_t i = 0; i < count; i++) assert_int_equal(c->results[output].integer[i], expected[i]);
}
#define EXPECT_INTEGERS(c, output, ...)                                                                                \
  case_expect_integers((c), (output), (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                   \
                       (const int64_t[]){__VA_ARGS__})

#endif
