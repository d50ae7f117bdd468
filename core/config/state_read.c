/* Reading STATE: {shape, dtype, init, next}.  Names come before the graph, what they become after it. */
#include "config/loader.h"

static ph_status read_state(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_model_state *state) {
  static const char *const known[] = {"shape", "dtype", "init", "next"};
  PH_TRY(ph_read_map(loader, node, "a state"));
  PH_TRY(ph_check_keys(loader, node, "a state", known, 4));
  ph_yaml *shape, *next;
  PH_TRY(ph_require(loader, node, "a state", "shape", &shape));
  PH_TRY(ph_require(loader, node, "a state", "next", &next));
  PH_TRY(ph_read_shape(loader, frame, shape, state->dims, &state->rank));
  for (uint32_t i = 0; i < state->rank; i++) ph_dims_pin(loader, state->dims[i]);
  const ph_yaml *dtype = ph_yaml_get(node, "dtype"), *init = ph_yaml_get(node, "init");
  if (dtype != NULL) PH_TRY(ph_read_dtype(loader, dtype, &state->dtype));
  return init != NULL ? ph_source_read(loader, frame, init, &state->init) : PH_OK;
}

ph_status ph_states_read(ph_loader *loader, ph_frame *frame, const ph_yaml *node) {
  ph_model *model = loader->model;
  if (node == NULL) return PH_OK;
  PH_TRY(ph_read_map(loader, node, "state"));
  for (uint32_t i = 0; i < node->count; i++) {
    const ph_yaml_pair *pair = &node->pairs[i];
    if (!ph_is_name(pair->key))
      return ph_fail_at(loader->error, pair->place,
                        "'%s' is no name: a state takes letters, digits and '_', no digit first", pair->key);
    ph_model_state state = {
        .path = ph_arena_text(loader->arena, "%s%s", frame->path, pair->key), .place = pair->place, .dtype = PH_F32};
    PH_TRY(read_state(loader, frame, pair->value, &state));
    ph_model_state *slot =
        ph_arena_push(loader->arena, &model->states, &model->state_count, &model->state_capacity, sizeof(*slot));
    if (slot == NULL || state.path == NULL) return ph_fail_memory(loader->error);
    *slot = state;
    ph_entry entry = {.name = pair->key, .place = pair->place};
    PH_TRY(ph_model_add_value(
        loader,
        (ph_model_value){
            .path = state.path, .place = pair->place, .kind = PH_VALUE_STATE, .index = model->state_count - 1},
        &entry.value));
    PH_TRY(ph_frame_add(loader, frame, entry));
  }
  return PH_OK;
}

ph_status ph_states_settle(ph_loader *loader, ph_frame *frame, const ph_yaml *node) {
  for (uint32_t i = 0; node != NULL && i < node->count; i++) {
    const ph_entry *entry = ph_frame_find(frame, node->pairs[i].key);
    ph_model_state *state = &loader->model->states[loader->model->values[entry->value].index];
    PH_TRY(ph_frame_value(loader, frame, ph_yaml_get(node->pairs[i].value, "next"), &state->next));
    ph_model_value *next = &loader->model->values[state->next];
    if (next->kind == PH_VALUE_SCALAR)
      return ph_fail_at(loader->error, next->place, "a state becomes a value, not a number");
    next->used = true;
  }
  return PH_OK;
}
