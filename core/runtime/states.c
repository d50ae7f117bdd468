#include "runtime/states.h"

#include "base/dtype.h"
#include "base/error.h"
#include "config/source.h"

ph_status ph_state_initial(const ph_net *net, const ph_dim *dims, uint32_t index, ph_tensor **out, ph_error *error) {
  const ph_model_state *state = &net->model->states[index];
  const ph_type *type = &net->values[net->states[index].value].type;
  if (state->init.kind != PH_SOURCE_NONE) {
    ph_dim_scope storage = {net->model, dims};
    ph_scope scope = ph_scope_of_dims(&storage);
    return ph_source_make(&state->init, state->path, type, &scope, out, error);
  }
  int64_t extents[PH_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; i++) extents[i] = type->dims[i].value;
  return ph_tensor_create(type->dtype, type->rank, extents, out, error);
}

static ph_status upload(const ph_open_device *device, ph_buffer *buffer, const ph_tensor *tensor, ph_error *error) {
  ph_queue *queue;
  PH_TRY(device->backend->queue_create(device->device, 0, &queue, error));
  ph_status status = device->backend->write(queue, buffer, 0, tensor->data, tensor->bytes, error);
  if (status == PH_OK) status = device->backend->finish(queue, error);
  device->backend->queue_destroy(queue);
  return status;
}

static ph_status make(ph_state *state, const ph_net *net, const ph_dim *dims, uint32_t index,
                      const ph_open_device *device, ph_error *error) {
  ph_tensor *initial;
  PH_TRY(ph_state_initial(net, dims, index, &initial, error));
  ph_status status = PH_OK;
  if (initial->bytes > 0)
    status = device->backend->buffer_create(device->device, initial->bytes, &state->buffers[0], error);
  if (initial->bytes > 0 && status == PH_OK) status = upload(device, state->buffers[0], initial, error);
  ph_tensor_release(initial);
  state->device = device;
  state->type = net->values[net->states[index].value].type;
  if (status != PH_OK) ph_state_free(state);
  return status;
}

static bool same_dims(const ph_type *a, const ph_type *b) {
  bool same = a->rank == b->rank;
  for (uint32_t i = 0; same && i < a->rank; i++) same = a->dims[i].value == b->dims[i].value;
  return same;
}

ph_status ph_state_buffer(ph_state *state, const ph_net *net, const ph_dim *dims, uint32_t index,
                          const ph_open_device *device, bool next, ph_buffer **out, ph_error *error) {
  const ph_net_value *value = &net->values[net->states[index].value];
  if (state->device == NULL) PH_TRY(make(state, net, dims, index, device, error));
  if (state->device != device)
    return ph_fail(error, PH_UNSUPPORTED, "state '%s' would live on %s and %s, but a state lives on one device",
                   value->path, state->device->entry->spec, device->entry->spec);
  if (!same_dims(&state->type, &value->type))
    return ph_fail(error, PH_INVALID,
                   "state '%s' is %s since an earlier run and would be %s now: reset the session first", value->path,
                   ph_type_text(&state->type), ph_type_text(&value->type));
  uint32_t which = next ? 1 - state->current : state->current;
  if (state->buffers[which] == NULL && state->buffers[state->current] != NULL) {
    int64_t count;
    if (!ph_type_count(&value->type, &count)) count = 0; /* refused when it was bound */
    PH_TRY(device->backend->buffer_create(device->device, (uint64_t)count * ph_dtype_size(value->type.dtype),
                                          &state->buffers[which], error));
  }
  *out = state->buffers[which];
  return PH_OK;
}

void ph_state_turn(ph_state *state) {
  state->current = 1 - state->current;
}

void ph_state_free(ph_state *state) {
  for (uint32_t i = 0; i < 2; i++)
    if (state->buffers[i] != NULL) state->device->backend->buffer_destroy(state->buffers[i]);
  *state = (ph_state){0};
}
