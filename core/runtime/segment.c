#include "runtime/segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/arena.h"

/* ---- programs ---- */

typedef struct cached_program {
  char *signature;
  const ph_open_device *device;
  ph_program *program;
  ph_tensor **constants; /* kept alive for the program */
  uint32_t constant_count;
  struct cached_program *next;
} cached_program;

struct ph_program_cache {
  cached_program *first;
};

ph_status ph_program_cache_create(ph_program_cache **out, ph_error *error) {
  *out = ph_new_array(1, sizeof(**out));
  return *out != NULL ? PH_OK : ph_fail_memory(error);
}

static void destroy_cached(cached_program *entry) {
  if (entry == NULL) return;
  if (entry->program != NULL) entry->device->backend->program_destroy(entry->program);
  for (uint32_t i = 0; i < entry->constant_count; i++) ph_tensor_release(entry->constants[i]);
  free(entry->constants);
  free(entry->signature);
  free(entry);
}

void ph_program_cache_destroy(ph_program_cache *cache) {
  if (cache == NULL) return;
  while (cache->first != NULL) {
    cached_program *next = cache->first->next;
    destroy_cached(cache->first);
    cache->first = next;
  }
  free(cache);
}

static ph_status retain_constants(cached_program *entry, const ph_net *net, const ph_lowered *lowered,
                                  ph_error *error) {
  entry->constants = ph_new_array(lowered->storage_count, sizeof(*entry->constants));
  if (entry->constants == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < lowered->storage_count; i++)
    if (lowered->storages[i].kind == PH_TENSOR_CONSTANT)
      entry->constants[entry->constant_count++] = ph_tensor_retain(net->values[lowered->storages[i].value].tensor);
  return PH_OK;
}

ph_status ph_program_find(ph_program_cache *cache, const ph_open_device *device, const ph_net *net,
                          const ph_lowered *lowered, ph_program **out, ph_error *error) {
  char *signature = ph_lowered_signature(lowered);
  if (signature == NULL) return ph_fail_memory(error);
  for (cached_program *entry = cache->first; entry != NULL; entry = entry->next)
    if (entry->device == device && strcmp(entry->signature, signature) == 0) {
      free(signature);
      *out = entry->program;
      return PH_OK;
    }
  cached_program *entry = ph_new_array(1, sizeof(*entry));
  if (entry == NULL) {
    free(signature);
    return ph_fail_memory(error);
  }
  entry->signature = signature;
  entry->device = device;
  ph_status status = retain_constants(entry, net, lowered, error);
  if (status == PH_OK) status = device->backend->program_create(device->device, &lowered->open, &entry->program, error);
  if (status != PH_OK) {
    entry->program = NULL;
    destroy_cached(entry);
    return status;
  }
  entry->next = cache->first;
  cache->first = entry;
  *out = entry->program;
  return PH_OK;
}

/* ---- segments ---- */

struct ph_segment {
  const ph_open_device *device;
  const ph_net *net;
  ph_lowered *lowered;
  ph_plan *plan;
  ph_segment_io *ios; /* by storage */
  uint64_t workspace_bytes;
  ph_arena_piece *pieces; /* by storage; only INNER ones have bytes */
  uint64_t *chunk_bytes;
  uint32_t chunk_count;
  /* made at the first run */
  ph_queue *queue;
  ph_port *ports; /* by storage, for INPUT and OUTPUT */
  ph_buffer **chunks;
  ph_buffer *workspace;
  ph_binding *bindings;
  uint32_t binding_count;
  bool ready;
  bool proven; /* it ran once */
};

/* Inner tensors share the arena; inputs and outputs have buffers of their own, and states belong to the session. */
static ph_status plan_arena(ph_segment *segment, ph_error *error) {
  const ph_lowered *lowered = segment->lowered;
  segment->pieces = ph_new_array(lowered->storage_count, sizeof(*segment->pieces));
  if (segment->pieces == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < lowered->storage_count; i++) {
    const ph_storage *storage = &lowered->storages[i];
    segment->pieces[i] = (ph_arena_piece){
        .bytes = storage->kind == PH_TENSOR_INNER ? storage->bytes : 0, .first = storage->first, .last = storage->last};
  }
  return ph_arena_plan(segment->pieces, lowered->storage_count, segment->device->limits.alignment,
                       segment->device->limits.max_buffer_bytes, &segment->chunk_bytes, &segment->chunk_count, error);
}

