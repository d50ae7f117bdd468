/* The mutant: the reference, wrong on purpose.  Whoever claims to find faults must find this one.
 *
 * Device options: node=PATH spoils the outputs of the node with this id, and later nodes see what became of it;
 * refuse=OP makes supports() say no to every node of this op.  A graph is cut behind the spoiled node into two programs
 * of the reference, so that the fault is put in between them from outside and the reference needs no hook. */
#include <polyhead/node.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "reference/reference.h"

enum { PART_COUNT = 2 }; /* up to and with the spoiled node; what follows */

struct ph_device {
  ph_device *inner;
  char *node, *refuse; /* NULL where not asked for */
};

struct ph_program {
  const ph_device *device;
  ph_program *parts[PART_COUNT]; /* NULL where there are no nodes */
};

/* What is to be spoiled: an output, and where it lies. */
typedef struct fault_site {
  uint32_t tensor;
  ph_tensor_desc desc;
} fault_site;

struct ph_plan {
  ph_plan *parts[PART_COUNT];
  uint32_t part_nodes; /* in the first part */
  fault_site *sites;
  uint32_t site_count;
};

static const ph_backend *inner(void) {
  return ph_reference_backend();
}

/* ---- devices ---- */

static void device_close(ph_device *device) {
  if (device == NULL) return;
  if (device->inner != NULL) inner()->device_close(device->inner);
  free(device->node);
  free(device->refuse);
  free(device);
}

static ph_status device_open(ph_backend_context *context, uint32_t index, const ph_option *options,
                             uint32_t option_count, ph_device **out, ph_error *error) {
  ph_device *device = calloc(1, sizeof(*device));
  if (device == NULL) return ph_fail_memory(error);
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < option_count && status == PH_OK; i++) {
    char **field = strcmp(options[i].key, "node") == 0     ? &device->node
                   : strcmp(options[i].key, "refuse") == 0 ? &device->refuse
                                                           : NULL;
    if (field == NULL) {
      status = ph_fail(error, PH_INVALID, "mutant has no option '%s'; it knows node and refuse", options[i].key);
      break;
    }
    free(*field);
    *field = strdup(options[i].value);
    if (*field == NULL) status = ph_fail_memory(error);
  }
  if (status == PH_OK) status = inner()->device_open(context, index, NULL, 0, &device->inner, error);
  if (status != PH_OK) {
    device->inner = NULL;
    device_close(device);
    return status;
  }
  *out = device;
  return PH_OK;
}

static ph_status device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  return inner()->device_limits(device->inner, out, error);
}

static ph_status supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error) {
  const char *op = graph->nodes[node]->op;
  if (device->refuse == NULL || strcmp(op, device->refuse) != 0)
    return inner()->supports(device->inner, graph, node, out, error);
  *out = (ph_support){.struct_size = out->struct_size};
  snprintf(out->reason, sizeof(out->reason), "the option refuse=%s asks for it; leave it out", op);
  return PH_OK;
}

static ph_status buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  return inner()->buffer_create(device->inner, bytes, out, error);
}

static ph_status queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  return inner()->queue_create(device->inner, flags, out, error);
}

/* ---- programs and plans ---- */

/* Index of the node to spoil; node_count where it is not in this graph. */
static uint32_t find_spoiled(const ph_device *device, const ph_graph *graph) {
  uint32_t index = 0;
  while (index < graph->node_count && (device->node == NULL || strcmp(graph->nodes[index]->id, device->node) != 0))
    index++;
  return index;
}

/* Part `index` of a graph cut behind the node to spoil; all tensors stay. */
static ph_graph cut(const ph_device *device, const ph_graph *graph, int index) {
  uint32_t end = find_spoiled(device, graph);
  end = end < graph->node_count ? end + 1 : graph->node_count;
  ph_graph part = *graph;
  part.struct_size = sizeof(part);
  part.node_count = index == 0 ? end : graph->node_count - end;
  if (index > 0) part.nodes = graph->nodes + end;
  return part;
}

static void program_destroy(ph_program *program) {
  if (program == NULL) return;
  for (int i = 0; i < PART_COUNT; i++) inner()->program_destroy(program->parts[i]);
  free(program);
}

static ph_status program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error) {
  ph_program *program = calloc(1, sizeof(*program));
  if (program == NULL) return ph_fail_memory(error);
  program->device = device;
  for (int i = 0; i < PART_COUNT; i++) {
    ph_graph part = cut(device, graph, i);
    if (part.node_count == 0) continue;
    ph_status status = inner()->program_create(device->inner, &part, &program->parts[i], error);
    if (status != PH_OK) {
      program->parts[i] = NULL;
      program_destroy(program);
      return status;
    }
  }
  *out = program;
  return PH_OK;
}

static void plan_destroy(ph_plan *plan) {
  if (plan == NULL) return;
  for (int i = 0; i < PART_COUNT; i++) inner()->plan_destroy(plan->parts[i]);
  free(plan->sites);
  free(plan);
}

static ph_status note_sites(ph_plan *plan, const ph_graph *graph, uint32_t index, ph_error *error) {
  if (index >= graph->node_count) return PH_OK;
  const ph_node *node = graph->nodes[index];
  plan->sites = calloc(node->output_count > 0 ? node->output_count : 1, sizeof(*plan->sites));
  if (plan->sites == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < node->output_count; i++) {
    if (node->outputs[i] == PH_NONE || ph_desc_count(graph->tensors[node->outputs[i]]) == 0) continue;
    plan->sites[plan->site_count++] = (fault_site){node->outputs[i], *graph->tensors[node->outputs[i]]};
  }
  return PH_OK;
}

