/* The builder of op.h. */
#include "opencl/record.h"

#include <string.h>

/* Scratch areas start where any vector type may lie. */
enum { WORKSPACE_ALIGNMENT = 128 };

const cl_limits *cl_plan_limits(const cl_plan_node *plan) {
  return plan->limits;
}

/* Appends a step that does nothing yet; NULL where the record failed. */
static cl_launch *add_launch(cl_plan_node *plan) {
  cl_launch *launch = plan->failed ? NULL : ph_arena_alloc(&plan->arena, sizeof(*launch));
  if (launch == NULL) {
    plan->failed = true;
    return NULL;
  }
  launch->plan = plan;
  if (plan->last != NULL)
    plan->last->next = launch;
  else
    plan->first = launch;
  plan->last = launch;
  return launch;
}

cl_launch *cl_plan_call(cl_plan_node *plan, const cl_library_call *call, const void *data, size_t size) {
  cl_launch *launch = add_launch(plan);
  if (launch == NULL) return NULL;
  void *copy = ph_arena_alloc(&plan->arena, size);
  if (copy == NULL) {
    plan->failed = true;
    return NULL;
  }
  memcpy(copy, data, size);
  launch->call = call;
  launch->data = copy;
  launch->data_size = size;
  return launch;
}

cl_launch *cl_plan_launch(cl_plan_node *plan, const char *kernel, uint32_t axes, const size_t global[3],
                          const size_t local[3], bool exact_local) {
  cl_launch *launch = add_launch(plan);
  if (launch != NULL) launch->kernel = ph_arena_copy(&plan->arena, kernel, strlen(kernel));
  if (launch == NULL || launch->kernel == NULL) {
    plan->failed = true;
    return NULL;
  }
  launch->axes = axes;
  launch->exact_local = exact_local;
  for (uint32_t i = 0; i < 3; i++) {
    launch->global[i] = i < axes ? global[i] : 1;
    launch->local[i] = i < axes ? local[i] : 1;
  }
  return launch;
}

/* Appends an argument that takes `parameters` of the kernel's; NULL where the record failed. */
static cl_arg *add(cl_launch *launch, cl_arg_kind kind, uint32_t parameters) {
  if (launch == NULL || launch->plan->failed) return NULL;
  cl_arg *arg =
      ph_arena_push(&launch->plan->arena, &launch->args, &launch->arg_count, &launch->arg_capacity, sizeof(cl_arg));
  if (arg == NULL) {
    launch->plan->failed = true;
    return NULL;
  }
  *arg = (cl_arg){.kind = kind, .parameter = launch->parameter_count, .tensor = PH_NONE};
  launch->parameter_count += parameters;
  return arg;
}

static void add_value(cl_launch *launch, cl_arg_kind kind, uint32_t parameters, uint64_t value) {
  cl_arg *arg = add(launch, kind, parameters);
  if (arg != NULL) arg->value = value;
}

static void add_scalar(cl_launch *launch, const void *value, size_t size) {
  cl_arg *arg = add(launch, CL_ARG_SCALAR, 1);
  if (arg == NULL) return;
  memcpy(arg->scalar, value, size);
  arg->scalar_size = size;
}

void cl_arg_tensor(cl_launch *launch, uint32_t tensor) {
  cl_arg *arg = add(launch, CL_ARG_TENSOR, 2);
  if (arg != NULL) arg->tensor = tensor;
}

void cl_arg_packed(cl_launch *launch, uint32_t tensor, const cl_packing *packing) {
  cl_arg *arg = add(launch, CL_ARG_PACKED, 2);
  if (arg == NULL) return;
  arg->tensor = tensor;
  cl_packing *copy = ph_arena_alloc(&launch->plan->arena, sizeof(*copy));
  if (copy != NULL)
    *copy = *packing;
  else
    launch->plan->failed = true;
  arg->packing = copy;
}

void cl_arg_workspace(cl_launch *launch, uint64_t offset) {
  add_value(launch, CL_ARG_WORKSPACE, 2, offset);
}
void cl_arg_table(cl_launch *launch, uint64_t first) {
  add_value(launch, CL_ARG_TABLE, 2, first);
}
void cl_arg_real_table(cl_launch *launch, uint64_t first) {
  add_value(launch, CL_ARG_REAL_TABLE, 2, first);
}
void cl_arg_long(cl_launch *launch, int64_t value) {
  add_scalar(launch, &value, sizeof(value));
}
void cl_arg_int(cl_launch *launch, int32_t value) {
  add_scalar(launch, &value, sizeof(value));
}
void cl_arg_float(cl_launch *launch, float value) {
  add_scalar(launch, &value, sizeof(value));
}

void cl_arg_local(cl_launch *launch, size_t bytes) {
  add_value(launch, CL_ARG_LOCAL, 1, bytes);
  if (launch != NULL) launch->local_bytes += bytes;
}

uint64_t cl_plan_workspace(cl_plan_node *plan, uint64_t bytes) {
  uint64_t offset = plan->workspace, end;
  if (__builtin_add_overflow(offset, bytes, &end) || end > UINT64_MAX - WORKSPACE_ALIGNMENT) {
    plan->failed = true;
    return 0;
  }
  plan->workspace = (end + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
  return offset;
}

/* Appends `count` elements to an array in the arena; gives the first index. */
static uint64_t append(cl_plan_node *plan, void *items_pointer, uint32_t *used, uint32_t *capacity, const void *values,
                       size_t count, size_t size) {
  uint64_t first = *used;
  if (plan->failed || count > UINT32_MAX / 2 || first + count > UINT32_MAX / 2) {
    plan->failed = true;
    return 0;
  }
  void *items;
  memcpy(&items, items_pointer, sizeof(items));
  if (first + count > *capacity) {
    uint32_t wanted = (uint32_t)(first + count) * 2;
    void *grown = ph_arena_array(&plan->arena, wanted, size);
    if (grown == NULL) {
      plan->failed = true;
      return 0;
    }
    if (first > 0) memcpy(grown, items, first * size);
    memcpy(items_pointer, &grown, sizeof(grown));
    items = grown;
    *capacity = wanted;
  }
  if (count > 0) memcpy((unsigned char *)items + first * size, values, count * size);
  *used += (uint32_t)count;
  return first;
}

uint64_t cl_plan_table(cl_plan_node *plan, const int64_t *values, size_t count) {
  return append(plan, &plan->integers, &plan->integer_count, &plan->integer_capacity, values, count, sizeof(*values));
}

uint64_t cl_plan_real_table(cl_plan_node *plan, const float *values, size_t count) {
  return append(plan, &plan->reals, &plan->real_count, &plan->real_capacity, values, count, sizeof(*values));
}

ph_status cl_plan_done(cl_plan_node *plan, ph_error *error) {
  return plan->failed ? ph_fail_memory(error) : PH_OK;
}

bool cl_record_has_kernel(const cl_plan_node *record) {
  for (const cl_launch *launch = record->first; launch != NULL; launch = launch->next)
    if (launch->kernel != NULL) return true;
  return false;
}

ph_status cl_record(const cl_variant *variant, const cl_limits *limits, const ph_graph *graph, const ph_node *node,
                    cl_plan_node *out, ph_error *error) {
  *out = (cl_plan_node){.limits = limits};
  return variant->plan(out, graph, node, error);
}

void cl_record_free(cl_plan_node *record) {
  ph_arena_free(&record->arena);
}