ph_status ph_segment_create(const ph_open_device *device, ph_program_cache *programs, const ph_net *net,
                            ph_lowered *lowered, ph_segment **out, ph_error *error) {
  ph_segment *segment = ph_new_array(1, sizeof(*segment));
  ph_program *program;
  if (segment == NULL) {
    ph_lowered_destroy(lowered);
    return ph_fail_memory(error);
  }
  segment->device = device;
  segment->net = net;
  segment->lowered = lowered;
  segment->ios = ph_new_array(lowered->storage_count, sizeof(*segment->ios));
  ph_status status = segment->ios != NULL ? plan_arena(segment, error) : ph_fail_memory(error);
  if (status == PH_OK) status = ph_program_find(programs, device, net, lowered, &program, error);
  if (status == PH_OK)
    status = device->backend->plan_create(program, &lowered->graph, &segment->plan, &segment->workspace_bytes, error);
  if (status != PH_OK) {
    ph_segment_destroy(segment);
    return status;
  }
  *out = segment;
  return PH_OK;
}

static void destroy_buffers(ph_segment *segment) {
  const ph_backend *backend = segment->device->backend;
  if (segment->queue != NULL) backend->queue_destroy(segment->queue);
  for (uint32_t i = 0; segment->ports != NULL && i < segment->lowered->storage_count; i++)
    ph_port_close(&segment->ports[i], segment->device);
  for (uint32_t i = 0; segment->chunks != NULL && i < segment->chunk_count; i++)
    backend->buffer_destroy(segment->chunks[i]);
  backend->buffer_destroy(segment->workspace);
  free(segment->ports);
  free(segment->chunks);
  free(segment->bindings);
  segment->queue = NULL;
  segment->ports = NULL;
  segment->chunks = NULL;
  segment->workspace = NULL;
  segment->bindings = NULL;
  segment->binding_count = 0;
  segment->ready = segment->proven = false;
}

void ph_segment_destroy(ph_segment *segment) {
  if (segment == NULL) return;
  destroy_buffers(segment);
  if (segment->plan != NULL) segment->device->backend->plan_destroy(segment->plan);
  ph_lowered_destroy(segment->lowered);
  free(segment->ios);
  free(segment->pieces);
  free(segment->chunk_bytes);
  free(segment);
}

const ph_lowered *ph_segment_lowered(const ph_segment *segment) {
  return segment->lowered;
}
const ph_open_device *ph_segment_device(const ph_segment *segment) {
  return segment->device;
}
ph_segment_io *ph_segment_ios(ph_segment *segment) {
  return segment->ios;
}
uint64_t ph_segment_workspace_bytes(const ph_segment *segment) {
  return segment->workspace_bytes;
}

uint64_t ph_segment_arena_bytes(const ph_segment *segment) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < segment->chunk_count; i++) bytes += segment->chunk_bytes[i];
  return bytes;
}

/* An output that goes to the host. */
static bool is_given(const ph_storage *storage) {
  return storage->kind == PH_TENSOR_OUTPUT && !storage->next;
}

static ph_status make_buffers(ph_segment *segment, ph_error *error) {
  const ph_backend *backend = segment->device->backend;
  ph_device *device = segment->device->device;
  const ph_lowered *lowered = segment->lowered;
  segment->ports = ph_new_array(lowered->storage_count, sizeof(*segment->ports));
  segment->chunks = ph_new_array(segment->chunk_count, sizeof(*segment->chunks));
  segment->bindings = ph_new_array(lowered->graph.tensor_count, sizeof(*segment->bindings));
  if (segment->ports == NULL || segment->chunks == NULL || segment->bindings == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < segment->chunk_count; i++)
    if (segment->chunk_bytes[i] > 0)
      PH_TRY(backend->buffer_create(device, segment->chunk_bytes[i], &segment->chunks[i], error));
  if (segment->workspace_bytes > 0)
    PH_TRY(backend->buffer_create(device, segment->workspace_bytes, &segment->workspace, error));
  return PH_OK;
}

/* States move from buffer to buffer between runs, and so may what lies over tensors of the host's. */
static void bind_tensors(ph_segment *segment) {
  const ph_lowered *lowered = segment->lowered;
  segment->binding_count = 0;
  for (uint32_t t = 0; t < lowered->graph.tensor_count; t++) {
    uint32_t s = lowered->tensor_storage[t];
    const ph_storage *storage = &lowered->storages[s];
    if (storage->kind == PH_TENSOR_CONSTANT) continue;
    ph_binding binding = {.tensor = t, .buffer = segment->ports[s].buffer, .offset = lowered->tensor_offset[t]};
    if (storage->kind == PH_TENSOR_STATE || storage->next) binding.buffer = segment->ios[s].state;
    if (storage->kind == PH_TENSOR_INNER && storage->bytes > 0) {
      binding.buffer = segment->chunks[segment->pieces[s].chunk];
      binding.offset += segment->pieces[s].offset;
    }
    segment->bindings[segment->binding_count++] = binding;
  }
}

