/* From a node to the product it asks for. */
#include <math.h>
#include <string.h>

#include "opencl/ops/product.h"

/* All axes of x but the last are rows: one axis of rows where they fold, else the outer ones are a batch over which the
 * weight stays. */
static cl_product product_of_linear(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *weight = ph_node_input(graph, node, 1);
  const ph_tensor_desc *bias = ph_node_input(graph, node, 2), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *residual = ph_node_input(graph, node, 3); /* linear has no such role */
  uint32_t last = x->rank - 1, out_axis = ph_node_is(node, "layout", "in_out") ? 1 : 0;
  cl_axes leading = cl_axes_of((const ph_tensor_desc *const[]){x, NULL, y, residual}, 4, 0, last);
  cl_axes_fold(&leading);
  uint32_t inner = --leading.rank;
  return (cl_product){.rows = leading.dims[inner],
                      .columns = weight->dims[out_axis],
                      .depth = x->dims[last],
                      .a_row = leading.strides[0][inner],
                      .a_depth = x->strides[last],
                      .b_column = weight->strides[out_axis],
                      .b_depth = weight->strides[1 - out_axis],
                      .bias_column = bias == NULL ? 0 : bias->strides[0],
                      .y_row = leading.strides[2][inner],
                      .y_column = y->strides[last],
                      .residual_row = leading.strides[3][inner],
                      .residual_column = residual == NULL ? 0 : residual->strides[last],
                      .batch = leading,
                      .scale = 1.0f};
}

static cl_product product_of_matmul(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *a = ph_node_input(graph, node, 0), *b = ph_node_input(graph, node, 1);
  const ph_tensor_desc *y = ph_node_output(graph, node, 0);
  uint32_t outer = y->rank - 2, last = y->rank - 1;
  bool a_turned = ph_node_int(node, "transpose_a", 0) != 0, b_turned = ph_node_int(node, "transpose_b", 0) != 0;
  uint32_t a_row = a_turned ? last : outer, b_column = b_turned ? outer : last;
  uint32_t a_depth = a_turned ? outer : last, b_depth = b_turned ? last : outer;
  cl_product p = {.rows = y->dims[outer],
                  .columns = y->dims[last],
                  .depth = a->dims[a_depth],
                  .a_row = a->strides[a_row],
                  .a_depth = a->strides[a_depth],
                  .b_column = b->strides[b_column],
                  .b_depth = b->strides[b_depth],
                  .y_row = y->strides[outer],
                  .y_column = y->strides[last],
                  .batch = {.operand_count = 3},
                  .scale = 1.0f};
  for (uint32_t axis = 0; axis < outer; axis++) {
    const int64_t strides[] = {a->dims[axis] == 1 ? 0 : a->strides[axis], b->dims[axis] == 1 ? 0 : b->strides[axis],
                               y->strides[axis]};
    cl_axes_add(&p.batch, y->dims[axis], strides);
  }
  return p;
}

/* a [B, Hq, M, K]; b [B, Hk, .., ..], shared by Hq / Hk heads of a; y [B, Hq, M, N]. */
static cl_product product_of_heads(const ph_tensor_desc *a, const ph_tensor_desc *b, const ph_tensor_desc *y,
                                   uint32_t b_column, uint32_t b_depth, float scale) {
  cl_product p = {.rows = y->dims[2],
                  .columns = y->dims[3],
                  .depth = a->dims[3],
                  .a_row = a->strides[2],
                  .a_depth = a->strides[3],
                  .b_column = b->strides[b_column],
                  .b_depth = b->strides[b_depth],
                  .y_row = y->strides[2],
                  .y_column = y->strides[3],
                  .batch = {.operand_count = 3},
                  .scale = scale};
  int64_t group = a->dims[1] / b->dims[1];
  cl_axes_add(&p.batch, a->dims[0], (const int64_t[]){a->strides[0], b->strides[0], y->strides[0]});
  cl_axes_add(&p.batch, b->dims[1], (const int64_t[]){group * a->strides[1], b->strides[1], group * y->strides[1]});
  cl_axes_add(&p.batch, group, (const int64_t[]){a->strides[1], 0, y->strides[1]});
  return p;
}

static cl_product product_of_scores(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *q = ph_node_input(graph, node, 0), *k = ph_node_input(graph, node, 1);
  double scale = ph_node_real(node, "scale", 1.0 / sqrt((double)q->dims[3]));
  return product_of_heads(q, k, ph_node_output(graph, node, 0), 2, 3, (float)scale);
}

static cl_product product_of_weighted_sum(const ph_graph *graph, const ph_node *node) {
  return product_of_heads(ph_node_input(graph, node, 0), ph_node_input(graph, node, 1), ph_node_output(graph, node, 0),
                          3, 2, 1.0f);
}

cl_product cl_product_of(const ph_graph *graph, const ph_node *node) {
  if (strcmp(node->op, "linear") == 0 || strcmp(node->op, "fused_linear") == 0) return product_of_linear(graph, node);
  if (strcmp(node->op, "matmul") == 0) return product_of_matmul(graph, node);
  if (strcmp(node->op, "scaled_scores") == 0) return product_of_scores(graph, node);
  return product_of_weighted_sum(graph, node);
}
