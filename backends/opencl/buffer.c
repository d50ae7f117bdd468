/* Making and freeing device memory. */
#include "opencl/buffer.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "opencl/status.h"

/* memory: NULL for memory of the driver's. */
static ph_status create(ph_device *device, cl_mem_flags flags, void *memory, uint64_t bytes, ph_buffer **out,
                        ph_error *error) {
  if (bytes == 0 || bytes > device->limits.max_buffer)
    return ph_fail(error, PH_INVALID, "a buffer of %" PRIu64 " bytes is asked for; this device takes 1 to %" PRIu64,
                   bytes, device->limits.max_buffer);
  ph_buffer *buffer = calloc(1, sizeof(*buffer));
  if (buffer == NULL) return ph_fail_memory(error);
  buffer->device = device;
  buffer->bytes = bytes;
  cl_int code;
  buffer->cl = clCreateBuffer(device->cl, CL_MEM_READ_WRITE | flags, (size_t)bytes, memory, &code);
  if (code != CL_SUCCESS) {
    free(buffer);
    return cl_fail(error, code, "clCreateBuffer");
  }
  buffer->number = atomic_fetch_add(&device->buffers_made, 1) + 1;
  *out = buffer;
  return PH_OK;
}

ph_status cl_buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  /* Where memory is one, mapping then copies nothing on drivers that would else keep the buffer elsewhere. */
  bool unified = (device->info.caps & PH_CAP_UNIFIED_MEMORY) != 0;
  return create(device, unified ? CL_MEM_ALLOC_HOST_PTR : 0, NULL, bytes, out, error);
}

ph_status cl_buffer_wrap(ph_device *device, void *memory, uint64_t bytes, ph_buffer **out, ph_error *error) {
  if ((device->info.caps & PH_CAP_UNIFIED_MEMORY) == 0)
    return ph_fail(error, PH_UNSUPPORTED, "'%s' has memory of its own", device->info.name);
  if ((uintptr_t)memory % device->info.alignment != 0)
    return ph_fail(error, PH_UNSUPPORTED, "the memory is not aligned to %" PRIu32 " bytes", device->info.alignment);
  /* A driver that does not want this memory is no driver that failed. */
  ph_status status = create(device, CL_MEM_USE_HOST_PTR, memory, bytes, out, error);
  if (status != PH_OK && error != NULL) error->code = PH_UNSUPPORTED;
  return status == PH_OK ? PH_OK : PH_UNSUPPORTED;
}

void cl_buffer_destroy(ph_buffer *buffer) {
  if (buffer == NULL) return;
  cl_note_release(buffer->device->context, clReleaseMemObject(buffer->cl), "clReleaseMemObject");
  free(buffer);
}
