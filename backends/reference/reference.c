/* The reference backend's one device, its buffers and its queues. */
#include "reference/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "oracle/oracle.h"
#include "reference/plan.h"

enum { ALIGNMENT = 64 };

struct ph_backend_context {
  uint64_t memory_bytes;
};

struct ph_device {
  uint64_t memory_bytes;
};

/* Work is done when it is queued, so a queue holds nothing. */
struct ph_queue {
  uint32_t flags;
};

static ph_status no_options(const ph_option *options, uint32_t count, ph_error *error) {
  if (count == 0) return PH_OK;
  return ph_fail(error, PH_INVALID, "the reference backend has no option '%s': it knows none", options[0].key);
}

static ph_status reference_open(const ph_host *host, const ph_option *options, uint32_t option_count,
                                ph_backend_context **out, ph_error *error) {
  (void)host;
  PH_TRY(no_options(options, option_count, error));
  ph_backend_context *context = ph_new_array(1, sizeof(*context));
  if (context == NULL) return ph_fail_memory(error);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  context->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 32;
  *out = context;
  return PH_OK;
}

static void reference_close(ph_backend_context *context) {
  free(context);
}

static ph_status reference_device_count(ph_backend_context *context, uint32_t *out, ph_error *error) {
  (void)context;
  (void)error;
  *out = 1;
  return PH_OK;
}

static void describe(uint64_t memory_bytes, ph_device_info *out) {
  ph_device_info info = {.struct_size = out->struct_size,
                         .kind = PH_DEVICE_CPU,
                         .caps = PH_CAP_UNIFIED_MEMORY | PH_CAP_NODE_TIMES,
                         .platform_index = PH_NONE,
                         .device_index = PH_NONE,
                         .alignment = ALIGNMENT,
                         .memory_bytes = memory_bytes,
                         .max_buffer_bytes = memory_bytes,
                         .id = "reference",
                         .name = "reference",
                         .platform = "host",
                         .driver = "plain C, in double"};
  memcpy(out, &info, out->struct_size < sizeof(info) ? out->struct_size : sizeof(info));
}

static ph_status reference_device_info(ph_backend_context *context, uint32_t index, ph_device_info *out,
                                       ph_error *error) {
  if (index != 0) return ph_fail(error, PH_UNAVAILABLE, "the reference has one device, not number %u", index);
  describe(context->memory_bytes, out);
  return PH_OK;
}

static ph_status reference_device_open(ph_backend_context *context, uint32_t index, const ph_option *options,
                                       uint32_t option_count, ph_device **out, ph_error *error) {
  if (index != 0) return ph_fail(error, PH_UNAVAILABLE, "the reference has one device, not number %u", index);
  PH_TRY(no_options(options, option_count, error));
  ph_device *device = ph_new_array(1, sizeof(*device));
  if (device == NULL) return ph_fail_memory(error);
  device->memory_bytes = context->memory_bytes;
  *out = device;
  return PH_OK;
}

static ph_status reference_device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  (void)error;
  describe(device->memory_bytes, out);
  return PH_OK;
}

static void reference_device_close(ph_device *device) {
  free(device);
}

/* ---- supports ---- */

/* The first tensor of the node that the device cannot hold; PH_NONE if there is none. */
static uint32_t too_large(const ph_device *device, const ph_graph *graph, const ph_node *node) {
  for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
    uint32_t tensor = i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
    uint64_t bytes;
    if (tensor == PH_NONE) continue;
    if (!ph_reference_tensor_bytes(graph->tensors[tensor], &bytes) || bytes > device->memory_bytes) return tensor;
  }
  return PH_NONE;
}

static ph_status reference_supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out,
                                    ph_error *error) {
  (void)error;
  const ph_node *asked = graph->nodes[node];
  ph_support support = {.struct_size = out->struct_size, .variant = "double"};
  uint32_t large;
  if (!ph_oracle_knows(asked->op, asked->op_version)) {
    snprintf(support.reason, sizeof(support.reason), "op %s version %u is not known to the reference", asked->op,
             asked->op_version);
  } else if ((large = too_large(device, graph, asked)) != PH_NONE) {
    snprintf(support.reason, sizeof(support.reason), "tensor '%.64s' is larger than the %llu bytes of this machine",
             graph->tensors[large]->name, (unsigned long long)device->memory_bytes);
  } else {
    support.supported = true;
    for (uint32_t stage = PH_STAGE_SCORE; stage <= PH_STAGE_ACCUM; stage++)
      if (ph_oracle_magnitudes(asked->op) >> stage & 1u) support.stage_type[stage] = PH_F64;
  }
  memcpy(out, &support, out->struct_size < sizeof(support) ? out->struct_size : sizeof(support));
  return PH_OK;
}

