/* Making and freeing device memory. */
#include "opencl/buffer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "opencl/status.h"

ph_status cl_buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  if (bytes == 0 || bytes > device->limits.max_buffer)
    return ph_fail(error, PH_INVALID, "a buffer of %" PRIu64 " bytes is asked for; this device takes 1 to %" PRIu64,
                   bytes, device->limits.max_buffer);
  ph_buffer *buffer = calloc(1, sizeof(*buffer));
  if (buffer == NULL) return ph_fail_memory(error);
  buffer->device = device;
  buffer->bytes = bytes;
  /* Where memory is one, mapping then copies nothing on drivers that would else keep the buffer elsewhere. */
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  if (device->info.caps & PH_CAP_UNIFIED_MEMORY) flags |= CL_MEM_ALLOC_HOST_PTR;
  cl_int code;
  buffer->cl = clCreateBuffer(device->cl, flags, (size_t)bytes, NULL, &code);
  if (code != CL_SUCCESS) {
    free(buffer);
    return cl_fail(error, code, "clCreateBuffer");
  }
  *out = buffer;
  return PH_OK;
}

void cl_buffer_destroy(ph_buffer *buffer) {
  if (buffer == NULL) return;
  cl_note_release(buffer->device->context, clReleaseMemObject(buffer->cl), "clReleaseMemObject");
  free(buffer);
}
