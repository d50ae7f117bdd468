/* Axes folded together, and small helpers around launches. */
#include <math.h>
#include <string.h>

#include "opencl/ops/ops.h"

void cl_axes_add(cl_axes *axes, int64_t extent, const int64_t *strides) {
  axes->dims[axes->rank] = extent;
  for (uint32_t i = 0; i < axes->operand_count; i++) axes->strides[i][axes->rank] = strides[i];
  axes->rank++;
}

cl_axes cl_axes_of(const ph_tensor_desc *const *tensors, uint32_t count, uint32_t first, uint32_t end) {
  cl_axes axes = {.operand_count = count};
  for (uint32_t axis = first; axis < end; axis++) {
    int64_t strides[CL_MAX_OPERANDS];
    for (uint32_t i = 0; i < count; i++) strides[i] = tensors[i] == NULL ? 0 : tensors[i]->strides[axis];
    cl_axes_add(&axes, tensors[0]->dims[axis], strides);
  }
  return axes;
}

void cl_axes_fold(cl_axes *axes) {
  cl_axes folded = {.operand_count = axes->operand_count};
  for (uint32_t axis = 0; axis < axes->rank; axis++) {
    int64_t extent = axes->dims[axis], strides[CL_MAX_OPERANDS];
    if (extent == 1) continue;
    bool joins = folded.rank > 0;
    for (uint32_t i = 0; i < axes->operand_count; i++) {
      strides[i] = axes->strides[i][axis];
      joins = joins && folded.strides[i][folded.rank - 1] == strides[i] * extent;
    }
    if (joins) {
      folded.dims[folded.rank - 1] *= extent;
      for (uint32_t i = 0; i < axes->operand_count; i++) folded.strides[i][folded.rank - 1] = strides[i];
    } else {
      cl_axes_add(&folded, extent, strides);
    }
  }
  if (folded.rank == 0) cl_axes_add(&folded, 1, (const int64_t[CL_MAX_OPERANDS]){0});
  *axes = folded;
}

int64_t cl_axes_count(const cl_axes *axes) {
  int64_t count = 1;
  for (uint32_t axis = 0; axis < axes->rank; axis++) count *= axes->dims[axis];
  return count;
}

size_t cl_axes_write(const cl_axes *axes, int64_t *to, size_t at) {
  size_t bytes = axes->rank * sizeof(*to);
  memcpy(to + at, axes->dims, bytes);
  for (uint32_t i = 0; i < axes->operand_count; i++) memcpy(to + (at += axes->rank), axes->strides[i], bytes);
  return at + axes->rank;
}

uint64_t cl_axes_table(cl_plan_node *plan, cl_axes *axes, int32_t *out_rank) {
  cl_axes_fold(axes);
  int64_t values[(1 + CL_MAX_OPERANDS) * CL_MAX_AXES];
  size_t count = cl_axes_write(axes, values, 0);
  *out_rank = (int32_t)axes->rank;
  return cl_plan_table(plan, values, count);
}

cl_launch *cl_launch_items(cl_plan_node *plan, const char *kernel, int64_t x, int64_t y, int64_t z) {
  size_t global[3] = {(size_t)x, (size_t)y, (size_t)z};
  return cl_plan_launch(plan, kernel, z > 1 ? 3 : y > 1 ? 2 : 1, global, (const size_t[3]){0}, false);
}

void cl_arg_input(cl_launch *launch, const ph_node *node, uint32_t role) {
  cl_arg_tensor(launch, role < node->input_count ? node->inputs[role] : PH_NONE);
}

void cl_arg_output(cl_launch *launch, const ph_node *node, uint32_t slot) {
  cl_arg_tensor(launch, slot < node->output_count ? node->outputs[slot] : PH_NONE);
}

void cl_arg_axes(cl_launch *launch, cl_plan_node *plan, cl_axes *axes) {
  int32_t rank;
  uint64_t first = cl_axes_table(plan, axes, &rank);
  cl_arg_table(launch, first);
  cl_arg_int(launch, rank);
}

void cl_option_input(ph_text *out, const ph_graph *graph, const ph_node *node, uint32_t role, const char *name) {
  if (ph_node_input(graph, node, role) != NULL) ph_text_add(out, " -DHAS_%s", name);
}

void cl_option_output(ph_text *out, const ph_graph *graph, const ph_node *node, uint32_t slot, const char *name) {
  if (ph_node_output(graph, node, slot) != NULL) ph_text_add(out, " -DHAS_%s", name);
}

int64_t cl_sample_stride(const ph_tensor_desc *desc) {
  return desc == NULL || desc->rank == 0 || desc->dims[0] == 1 ? 0 : desc->strides[0];
}

int64_t cl_turns(double radians) {
  const double turn = 6.283185307179586476925, half_range = 9223372036854775808.0; /* 2^63 */
  double turns = radians / turn;
  turns -= floor(turns); /* in [0, 1): whole turns make no difference at whole positions */
  double scaled = turns * (2 * half_range);
  return scaled < half_range ? (int64_t)round(scaled) : (int64_t)(scaled - half_range) + INT64_MIN;
}
