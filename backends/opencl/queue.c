/* Queues: transfers, mapping, finishing. */
#include "opencl/queue.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "opencl/buffer.h"
#include "opencl/status.h"

ph_status cl_queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  ph_queue *queue = calloc(1, sizeof(*queue));
  if (queue == NULL) return ph_fail_memory(error);
  queue->device = device;
  queue->times = (flags & PH_QUEUE_TIMES) != 0;
  cl_int code;
  queue->cl =
      clCreateCommandQueue(device->cl, device->found->device, queue->times ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
  if (code != CL_SUCCESS) {
    free(queue);
    return cl_fail(error, code, "clCreateCommandQueue");
  }
  *out = queue;
  return PH_OK;
}

static void drop_events(ph_queue *queue) {
  for (size_t i = 0; i < queue->timed_count; i++)
    cl_note_release(queue->device->context, clReleaseEvent(queue->timed[i].event), "clReleaseEvent");
  queue->timed_count = 0;
}

void cl_queue_destroy(ph_queue *queue) {
  if (queue == NULL) return;
  cl_note_release(queue->device->context, clFinish(queue->cl), "clFinish");
  drop_events(queue);
  cl_note_release(queue->device->context, clReleaseCommandQueue(queue->cl), "clReleaseCommandQueue");
  free(queue->timed);
  free(queue->launched);
  free(queue);
}

static ph_status check_range(const ph_buffer *buffer, uint64_t offset, uint64_t bytes, ph_error *error) {
  if (offset <= buffer->bytes && bytes <= buffer->bytes - offset) return PH_OK;
  return ph_fail(error, PH_INVALID, "bytes %" PRIu64 " to %" PRIu64 " of a buffer of %" PRIu64 " are asked for", offset,
                 offset + bytes, buffer->bytes);
}

ph_status cl_write(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes, ph_error *error) {
  PH_TRY(check_range(to, offset, bytes, error));
  if (bytes == 0) return PH_OK;
  cl_int code = clEnqueueWriteBuffer(queue->cl, to->cl, CL_FALSE, (size_t)offset, (size_t)bytes, from, 0, NULL, NULL);
  return code == CL_SUCCESS ? PH_OK : cl_fail(error, code, "clEnqueueWriteBuffer");
}

ph_status cl_read(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes, ph_error *error) {
  PH_TRY(check_range(from, offset, bytes, error));
  if (bytes == 0) return PH_OK;
  cl_int code = clEnqueueReadBuffer(queue->cl, from->cl, CL_FALSE, (size_t)offset, (size_t)bytes, to, 0, NULL, NULL);
  return code == CL_SUCCESS ? PH_OK : cl_fail(error, code, "clEnqueueReadBuffer");
}

/* A node's time goes from the start of its first launch to the end of its last. */
static ph_status read_times(ph_queue *queue, ph_error *error) {
  for (size_t i = 0; i < queue->timed_count; i++) {
    const cl_timed *timed = &queue->timed[i];
    cl_ulong start, end;
    cl_int code = clGetEventProfilingInfo(timed->event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
    if (code == CL_SUCCESS)
      code = clGetEventProfilingInfo(timed->event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
    if (code != CL_SUCCESS) return cl_fail(error, code, "clGetEventProfilingInfo");
    if (i == 0 || queue->timed[i - 1].to != timed->to) timed->to->start_ns = start;
    timed->to->end_ns = end;
  }
  return PH_OK;
}

ph_status cl_finish(ph_queue *queue, ph_error *error) {
  cl_int code = clFinish(queue->cl);
  ph_status status = code == CL_SUCCESS ? read_times(queue, error) : cl_fail(error, code, "clFinish");
  drop_events(queue);
  for (size_t i = 0; status == PH_OK && i < queue->launched_count; i++)
    cl_build_save(queue->device, queue->launched[i]);
  queue->launched_count = 0;
  return status;
}

ph_status cl_buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t flags, void **out,
                        ph_error *error) {
  PH_TRY(check_range(buffer, offset, bytes, error));
  if (bytes == 0 || buffer->mapped != NULL)
    return ph_fail(error, PH_INVALID, bytes == 0 ? "nothing is to be mapped" : "the buffer is mapped already");
  cl_map_flags how = flags & PH_MAP_DISCARD ? CL_MAP_WRITE_INVALIDATE_REGION : 0;
  if (how == 0) how = (flags & PH_MAP_READ ? CL_MAP_READ : 0) | (flags & PH_MAP_WRITE ? CL_MAP_WRITE : 0);
  cl_int code;
  void *mapped =
      clEnqueueMapBuffer(queue->cl, buffer->cl, CL_TRUE, how, (size_t)offset, (size_t)bytes, 0, NULL, NULL, &code);
  if (code != CL_SUCCESS) return cl_fail(error, code, "clEnqueueMapBuffer");
  *out = buffer->mapped = mapped;
  return PH_OK;
}

ph_status cl_buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error) {
  if (buffer->mapped == NULL) return ph_fail(error, PH_INVALID, "the buffer is not mapped");
  cl_int code = clEnqueueUnmapMemObject(queue->cl, buffer->cl, buffer->mapped, 0, NULL, NULL);
  buffer->mapped = NULL;
  return code == CL_SUCCESS ? PH_OK : cl_fail(error, code, "clEnqueueUnmapMemObject");
}
