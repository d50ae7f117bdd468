/* Making and freeing plans. */
#include "opencl/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "opencl/ahead.h"
#include "opencl/choice.h"
#include "opencl/kernel.h"
#include "opencl/layout.h"
#include "opencl/packed.h"
#include "opencl/status.h"
#include "opencl/trial.h"

/* A pair of parameters that points into a table, once that is made. */
typedef struct table_slot {
  cl_kernel kernel;
  cl_uint parameter;
  bool real;
  uint64_t first;
} table_slot;

/* What is collected while nodes are planned. */
typedef struct plan_draft {
  ph_plan *plan;
  const cl_variant *on_trial; /* NULL: none is */
  int64_t *integers;
  float *reals;
  table_slot *slots;
  size_t integer_count, integer_capacity, real_count, real_capacity, slot_count, slot_capacity;
} plan_draft;

static ph_status describe_tensors(ph_plan *plan, const ph_graph *graph, ph_error *error) {
  plan->tensors = ph_new_array(graph->tensor_count, sizeof(*plan->tensors));
  plan->places = ph_new_array(graph->tensor_count, sizeof(*plan->places));
  if (plan->tensors == NULL || plan->places == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < graph->tensor_count; i++) {
    cl_plan_tensor *tensor = &plan->tensors[i];
    if (!cl_span_bytes(graph->tensors[i], &tensor->bytes))
      return ph_fail(error, PH_INVALID, "the size of '%s' overflows", graph->tensors[i]->name);
    tensor->element = (uint32_t)ph_dtype_size(graph->tensors[i]->dtype);
    tensor->is_constant = graph->tensors[i]->kind == PH_TENSOR_CONSTANT;
  }
  return PH_OK;
}

static bool note_build(ph_plan *plan, cl_build *build) {
  for (size_t i = 0; i < plan->build_count; i++)
    if (plan->builds[i] == build) return true;
  if (!ph_grow(&plan->builds, &plan->build_capacity, plan->build_count + 1, sizeof(cl_build *))) return false;
  plan->builds[plan->build_count++] = build;
  return true;
}

static void drop_steps(ph_plan *plan, size_t from) {
  while (plan->step_count > from) {
    cl_step *step = &plan->steps[--plan->step_count];
    if (step->kernel != NULL) cl_note_release(plan->device->context, clReleaseKernel(step->kernel), "clReleaseKernel");
    free(step->data);
    free(step->args);
  }
}

static ph_status copy_call(cl_step *step, const cl_launch *launch, ph_error *error) {
  step->call = launch->call;
  step->data = malloc(launch->data_size);
  step->args = ph_new_array(launch->arg_count, sizeof(*step->args));
  if (step->data == NULL || step->args == NULL) return ph_fail_memory(error);
  memcpy(step->data, launch->data, launch->data_size);
  return PH_OK;
}

/* A kernel object for each launch of the record and a copy of each call, appended to the plan's steps.  `fit` tells
 * whether kernel and device take them; where they do not, nothing is appended. */
static ph_status add_steps(ph_plan *plan, uint32_t node, const cl_choice *choice, const cl_limits *limits,
                           cl_kernel_fit *fit, ph_error *error) {
  size_t before = plan->step_count;
  ph_status status = PH_OK;
  *fit = (cl_kernel_fit){.fits = true};
  for (const cl_launch *launch = choice->record.first; launch != NULL && status == PH_OK && fit->fits;
       launch = launch->next) {
    if (!ph_grow(&plan->steps, &plan->step_capacity, plan->step_count + 1, sizeof(*plan->steps))) {
      status = ph_fail_memory(error);
      break;
    }
    cl_step *step = &plan->steps[plan->step_count];
    *step = (cl_step){.node = node, .axes = launch->axes};
    if (launch->call != NULL) {
      plan->step_count++;
      status = copy_call(step, launch, error);
      continue;
    }
    status = cl_kernel_make(plan->device, choice->build, launch, limits, &step->kernel, step->global, step->local, fit,
                            error);
    plan->step_count += step->kernel != NULL;
  }
  if (status != PH_OK || !fit->fits) drop_steps(plan, before);
  return status;
}

