/* Programs and plans of the reference backend.  A program holds nothing: all the oracle needs is in the plan's graph.
 */
#include "reference/plan.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "oracle/oracle.h"

struct ph_program {
  ph_device *device;
};

struct ph_plan {
  ph_arena arena; /* holds the graph */
  ph_graph graph;
};

static ph_status in_node(ph_error *error, uint32_t node, ph_status status) {
  if (status != PH_OK && error != NULL) error->node = node;
  return status;
}

ph_status ph_reference_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error) {
  for (uint32_t i = 0; i < graph->node_count; i++) {
    const ph_node *node = graph->nodes[i];
    if (!ph_oracle_knows(node->op, node->op_version))
      return in_node(error, i,
                     ph_fail(error, PH_UNSUPPORTED, "node '%s': op %s version %u is not known to the reference",
                             node->id, node->op, node->op_version));
  }
  ph_program *program = ph_new_array(1, sizeof(*program));
  if (program == NULL) return ph_fail_memory(error);
  program->device = device;
  *out = program;
  return PH_OK;
}

void ph_reference_program_destroy(ph_program *program) {
  free(program);
}

/* ---- a copy of the graph: what is passed in dies with the call ---- */

static void *copy_bytes(ph_arena *arena, const void *bytes, size_t count, size_t size) {
  void *copy = ph_arena_array(arena, count, size);
  if (copy != NULL && count > 0) memcpy(copy, bytes, count * size);
  return copy;
}

