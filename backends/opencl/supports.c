/* supports(): yes with a variant, or no with a reason. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "opencl/layout.h"
#include "opencl/status.h"
#include "opencl/variant.h"

/* What no variant of any op takes. */
static bool acceptable(const ph_device *device, const ph_tensor_desc *tensor, char reason[CL_REASON]) {
  uint64_t bytes;
  if (tensor->dtype == PH_F64 || ph_dtype_size(tensor->dtype) == 0)
    snprintf(reason, CL_REASON, "'%s' is %s; f32, f16, bf16, i32, i64 and bool are accepted", tensor->name,
             ph_dtype_name(tensor->dtype));
  else if (!cl_span_bytes(tensor, &bytes))
    snprintf(reason, CL_REASON, "the size of '%s' overflows", tensor->name);
  else if (bytes > device->limits.max_buffer)
    snprintf(reason, CL_REASON, "'%s' has %" PRIu64 " bytes; the largest buffer of this device has %" PRIu64,
             tensor->name, bytes, device->limits.max_buffer);
  else
    return true;
  return false;
}

/* Asks the variants in order; `variant` is number `number` among those that take the node, NULL if there are not as
 * many: the reason is then the last one's, who is the least choosy. */
static ph_status ask(ph_device *device, const cl_op *op, const ph_graph *graph, const ph_node *node, uint32_t number,
                     const cl_variant **variant, char reason[CL_REASON], ph_error *error) {
  *variant = NULL;
  snprintf(reason, CL_REASON, "%s has no kernel in this profile", op->name);
  const cl_variant *candidate;
  for (uint32_t i = 0; *variant == NULL && (candidate = cl_variant_at(device, op, graph, node, i)) != NULL; i++) {
    bool fits;
    cl_plan_node record;
    ph_status status = cl_variant_try(device, &device->limits, candidate, graph, node, &record, &fits, reason, error);
    cl_record_free(&record);
    PH_TRY(status);
    if (fits && number-- == 0) *variant = candidate;
  }
  return PH_OK;
}

/* Would it run if the host made its tensors dense? */
static ph_status ask_dense(ph_device *device, const cl_op *op, const ph_graph *graph, const ph_node *node, bool *out,
                           ph_error *error) {
  *out = false;
  bool strided = false;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const ph_tensor_desc *input = ph_node_input(graph, node, i);
    strided = strided || (input != NULL && !ph_desc_is_dense(input));
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    const ph_tensor_desc *output = ph_node_output(graph, node, i);
    strided = strided || (output != NULL && !ph_desc_is_dense(output));
  }
  if (!strided) return PH_OK;
  ph_tensor_desc *copies = ph_new_array(graph->tensor_count, sizeof(*copies));
  const ph_tensor_desc **tensors = ph_new_array(graph->tensor_count, sizeof(const ph_tensor_desc *));
  ph_status status = copies != NULL && tensors != NULL ? PH_OK : ph_fail_memory(error);
  if (status == PH_OK) {
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
      cl_dense(graph->tensors[i], &copies[i]);
      tensors[i] = &copies[i];
    }
    ph_graph dense = *graph;
    dense.tensors = tensors;
    const cl_variant *variant;
    char reason[CL_REASON];
    status = ask(device, op, &dense, node, 0, &variant, reason, error);
    *out = variant != NULL;
  }
  free(tensors);
  free(copies);
  return status;
}

/* What the order of the variants hangs on, and where it comes from. */
static void tell_order(const ph_device *device, const ph_graph *graph, const ph_node *node, ph_support *out) {
  cl_shape_class(device, graph, node, out->shape_class);
  const cl_tuning_row *row = cl_tuning_find(device, out->shape_class);
  const char *order = device->first_variant != NULL        ? "option"
                      : row == NULL                        ? "default"
                      : cl_tuning_is_measured(device, row) ? "measured"
                                                           : "built in";
  snprintf(out->order, sizeof(out->order), "%s", order);
}

ph_status cl_candidate(ph_device *device, const ph_graph *graph, uint32_t index, uint32_t number, ph_support *out,
                       ph_error *error) {
  if (index >= graph->node_count) return ph_fail(error, PH_INVALID, "there is no node %" PRIu32, index);
  const ph_node *node = graph->nodes[index];
  ph_support answer = {.struct_size = sizeof(answer)};
  const cl_op *op = cl_find_op(node->op);
  const cl_variant *variant = NULL;
  bool fine = true;
  for (uint32_t i = 0; i < node->input_count && fine; i++)
    fine = node->inputs[i] == PH_NONE || acceptable(device, graph->tensors[node->inputs[i]], answer.reason);
  for (uint32_t i = 0; i < node->output_count && fine; i++)
    fine = node->outputs[i] == PH_NONE || acceptable(device, graph->tensors[node->outputs[i]], answer.reason);
  if (op == NULL) {
    snprintf(answer.reason, sizeof(answer.reason), "there are no OpenCL kernels for '%s'", node->op);
  } else if (node->op_version > op->version) {
    snprintf(answer.reason, sizeof(answer.reason), "%s version %" PRIu32 " is asked for; up to %" PRIu32 " is known",
             op->name, node->op_version, op->version);
  } else if (fine) {
    PH_TRY(ask(device, op, graph, node, number, &variant, answer.reason, error));
    if (variant == NULL) PH_TRY(ask_dense(device, op, graph, node, &answer.needs_dense, error));
  }
  if (variant != NULL) {
    answer.supported = true;
    answer.reason[0] = '\0';
    memcpy(answer.stage_type, variant->stages, sizeof(answer.stage_type));
    snprintf(answer.variant, sizeof(answer.variant), "%s", variant->name);
    tell_order(device, graph, node, &answer);
  }
  cl_give(out, &answer, sizeof(answer));
  return PH_OK;
}

ph_status cl_supports(ph_device *device, const ph_graph *graph, uint32_t index, ph_support *out, ph_error *error) {
  return cl_candidate(device, graph, index, 0, out, error);
}
