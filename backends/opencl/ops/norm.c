/* layer_norm and rms_norm. */
#include "opencl/ops/ops.h"

static ph_status plan_norm(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *weight = ph_node_input(graph, node, 1), *bias = ph_node_input(graph, node, 2);
  uint32_t axis = (uint32_t)ph_node_int(node, "axis", x->rank - 1);
  cl_axes outer =
      cl_axes_of((const ph_tensor_desc *const[]){x, y, ph_node_output(graph, node, 1), ph_node_output(graph, node, 2)},
                 4, 0, axis);
  cl_axes inner = {.operand_count = 4};
  for (uint32_t i = axis; i < x->rank; i++)
    cl_axes_add(&inner, x->dims[i],
                (const int64_t[]){x->strides[i], y->strides[i], weight == NULL ? 0 : weight->strides[i - axis],
                                  bias == NULL ? 0 : bias->strides[i - axis]});
  int64_t rows = cl_axes_count(&outer), count = cl_axes_count(&inner);
  cl_launch *l = cl_launch_items(plan, "norm", rows, 1, 1);
  for (uint32_t role = 0; role < 3; role++) cl_arg_input(l, node, role);
  for (uint32_t slot = 0; slot < 3; slot++) cl_arg_output(l, node, slot);
  cl_arg_axes(l, plan, &outer);
  cl_arg_axes(l, plan, &inner);
  cl_arg_long(l, rows);
  cl_arg_long(l, count);
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

static const cl_variant layer_norm_variants[] = {{.name = "plain",
                                                  .file = "norm.cl",
                                                  .profiles = CL_PROFILE_ALL,
                                                  .stages = {[PH_STAGE_ACCUM] = PH_F32},
                                                  .options = options_norm,
                                                  .plan = plan_norm}};
static const cl_variant rms_norm_variants[] = {{.name = "plain",
                                                .file = "norm.cl",
                                                .profiles = CL_PROFILE_ALL,
                                                .stages = {[PH_STAGE_ACCUM] = PH_F32},
                                                .options = options_norm,
                                                .plan = plan_norm}};
const cl_op cl_op_layer_norm = CL_OP(layer_norm), cl_op_rms_norm = CL_OP(rms_norm);
