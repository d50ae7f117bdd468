/* linear, fused_linear, matmul, scaled_scores, weighted_sum: their variants, and those that run anywhere. */
#include <stdio.h>

#include "opencl/ops/product.h"

void cl_arg_product(cl_launch *launch, cl_plan_node *plan, const ph_node *node, const cl_product *p) {
  enum { FIELDS = 14 };
  int64_t batches = cl_axes_count(&p->batch);
  int64_t shape[FIELDS + (1 + CL_MAX_OPERANDS) * CL_MAX_AXES] = {
      p->rows,        p->columns, p->depth,    p->a_row,        p->a_depth,         p->b_column, p->b_depth,
      p->bias_column, p->y_row,   p->y_column, p->residual_row, p->residual_column, batches,     p->batch.rank};
  size_t count = cl_axes_write(&p->batch, shape, FIELDS);
  cl_arg_input(launch, node, 0);
  cl_arg_input(launch, node, 1);
  cl_arg_input(launch, node, 2); /* the bias; matmul and the heads' products have no role 2 */
  cl_arg_output(launch, node, 0);
  cl_arg_table(launch, cl_plan_table(plan, shape, count));
  cl_arg_float(launch, p->scale);
  if (node->input_count > 3 && node->inputs[3] != PH_NONE) cl_arg_input(launch, node, 3);
}

static ph_status launch(cl_plan_node *plan, const ph_node *node, cl_product *p, const char *kernel, int64_t tile_rows,
                        int64_t tile_columns, ph_error *error) {
  cl_axes_fold(&p->batch);
  cl_launch *l = cl_launch_items(plan, kernel, (p->columns + tile_columns - 1) / tile_columns,
                                 (p->rows + tile_rows - 1) / tile_rows, cl_axes_count(&p->batch));
  cl_arg_product(l, plan, node, p);
  return cl_plan_done(plan, error);
}

static ph_status plan_plain(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_product p = cl_product_of(graph, node);
  return launch(plan, node, &p, "plain", 1, 1, error);
}

static bool dots(const cl_product *p) {
  return p->a_depth == 1 && p->b_depth == 1;
}

static bool can_block(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  (void)limits;
  cl_product p = cl_product_of(graph, node);
  if (dots(&p) || p.b_column == 1) return true;
  snprintf(reason, 192, "needs the second operand dense along its columns, or both dense along the sum");
  return false;
}

static ph_status plan_blocked(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_product p = cl_product_of(graph, node);
  return dots(&p) ? launch(plan, node, &p, "dot_blocked", 4, 4, error)
                  : launch(plan, node, &p, "outer_blocked", 4, 16, error);
}

void cl_product_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_option_input(out, graph, node, 2, "BIAS");
  cl_option_input(out, graph, node, 3, "RESIDUAL");
  if (strcmp(node->op, "weighted_sum") == 0) ph_text_add(out, " -DSKIP_ZEROS");
  if (strcmp(node->op, "fused_linear") == 0) cl_option_activation(out, node);
}

static void options_blocked(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_product_options(graph, node, out);
  ph_text_add(out, " -DBLOCKED");
}

#define PRODUCT(op, ...)                                                                                               \
  static const cl_variant op##_variants[] = {CL_CLBLAST(__VA_ARGS__),                                                  \
                                             CL_TILED(__VA_ARGS__),                                                    \
                                             CL_TILES("packed_row", row, __VA_ARGS__),                                 \
                                             CL_TILES("packed", tile, __VA_ARGS__),                                    \
                                             CL_TILES_IN_PLACE("in_place_row", row, __VA_ARGS__),                      \
                                             CL_TILES_IN_PLACE("in_place", tile, __VA_ARGS__),                         \
                                             {.name = "blocked",                                                       \
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
                                              .options = cl_product_options,                                           \
                                              .plan = plan_plain}};                                                    \
  const cl_op cl_op_##op = CL_OP_TRIED(op, cl_shrink_product)

PRODUCT(linear, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(fused_linear, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(matmul, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(scaled_scores, [PH_STAGE_ACCUM] = PH_F32);
PRODUCT(weighted_sum, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32);
