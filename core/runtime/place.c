#include "runtime/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "passes/fuse.h"
#include "passes/merge.h"
#include "passes/views.h"
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

/* PH_LOWER_RUN: as it lies in this net; PH_LOWER_APART: were everything dense. */
static ph_status ask(const ph_net *net, const ph_open_device *device, ph_net_node *node, ph_lower_mode mode,
                     ph_support *out, ph_error *error) {
  ph_lowered *lowered;
  PH_TRY(ph_lower(net, &node, 1, mode, &lowered, error));
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

/* ---- views: taken where the device takes them ---- */

static uint32_t number_of(const ph_net *net, const ph_net_node *node) {
  for (uint32_t n = 0; n < net->node_count; n++)
    if (net->nodes[n] == node) return n;
  return PH_NONE;
}

/* The node that makes a value; PH_NONE for one from outside. */
static uint32_t maker_of(const ph_net *net, uint32_t value) {
  for (uint32_t n = 0; n < net->node_count; n++)
    for (uint32_t i = 0; i < net->nodes[n]->output_count; i++)
      if (net->nodes[n]->outputs[i] == value) return n;
  return PH_NONE;
}

/* Makes a move a copy; a slice of a merged linear makes that one its steps.  Gives the first node that must be looked
 * at again. */
static ph_status take_back(placer *p, ph_net_node *move, const char *reason, uint32_t *out_first) {
  ph_net *net = p->net;
  uint32_t x = move->inputs[0], maker = maker_of(net, x), number = number_of(net, move);
  bool written = net->values[x].move == move; /* its input was written where its result lies */
  if (maker != PH_NONE && ph_is_merged(net->nodes[maker])) {
    ph_net_node *merged = net->nodes[maker];
    PH_TRY(ph_write_out(net, maker, p->error));
    for (uint32_t i = 0; i < merged->step_count; i++) merged->steps[i]->note = reason;
    *out_first = maker;
    return PH_OK;
  }
  ph_unview(net, move, reason);
  *out_first = written && maker < number ? maker : number;
  return PH_OK;
}

/* An operand of a node that is a view; PH_NONE if there is none, or none that lies at an odd place. */
static uint32_t find_view(const placer *p, const ph_net_node *node, bool odd) {
  for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
    uint32_t value = i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
    if (value == PH_NONE || p->net->values[value].move == NULL) continue;
    uint64_t offset =
        (uint64_t)ph_value_layout_of(p->net, value).offset * ph_dtype_size(p->net->values[value].type.dtype);
    if (!odd || offset % p->device->limits.alignment != 0) return value;
  }
  return PH_NONE;
}

/* Why the node should not get its views: NULL where it should. */
static ph_status weigh_views(const placer *p, ph_net_node *node, const ph_support *support, const char **out) {
  ph_support dense;
  *out = NULL;
  const char *spec = p->device->entry->spec;
  bool odd = find_view(p, node, true) != PH_NONE;
  if (!odd && support->supported && !node->op->heavy) return PH_OK;
  PH_TRY(ask(p->net, p->device, node, PH_LOWER_APART, &dense, p->error));
  if (!dense.supported || (!odd && support->supported && strcmp(dense.variant, support->variant) == 0)) return PH_OK;
  if (odd)
    *out = ph_arena_text(&p->net->arena, "'%s' would find it where %s cannot bind it", node->path, spec);
  else if (!support->supported)
    *out = ph_arena_text(&p->net->arena, "%s takes it dense alone for '%s' (%s)", spec, node->path, node->op->name);
  else
    *out = ph_arena_text(&p->net->arena, "%s runs '%s' (%s) as %s where it lies dense, and as %s where not", spec,
                         node->path, node->op->name, dense.variant, support->variant);
  return *out != NULL ? PH_OK : ph_fail_memory(p->error);
}

/* Keys or values on a CPU that are a view whose rows lie apart, where so many queries read them that it pays to bring
 * the rows of a head together first: docs/performance.md.  PH_NONE if there are none. */
static uint32_t find_loose_rows(const placer *p, const ph_net_node *node) {
  enum { K = 1, V = 2, LEAST_QUERIES = 768 };
  if (p->device->limits.kind != PH_DEVICE_CPU || !node->op->rereads) return PH_NONE;
  const ph_type *q = &p->net->values[node->inputs[0]].type;
  if (q->dims[q->rank - 2].value < LEAST_QUERIES) return PH_NONE;
  for (uint32_t role = K; role <= V; role++) {
    if (p->net->values[node->inputs[role]].move == NULL) continue;
    ph_value_layout at = ph_value_layout_of(p->net, node->inputs[role]);
    if (at.strides[at.rank - 2].value != at.dims[at.rank - 1].value) return node->inputs[role];
  }
  return PH_NONE;
}

