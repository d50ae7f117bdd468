/* Choosing and building a variant. */
#include "opencl/choice.h"

#include "opencl/status.h"

/* One variant: PH_OK with out->variant set, PH_OK without where it does not take the node, or the failed build. */
static ph_status attempt(ph_device *device, const cl_limits *limits, const cl_op *op, const cl_variant *variant,
                         const ph_graph *graph, const ph_node *node, cl_choice *out, char reason[CL_REASON],
                         ph_error *error) {
  bool fits;
  PH_TRY(cl_variant_try(device, limits, variant, graph, node, &out->record, &fits, reason, error));
  if (!fits) return PH_OK;
  PH_TRY(cl_variant_options(device, op, variant, graph, node, &out->options, error));
  if (cl_record_has_kernel(&out->record))
    PH_TRY(cl_build_get(device, variant->file, out->options.data, &out->build, error));
  out->variant = variant;
  return PH_OK;
}

ph_status cl_choose(ph_device *device, const cl_limits *limits, const ph_graph *graph, const ph_node *node,
                    uint32_t index, cl_choice *out, ph_error *error) {
  const cl_op *op = cl_find_op(node->op);
  *out = (cl_choice){0};
  if (op == NULL) return ph_fail(error, PH_UNSUPPORTED, "there are no OpenCL kernels for '%s'", node->op);
  char reason[CL_REASON] = "no variant is left";
  ph_error problem = PH_ERROR_INIT; /* of the last variant that did not build */
  ph_status status = PH_OK, failure = PH_OK;
  const cl_variant *variant;
  for (; (variant = cl_variant_at(device, op, graph, node, index)) != NULL; index++) {
    cl_choice_free(out);
    out->index = index;
    status = attempt(device, limits, op, variant, graph, node, out, reason, &problem);
    if (out->variant != NULL) return PH_OK;
    if (status == PH_OK) continue;
    failure = status;
    if (status != PH_DEVICE_FAILED) break;
    PH_TRY(cl_variant_retire(device, op, variant, out->options.data, problem.message, error));
  }
  if (failure == PH_OK) return ph_fail(error, PH_UNSUPPORTED, "node '%s': %s", node->id, reason);
  if (error != NULL) cl_give(error, &problem, sizeof(problem));
  return failure;
}

void cl_choice_free(cl_choice *choice) {
  cl_record_free(&choice->record);
  ph_text_free(&choice->options);
  *choice = (cl_choice){0};
}