/* ---- buffers and queues ---- */

static ph_status reference_buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  if (bytes == 0) return ph_fail(error, PH_INVALID, "a buffer needs at least one byte");
  if (bytes > device->memory_bytes)
    return ph_fail(error, PH_OUT_OF_MEMORY, "a buffer of %llu bytes is more than this machine's %llu",
                   (unsigned long long)bytes, (unsigned long long)device->memory_bytes);
  ph_buffer *buffer = ph_new_array(1, sizeof(*buffer));
  if (buffer == NULL) return ph_fail_memory(error);
  buffer->bytes = bytes;
  if (posix_memalign(&buffer->memory, ALIGNMENT, (size_t)bytes) != 0) {
    free(buffer);
    return ph_fail_memory(error);
  }
  *out = buffer;
  return PH_OK;
}

static void reference_buffer_destroy(ph_buffer *buffer) {
  if (buffer == NULL) return;
  free(buffer->memory);
  free(buffer);
}

static ph_status reference_queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  (void)device;
  ph_queue *queue = ph_new_array(1, sizeof(*queue));
  if (queue == NULL) return ph_fail_memory(error);
  queue->flags = flags;
  *out = queue;
  return PH_OK;
}

static void reference_queue_destroy(ph_queue *queue) {
  free(queue);
}

static ph_status check_range(const ph_buffer *buffer, uint64_t offset, uint64_t bytes, ph_error *error) {
  if (offset <= buffer->bytes && bytes <= buffer->bytes - offset) return PH_OK;
  return ph_fail(error, PH_INVALID, "%llu bytes at offset %llu lie outside a buffer of %llu", (unsigned long long)bytes,
                 (unsigned long long)offset, (unsigned long long)buffer->bytes);
}

static ph_status reference_write(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                                 ph_error *error) {
  (void)queue;
  PH_TRY(check_range(to, offset, bytes, error));
  if (bytes > 0) memcpy((char *)to->memory + offset, from, (size_t)bytes);
  return PH_OK;
}

static ph_status reference_read(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes,
                                ph_error *error) {
  (void)queue;
  PH_TRY(check_range(from, offset, bytes, error));
  if (bytes > 0) memcpy(to, (const char *)from->memory + offset, (size_t)bytes);
  return PH_OK;
}

static ph_status reference_execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                                   const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  (void)workspace;
  return ph_reference_plan_run(plan, bindings, binding_count, queue->flags & PH_QUEUE_TIMES ? times : NULL, error);
}

static ph_status reference_finish(ph_queue *queue, ph_error *error) {
  (void)queue;
  (void)error;
  return PH_OK;
}

static ph_status reference_buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes,
                                      uint32_t flags, void **out, ph_error *error) {
  (void)queue;
  (void)flags;
  PH_TRY(check_range(buffer, offset, bytes, error));
  *out = (char *)buffer->memory + offset;
  return PH_OK;
}

static ph_status reference_buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error) {
  (void)queue;
  (void)buffer;
  (void)error;
  return PH_OK;
}

static const ph_backend backend = {
    PH_BACKEND_HEADER,
    .name = "reference",
    .version = "0.1.0",
    .vendor = "Polyhead",
    .summary = "plain scalar C in double, rounded once per node: slow, and the measure of all others",
    .open = reference_open,
    .close = reference_close,
    .device_count = reference_device_count,
    .device_info = reference_device_info,
    .device_open = reference_device_open,
    .device_limits = reference_device_limits,
    .device_close = reference_device_close,
    .supports = reference_supports,
    .buffer_create = reference_buffer_create,
    .buffer_destroy = reference_buffer_destroy,
    .program_create = ph_reference_program_create,
    .program_destroy = ph_reference_program_destroy,
    .plan_create = ph_reference_plan_create,
    .plan_destroy = ph_reference_plan_destroy,
    .queue_create = reference_queue_create,
    .queue_destroy = reference_queue_destroy,
    .write = reference_write,
    .read = reference_read,
    .execute = reference_execute,
    .finish = reference_finish,
    .buffer_map = reference_buffer_map,
    .buffer_unmap = reference_buffer_unmap,
};

const ph_backend *ph_reference_backend(void) {
  return &backend;
}