static ph_status plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                             ph_error *error) {
  ph_plan *plan = calloc(1, sizeof(*plan));
  if (plan == NULL) return ph_fail_memory(error);
  *out_workspace_bytes = 0;
  plan->part_nodes = cut(program->device, graph, 0).node_count;
  ph_status status = note_sites(plan, graph, find_spoiled(program->device, graph), error);
  for (int i = 0; i < PART_COUNT && status == PH_OK; i++) {
    ph_graph part = cut(program->device, graph, i);
    if (part.node_count == 0) continue;
    uint64_t bytes = 0;
    status = inner()->plan_create(program->parts[i], &part, &plan->parts[i], &bytes, error);
    if (status != PH_OK) plan->parts[i] = NULL;
    if (bytes > *out_workspace_bytes) *out_workspace_bytes = bytes;
  }
  if (status != PH_OK) {
    plan_destroy(plan);
    return status;
  }
  *out = plan;
  return PH_OK;
}

/* ---- the fault ---- */

/* Where element number `index`, in row-major order, lies: in elements from the first. */
static size_t place_of(const ph_tensor_desc *desc, int64_t index) {
  int64_t place = 0;
  for (uint32_t axis = desc->rank; axis-- > 0;) {
    place += index % desc->dims[axis] * desc->strides[axis];
    index /= desc->dims[axis];
  }
  return (size_t)place;
}

/* The finite element of largest magnitude; -1 where all are zero or none is finite. */
static int64_t largest(const ph_tensor_desc *desc, const void *data) {
  int64_t found = -1;
  double best = 0;
  for (int64_t i = 0; i < ph_desc_count(desc); i++) {
    double magnitude = fabs(ph_read_real(desc->dtype, data, place_of(desc, i)));
    if (!isfinite(magnitude) || magnitude <= best) continue;
    best = magnitude;
    found = i;
  }
  return found;
}

/* Changes one element so that no honest bound hides it, and says which: its place, in elements. */
static size_t spoil(const ph_tensor_desc *desc, void *data) {
  int64_t index = largest(desc, data);
  size_t place = index >= 0 ? place_of(desc, index) : 0;
  if (desc->dtype == PH_BOOL) {
    ph_write_integer(PH_BOOL, data, place, !ph_read_integer(PH_BOOL, data, place));
  } else if (ph_dtype_roundoff(desc->dtype) == 0) {
    int64_t value = ph_read_integer(desc->dtype, data, place);
    ph_write_integer(desc->dtype, data, place, value < INT32_MAX ? value + 1 : value - 1);
  } else {
    double value = ph_read_real(desc->dtype, data, place);
    /* A change within the floor of NUMERICS 3, the smallest normal number, could not be seen. */
    bool tiny = index < 0 || fabs(value) * 0.01 < 8 * ph_dtype_min_normal(desc->dtype);
    ph_write_real(desc->dtype, data, place, tiny ? 1.0 : value * 1.01);
  }
  return place;
}

static ph_status spoil_on_device(ph_queue *queue, const fault_site *site, const ph_binding *bindings,
                                 uint32_t binding_count, ph_error *error) {
  const ph_tensor_desc *desc = &site->desc;
  const ph_binding *binding = NULL;
  for (uint32_t i = 0; i < binding_count; i++)
    if (bindings[i].tensor == site->tensor) binding = &bindings[i];
  if (binding == NULL) return ph_fail(error, PH_INVALID, "output '%s' has no binding", desc->name);

  size_t size = ph_dtype_size(desc->dtype), bytes = (place_of(desc, ph_desc_count(desc) - 1) + 1) * size;
  unsigned char *data = malloc(bytes);
  if (data == NULL) return ph_fail_memory(error);
  ph_status status = inner()->read(queue, data, binding->buffer, binding->offset, bytes, error);
  if (status == PH_OK) status = inner()->finish(queue, error);
  if (status == PH_OK) {
    size_t place = spoil(desc, data) * size;
    status = inner()->write(queue, binding->buffer, binding->offset + place, data + place, size, error);
  }
  if (status == PH_OK) status = inner()->finish(queue, error);
  free(data);
  return status;
}

static ph_status execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                         const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  for (int i = 0; i < PART_COUNT; i++) {
    ph_node_time *part_times = times != NULL && i > 0 ? times + plan->part_nodes : times;
    if (plan->parts[i] != NULL)
      PH_TRY(inner()->execute(queue, plan->parts[i], bindings, binding_count, workspace, part_times, error));
    for (uint32_t j = 0; j < plan->site_count && i == 0; j++)
      PH_TRY(spoil_on_device(queue, &plan->sites[j], bindings, binding_count, error));
  }
  return PH_OK;
}

/* ---- the backend ---- */

static ph_backend table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What knows no device, program or plan is the reference's own. */
static void fill_table(void) {
  table = *inner();
  table.struct_size = sizeof(table);
  table.name = "mutant";
  table.summary = "The reference with a fault in the node that its option `node` names";
  table.device_open = device_open;
  table.device_limits = device_limits;
  table.device_close = device_close;
  table.supports = supports;
  table.buffer_create = buffer_create;
  table.program_create = program_create;
  table.program_destroy = program_destroy;
  table.plan_create = plan_create;
  table.plan_destroy = plan_destroy;
  table.queue_create = queue_create;
  table.execute = execute;
}

PH_BACKEND_EXPORT const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  if (host_abi_version >> 16 != PH_ABI_MAJOR) return NULL;
  return pthread_once(&once, fill_table) == 0 ? &table : NULL;
}