static ph_status open_output(ph_segment *segment, uint32_t storage, ph_error *error) {
  const ph_type *type = &segment->net->values[segment->lowered->storages[storage].value].type;
  PH_TRY(ph_port_open(&segment->ports[storage], segment->device, type, error));
  segment->ios[storage].output = segment->ports[storage].tensor;
  return PH_OK;
}

static ph_status open_ports(ph_segment *segment, ph_error *error) {
  const ph_lowered *lowered = segment->lowered;
  for (uint32_t i = 0; i < lowered->storage_count; i++) {
    const ph_storage *storage = &lowered->storages[i];
    const ph_segment_io *io = &segment->ios[i];
    if (storage->kind == PH_TENSOR_INPUT)
      PH_TRY(ph_port_feed(&segment->ports[i], segment->device, segment->queue, io->input, io->content, error));
    if (is_given(storage)) PH_TRY(open_output(segment, i, error));
  }
  return PH_OK;
}

/* Copies are queued first: a map waits for them, too.  Only where nothing is mapped, or where the backend has more to
 * do once its work is done (times; what it keeps of a first run), is finish() called. */
static ph_status fetch_outputs(ph_segment *segment, bool must_finish, ph_error *error) {
  const ph_lowered *lowered = segment->lowered;
  bool waited = false;
  for (int wraps = 0; wraps <= 1; wraps++)
    for (uint32_t i = 0; i < lowered->storage_count; i++) {
      ph_port *port = &segment->ports[i];
      if (!is_given(&lowered->storages[i]) || port->wraps != (wraps == 1)) continue;
      PH_TRY(ph_port_fetch(port, segment->device, segment->queue, error));
      waited = waited || port->wraps;
    }
  return must_finish || !waited ? segment->device->backend->finish(segment->queue, error) : PH_OK;
}

static ph_status run(ph_segment *segment, ph_node_time *times, ph_error *error) {
  const ph_backend *backend = segment->device->backend;
  if (!segment->ready) {
    PH_TRY(make_buffers(segment, error));
    PH_TRY(backend->queue_create(segment->device->device, times != NULL ? PH_QUEUE_TIMES : 0, &segment->queue, error));
    segment->ready = true;
  }
  PH_TRY(open_ports(segment, error));
  bind_tensors(segment);
  ph_binding workspace = {.tensor = PH_NONE, .buffer = segment->workspace};
  PH_TRY(backend->execute(segment->queue, segment->plan, segment->bindings, segment->binding_count,
                          segment->workspace != NULL ? &workspace : NULL, times, error));
  PH_TRY(fetch_outputs(segment, times != NULL || !segment->proven, error));
  segment->proven = true;
  return PH_OK;
}

ph_status ph_segment_run(ph_segment *segment, ph_node_time *times, ph_error *error) {
  ph_status status = run(segment, times, error);
  if (status != PH_OK) destroy_buffers(segment); /* waits for what is queued: host memory may go after this */
  return status;
}

/* ---- poison ---- */

/* In pieces, so that an arena of gigabytes needs no second one. */
enum { POISON_BYTES = 1 << 20 };

static ph_status poison_buffer(ph_segment *segment, ph_buffer *buffer, uint64_t bytes, const void *pattern,
                               ph_error *error) {
  for (uint64_t at = 0; at < bytes && buffer != NULL; at += POISON_BYTES) {
    uint64_t piece = bytes - at < POISON_BYTES ? bytes - at : POISON_BYTES;
    PH_TRY(segment->device->backend->write(segment->queue, buffer, at, pattern, piece, error));
  }
  return PH_OK;
}

static ph_status poison_all(ph_segment *segment, const void *pattern, ph_error *error) {
  const ph_lowered *lowered = segment->lowered;
  for (uint32_t i = 0; i < lowered->storage_count; i++) {
    if (!is_given(&lowered->storages[i])) continue;
    PH_TRY(open_output(segment, i, error));
    PH_TRY(poison_buffer(segment, segment->ports[i].buffer, lowered->storages[i].bytes, pattern, error));
  }
  for (uint32_t i = 0; i < segment->chunk_count; i++)
    PH_TRY(poison_buffer(segment, segment->chunks[i], segment->chunk_bytes[i], pattern, error));
  return segment->device->backend->finish(segment->queue, error);
}

ph_status ph_segment_poison(ph_segment *segment, ph_error *error) {
  if (!segment->ready) return PH_OK;
  void *pattern = malloc(POISON_BYTES);
  if (pattern == NULL) return ph_fail_memory(error);
  memset(pattern, 0xff, POISON_BYTES);
  ph_status status = poison_all(segment, pattern, error);
  free(pattern);
  if (status != PH_OK) destroy_buffers(segment);
  return status;
}

void ph_segment_rest(ph_segment *segment) {
  for (uint32_t i = 0; segment->ports != NULL && i < segment->lowered->storage_count; i++)
    ph_port_rest(&segment->ports[i], segment->device);
}
