#include "passes/views.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef ph_value_layout layout;

static bool is_op(const ph_net_node *node, const char *op) {
  return strcmp(node->op->name, op) == 0;
}

static int64_t attribute(const ph_net_node *node, const char *name) {
  return ph_net_node_attr(node, name)->value.as.i64;
}

static const int64_t *list(const ph_net_node *node, const char *name) {
  return ph_net_node_attr(node, name)->value.as.list.items;
}

static ph_dim times(ph_dim a, ph_dim b) {
  return (ph_dim){.value = a.value * b.value, .varies = a.varies || b.varies};
}

static layout dense(const ph_net *net, uint32_t value) {
  const ph_type *type = &net->values[value].type;
  layout out = {.root = value, .rank = type->rank};
  ph_dim stride = {.value = 1};
  for (uint32_t i = type->rank; i-- > 0;) {
    out.dims[i] = type->dims[i];
    out.strides[i] = stride;
    stride = times(stride, type->dims[i]);
  }
  return out;
}

/* ---- what a move does to a layout ---- */

/* [.., a, b, ..] becomes [.., a * b, ..] where the two walk as one. */
static bool join(layout *at, uint32_t axis) {
  ph_dim outer = at->dims[axis], inner = at->dims[axis + 1];
  if (outer.value != 1 && inner.value != 1 && at->strides[axis].value != inner.value * at->strides[axis + 1].value)
    return false;
  if (inner.value != 1) at->strides[axis] = at->strides[axis + 1];
  at->dims[axis] = times(outer, inner);
  at->rank--;
  memmove(&at->dims[axis + 1], &at->dims[axis + 2], (at->rank - axis - 1) * sizeof(at->dims[0]));
  memmove(&at->strides[axis + 1], &at->strides[axis + 2], (at->rank - axis - 1) * sizeof(at->strides[0]));
  return true;
}

static void swap(layout *at, uint32_t a, uint32_t b) {
  ph_dim dim = at->dims[a], stride = at->strides[a];
  at->dims[a] = at->dims[b];
  at->strides[a] = at->strides[b];
  at->dims[b] = dim;
  at->strides[b] = stride;
}

/* [B, S, H * D] as [B, H, S, D]. */
static void split_heads(layout *at, ph_dim heads, ph_dim depth) {
  at->dims[3] = depth;
  at->strides[3] = at->strides[2];
  at->dims[2] = heads;
  at->strides[2] = times(at->strides[2], depth);
  at->rank = 4;
  swap(at, 1, 2);
}

/* [B, H, S, D] as [B, S, H * D]. */
static bool concat_heads(layout *at) {
  swap(at, 1, 2);
  return join(at, 2);
}

/* Each run of axes of the old dims that multiplies up to a run of the new ones must walk as one axis; the new ones
 * divide it among them. */
static bool reshape(layout *at, const ph_type *to) {
  layout from = *at;
  uint32_t i = 0, k = 0;
  at->rank = to->rank;
  for (uint32_t d = 0; d < to->rank; d++) at->dims[d] = to->dims[d];
  while (i < from.rank || k < to->rank) {
    uint32_t first_old = i, first_new = k;
    int64_t olds = i < from.rank ? from.dims[i++].value : 1, news = k < to->rank ? to->dims[k++].value : 1;
    while (olds != news) { /* both multiply up to the same in the end: no extent is 0 */
      if (olds < news)
        olds *= from.dims[i++].value;
      else
        news *= to->dims[k++].value;
    }
    ph_dim stride = {.value = 1}, reach = {0};
    bool found = false;
    for (uint32_t d = i;
         d-- > first_old;) { /* the innermost axis that moves gives the stride; the others must follow */
      if (from.dims[d].value == 1) continue;
      if (found && from.strides[d].value != reach.value) return false;
      if (!found) stride = from.strides[d];
      found = true;
      reach = times(from.strides[d], from.dims[d]);
    }
    for (uint32_t d = k; d-- > first_new;) {
      at->strides[d] = stride;
      stride = times(stride, to->dims[d]);
    }
  }
  return true;
}

static void expand(layout *at, const ph_type *to) {
  layout from = *at;
  at->rank = to->rank;
  for (uint32_t d = 0; d < to->rank; d++) {
    uint32_t added = to->rank - from.rank;
    bool repeats = d < added || from.dims[d - added].value != to->dims[d].value;
    at->dims[d] = to->dims[d];
    at->strides[d] = repeats ? (ph_dim){0} : from.strides[d - added];
  }
}

