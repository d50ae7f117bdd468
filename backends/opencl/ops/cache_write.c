/* cache_write: rows of x into slots of a cache, in place where output and cache are one tensor. */
#include "opencl/ops/ops.h"

enum { CACHE, X, OFFSET };

static ph_status plan_cache_write(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *cache = ph_node_input(graph, node, CACHE), *x = ph_node_input(graph, node, X);
  const ph_tensor_desc *y = ph_node_output(graph, node, 0);
  uint32_t axis = (uint32_t)ph_node_int(node, "axis", 2);
  if (node->inputs[CACHE] != node->outputs[0]) {
    cl_axes axes = cl_axes_of((const ph_tensor_desc *const[]){cache, y}, 2, 0, y->rank);
    int64_t count = cl_axes_count(&axes);
    cl_launch *l = cl_launch_items(plan, "copy", count, 1, 1);
    cl_arg_input(l, node, CACHE);
    cl_arg_output(l, node, 0);
    cl_arg_axes(l, plan, &axes);
    cl_arg_long(l, count);
  }

  /* The slot comes from the offset: in the walk over x its axis has a stride of 0 in y. */
  cl_axes axes = {.operand_count = 2};
  int64_t per_batch = 1, after = 1;
  for (uint32_t i = 0; i < x->rank; i++) {
    cl_axes_add(&axes, x->dims[i], (const int64_t[]){x->strides[i], i == axis ? 0 : y->strides[i]});
    if (i > 0) per_batch *= x->dims[i];
    if (i > axis) after *= x->dims[i];
  }
  int64_t count = cl_axes_count(&axes);
  if (count == 0) return cl_plan_done(plan, error);
  cl_launch *l = cl_launch_items(plan, "write", count, 1, 1);
  cl_arg_input(l, node, X);
  cl_arg_input(l, node, OFFSET);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_long(l, count);
  cl_arg_long(l, per_batch);
  cl_arg_long(l, after);
  cl_arg_long(l, x->dims[axis]);
  cl_arg_long(l, y->dims[axis]);
  cl_arg_long(l, y->strides[axis]);
  cl_arg_long(l, cl_sample_stride(ph_node_input(graph, node, OFFSET)));
  cl_arg_int(l, ph_node_int(node, "ring", 0) != 0);
  return cl_plan_done(plan, error);
}

static const cl_variant cache_write_variants[] = {
    {.name = "plain", .file = "cache_write.cl", .profiles = CL_PROFILE_ALL, .plan = plan_cache_write}};
const cl_op cl_op_cache_write = CL_OP(cache_write);
