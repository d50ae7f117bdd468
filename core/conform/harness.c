#include "conform/harness.h"

#include <polyhead/node.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"

enum { GUARD_BYTE = 0xA5, GUARD_BYTES = 4096, ROUNDS = 2 };
/* 0xFF in every byte is a NaN in each of the real types, and -1 in the integer ones; 0x3C is a number in all of them.
 * What is not written differs from one round to the other, also where NaN would be right. */
static const int poison_bytes[ROUNDS] = {0xFF, 0x3C};

typedef struct harness {
  const ph_backend *backend;
  const ph_open_device *device;
  const ph_lowered *lowered;
  const void *const *inputs;
  uint64_t guard; /* bytes before and after each tensor, a multiple of the device's alignment */
  ph_plan *plan;
  ph_queue *queue;
  ph_buffer **buffers;    /* by storage */
  unsigned char **images; /* by storage: what was written to its buffer, then what came back */
  ph_buffer *workspace;
  uint64_t workspace_bytes;
  ph_binding *bindings;
  uint32_t binding_count;
  ph_error *error;
} harness;

static bool has_buffer(const ph_storage *storage) {
  return storage->kind != PH_TENSOR_CONSTANT && storage->bytes > 0;
}

static uint64_t image_bytes(const harness *h, uint32_t s) {
  return h->lowered->storages[s].bytes + 2 * h->guard;
}

static ph_status make_storage(harness *h, uint32_t s) {
  if (!has_buffer(&h->lowered->storages[s])) return PH_OK;
  uint64_t bytes = image_bytes(h, s);
  if (bytes > h->device->limits.max_buffer_bytes)
    return ph_fail(h->error, PH_UNAVAILABLE,
                   "a tensor of %llu bytes and its guard bands do not fit into a buffer of the device",
                   (unsigned long long)h->lowered->storages[s].bytes);
  h->images[s] = malloc(bytes);
  if (h->images[s] == NULL) return ph_fail_memory(h->error);
  return h->backend->buffer_create(h->device->device, bytes, &h->buffers[s], h->error);
}

static ph_status set_up(harness *h, ph_program_cache *programs, const ph_net *net) {
  uint32_t storages = h->lowered->storage_count, tensors = h->lowered->graph.tensor_count;
  uint32_t alignment = h->device->limits.alignment;
  h->guard = (GUARD_BYTES + alignment - 1) / alignment * (uint64_t)alignment;
  h->buffers = ph_new_array(storages, sizeof(*h->buffers));
  h->images = ph_new_array(storages, sizeof(*h->images));
  h->bindings = ph_new_array(tensors, sizeof(*h->bindings));
  if (h->buffers == NULL || h->images == NULL || h->bindings == NULL) return ph_fail_memory(h->error);
  ph_program *program;
  PH_TRY(ph_program_find(programs, h->device, net, h->lowered, &program, h->error));
  PH_TRY(h->backend->plan_create(program, &h->lowered->graph, &h->plan, &h->workspace_bytes, h->error));
  PH_TRY(h->backend->queue_create(h->device->device, 0, &h->queue, h->error));
  for (uint32_t s = 0; s < storages; s++) PH_TRY(make_storage(h, s));
  if (h->workspace_bytes > 0)
    PH_TRY(h->backend->buffer_create(h->device->device, h->workspace_bytes, &h->workspace, h->error));
  for (uint32_t t = 0; t < tensors; t++) {
    uint32_t s = h->lowered->tensor_storage[t];
    if (h->lowered->storages[s].kind == PH_TENSOR_CONSTANT) continue;
    h->bindings[h->binding_count++] =
        (ph_binding){.tensor = t, .buffer = h->buffers[s], .offset = h->buffers[s] != NULL ? h->guard : 0};
  }
  return PH_OK;
}

static void tear_down(harness *h) {
  if (h->queue != NULL) h->backend->queue_destroy(h->queue);
  for (uint32_t s = 0; s < h->lowered->storage_count; s++) {
    if (h->buffers != NULL) h->backend->buffer_destroy(h->buffers[s]);
    if (h->images != NULL) free(h->images[s]);
  }
  h->backend->buffer_destroy(h->workspace);
  if (h->plan != NULL) h->backend->plan_destroy(h->plan);
  free(h->buffers);
  free(h->images);
  free(h->bindings);
}

/* Guards, inputs and poison go in; the device runs; everything comes back into the images. */
static ph_status run_once(harness *h, int poison) {
  for (uint32_t s = 0; s < h->lowered->storage_count; s++) {
    const ph_storage *storage = &h->lowered->storages[s];
    if (!has_buffer(storage)) continue;
    memset(h->images[s], GUARD_BYTE, image_bytes(h, s));
    if (storage->kind == PH_TENSOR_INPUT)
      memcpy(h->images[s] + h->guard, h->inputs[s], storage->bytes);
    else
      memset(h->images[s] + h->guard, poison, storage->bytes);
    PH_TRY(h->backend->write(h->queue, h->buffers[s], 0, h->images[s], image_bytes(h, s), h->error));
  }
  ph_binding workspace = {.tensor = PH_NONE, .buffer = h->workspace};
  PH_TRY(h->backend->execute(h->queue, h->plan, h->bindings, h->binding_count, h->workspace != NULL ? &workspace : NULL,
                             NULL, h->error));
  for (uint32_t s = 0; s < h->lowered->storage_count; s++)
    if (has_buffer(&h->lowered->storages[s]))
      PH_TRY(h->backend->read(h->queue, h->images[s], h->buffers[s], 0, image_bytes(h, s), h->error));
  return h->backend->finish(h->queue, h->error);
}