static const char *copy_text(ph_arena *arena, const char *text) {
  return ph_arena_copy(arena, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

/* Structs of a newer or older host differ in length: the members known to both are copied. */
static void copy_struct(void *to, size_t size, const void *from, uint32_t struct_size) {
  memcpy(to, from, struct_size < size ? struct_size : size);
}

static bool copy_tensor(ph_arena *arena, const ph_tensor_desc *from, ph_tensor_desc *to) {
  copy_struct(to, sizeof(*to), from, from->struct_size);
  to->name = copy_text(arena, from->name);
  return to->name != NULL;
}

static bool copy_attr(ph_arena *arena, ph_attr *attr) {
  attr->name = copy_text(arena, attr->name);
  if (attr->name == NULL) return false;
  if (attr->kind == PH_ATTR_STRING) {
    attr->as.string = copy_text(arena, attr->as.string);
    return attr->as.string != NULL;
  }
  if (attr->kind == PH_ATTR_I64_LIST) {
    attr->as.list.items = copy_bytes(arena, attr->as.list.items, attr->as.list.count, sizeof(int64_t));
    return attr->as.list.items != NULL;
  }
  return true;
}

static bool copy_node(ph_arena *arena, const ph_node *from, ph_node *to) {
  copy_struct(to, sizeof(*to), from, from->struct_size);
  to->op = copy_text(arena, from->op);
  to->id = copy_text(arena, from->id);
  to->inputs = copy_bytes(arena, from->inputs, from->input_count, sizeof(uint32_t));
  to->outputs = copy_bytes(arena, from->outputs, from->output_count, sizeof(uint32_t));
  ph_attr *attrs = copy_bytes(arena, from->attrs, from->attr_count, sizeof(ph_attr));
  bool copied = to->op != NULL && to->id != NULL && to->inputs != NULL && to->outputs != NULL && attrs != NULL;
  for (uint32_t i = 0; copied && i < from->attr_count; i++) copied = copy_attr(arena, &attrs[i]);
  to->attrs = attrs;
  return copied;
}

static bool copy_graph(ph_arena *arena, const ph_graph *from, ph_graph *to) {
  const ph_tensor_desc **tensors = ph_arena_array(arena, from->tensor_count, sizeof(*tensors));
  ph_tensor_desc *descs = ph_arena_array(arena, from->tensor_count, sizeof(*descs));
  const ph_node **nodes = ph_arena_array(arena, from->node_count, sizeof(*nodes));
  ph_node *bodies = ph_arena_array(arena, from->node_count, sizeof(*bodies));
  if (tensors == NULL || descs == NULL || nodes == NULL || bodies == NULL) return false;
  for (uint32_t i = 0; i < from->tensor_count; i++) {
    if (!copy_tensor(arena, from->tensors[i], &descs[i])) return false;
    tensors[i] = &descs[i];
  }
  for (uint32_t i = 0; i < from->node_count; i++) {
    if (!copy_node(arena, from->nodes[i], &bodies[i])) return false;
    nodes[i] = &bodies[i];
  }
  *to = (ph_graph){sizeof(ph_graph), tensors, from->tensor_count, nodes, from->node_count};
  return true;
}

ph_status ph_reference_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out,
                                   uint64_t *out_workspace_bytes, ph_error *error) {
  (void)program;
  ph_plan *plan = ph_new_array(1, sizeof(*plan));
  if (plan == NULL) return ph_fail_memory(error);
  if (!copy_graph(&plan->arena, graph, &plan->graph)) {
    ph_reference_plan_destroy(plan);
    return ph_fail_memory(error);
  }
  *out = plan;
  *out_workspace_bytes = 0;
  return PH_OK;
}

void ph_reference_plan_destroy(ph_plan *plan) {
  if (plan == NULL) return;
  ph_arena_free(&plan->arena);
  free(plan);
}

/* ---- running ---- */

bool ph_reference_tensor_bytes(const ph_tensor_desc *desc, uint64_t *out) {
  int64_t last = 0; /* the farthest element */
  bool empty = false, fits = true;
  for (uint32_t i = 0; i < desc->rank; i++) {
    int64_t reach;
    empty = empty || desc->dims[i] == 0;
    fits = fits && ph_mul_i64(desc->dims[i] - 1, desc->strides[i], &reach) && ph_add_i64(last, reach, &last);
  }
  *out = 0;
  if (empty) return true;
  int64_t bytes;
  fits = fits && ph_add_i64(last, 1, &last) && ph_mul_i64(last, (int64_t)ph_dtype_size(desc->dtype), &bytes);
  if (fits) *out = (uint64_t)bytes;
  return fits;
}

/* Element 0 of every tensor; each must lie inside what it is bound to. */
static ph_status bind(const ph_graph *graph, const ph_binding *bindings, uint32_t count, void **data, ph_error *error) {
  for (uint32_t i = 0; i < graph->tensor_count; i++) data[i] = (void *)graph->tensors[i]->data;
  for (uint32_t i = 0; i < count; i++) {
    const ph_binding *binding = &bindings[i];
    if (binding->tensor >= graph->tensor_count)
      return ph_fail(error, PH_INVALID, "binding %u names tensor %u of %u", i, binding->tensor, graph->tensor_count);
    const ph_tensor_desc *desc = graph->tensors[binding->tensor];
    uint64_t bytes;
    if (!ph_reference_tensor_bytes(desc, &bytes))
      return ph_fail(error, PH_INVALID, "tensor '%s' does not fit 64 bits", desc->name);
    if (bytes == 0 || binding->buffer == NULL) continue;
    if (binding->offset > binding->buffer->bytes || bytes > binding->buffer->bytes - binding->offset)
      return ph_fail(error, PH_INVALID, "tensor '%s' needs %llu bytes, which its buffer does not have at offset %llu",
                     desc->name, (unsigned long long)bytes, (unsigned long long)binding->offset);
    data[binding->tensor] = (char *)binding->buffer->memory + binding->offset;
  }
  for (uint32_t i = 0; i < graph->tensor_count; i++) {
    uint64_t bytes;
    if (data[i] == NULL && ph_reference_tensor_bytes(graph->tensors[i], &bytes) && bytes > 0)
      return ph_fail(error, PH_INVALID, "tensor '%s' is not bound to a buffer", graph->tensors[i]->name);
  }
  return PH_OK;
}

/* The one rounding of a node. */
static void store(const ph_oracle_output *from, const ph_tensor_desc *desc, void *to) {
  int64_t index[PH_MAX_RANK] = {0}, at = 0;
  for (int64_t i = 0; i < from->count; i++) {
    if (from->real != NULL)
      ph_write_real(from->dtype, to, (size_t)at, from->real[i]);
    else
      ph_write_integer(from->dtype, to, (size_t)at, from->integer[i]);
    for (uint32_t k = desc->rank; k-- > 0;) {
      at += desc->strides[k];
      if (++index[k] < desc->dims[k]) break;
      at -= desc->dims[k] * desc->strides[k];
      index[k] = 0;
    }
  }
}

static ph_status run_node(const ph_graph *graph, uint32_t index, void **data, ph_error *error) {
  const ph_node *node = graph->nodes[index];
  ph_oracle_output *outputs = ph_new_array(node->output_count, sizeof(*outputs));
  if (outputs == NULL) return ph_fail_memory(error);
  ph_status status = ph_oracle_node(graph, index, (const void *const *)data, false, outputs, error);
  for (uint32_t i = 0; status == PH_OK && i < node->output_count; i++)
    if (node->outputs[i] != PH_NONE) store(&outputs[i], graph->tensors[node->outputs[i]], data[node->outputs[i]]);
  ph_oracle_outputs_free(outputs, node->output_count);
  free(outputs);
  return status;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

ph_status ph_reference_plan_run(const ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                                ph_node_time *times, ph_error *error) {
  const ph_graph *graph = &plan->graph;
  void **data = ph_new_array(graph->tensor_count, sizeof(*data));
  if (data == NULL) return ph_fail_memory(error);
  ph_status status = bind(graph, bindings, binding_count, data, error);
  for (uint32_t i = 0; status == PH_OK && i < graph->node_count; i++) {
    uint64_t start = times != NULL ? now() : 0;
    status = in_node(error, i, run_node(graph, i, data, error));
    if (times != NULL) times[i] = (ph_node_time){.start_ns = start, .end_ns = now()};
  }
  free(data);
  return status;
}
