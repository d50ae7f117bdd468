/* What linear, fused_linear, matmul, scaled_scores and weighted_sum share: one batched product, told apart by strides.
 */
#ifndef POLYHEAD_OPENCL_PRODUCT_H
#define POLYHEAD_OPENCL_PRODUCT_H

#include "opencl/ops/ops.h"

/* y[g, m, n] = scale * sum over k of a[g, m, k] b[g, n, k].  The operands of `batch` are a, b and y, and the residual
 * where an op can have one. */
typedef struct cl_product {
  int64_t rows, columns, depth;
  int64_t a_row, a_depth, b_column, b_depth, bias_column, y_row, y_column, residual_row, residual_column;
  cl_axes batch;
  float scale;
} cl_product;

cl_product cl_product_of(const ph_graph *graph, const ph_node *node);

/* The options that all its kernels take: which operands there are, and what is done to a sum. */
void cl_product_options(const ph_graph *graph, const ph_node *node, ph_text *out);

/* The arguments that PARAMETERS in product.cl asks for; the batch is folded. */
void cl_arg_product(cl_launch *launch, cl_plan_node *plan, const ph_node *node, const cl_product *product);

/* ---- variants for GPUs: clblast.c, the library; product_gpu.c, tiles in local memory ---- */

bool cl_clblast_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]);
void cl_clblast_options(const ph_graph *graph, const ph_node *node, ph_text *out);
ph_status cl_clblast_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error);
bool cl_tiled_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]);
void cl_tiled_options(const ph_graph *graph, const ph_node *node, ph_text *out);
ph_status cl_tiled_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error);

#define CL_GPU_PRODUCT(name_, ...)                                                                                     \
  {                                                                                                                    \
    .name = #name_, .file = "product.cl product_gpu.cl", .profiles = CL_PROFILE_GPU, .stages = {__VA_ARGS__},          \
    .can_run = cl_##name_##_can_run, .options = cl_##name_##_options, .plan = cl_##name_##_plan                        \
  }
#define CL_CLBLAST(...) CL_GPU_PRODUCT(clblast, __VA_ARGS__)
#define CL_TILED(...)   CL_GPU_PRODUCT(tiled, __VA_ARGS__)

/* ---- product_tiles.c: variants for CPUs, for one row and for tiles of several ---- */

#define CL_TILES_OF(name_, rows, where, ...)                                                                           \
  {                                                                                                                    \
    .name = name_, .file = "product_tiles.cl", .profiles = CL_PROFILE_CPU, .stages = {__VA_ARGS__},                    \
    .can_run = cl_tiles_can_run_##where##_##rows, .options = cl_tiles_options_##where##_##rows,                        \
    .plan = cl_tiles_plan_##where##_##rows                                                                             \
  }
/* The second operand is rearranged first: once, where it is constant. */
#define CL_TILES(name_, rows, ...) CL_TILES_OF(name_, rows, packed, __VA_ARGS__)
/* It is read as it lies. */
#define CL_TILES_IN_PLACE(name_, rows, ...) CL_TILES_OF(name_, rows, in_place, __VA_ARGS__)

#define CL_TILES_DECLARE(where, rows)                                                                                  \
  bool cl_tiles_can_run_##where##_##rows(const cl_limits *limits, const ph_graph *graph, const ph_node *node,          \
                                         char reason[192]);                                                            \
  void cl_tiles_options_##where##_##rows(const ph_graph *graph, const ph_node *node, ph_text *out);                    \
  ph_status cl_tiles_plan_##where##_##rows(cl_plan_node *plan, const ph_graph *graph, const ph_node *node,             \
                                           ph_error *error)
CL_TILES_DECLARE(packed, row);
CL_TILES_DECLARE(packed, tile);
CL_TILES_DECLARE(in_place, row);
CL_TILES_DECLARE(in_place, tile);

#endif
