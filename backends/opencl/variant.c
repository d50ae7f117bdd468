/* Choosing variants. */
#include "opencl/variant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/status.h"

typedef struct cl_retired {
  struct cl_retired *next;
  const cl_variant *variant;
  char *options;
  char reason[CL_REASON];
} cl_retired;

const cl_op *cl_find_op(const char *name) {
  for (uint32_t i = 0; i < cl_op_count; i++)
    if (strcmp(cl_ops[i]->name, name) == 0) return cl_ops[i];
  return NULL;
}

static const cl_variant *find_variant(const cl_op *op, const char *name) {
  for (uint32_t i = 0; i < op->variant_count; i++)
    if (strcmp(op->variants[i].name, name) == 0) return &op->variants[i];
  return NULL;
}

enum { MOST_VARIANTS = 16 };

typedef struct variant_list {
  const cl_variant *items[MOST_VARIANTS];
  uint32_t count;
} variant_list;

/* Each once; NULL is none. */
static void add(variant_list *list, const cl_variant *variant) {
  if (variant == NULL || list->count == MOST_VARIANTS) return;
  for (uint32_t i = 0; i < list->count; i++)
    if (list->items[i] == variant) return;
  list->items[list->count++] = variant;
}

const cl_variant *cl_variant_at(const ph_device *device, const cl_op *op, const ph_graph *graph, const ph_node *node,
                                uint32_t index) {
  variant_list order = {.count = 0};
  char class[CL_CLASS];
  cl_shape_class(device, graph, node, class);
  const cl_tuning_row *row = cl_tuning_find(device, class);
  if (device->first_variant != NULL) add(&order, find_variant(op, device->first_variant));
  for (const char *const *name = row != NULL ? row->names : NULL; name != NULL && *name != NULL; name++)
    add(&order, find_variant(op, *name)); /* a row may be of another version, with a variant that is gone */
  for (uint32_t i = 0; i < op->variant_count; i++)
    if ((op->variants[i].profiles & device->profile) != 0) add(&order, &op->variants[i]);
  return index < order.count ? order.items[index] : NULL;
}

static const char *type_name(ph_dtype dtype) {
  static const char *const names[] = {
      [PH_F32] = "F32", [PH_F16] = "F16", [PH_BF16] = "BF16", [PH_I32] = "I32", [PH_I64] = "I64", [PH_BOOL] = "BOOL"};
  return (unsigned)dtype < sizeof(names) / sizeof(names[0]) ? names[dtype] : NULL;
}

ph_status cl_variant_options(const ph_device *device, const cl_op *op, const cl_variant *variant, const ph_graph *graph,
                             const ph_node *node, ph_text *out, ph_error *error) {
  /* A compiler's warnings, which PoCL prints to stderr, are for whoever is at work on the kernels. */
  ph_text_add(out, device->kernel_folder != NULL ? "-cl-std=CL1.2" : "-cl-std=CL1.2 -w");
  for (uint32_t i = 0; i < (op->alike ? 1 : node->input_count); i++)
    if (node->inputs[i] != PH_NONE)
      ph_text_add(out, " -DIN%" PRIu32 "=%s", i, type_name(graph->tensors[node->inputs[i]]->dtype));
  for (uint32_t i = 0; i < node->output_count; i++)
    if (node->outputs[i] != PH_NONE)
      ph_text_add(out, " -DOUT%" PRIu32 "=%s", i, type_name(graph->tensors[node->outputs[i]]->dtype));
  ph_text_add(out, " -DWIDTH=%" PRIu32, device->limits.width);
  if (variant->options != NULL) {
    ph_text_put(out, " ", 1);
    variant->options(graph, node, out);
  }
  return out->failed ? ph_fail_memory(error) : PH_OK;
}

/* Copies the reason for which the variant was retired for this node, if it was. */
static ph_status is_retired(ph_device *device, const cl_variant *variant, const ph_graph *graph, const ph_node *node,
                            bool *out, char reason[CL_REASON], ph_error *error) {
  *out = false;
  ph_text options = {0};
  ph_status status = PH_OK;
  pthread_mutex_lock(&device->lock);
  for (const cl_retired *retired = device->retired; retired != NULL && !*out && status == PH_OK;
       retired = retired->next) {
    if (retired->variant != variant) continue;
    if (options.data == NULL)
      status = cl_variant_options(device, cl_find_op(node->op), variant, graph, node, &options, error);
    *out = status == PH_OK && strcmp(retired->options, options.data) == 0;
    if (*out) memcpy(reason, retired->reason, CL_REASON);
  }
  pthread_mutex_unlock(&device->lock);
  ph_text_free(&options);
  return status;
}

