#include "runtime/hold.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool is_held_value(const ph_net *net, const bool *held, uint32_t value) {
  const ph_net_value *v = &net->values[value];
  if (v->kind == PH_TENSOR_CONSTANT) return true;
  if (v->kind == PH_TENSOR_INPUT) return v->input == PH_NONE || net->model->inputs[v->input].hold;
  return held[value];
}

/* held[v]: made from held values alone; front[n]: so is the node. */
static void mark(const ph_net *net, bool *held, bool *front) {
  for (uint32_t n = 0; n < net->node_count; n++) {
    const ph_net_node *node = net->nodes[n];
    front[n] = true;
    for (uint32_t i = 0; i < node->input_count && front[n]; i++)
      front[n] = node->inputs[i] == PH_NONE || is_held_value(net, held, node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; i++) {
      held[node->outputs[i]] = front[n];
      if (net->values[node->outputs[i]].next) front[n] = false; /* a state goes on in every run */
    }
  }
}

/* A stable partition of nodes and placements. */
static uint32_t move_front(ph_net *net, ph_placement *placements, const bool *front, ph_net_node **nodes,
                           ph_placement *moved) {
  uint32_t count = 0, at = 0;
  for (uint32_t n = 0; n < net->node_count; n++) count += front[n];
  for (int part = 1; part >= 0; part--)
    for (uint32_t n = 0; n < net->node_count; n++)
      if (front[n] == (part == 1)) {
        nodes[at] = net->nodes[n];
        moved[at++] = placements[n];
      }
  memcpy(net->nodes, nodes, net->node_count * sizeof(*nodes));
  memcpy(placements, moved, net->node_count * sizeof(*moved));
  return count;
}

ph_status ph_hold_first(ph_net *net, ph_placement *placements, uint32_t *out_count, ph_error *error) {
  bool any = false;
  for (uint32_t i = 0; i < net->model->input_count; i++) any = any || net->model->inputs[i].hold;
  *out_count = 0;
  if (!any) return PH_OK;
  bool *held = ph_new_array(net->value_count, sizeof(*held)), *front = ph_new_array(net->node_count, sizeof(*front));
  ph_net_node **nodes = ph_new_array(net->node_count, sizeof(*nodes));
  ph_placement *moved = ph_new_array(net->node_count, sizeof(*moved));
  bool ready = held != NULL && front != NULL && nodes != NULL && moved != NULL;
  if (ready) {
    mark(net, held, front);
    *out_count = move_front(net, placements, front, nodes, moved);
  }
  free(held);
  free(front);
  free(nodes);
  free(moved);
  return ready ? PH_OK : ph_fail_memory(error);
}

/* ---- the values ---- */

bool ph_held_is_of(const ph_held *held, const ph_model *model, ph_tensor *const *inputs) {
  bool same = held->inputs != NULL;
  for (uint32_t i = 0; i < model->input_count && same; i++)
    same = !model->inputs[i].hold || held->inputs[i] == inputs[i];
  return same;
}

ph_status ph_held_start(ph_held *held, const ph_model *model, ph_tensor *const *inputs, ph_error *error) {
  ph_held_free(held);
  held->inputs = ph_new_array(model->input_count, sizeof(*held->inputs));
  if (held->inputs == NULL) return ph_fail_memory(error);
  held->input_count = model->input_count;
  for (uint32_t i = 0; i < model->input_count; i++)
    if (model->inputs[i].hold) held->inputs[i] = ph_tensor_retain(inputs[i]);
  return PH_OK;
}

ph_status ph_held_add(ph_held *held, const char *path, ph_tensor *tensor, ph_error *error) {
  char *copy = strdup(path);
  if (copy == NULL || !ph_grow(&held->paths, &held->path_capacity, held->count + 1, sizeof(*held->paths)) ||
      !ph_grow(&held->tensors, &held->tensor_capacity, held->count + 1, sizeof(*held->tensors))) {
    free(copy);
    return ph_fail_memory(error);
  }
  held->paths[held->count] = copy;
  held->tensors[held->count++] = ph_tensor_retain(tensor);
  return PH_OK;
}

ph_tensor *ph_held_find(const ph_held *held, const char *path, const ph_type *type) {
  for (size_t i = 0; i < held->count; i++) {
    ph_tensor *tensor = held->tensors[i];
    bool same = strcmp(held->paths[i], path) == 0 && tensor->dtype == type->dtype && tensor->rank == type->rank;
    for (uint32_t d = 0; same && d < type->rank; d++) same = tensor->dims[d] == type->dims[d].value;
    if (same) return tensor;
  }
  return NULL;
}

void ph_held_free(ph_held *held) {
  for (size_t i = 0; i < held->count; i++) {
    free(held->paths[i]);
    ph_tensor_release(held->tensors[i]);
  }
  for (uint32_t i = 0; i < held->input_count; i++) ph_tensor_release(held->inputs[i]);
  free(held->paths);
  free(held->tensors);
  free(held->inputs);
  *held = (ph_held){0};
}
