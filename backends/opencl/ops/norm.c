/* layer_norm and rms_norm. */
#include <stdio.h>

#include "opencl/ops/ops.h"

/* The axes of a norm: outer ones with x, y, mean, inv_std, and those of a row with x, y, weight, bias. */
typedef struct norm_axes {
  cl_axes outer, inner;
} norm_axes;

static norm_axes axes_of(const ph_graph *graph, const ph_node *node) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *weight = ph_node_input(graph, node, 1), *bias = ph_node_input(graph, node, 2);
  uint32_t axis = (uint32_t)ph_node_int(node, "axis", x->rank - 1);
  norm_axes axes = {.inner = {.operand_count = 4}};
  axes.outer =
      cl_axes_of((const ph_tensor_desc *const[]){x, y, ph_node_output(graph, node, 1), ph_node_output(graph, node, 2)},
                 4, 0, axis);
  for (uint32_t i = axis; i < x->rank; i++)
    cl_axes_add(&axes.inner, x->dims[i],
                (const int64_t[]){x->strides[i], y->strides[i], weight == NULL ? 0 : weight->strides[i - axis],
                                  bias == NULL ? 0 : bias->strides[i - axis]});
  return axes;
}

static void arg_tensors(cl_launch *l, const ph_node *node) {
  for (uint32_t role = 0; role < 3; role++) cl_arg_input(l, node, role);
  for (uint32_t slot = 0; slot < 3; slot++) cl_arg_output(l, node, slot);
}

static ph_status plan_norm(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  norm_axes axes = axes_of(graph, node);
  int64_t rows = cl_axes_count(&axes.outer), count = cl_axes_count(&axes.inner);
  cl_launch *l = cl_launch_items(plan, "norm", rows, 1, 1);
  arg_tensors(l, node);
  cl_arg_axes(l, plan, &axes.outer);
  cl_arg_axes(l, plan, &axes.inner);
  cl_arg_long(l, rows);
  cl_arg_long(l, count);
  cl_arg_float(l, (float)ph_node_real(node, "eps", 1e-5));
  return cl_plan_done(plan, error);
}

/* ---- rows ---- */

static bool rows_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  (void)limits;
  norm_axes axes = axes_of(graph, node);
  cl_axes_fold(&axes.inner);
  bool dense = axes.inner.rank == 1;
  for (uint32_t i = 0; i < 4; i++) {
    bool is_there = i < 2 || ph_node_input(graph, node, i - 1) != NULL;
    dense = dense && (!is_there || axes.inner.strides[i][0] == 1 || axes.inner.dims[0] == 1);
  }
  if (!dense) snprintf(reason, 192, "the rows of an operand are not dense");
  return dense;
}

static ph_status plan_rows(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  norm_axes axes = axes_of(graph, node);
  const size_t global[3] = {(size_t)cl_axes_count(&axes.outer), 1, 1}, local[3] = {1, 1, 1};
  cl_launch *l = cl_plan_launch(plan, "norm_rows", 1, global, local, true);
  arg_tensors(l, node);
  cl_arg_axes(l, plan, &axes.outer);
  cl_arg_long(l, cl_axes_count(&axes.inner));
  cl_arg_float(l, (float)ph_node_real(node, "eps", 1e-5));
  return cl_plan_done(plan, error);
}

static void options_norm(const ph_graph *graph, const ph_node *node, ph_text *out) {
  if (strcmp(node->op, "rms_norm") == 0) ph_text_add(out, " -DRMS");
  cl_option_input(out, graph, node, 1, "WEIGHT");
  cl_option_input(out, graph, node, 2, "BIAS");
  cl_option_output(out, graph, node, 1, "MEAN");
  cl_option_output(out, graph, node, 2, "INV_STD");
}

#define VARIANTS                                                                                                       \
  {                                                                                                                    \
    {.name = "rows",                                                                                                   \
     .file = "vectors.cl norm_rows.cl",                                                                                \
     .profiles = CL_PROFILE_CPU,                                                                                       \
     .stages = {[PH_STAGE_ACCUM] = PH_F32},                                                                            \
     .can_run = rows_can_run,                                                                                          \
     .options = options_norm,                                                                                          \
     .plan = plan_rows},                                                                                               \
    {                                                                                                                  \
      .name = "plain", .file = "norm.cl", .profiles = CL_PROFILE_ALL, .stages = {[PH_STAGE_ACCUM] = PH_F32},           \
      .options = options_norm, .plan = plan_norm                                                                       \
    }                                                                                                                  \
  }

static const cl_variant layer_norm_variants[] = VARIANTS, rms_norm_variants[] = VARIANTS;
const cl_op cl_op_layer_norm = CL_OP(layer_norm), cl_op_rms_norm = CL_OP(rms_norm);
