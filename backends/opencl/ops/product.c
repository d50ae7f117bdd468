/* linear, fused_linear, matmul, scaled_scores, weighted_sum: one batched product, told apart by strides. */
#include <math.h>
#include <stdio.h>

#include "opencl/ops/ops.h"

/* y[g, m, n] = scale * sum over k of a[g, m, k] b[g, n, k].  The operands of `batch` are a, b and y, and the residual
 * where an op can have one. */
typedef struct product {
  int64_t rows, columns, depth;
  int64_t a_row, a_depth, b_column, b_depth, bias_column, y_row, y_column, residual_row, residual_column;
  cl_axes batch;
  float scale;
} product;

/* All axes of x but the last are rows: one axis of rows where they fold, else the outer ones are a batch over which the
 * weight stays. */
static product product_of_linear(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *weight = ph_node_input(graph, node, 1);
  const ph_tensor_desc *bias = ph_node_input(graph, node, 2), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *residual = ph_node_input(graph, node, 3); /* linear has no such role */
  uint32_t last = x->rank - 1, out_axis = ph_node_is(node, "layout", "in_out") ? 1 : 0;
  cl_axes leading = cl_axes_of((const ph_tensor_desc *const[]){x, NULL, y, residual}, 4, 0, last);
  cl_axes_fold(&leading);
  uint32_t inner = --leading.rank;
  return (product){.rows = leading.dims[inner],
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

static product product_of_matmul(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *a = ph_node_input(graph, node, 0), *b = ph_node_input(graph, node, 1);
  const ph_tensor_desc *y = ph_node_output(graph, node, 0);
  uint32_t outer = y->rank - 2, last = y->rank - 1;
  bool a_turned = ph_node_int(node, "transpose_a", 0) != 0, b_turned = ph_node_int(node, "transpose_b", 0) != 0;
  uint32_t a_row = a_turned ? last : outer, b_column = b_turned ? outer : last;
  uint32_t a_depth = a_turned ? outer : last, b_depth = b_turned ? last : outer;
  product p = {.rows = y->dims[outer],
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
static product product_of_heads(const ph_tensor_desc *a, const ph_tensor_desc *b, const ph_tensor_desc *y,
                                uint32_t b_column, uint32_t b_depth, float scale) {
  product p = {.rows = y->dims[2],
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

static product product_of_scores(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *q = ph_node_input(graph, node, 0), *k = ph_node_input(graph, node, 1);
  double scale = ph_node_real(node, "scale", 1.0 / sqrt((double)q->dims[3]));
  return product_of_heads(q, k, ph_node_output(graph, node, 0), 2, 3, (float)scale);
}

static product product_of_weighted_sum(const ph_graph *graph, const ph_node *node) {
  return product_of_heads(ph_node_input(graph, node, 0), ph_node_input(graph, node, 1), ph_node_output(graph, node, 0),
                          3, 2, 1.0f);
}

static product product_of(const ph_graph *graph, const ph_node *node) {
  if (strcmp(node->op, "linear") == 0 || strcmp(node->op, "fused_linear") == 0) return product_of_linear(graph, node);
  if (strcmp(node->op, "matmul") == 0) return product_of_matmul(graph, node);
  if (strcmp(node->op, "scaled_scores") == 0) return product_of_scores(graph, node);
  return product_of_weighted_sum(graph, node);
}

static ph_status launch(cl_plan_node *plan, const ph_node *node, product *p, const char *kernel, int64_t tile_rows,
                        int64_t tile_columns, ph_error *error) {
  cl_axes_fold(&p->batch);
  int64_t batches = cl_axes_count(&p->batch);
  enum { FIELDS = 14 };
  int64_t shape[FIELDS + (1 + CL_MAX_OPERANDS) * CL_MAX_AXES] = {
      p->rows,        p->columns, p->depth,    p->a_row,        p->a_depth,         p->b_column, p->b_depth,
      p->bias_column, p->y_row,   p->y_column, p->residual_row, p->residual_column, batches,     p->batch.rank};
  size_t count = FIELDS;
  for (uint32_t axis = 0; axis < p->batch.rank; axis++) shape[count++] = p->batch.dims[axis];
  for (uint32_t operand = 0; operand < p->batch.operand_count; operand++)
    for (uint32_t axis = 0; axis < p->batch.rank; axis++) shape[count++] = p->batch.strides[operand][axis];

  cl_launch *l = cl_launch_items(plan, kernel, (p->columns + tile_columns - 1) / tile_columns,
                                 (p->rows + tile_rows - 1) / tile_rows, batches);
  cl_arg_input(l, node, 0);
  cl_arg_input(l, node, 1);
  cl_arg_input(l, node, 2); /* the bias; matmul and the heads' products have no role 2 */
  cl_arg_output(l, node, 0);
  cl_arg_table(l, cl_plan_table(plan, shape, count));
  cl_arg_float(l, p->scale);
  if (node->input_count > 3 && node->inputs[3] != PH_NONE) cl_arg_input(l, node, 3);
  return cl_plan_done(plan, error);
}

static ph_status plan_plain(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  product p = product_of(graph, node);
  return launch(plan, node, &p, "plain", 1, 1, error);
}

static bool dots(const product *p) {
  return p->a_depth == 1 && p->b_depth == 1;
}

static bool can_block(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  (void)limits;
  product p = product_of(graph, node);
  if (dots(&p) || p.b_column == 1) return true;
  snprintf(reason, 192, "needs the second operand dense along its columns, or both dense along the sum");
  return false;
}

static ph_status plan_blocked(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  product p = product_of(graph, node);
  return dots(&p) ? launch(plan, node, &p, "dot_blocked", 4, 4, error)
                  : launch(plan, node, &p, "outer_blocked", 4, 16, error);
}

static void options_plain(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_option_input(out, graph, node, 2, "BIAS");
  cl_option_input(out, graph, node, 3, "RESIDUAL");
  if (strcmp(node->op, "weighted_sum") == 0) ph_text_add(out, " -DSKIP_ZEROS");
  if (strcmp(node->op, "fused_linear") == 0) cl_option_activation(out, node);
}

static void options_blocked(const ph_graph *graph, const ph_node *node, ph_text *out) {
  options_plain(graph, node, out);
  ph_text_add(out, " -DBLOCKED");
}

#define PRODUCT(op, ...)                                                                                               \
  static const cl_variant op##_variants[] = {{.name = "blocked",                                                       \
                                              .file = "product.cl",                                                    \
                                              .profiles = CL_PROFILE_ALL,                                              \
                                              .stages = {__VA_ARGS__},                                                 \
                                              .can_run = can_block,                                                    \
                                              .options = options_blocked,                                              \
                                              .plan = plan_blocked},                                                   \
                                             {.name = "plain",                                                         \
                                              .file = "product.cl",                                                    \
                                              .profiles = CL_PROFILE_ALL,                                              \
                                              .stages = {__VA_ARGS__},                                                 \
                                              .options = options_plain,                                                \
                                              .plan = plan_plain}};                                                    \
  const cl_op cl_op_##op = CL_OP(op)

PRODUCT(linear, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(fused_linear, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(matmul, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(scaled_scores, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(weighted_sum, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32);
