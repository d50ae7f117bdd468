#include "passes/states.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The cache_write that makes `next` out of the state; NULL if another node makes it, or none. */
static const ph_net_node *writer_of(const ph_net *net, const ph_net_state *state) {
  for (uint32_t n = 0; n < net->node_count; n++) {
    const ph_net_node *node = net->nodes[n];
    if (node->outputs[0] == state->next && strcmp(node->op->name, "cache_write") == 0 &&
        node->inputs[0] == state->value)
      return node;
  }
  return NULL;
}

static bool is_shared(const ph_net *net, uint32_t index) {
  for (uint32_t i = 0; i < net->state_count; i++)
    if (i != index && net->states[i].next == net->states[index].next) return true;
  return false;
}

static ph_status add_copy(ph_net *net, uint32_t index, ph_error *error) {
  const ph_net_state *state = &net->states[index];
  const ph_type type = net->values[state->value].type;
  int64_t *dims = ph_arena_array(&net->arena, type.rank, sizeof(*dims));
  const char *path = ph_arena_text(&net->arena, "%s.next", net->values[state->value].path);
  if (dims == NULL || path == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < type.rank; i++) dims[i] = type.dims[i].value;
  ph_net_attr_value shape = {.name = "shape", .value = {.kind = PH_ATTR_I64_LIST, .as.list = {dims, type.rank}}};
  uint32_t copy;
  PH_TRY(ph_net_add_node(net, ph_op_find("reshape"), path, net->model->states[index].place, &state->next, 1, &shape, 1,
                         NULL, &copy, error));
  net->values[copy].next = true;
  net->values[copy].state = index;
  return PH_OK;
}

ph_status ph_states_place(ph_net *net, ph_notes *notes, ph_error *error) {
  uint32_t *reads = ph_new_array(net->value_count, sizeof(*reads));
  if (reads == NULL) return ph_fail_memory(error);
  ph_net_count_reads(net, reads);
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < net->state_count && status == PH_OK; i++) {
    const ph_net_state *state = &net->states[i];
    const ph_net_node *writer = writer_of(net, state);
    bool wanted = net->values[state->next].kept || net->values[state->value].kept;
    if (writer != NULL && reads[state->value] == 1 && !wanted && !is_shared(net, i)) {
      net->values[state->next].in_place = true;
      net->values[state->next].state = i;
      continue;
    }
    if (writer != NULL && notes != NULL) {
      char text[512];
      ph_place place = net->model->states[i].place;
      snprintf(text, sizeof(text),
               "%s:%u:%u: warning: the state '%s' is copied in every run: its old or new value is wanted beside "
               "its cache_write",
               place.file, place.line, place.column, net->values[state->value].path);
      notes->warn(notes->user, text);
    }
    status = add_copy(net, i, error);
  }
  free(reads);
  return status;
}
