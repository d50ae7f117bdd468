/* Buffers and queues.  On the CPU a buffer is plain memory, and a queue does at once what it is given; on another
 * device write(), read() and execute() may only begin their work, and finish() waits for it. */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "fail.h"

ph_status buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  (void)device;
  ph_buffer *buffer = calloc(1, sizeof(*buffer));
  if (buffer == NULL) return NO_MEMORY(error);
  uint64_t rounded = (bytes + 63) / 64 * 64; /* aligned_alloc() wants a multiple of the alignment */
  buffer->memory = rounded >= bytes ? aligned_alloc(64, rounded) : NULL;
  buffer->bytes = bytes;
  if (buffer->memory == NULL) {
    free(buffer);
    return FAIL(error, PH_OUT_OF_MEMORY, "no memory for a buffer of %llu bytes", (unsigned long long)bytes);
  }
  *out = buffer;
  return PH_OK;
}

/* Every destroy function takes NULL. */
void buffer_destroy(ph_buffer *buffer) {
  if (buffer == NULL) return;
  free(buffer->memory);
  free(buffer);
}

struct ph_queue {
  uint32_t flags;
};

ph_status queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  (void)device;
  ph_queue *queue = calloc(1, sizeof(*queue));
  if (queue == NULL) return NO_MEMORY(error);
  queue->flags = flags;
  *out = queue;
  return PH_OK;
}

void queue_destroy(ph_queue *queue) {
  free(queue);
}

static ph_status check_range(const ph_buffer *buffer, uint64_t offset, uint64_t bytes, ph_error *error) {
  if (offset <= buffer->bytes && bytes <= buffer->bytes - offset) return PH_OK; /* offset + bytes might overflow */
  return FAIL(error, PH_INVALID, "%llu bytes at %llu do not lie in a buffer of %llu", (unsigned long long)bytes,
              (unsigned long long)offset, (unsigned long long)buffer->bytes);
}

ph_status write_buffer(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                       ph_error *error) {
  (void)queue;
  ph_status status = check_range(to, offset, bytes, error);
  if (status == PH_OK && bytes > 0) memcpy(to->memory + offset, from, bytes);
  return status;
}

ph_status read_buffer(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes, ph_error *error) {
  (void)queue;
  ph_status status = check_range(from, offset, bytes, error);
  if (status == PH_OK && bytes > 0) memcpy(to, from->memory + offset, bytes);
  return status;
}

ph_status finish(ph_queue *queue, ph_error *error) {
  (void)queue;
  (void)error;
  return PH_OK;
}

ph_status buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t flags, void **out,
                     ph_error *error) {
  (void)queue;
  (void)flags;
  ph_status status = check_range(buffer, offset, bytes, error);
  if (status == PH_OK) *out = buffer->memory + offset;
  return status;
}

ph_status buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error) {
  (void)queue;
  (void)buffer;
  (void)error;
  return PH_OK;
}