/* The part of an axis from `start` on that is `to` long. */
static void cut(layout *at, uint32_t axis, int64_t start, ph_dim extent) {
  at->offset += start * at->strides[axis].value;
  at->dims[axis] = extent;
}

/* From where the input lies to where output number `slot` does; false where no strides say it. */
static bool forward(const ph_net *net, const ph_net_node *node, uint32_t slot, layout *at) {
  const ph_type *y = &net->values[node->outputs[slot]].type;
  if (is_op(node, "split_heads")) {
    split_heads(at, y->dims[1], y->dims[3]);
  } else if (is_op(node, "concat_heads")) {
    return concat_heads(at);
  } else if (is_op(node, "transpose")) {
    layout from = *at;
    for (uint32_t i = 0; i < at->rank; i++) {
      at->dims[i] = from.dims[list(node, "axes")[i]];
      at->strides[i] = from.strides[list(node, "axes")[i]];
    }
  } else if (is_op(node, "reshape")) {
    return reshape(at, y);
  } else if (is_op(node, "expand")) {
    expand(at, y);
  } else if (is_op(node, "slice")) {
    uint32_t axis = (uint32_t)attribute(node, "axis");
    cut(at, axis, attribute(node, "start"), y->dims[axis]);
  } else if (is_op(node, "split")) {
    uint32_t axis = (uint32_t)attribute(node, "axis");
    int64_t start = 0;
    for (uint32_t i = 0; i < slot; i++) start += list(node, "into")[i];
    cut(at, axis, start, y->dims[axis]);
  } else {
    return false;
  }
  return true;
}

/* From where the output lies to where the input does: for moves that keep every element. */
static bool backward(const ph_net *net, const ph_net_node *node, layout *at) {
  const ph_type *x = &net->values[node->inputs[0]].type;
  if (is_op(node, "concat_heads")) {
    split_heads(at, x->dims[1], x->dims[3]);
  } else if (is_op(node, "split_heads")) {
    return concat_heads(at);
  } else if (is_op(node, "transpose")) {
    layout to = *at;
    for (uint32_t i = 0; i < at->rank; i++) {
      at->dims[list(node, "axes")[i]] = to.dims[i];
      at->strides[list(node, "axes")[i]] = to.strides[i];
    }
  } else if (is_op(node, "reshape")) {
    return reshape(at, x);
  } else {
    return false;
  }
  return true;
}

static uint32_t slot_of(const ph_net_node *node, uint32_t value) {
  for (uint32_t i = 0; i < node->output_count; i++)
    if (node->outputs[i] == value) return i;
  return PH_NONE;
}

/* The other side of the move that makes a value a view. */
static uint32_t across(const ph_net_node *move, uint32_t value) {
  return slot_of(move, value) != PH_NONE ? move->inputs[0] : move->outputs[0];
}

uint32_t ph_value_root(const ph_net *net, uint32_t value) {
  while (net->values[value].move != NULL) value = across(net->values[value].move, value);
  return value;
}

/* False where a move on the way no longer fits: what it moves lies elsewhere than when it was made a view. */
static bool find_layout(const ph_net *net, uint32_t value, layout *out) {
  const ph_net_node *move = net->values[value].move;
  if (move == NULL) {
    *out = dense(net, value);
    return true;
  }
  uint32_t slot = slot_of(move, value);
  if (!find_layout(net, across(move, value), out)) return false;
  return slot != PH_NONE ? forward(net, move, slot, out) : backward(net, move, out);
}

layout ph_value_layout_of(const ph_net *net, uint32_t value) {
  layout out = {0};
  (void)find_layout(net, value, &out); /* ph_unview() leaves none that does not fit */
  return out;
}

/* ---- which moves are views ---- */

static bool is_empty(const ph_net *net, uint32_t value) {
  int64_t count;
  return !ph_type_count(&net->values[value].type, &count) || count == 0;
}

/* Somebody counts on its memory: the host, or the next run. */
static bool is_bound(const ph_net_value *value) {
  return value->kept || value->next || value->in_place;
}