static bool has_elements(const ph_graph *graph, const ph_node *node) {
  for (uint32_t i = 0; i < node->output_count; i++) {
    const ph_tensor_desc *output = ph_node_output(graph, node, i);
    if (output != NULL && ph_desc_count(output) > 0) return true;
  }
  return false;
}

/* Do the copies of constants that the launch asks for fit into a buffer each? */
static bool copies_fit(const cl_limits *limits, const cl_launch *launch, char reason[CL_REASON]) {
  for (uint32_t i = 0; i < launch->arg_count; i++) {
    const cl_packing *packing = launch->args[i].packing;
    if (packing == NULL || packing->bytes <= limits->max_buffer) continue;
    snprintf(reason, CL_REASON,
             "%s needs %" PRIu64 " bytes in one buffer for a rearranged constant; the device takes %" PRIu64,
             launch->kernel, packing->bytes, limits->max_buffer);
    return false;
  }
  return true;
}

/* What every variant must keep to, whatever its can_run() knows. */
static bool within_limits(const cl_limits *limits, const cl_plan_node *record, char reason[CL_REASON]) {
  uint64_t tables = (uint64_t)record->integer_count * sizeof(int64_t) + (uint64_t)record->real_count * sizeof(float);
  uint64_t largest = record->workspace > tables ? record->workspace : tables;
  if (largest > limits->max_buffer) {
    snprintf(reason, CL_REASON, "needs %" PRIu64 " bytes of scratch in one buffer; the device takes %" PRIu64, largest,
             limits->max_buffer);
    return false;
  }
  for (const cl_launch *launch = record->first; launch != NULL; launch = launch->next) {
    if (!copies_fit(limits, launch, reason)) return false;
    size_t items = launch->local[0] * launch->local[1] * launch->local[2];
    if (launch->exact_local && items > limits->max_work_group) {
      snprintf(reason, CL_REASON, "%s needs work-groups of %zu; the device takes %zu", launch->kernel, items,
               limits->max_work_group);
      return false;
    }
    if (launch->local_bytes > limits->local_memory) {
      snprintf(reason, CL_REASON, "%s needs %" PRIu64 " bytes of local memory; the device has %" PRIu64, launch->kernel,
               launch->local_bytes, limits->local_memory);
      return false;
    }
  }
  return true;
}

ph_status cl_variant_try(ph_device *device, const cl_limits *limits, const cl_variant *variant, const ph_graph *graph,
                         const ph_node *node, cl_plan_node *record, bool *out_fits, char reason[CL_REASON],
                         ph_error *error) {
  *record = (cl_plan_node){0};
  *out_fits = false;
  bool retired;
  PH_TRY(is_retired(device, variant, graph, node, &retired, reason, error));
  if (retired) return PH_OK;
  snprintf(reason, CL_REASON, "refused by the variant %s", variant->name);
  if (variant->can_run != NULL && !variant->can_run(limits, graph, node, reason)) return PH_OK;
  if (has_elements(graph, node)) {
    PH_TRY(cl_record(variant, limits, graph, node, record, error));
    if (!within_limits(limits, record, reason)) return PH_OK;
  }
  *out_fits = true;
  return PH_OK;
}

ph_status cl_variant_retire(ph_device *device, const cl_op *op, const cl_variant *variant, const char *options,
                            const char *reason, ph_error *error) {
  cl_retired *retired = calloc(1, sizeof(*retired));
  if (retired == NULL || (retired->options = strdup(options)) == NULL) {
    free(retired);
    return ph_fail_memory(error);
  }
  retired->variant = variant;
  snprintf(retired->reason, sizeof(retired->reason), "%s does not work with this driver: %s", variant->name, reason);
  cl_log(device->context, PH_LOG_WARN, "%s: the variant %s is passed over on '%s': %s", op->name, variant->name,
         device->info.name, reason);
  pthread_mutex_lock(&device->lock);
  retired->next = device->retired;
  device->retired = retired;
  pthread_mutex_unlock(&device->lock);
  return PH_OK;
}

void cl_retired_free(ph_device *device) {
  while (device->retired != NULL) {
    cl_retired *retired = device->retired;
    device->retired = retired->next;
    free(retired->options);
    free(retired);
  }
}