/* Argument number `index` of the step comes later. */
static ph_status add_slot(plan_draft *draft, const cl_step *step, uint32_t index, const cl_arg *arg, ph_error *error) {
  ph_plan *plan = draft->plan;
  if (!ph_grow(&plan->slots, &plan->slot_capacity, plan->slot_count + 1, sizeof(*plan->slots)))
    return ph_fail_memory(error);
  plan->slots[plan->slot_count++] = (cl_slot){.kernel = step->kernel,
                                              .parameter = arg->parameter,
                                              .place = step->call != NULL ? &step->args[index] : NULL,
                                              .tensor = arg->tensor,
                                              .offset = arg->value};
  return PH_OK;
}

static ph_status add_table_slot(plan_draft *draft, cl_kernel kernel, const cl_arg *arg, uint64_t first_integer,
                                uint64_t first_real, ph_error *error) {
  if (!ph_grow(&draft->slots, &draft->slot_capacity, draft->slot_count + 1, sizeof(*draft->slots)))
    return ph_fail_memory(error);
  bool real = arg->kind == CL_ARG_REAL_TABLE;
  draft->slots[draft->slot_count++] = (table_slot){.kernel = kernel,
                                                   .parameter = arg->parameter,
                                                   .real = real,
                                                   .first = arg->value + (real ? first_real : first_integer)};
  return PH_OK;
}

/* Puts what was collected into a buffer, integers first, and points the kernels at it. */
static ph_status flush_tables(plan_draft *draft, ph_error *error) {
  ph_plan *plan = draft->plan;
  size_t integers = draft->integer_count * sizeof(*draft->integers), reals = draft->real_count * sizeof(*draft->reals);
  if (integers + reals == 0) return PH_OK;
  if (!ph_grow(&plan->tables, &plan->table_capacity, plan->table_count + 1, sizeof(*plan->tables)))
    return ph_fail_memory(error);
  unsigned char *bytes = malloc(integers + reals);
  if (bytes == NULL) return ph_fail_memory(error);
  if (integers > 0) memcpy(bytes, draft->integers, integers);
  if (reals > 0) memcpy(bytes + integers, draft->reals, reals);
  cl_int code;
  cl_mem table =
      clCreateBuffer(plan->device->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, integers + reals, bytes, &code);
  free(bytes);
  if (code != CL_SUCCESS) return cl_fail(error, code, "clCreateBuffer");
  plan->tables[plan->table_count++] = table;
  for (size_t i = 0; i < draft->slot_count; i++) {
    const table_slot *slot = &draft->slots[i];
    uint64_t first = slot->first + (slot->real ? integers / sizeof(float) : 0);
    PH_TRY(cl_kernel_set_buffer(slot->kernel, slot->parameter, table, first, error));
  }
  draft->integer_count = draft->real_count = draft->slot_count = 0;
  return PH_OK;
}

/* Adds a node's tables to those collected; one buffer may not hold them all. */
static ph_status add_tables(plan_draft *draft, const cl_plan_node *record, ph_error *error) {
  size_t integers = draft->integer_count + record->integer_count, reals = draft->real_count + record->real_count;
  if (integers * sizeof(*draft->integers) + reals * sizeof(*draft->reals) > draft->plan->device->limits.max_buffer) {
    PH_TRY(flush_tables(draft, error));
    integers = record->integer_count;
    reals = record->real_count;
  }
  if (!ph_grow(&draft->integers, &draft->integer_capacity, integers, sizeof(*draft->integers)) ||
      !ph_grow(&draft->reals, &draft->real_capacity, reals, sizeof(*draft->reals)))
    return ph_fail_memory(error);
  if (record->integer_count > 0)
    memcpy(draft->integers + draft->integer_count, record->integers, record->integer_count * sizeof(*record->integers));
  if (record->real_count > 0)
    memcpy(draft->reals + draft->real_count, record->reals, record->real_count * sizeof(*record->reals));
  draft->integer_count = integers;
  draft->real_count = reals;
  return PH_OK;
}