/* Dims of constants and states never vary for a backend (backend.h), and so neither does what is seen of them. */
static bool varies_on_fixed(const ph_net *net, const ph_net_node *node, const layout *at) {
  ph_tensor_kind kind = net->values[at->root].kind;
  bool varies = false;
  for (uint32_t i = 0; i < at->rank; i++) varies = varies || at->dims[i].varies || at->strides[i].varies;
  for (uint32_t i = 0; i < node->op->attr_count; i++) varies = varies || node->attrs[i].varies;
  return varies && (kind == PH_TENSOR_CONSTANT || kind == PH_TENSOR_STATE || net->values[at->root].in_place);
}

static const char *try_forward(const ph_net *net, ph_net_node *node) {
  for (uint32_t i = 0; i < node->output_count; i++) {
    if (is_bound(&net->values[node->outputs[i]])) return "its result is wanted as it is";
    if (is_empty(net, node->outputs[i])) return "its result is empty";
    layout at = ph_value_layout_of(net, node->inputs[0]);
    if (!forward(net, node, i, &at)) return "no strides over its input give its result";
    if (varies_on_fixed(net, node, &at)) return "its result varies from run to run, and what it reads does not";
  }
  for (uint32_t i = 0; i < node->output_count; i++) net->values[node->outputs[i]].move = node;
  return NULL;
}

static bool is_dense(const layout *at) {
  int64_t expected = 1;
  for (uint32_t i = at->rank; i-- > 0;) {
    if (at->dims[i].value != 1 && at->strides[i].value != expected) return false;
    expected *= at->dims[i].value;
  }
  return true;
}

/* The input is written where the result lies; `makers` by value. */
static bool try_backward(const ph_net *net, ph_net_node *node, ph_net_node *const *makers) {
  uint32_t x = node->inputs[0];
  const ph_net_node *maker = makers[x];
  const ph_net_value *value = &net->values[x], *result = &net->values[node->outputs[0]];
  if (maker == NULL || value->move != NULL || is_bound(value) || result->next || result->in_place) return false;
  if (is_empty(net, x) || maker->way != PH_NODE_RUNS) return false;
  for (uint32_t n = 0; n < net->node_count; n++) /* other views of it count on where it lies now */
    if (net->nodes[n]->way == PH_NODE_VIEW && net->nodes[n]->inputs[0] == x) return false;
  layout at = ph_value_layout_of(net, node->outputs[0]);
  bool may_spread = maker->op->spreads && maker->outputs[0] == x;
  if (!backward(net, node, &at) || (!may_spread && !is_dense(&at))) return false;
  net->values[x].move = node;
  return true;
}

ph_status ph_view_moves(ph_net *net, ph_error *error) {
  ph_net_node **makers = ph_new_array(net->value_count, sizeof(*makers));
  if (makers == NULL) return ph_fail_memory(error);
  for (uint32_t n = 0; n < net->node_count; n++)
    for (uint32_t i = 0; i < net->nodes[n]->output_count; i++) makers[net->nodes[n]->outputs[i]] = net->nodes[n];
  for (uint32_t n = 0; n < net->node_count; n++) {
    ph_net_node *node = net->nodes[n];
    if (!node->op->moves || node->way != PH_NODE_RUNS) continue;
    const char *reason = try_forward(net, node);
    if (reason != NULL && try_backward(net, node, makers)) reason = NULL;
    if (reason == NULL)
      node->way = PH_NODE_VIEW;
    else if (node->note == NULL)
      node->note = reason;
  }
  free(makers);
  return PH_OK;
}

static void lie_apart(ph_net *net, ph_net_node *move, const char *reason) {
  move->way = PH_NODE_RUNS;
  move->note = reason;
  if (net->values[move->inputs[0]].move == move) net->values[move->inputs[0]].move = NULL;
  for (uint32_t i = 0; i < move->output_count; i++)
    if (net->values[move->outputs[i]].move == move) net->values[move->outputs[i]].move = NULL;
}

static bool still_fits(const ph_net *net, const ph_net_node *move) {
  layout at;
  bool fits = find_layout(net, move->inputs[0], &at);
  for (uint32_t i = 0; i < move->output_count && fits; i++) fits = find_layout(net, move->outputs[i], &at);
  return fits;
}

void ph_unview(ph_net *net, ph_net_node *move, const char *reason) {
  lie_apart(net, move, reason);
  for (uint32_t n = 0; n < net->node_count; n++) /* heads that were split and joined again join only where they were */
    if (net->nodes[n]->way == PH_NODE_VIEW && !still_fits(net, net->nodes[n]))
      lie_apart(net, net->nodes[n], "what it moves is a copy itself");
}
