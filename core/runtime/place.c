#include "runtime/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "passes/fuse.h"
#include "runtime/lower.h"

/* A type that the op's row does not allow for a stage would loosen the bound: such a yes counts as a no. */
static void check_stages(const ph_op *op, ph_support *support) {
  for (uint32_t stage = 0; support->supported && stage < PH_STAGE_MAX; stage++) {
    ph_dtype type = support->stage_type[stage];
    if (type == PH_DTYPE_NONE || (op->stage_types[stage] >> type & 1u)) continue;
    support->supported = false;
    snprintf(support->reason, sizeof(support->reason), "the backend declares %s for stage %u, which %s does not allow",
             ph_dtype_name(type), stage, op->name);
  }
}

static ph_status ask(const ph_net *net, const ph_open_device *device, ph_net_node *node, ph_support *out,
                     ph_error *error) {
  ph_lowered *lowered;
  PH_TRY(ph_lower(net, &node, 1, PH_LOWER_RUN, &lowered, error));
  *out = (ph_support){.struct_size = sizeof(*out)};
  ph_status status = device->backend->supports(device->device, &lowered->graph, 0, out, error);
  ph_lowered_destroy(lowered);
  if (status == PH_OK) check_stages(node->op, out);
  out->reason[sizeof(out->reason) - 1] = out->variant[sizeof(out->variant) - 1] = '\0';
  return status;
}

/* Puts `op` between node `at` and its input number `role`; the node then reads the result. */
static ph_status insert_before(ph_net *net, uint32_t *at, uint32_t role, const char *op, const char *what,
                               const ph_net_attr_value *attr, ph_error *error) {
  ph_net_node *node = net->nodes[*at];
  const char *path = ph_arena_text(&net->arena, "%s.%s_%u", node->path, what, role);
  uint32_t tail = net->node_count, value;
  if (path == NULL) return ph_fail_memory(error);
  PH_TRY(ph_net_add_node(net, ph_op_find(op), path, node->place, &node->inputs[role], 1, attr, 1, NULL, &value, error));
  node->inputs[role] = value;
  ph_net_node **slot = ph_arena_push(&net->arena, &net->nodes, &net->node_count, &net->node_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(error);
  *slot = node;
  PH_TRY(ph_net_splice(net, *at, tail, error));
  *at += 1;
  return PH_OK;
}

/* Elementwise ops alone get views that are not dense: their repeated inputs are written out. */
static ph_status make_dense(ph_net *net, uint32_t *at, bool *out_changed, ph_error *error) {
  ph_net_node *node = net->nodes[*at];
  *out_changed = false;
  if (node->op->layout != PH_LAYOUT_BROADCAST) return PH_OK;
  const ph_type *y = &net->values[node->outputs[0]].type;
  int64_t *dims = ph_arena_array(&net->arena, y->rank, sizeof(*dims));
  if (dims == NULL) return ph_fail_memory(error);
  ph_net_attr_value shape = {.name = "shape", .value = {.kind = PH_ATTR_I64_LIST}};
  for (uint32_t i = 0; i < y->rank; i++) {
    dims[i] = y->dims[i].value;
    shape.varies = shape.varies || y->dims[i].varies;
  }
  shape.value.as.list.items = dims;
  shape.value.as.list.count = y->rank;
  for (uint32_t role = 0; role < node->input_count; role++) {
    const ph_type *type = &net->values[node->inputs[role]].type;
    bool same = type->rank == net->values[node->outputs[0]].type.rank;
    for (uint32_t i = 0; same && i < type->rank; i++) same = type->dims[i].value == dims[i];
    if (same) continue;
    PH_TRY(insert_before(net, at, role, "expand", "dense", &shape, error));
    *out_changed = true;
  }
  return PH_OK;
}

/* Where real inputs have other types than the output, they are cast to it. */
static ph_status make_uniform(ph_net *net, uint32_t *at, bool *out_changed, ph_error *error) {
  ph_net_node *node = net->nodes[*at];
  *out_changed = false;
  ph_dtype wanted = net->values[node->outputs[0]].type.dtype;
  if (!ph_dtype_is_real(wanted) || strcmp(node->op->name, "cast") == 0) return PH_OK;
  ph_net_attr_value to = {.name = "to", .value = {.kind = PH_ATTR_STRING, .as.string = ph_dtype_name(wanted)}};
  for (uint32_t role = 0; role < node->input_count; role++) {
    if (node->inputs[role] == PH_NONE) continue;
    ph_dtype dtype = net->values[node->inputs[role]].type.dtype;
    if (!ph_dtype_is_real(dtype) || dtype == wanted) continue;
    /* Narrowing an operand would change the answer. */
    if (ph_dtype_roundoff(dtype) < ph_dtype_roundoff(wanted)) return PH_OK;
    PH_TRY(insert_before(net, at, role, "cast", "cast", &to, error));
    *out_changed = true;
  }
  return PH_OK;
}

typedef struct placer {
  ph_net *net;
  const ph_open_device *device, *reference;
  ph_placement *placements;
  size_t capacity;
  ph_error *error;
} placer;

/* Places node number *at, or rewrites it (*out_again: look at *at once more). */
static ph_status place_node(placer *p, uint32_t *at, bool *out_again) {
  ph_net_node *node = p->net->nodes[*at];
  ph_placement placement = {.device = p->device};
  *out_again = true;
  PH_TRY(ask(p->net, p->device, node, &placement.support, p->error));
  if (!placement.support.supported) {
    uint32_t start = *at;
    bool changed = false;
    if (ph_has_steps(node)) return ph_write_out(p->net, *at, p->error);
    if (placement.support.needs_dense) PH_TRY(make_dense(p->net, at, &changed, p->error));
    if (!changed) PH_TRY(make_uniform(p->net, at, &changed, p->error));
    if (changed) {
      *at = start; /* the nodes put before it are asked about first */
      return PH_OK;
    }
    memcpy(placement.reason, placement.support.reason, sizeof(placement.reason));
    placement.device = NULL;
    if (p->reference != NULL) {
      PH_TRY(ask(p->net, p->reference, node, &placement.support, p->error));
      if (placement.support.supported) placement.device = p->reference;
      placement.moved = placement.support.supported;
    }
  }
  *out_again = false;
  if (!ph_grow(&p->placements, &p->capacity, (size_t)*at + 1, sizeof(*p->placements))) return ph_fail_memory(p->error);
  p->placements[*at] = placement;
  return PH_OK;
}

ph_status ph_place_nodes(ph_net *net, const ph_open_device *device, const ph_open_device *reference, ph_placement **out,
                         ph_error *error) {
  placer p = {.net = net, .device = device, .reference = reference, .error = error};
  ph_status status = PH_OK;
  for (uint32_t n = 0; n < net->node_count && status == PH_OK;) {
    bool again;
    status = place_node(&p, &n, &again);
    if (!again) n++;
  }
  if (status == PH_OK)
    *out = p.placements;
  else
    free(p.placements);
  return status;
}