static bool is_filled(const unsigned char *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (bytes[i] != GUARD_BYTE) return false;
  return true;
}

static void check_guards(const harness *h, ph_harness_result *out) {
  for (uint32_t s = 0; s < h->lowered->storage_count && out->overrun == PH_NONE; s++) {
    const ph_storage *storage = &h->lowered->storages[s];
    if (!has_buffer(storage)) continue;
    const unsigned char *inside = h->images[s] + h->guard;
    bool whole = is_filled(h->images[s], h->guard) && is_filled(inside + storage->bytes, h->guard);
    if (storage->kind == PH_TENSOR_INPUT) whole = whole && memcmp(inside, h->inputs[s], storage->bytes) == 0;
    if (!whole) out->overrun = s;
  }
}

/* How the device wrote storage `s`. */
static const ph_tensor_desc *desc_of(const harness *h, uint32_t s) {
  uint32_t t = 0;
  while (h->lowered->tensor_storage[t] != s) t++;
  return h->lowered->graph.tensors[t];
}

/* Takes the elements out of a storage, dense, and leaves `poison` in their places: what then is not poison lay between
 * them and was written all the same. */
static bool take_elements(const ph_tensor_desc *desc, unsigned char *from, uint64_t bytes, int poison,
                          unsigned char *to) {
  int64_t index[PH_MAX_RANK] = {0}, count = ph_desc_count(desc);
  size_t size = ph_dtype_size(desc->dtype);
  if (ph_desc_is_dense(desc)) {
    memcpy(to, from, bytes);
    return true;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 0;
    for (uint32_t k = 0; k < desc->rank; k++) at += index[k] * desc->strides[k];
    memcpy(to + (size_t)i * size, from + (size_t)at * size, size);
    memset(from + (size_t)at * size, poison, size);
    for (uint32_t k = desc->rank; k-- > 0 && ++index[k] == desc->dims[k];) index[k] = 0;
  }
  for (uint64_t i = 0; i < bytes; i++)
    if (from[i] != poison) return false;
  return true;
}

static ph_status fetch(const harness *h, const ph_net *net, ph_harness_result *out, int round) {
  for (uint32_t s = 0; s < h->lowered->storage_count; s++) {
    const ph_storage *storage = &h->lowered->storages[s];
    if (storage->kind != PH_TENSOR_OUTPUT) continue;
    const ph_type *type = &net->values[storage->value].type;
    int64_t dims[PH_MAX_RANK];
    for (uint32_t i = 0; i < type->rank; i++) dims[i] = type->dims[i].value;
    ph_tensor *got;
    PH_TRY(ph_tensor_create(type->dtype, type->rank, dims, &got, h->error));
    if (storage->bytes > 0 &&
        !take_elements(desc_of(h, s), h->images[s] + h->guard, storage->bytes, poison_bytes[round], got->data))
      out->overrun = out->overrun == PH_NONE ? s : out->overrun;
    if (round == 0) {
      out->got[s] = got;
      continue;
    }
    if (got->bytes > 0 && memcmp(out->got[s]->data, got->data, got->bytes) != 0) out->same_bits = false;
    ph_tensor_release(got);
  }
  return PH_OK;
}

static ph_status run_twice(harness *h, ph_program_cache *programs, const ph_net *net, ph_harness_result *out) {
  out->got = ph_new_array(h->lowered->storage_count, sizeof(*out->got));
  if (out->got == NULL) return ph_fail_memory(h->error);
  out->got_count = h->lowered->storage_count;
  PH_TRY(set_up(h, programs, net));
  for (int round = 0; round < ROUNDS; round++) {
    PH_TRY(run_once(h, poison_bytes[round]));
    check_guards(h, out);
    PH_TRY(fetch(h, net, out, round));
  }
  return PH_OK;
}

ph_status ph_harness_run(const ph_open_device *device, ph_program_cache *programs, const ph_net *net,
                         const ph_lowered *lowered, const void *const *inputs, ph_harness_result *out,
                         ph_error *error) {
  harness h = {.backend = device->backend, .device = device, .lowered = lowered, .inputs = inputs, .error = error};
  *out = (ph_harness_result){.same_bits = true, .overrun = PH_NONE};
  ph_status status = run_twice(&h, programs, net, out);
  tear_down(&h);
  if (status != PH_OK) ph_harness_free(out);
  return status;
}

void ph_harness_free(ph_harness_result *result) {
  for (uint32_t s = 0; result->got != NULL && s < result->got_count; s++) ph_tensor_release(result->got[s]);
  free(result->got);
  result->got = NULL;
}
