/* What a session tells about itself: nodes, memory, dims, outputs. */
#include <string.h>

#include "base/dtype.h"
#include "passes/merge.h"
#include "runtime/peak.h"
#include "runtime/session.h"

const ph_device_entry *ph_session_device(const ph_session *session) {
  return session->device->entry;
}
uint32_t ph_session_output_count(const ph_session *session) {
  return session->output_count;
}
const ph_output *ph_session_output(const ph_session *session, uint32_t index) {
  return &session->outputs[index];
}

static uint64_t bytes_of(const ph_type *type) {
  int64_t count;
  return ph_type_count(type, &count) ? (uint64_t)count * ph_dtype_size(type->dtype) : 0;
}

static uint64_t node_bytes(const ph_net *net, const ph_net_node *node) {
  uint64_t bytes = 0;
  if (node->way != PH_NODE_RUNS) return 0;
  for (uint32_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] != PH_NONE) bytes += bytes_of(&net->values[node->inputs[i]].type);
  return bytes + bytes_of(&net->values[node->outputs[0]].type);
}

static const char *const *member_paths(ph_net *net, const ph_net_node *node) {
  if (node->step_count == 0) return NULL;
  const char **paths = ph_arena_array(&net->arena, (size_t)node->step_count + 1, sizeof(*paths));
  for (uint32_t i = 0; paths != NULL && i < node->step_count; i++) paths[i] = node->steps[i]->path;
  return paths;
}

uint32_t ph_session_node_count(const ph_session *session) {
  return session->current == NULL ? 0 : session->current->net->node_count;
}

const ph_node_report *ph_session_node(const ph_session *session, uint32_t index) {
  ph_session_plan *plan = session->current;
  ph_net *net = plan->net;
  const ph_net_node *node = net->nodes[index];
  const ph_placement *placement = &plan->placements[index];
  const ph_type *type = &net->values[node->outputs[0]].type;
  ph_node_report *report = &plan->reports[index];
  /* By the device, and for a node that it runs: views and folded nodes have no variant. */
  bool chosen = node->way == PH_NODE_RUNS && placement->device != NULL && placement->support.order[0] != '\0';
  if (report->path == NULL)
    *report = (ph_node_report){
        .path = node->path,
        .op = node->op->name,
        .members = member_paths(net, node),
        .output_type = ph_arena_text(&net->arena, "%s %s", ph_dtype_name(type->dtype), ph_type_text(type)),
        .flops = node->op->flops == NULL || node->way != PH_NODE_RUNS ? 0 : node->op->flops(net, node),
        .bytes = node_bytes(net, node),
        .device = placement->device == NULL ? NULL : placement->device->entry->spec,
        .variant = placement->device == NULL     ? NULL
                   : node->way == PH_NODE_VIEW   ? "view"
                   : node->way == PH_NODE_FOLDED ? "folded"
                                                 : placement->support.variant,
        .reason = placement->reason[0] == '\0' ? NULL : placement->reason,
        .note = node->note,
        .fate = node->way == PH_NODE_VIEW     ? PH_NODE_IS_VIEW
                : node->way == PH_NODE_FOLDED ? PH_NODE_IS_FOLDED
                                              : PH_NODE_IS_RUN,
        .order = chosen ? placement->support.order : NULL,
        .shape_class = chosen ? placement->support.shape_class : NULL,
        .merged = ph_is_merged(node),
    };
  report->start_ns = plan->times[index].start_ns;
  report->end_ns = plan->times[index].end_ns;
  return report;
}

ph_memory_report ph_session_memory(const ph_session *session) {
  ph_memory_report memory = {0};
  const ph_session_plan *plan = session->current;
  for (uint32_t i = 0; plan != NULL && i < plan->segment_count; i++) {
    const ph_lowered *lowered = ph_segment_lowered(plan->segments[i]);
    for (uint32_t s = 0; s < lowered->storage_count; s++) {
      const ph_storage *storage = &lowered->storages[s];
      if (storage->kind == PH_TENSOR_INPUT) memory.inputs += storage->bytes;
      if (storage->kind == PH_TENSOR_OUTPUT) memory.outputs += storage->bytes;
      if (storage->kind == PH_TENSOR_CONSTANT) memory.constants += storage->bytes;
    }
    memory.arena += ph_segment_arena_bytes(plan->segments[i]);
    memory.workspace += ph_segment_workspace_bytes(plan->segments[i]);
  }
  return memory;
}

ph_peak ph_session_peak(ph_session *session, bool anew) {
  ph_peak peak;
  if (!anew && ph_peak_cached(session->context, session->device->entry, &peak)) return peak;
  return ph_peak_measure(session->context, session->device);
}

uint32_t ph_session_dim_count(const ph_session *session) {
  return session->current == NULL ? 0 : session->model->dim_count;
}

const char *ph_session_dim(const ph_session *session, uint32_t index, int64_t *out_value) {
  *out_value = session->current->dims[index].value;
  return session->model->dims[index].name;
}