/* Takes a view of the node back where it should not have one; *at is then the next node to look at. */
static ph_status settle_views(placer *p, uint32_t *at, const ph_support *support, bool *out_changed) {
  ph_net_node *node = p->net->nodes[*at];
  uint32_t view = find_view(p, node, false);
  const char *reason = NULL;
  if (view != PH_NONE) PH_TRY(weigh_views(p, node, support, &reason));
  uint32_t odd = find_view(p, node, true), loose = reason == NULL ? find_loose_rows(p, node) : PH_NONE;
  if (loose != PH_NONE) {
    view = loose;
    reason = ph_arena_text(&p->net->arena, "the many queries of '%s' find the rows of a head sooner side by side",
                           node->path);
    if (reason == NULL) return ph_fail_memory(p->error);
  }
  *out_changed = reason != NULL;
  if (reason == NULL) return PH_OK;
  ph_net_node *move = p->net->nodes[number_of(p->net, p->net->values[odd != PH_NONE ? odd : view].move)];
  return take_back(p, move, reason, at);
}

/* ---- placing ---- */

static ph_status keep_placement(placer *p, uint32_t at, const ph_placement *placement) {
  if (!ph_grow(&p->placements, &p->capacity, (size_t)at + 1, sizeof(*p->placements))) return ph_fail_memory(p->error);
  p->placements[at] = *placement;
  return PH_OK;
}

/* A node that does not run.  A move must be one that the device could make, too: so that compare can judge it there. */
static ph_status place_idle(placer *p, uint32_t *at, bool *out_again) {
  ph_net_node *node = p->net->nodes[*at];
  ph_placement placement = {.device = p->device};
  *out_again = false;
  if (node->way == PH_NODE_VIEW) {
    PH_TRY(ask(p->net, p->device, node, PH_LOWER_APART, &placement.support, p->error));
    if (!placement.support.supported) {
      *out_again = true;
      const char *reason = ph_arena_text(&p->net->arena, "%s does not run it", p->device->entry->spec);
      return reason != NULL ? take_back(p, node, reason, at) : ph_fail_memory(p->error);
    }
  }
  return keep_placement(p, *at, &placement);
}

/* The steps of a group that the device does not run as one; the last says so. */
static ph_status write_out(placer *p, uint32_t at, const char *refusal) {
  ph_net_node *node = p->net->nodes[at];
  if (node->step_count > 0) {
    const char *note = ph_arena_text(&p->net->arena, "%s does not run it as one %s: %s", p->device->entry->spec,
                                     node->op->name, refusal);
    if (note == NULL) return ph_fail_memory(p->error);
    node->steps[node->step_count - 1]->note = note;
  }
  return ph_write_out(p->net, at, p->error);
}

/* Places node number *at, or rewrites the net (*out_again: look at number *at next). */
static ph_status place_node(placer *p, uint32_t *at, bool *out_again) {
  ph_net_node *node = p->net->nodes[*at];
  ph_placement placement = {.device = p->device};
  if (node->way != PH_NODE_RUNS) return place_idle(p, at, out_again);
  *out_again = true;
  PH_TRY(ask(p->net, p->device, node, PH_LOWER_RUN, &placement.support, p->error));
  bool changed = false;
  PH_TRY(settle_views(p, at, &placement.support, &changed));
  if (changed) return PH_OK;
  if (!placement.support.supported) {
    uint32_t start = *at;
    if (ph_has_steps(node)) return write_out(p, *at, placement.support.reason);
    if (placement.support.needs_dense) PH_TRY(make_dense(p->net, at, &changed, p->error));
    if (!changed) PH_TRY(make_uniform(p->net, at, &changed, p->error));
    if (changed) {
      *at = start; /* the nodes put before it are asked about first */
      return PH_OK;
    }
    memcpy(placement.reason, placement.support.reason, sizeof(placement.reason));
    placement.device = NULL;
    if (p->reference != NULL) {
      PH_TRY(ask(p->net, p->reference, node, PH_LOWER_RUN, &placement.support, p->error));
      if (placement.support.supported) placement.device = p->reference;
      placement.moved = placement.support.supported;
    }
  }
  *out_again = false;
  return keep_placement(p, *at, &placement);
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
