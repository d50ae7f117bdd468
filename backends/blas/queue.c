/* Buffers are host memory, and a queue does what it is given at once. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "blas/device.h"

ph_status blas_buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  if (bytes > device->memory_bytes)
    return ph_fail(error, PH_OUT_OF_MEMORY, "a buffer of %llu bytes is larger than this machine's memory of %llu",
                   (unsigned long long)bytes, (unsigned long long)device->memory_bytes);
  ph_buffer *buffer = ph_new_array(1, sizeof(*buffer));
  if (buffer == NULL) return ph_fail_memory(error);
  if (posix_memalign(&buffer->memory, BLAS_ALIGNMENT, bytes) != 0) {
    free(buffer);
    return ph_fail(error, PH_OUT_OF_MEMORY, "no memory for a buffer of %llu bytes", (unsigned long long)bytes);
  }
  buffer->bytes = bytes;
  *out = buffer;
  return PH_OK;
}

ph_status blas_buffer_wrap(ph_device *device, void *memory, uint64_t bytes, ph_buffer **out, ph_error *error) {
  (void)device;
  ph_buffer *buffer = ph_new_array(1, sizeof(*buffer));
  if (buffer == NULL) return ph_fail_memory(error);
  *buffer = (ph_buffer){.memory = memory, .bytes = bytes, .lent = true};
  *out = buffer;
  return PH_OK;
}

void blas_buffer_destroy(ph_buffer *buffer) {
  if (buffer == NULL) return;
  if (!buffer->lent) free(buffer->memory);
  free(buffer);
}

ph_status blas_queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  (void)device;
  ph_queue *queue = ph_new_array(1, sizeof(*queue));
  if (queue == NULL) return ph_fail_memory(error);
  queue->flags = flags;
  *out = queue;
  return PH_OK;
}

void blas_queue_destroy(ph_queue *queue) {
  free(queue);
}

static ph_status check_range(const ph_buffer *buffer, uint64_t offset, uint64_t bytes, ph_error *error) {
  if (blas_in_buffer(buffer, offset, bytes)) return PH_OK;
  return ph_fail(error, PH_INVALID, "bytes %llu to %llu + %llu do not lie in a buffer of %llu",
                 (unsigned long long)offset, (unsigned long long)offset, (unsigned long long)bytes,
                 (unsigned long long)buffer->bytes);
}

ph_status blas_write(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                     ph_error *error) {
  (void)queue;
  PH_TRY(check_range(to, offset, bytes, error));
  if (bytes > 0) memcpy((char *)to->memory + offset, from, bytes);
  return PH_OK;
}

ph_status blas_read(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes, ph_error *error) {
  (void)queue;
  PH_TRY(check_range(from, offset, bytes, error));
  if (bytes > 0) memcpy(to, (const char *)from->memory + offset, bytes);
  return PH_OK;
}

ph_status blas_finish(ph_queue *queue, ph_error *error) {
  (void)queue;
  (void)error;
  return PH_OK;
}

ph_status blas_buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t flags,
                          void **out, ph_error *error) {
  (void)queue;
  (void)flags;
  PH_TRY(check_range(buffer, offset, bytes, error));
  *out = (char *)buffer->memory + offset;
  return PH_OK;
}

ph_status blas_buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error) {
  (void)queue;
  (void)buffer;
  (void)error;
  return PH_OK;
}