/* Sets what is known now and notes what comes later. */
static ph_status set_args(plan_draft *draft, ph_program *program, const cl_choice *choice, size_t first_step,
                          ph_error *error) {
  ph_plan *plan = draft->plan;
  const cl_plan_node *record = &choice->record;
  PH_TRY(add_tables(draft, record, error));
  uint64_t first_integer = draft->integer_count - record->integer_count;
  uint64_t first_real = draft->real_count - record->real_count;
  const cl_step *step = plan->steps + first_step;
  for (const cl_launch *launch = record->first; launch != NULL; launch = launch->next, step++)
    for (uint32_t i = 0; i < launch->arg_count; i++) {
      const cl_arg *arg = &launch->args[i];
      switch (arg->kind) {
      case CL_ARG_SCALAR:
        PH_TRY(cl_kernel_set(step->kernel, arg->parameter, arg->scalar_size, arg->scalar, error));
        break;
      case CL_ARG_LOCAL:
        PH_TRY(cl_kernel_set(step->kernel, arg->parameter, (size_t)arg->value, NULL, error));
        break;
      case CL_ARG_TABLE:
      case CL_ARG_REAL_TABLE:
        PH_TRY(add_table_slot(draft, step->kernel, arg, first_integer, first_real, error));
        break;
      case CL_ARG_WORKSPACE:
        PH_TRY(add_slot(draft, step, i, arg, error));
        break;
      case CL_ARG_PACKED:
        PH_TRY(cl_kernel_set_buffer(step->kernel, arg->parameter, cl_packed_get(program, choice, arg), 0, error));
        break;
      case CL_ARG_TENSOR:
        if (step->call != NULL && arg->tensor != PH_NONE && plan->tensors[arg->tensor].is_constant)
          step->args[i] = (cl_place){.memory = program->constants[arg->tensor]};
        else if (step->call == NULL && arg->tensor == PH_NONE)
          PH_TRY(cl_kernel_set_buffer(step->kernel, arg->parameter, NULL, 0, error));
        else if (step->call == NULL && plan->tensors[arg->tensor].is_constant)
          PH_TRY(cl_kernel_set_buffer(step->kernel, arg->parameter, program->constants[arg->tensor], 0, error));
        else
          PH_TRY(add_slot(draft, step, i, arg, error));
        break;
      }
    }
  return PH_OK;
}

/* Tries what was chosen where that is due, and passes over what turns out wrong. */
static ph_status try_choice(plan_draft *draft, const ph_graph *graph, const ph_node *node, const cl_choice *choice,
                            bool *out_good, ph_error *error) {
  ph_device *device = draft->plan->device;
  char reason[CL_REASON];
  *out_good = true;
  if (draft->on_trial != NULL || !cl_trial_is_due(device, graph, node, choice)) return PH_OK;
  PH_TRY(cl_trial(device, graph, node, choice, out_good, reason, error));
  if (*out_good) return PH_OK;
  return cl_variant_retire(device, cl_find_op(node->op), choice->variant, choice->options.data, reason, error);
}

static uint32_t number_of(const ph_device *device, const ph_graph *graph, const ph_node *node,
                          const cl_variant *wanted) {
  uint32_t number = 0;
  const cl_op *op = cl_find_op(node->op);
  const cl_variant *variant;
  while ((variant = cl_variant_at(device, op, graph, node, number)) != NULL && variant != wanted) number++;
  return number;
}

/* Plans a node with the first variant that takes it, builds, whose kernels fit, and which passes its trial.  Where a
 * kernel itself takes less than the device (many registers, say), the variant is asked again within that limit. */
static ph_status plan_node(plan_draft *draft, ph_program *program, const ph_graph *graph, uint32_t index,
                           ph_error *error) {
  ph_plan *plan = draft->plan;
  ph_device *device = plan->device;
  const ph_node *node = graph->nodes[index];
  cl_limits limits = device->limits;
  uint32_t variant_index = draft->on_trial != NULL ? number_of(device, graph, node, draft->on_trial) : 0;
  for (;;) {
    cl_choice choice;
    cl_kernel_fit fit = {.fits = false};
    bool good = true;
    size_t first_step = plan->step_count;
    ph_status status = cl_choose(device, &limits, graph, node, variant_index, &choice, error);
    if (status == PH_OK) {
      if (choice.index != variant_index) limits = device->limits;
      variant_index = choice.index;
      status = add_steps(plan, index, &choice, &limits, &fit, error);
    }
    if (status == PH_OK && fit.fits) {
      status = cl_packed_make(program, &choice, &fit, error);
      if (!fit.fits) drop_steps(plan, first_step);
    }
    if (status == PH_OK && fit.fits) status = try_choice(draft, graph, node, &choice, &good, error);
    if (status == PH_OK && !good) {
      drop_steps(plan, first_step);
      fit.fits = false;
      variant_index++;
      limits = device->limits;
    } else if (status == PH_OK && fit.fits) {
      if (choice.build != NULL && !note_build(plan, choice.build)) status = ph_fail_memory(error);
      if (status == PH_OK) status = set_args(draft, program, &choice, first_step, error);
      if (choice.record.workspace > plan->workspace) plan->workspace = choice.record.workspace;
    } else if (status == PH_OK && fit.code != CL_SUCCESS) {
      status = cl_variant_retire(device, cl_find_op(node->op), choice.variant, choice.options.data, fit.reason, error);
      variant_index++;
      limits = device->limits;
      if (status == PH_OK && cl_variant_at(device, cl_find_op(node->op), graph, node, variant_index) == NULL)
        status = cl_fail(error, fit.code, fit.call);
    } else if (status == PH_OK) {
      limits.max_work_group = fit.max_work_group;
      limits.local_memory = fit.local_memory;
    }
    cl_choice_free(&choice);
    if (status != PH_OK || fit.fits) return status;
  }
}

/* A node whose outputs are all empty is left out by its record: cl_variant_try() does not plan it. */
ph_status cl_plan_make(ph_program *program, const ph_graph *graph, const cl_variant *on_trial, ph_plan **out,
                       ph_error *error) {
  if (graph->node_count != program->node_count || graph->tensor_count != program->tensor_count)
    return ph_fail(error, PH_INVALID, "the plan has other nodes or tensors than its program");
  ph_plan *plan = calloc(1, sizeof(*plan));
  if (plan == NULL) return ph_fail_memory(error);
  plan->device = program->device;
  plan->node_count = graph->node_count;
  plan->tensor_count = graph->tensor_count;
  plan->noted = on_trial != NULL;
  plan_draft draft = {.plan = plan, .on_trial = on_trial};
  ph_status status = describe_tensors(plan, graph, error);
  if (status == PH_OK && on_trial == NULL) cl_build_ahead(plan->device, graph);
  for (uint32_t i = 0; status == PH_OK && i < graph->node_count; i++) {
    status = plan_node(&draft, program, graph, i, error);
    if (status != PH_OK && error != NULL) error->node = i;
  }
  if (status == PH_OK) status = flush_tables(&draft, error);
  free(draft.integers);
  free(draft.reals);
  free(draft.slots);
  if (status != PH_OK) {
    cl_plan_destroy(plan);
    return status;
  }
  *out = plan;
  return PH_OK;
}

ph_status cl_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                         ph_error *error) {
  PH_TRY(cl_plan_make(program, graph, NULL, out, error));
  *out_workspace_bytes = (*out)->workspace;
  return PH_OK;
}

void cl_plan_destroy(ph_plan *plan) {
  if (plan == NULL) return;
  drop_steps(plan, 0);
  for (size_t i = 0; i < plan->table_count; i++)
    cl_note_release(plan->device->context, clReleaseMemObject(plan->tables[i]), "clReleaseMemObject");
  free(plan->tables);
  free(plan->tensors);
  free(plan->places);
  free(plan->steps);
  free(plan->slots);
  free(plan->builds);
  free(plan);
}
