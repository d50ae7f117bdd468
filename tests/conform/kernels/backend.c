/* The test backend `kernels`: options kernel=plain|online|half_weights, storage=f32 and bug=NAME.  What it logs at the
 * level `debug` says in which nodes the bug shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "kernels.h"

enum { ALIGNMENT = 64 };
static const uint64_t max_bytes = UINT64_C(1) << 30;

struct ph_backend_context {
  const ph_host *host;
};

struct ph_queue {
  unsigned char nothing; /* work is done when it is queued */
};

enum { SCORE = 1u << PH_STAGE_SCORE, WEIGHT = 1u << PH_STAGE_WEIGHT, ACCUM = 1u << PH_STAGE_ACCUM };

static const kernel_row rows[] = {
    {"linear", kernel_linear, ACCUM},
    {"fused_linear", kernel_fused_linear, WEIGHT | ACCUM},
    {"matmul", kernel_matmul, ACCUM},
    {"scaled_scores", kernel_scaled_scores, ACCUM},
    {"softcap", kernel_softcap, WEIGHT},
    {"mask", kernel_mask, ACCUM},
    {"softmax", kernel_softmax, WEIGHT | ACCUM},
    {"log_softmax", kernel_log_softmax, WEIGHT | ACCUM},
    {"hardmax", kernel_hardmax, 0},
    {"weighted_sum", kernel_weighted_sum, WEIGHT | ACCUM},
    {"attention", kernel_attention, SCORE | WEIGHT | ACCUM},
    {"layer_norm", kernel_layer_norm, ACCUM},
    {"rms_norm", kernel_rms_norm, ACCUM},
    {"mean", kernel_mean, ACCUM},
    {"mse", kernel_mse, ACCUM},
    {"l2_normalize", kernel_l2_normalize, ACCUM},
    {"cross_entropy", kernel_cross_entropy, WEIGHT | ACCUM},
    {"rotary", kernel_rotary, WEIGHT | ACCUM},
    {"sinusoidal_position", kernel_sinusoidal_position, WEIGHT},
    {"embedding", kernel_embedding, 0},
    {"split_heads", kernel_split_heads, 0},
    {"concat_heads", kernel_concat_heads, 0},
    {"cache_write", kernel_cache_write, 0},
    {"add", kernel_add, 0},
    {"sub", kernel_sub, 0},
    {"mul", kernel_mul, 0},
    {"div", kernel_div, 0},
    {"relu", kernel_relu, 0},
    {"gelu", kernel_gelu, WEIGHT},
    {"silu", kernel_silu, WEIGHT},
    {"tanh", kernel_tanh, WEIGHT},
    {"sigmoid", kernel_sigmoid, WEIGHT},
    {"erf", kernel_erf, WEIGHT},
    {"exp", kernel_exp, WEIGHT},
};

const kernel_row *kernel_find(const char *op) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (strcmp(rows[i].op, op) == 0) return &rows[i];
  return NULL;
}

/* ---- devices ---- */

static ph_status open_backend(const ph_host *host, const ph_option *options, uint32_t option_count,
                              ph_backend_context **out, ph_error *error) {
  (void)options;
  (void)option_count;
  ph_backend_context *context = calloc(1, sizeof(*context));
  if (context == NULL) return ph_fail_memory(error);
  context->host = host;
  *out = context;
  return PH_OK;
}

static void close_backend(ph_backend_context *context) {
  free(context);
}

static ph_status device_count(ph_backend_context *context, uint32_t *out, ph_error *error) {
  (void)context;
  (void)error;
  *out = 1;
  return PH_OK;
}

static void describe(ph_device_info *out) {
  *out = (ph_device_info){.struct_size = sizeof(*out),
                          .kind = PH_DEVICE_OTHER,
                          .platform_index = PH_NONE,
                          .device_index = PH_NONE,
                          .alignment = ALIGNMENT,
                          .memory_bytes = max_bytes,
                          .max_buffer_bytes = max_bytes,
                          .id = "kernels",
                          .name = "kernels",
                          .platform = "host",
                          .driver = "plain C, in f32"};
}

static ph_status device_info(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error) {
  (void)context;
  if (index != 0) return ph_fail(error, PH_UNAVAILABLE, "there is one device, not number %u", index);
  describe(out);
  return PH_OK;
}

static ph_status read_option(const ph_option *option, ph_device *device, ph_error *error) {
  static const char *const ways[] = {"plain", "online", "half_weights"};
  if (strcmp(option->key, "bug") == 0) {
    device->bug = kernel_bug_named(option->value);
    return device->bug != BUG_NONE ? PH_OK : ph_fail(error, PH_INVALID, "there is no bug '%s'", option->value);
  }
  if (strcmp(option->key, "storage") == 0) {
    device->f32_alone = strcmp(option->value, "f32") == 0;
    return device->f32_alone ? PH_OK
                             : ph_fail(error, PH_INVALID, "storage is f32 or left out, not '%s'", option->value);
  }
  if (strcmp(option->key, "kernel") != 0)
    return ph_fail(error, PH_INVALID, "there is no option '%s'; there are kernel, storage and bug", option->key);
  for (int way = KERNEL_PLAIN; way <= KERNEL_HALF_WEIGHTS; way++)
    if (strcmp(option->value, ways[way]) == 0) {
      device->way = (kernel_way)way;
      return PH_OK;
    }
  return ph_fail(error, PH_INVALID, "kernel is plain, online or half_weights, not '%s'", option->value);
}

static ph_status device_open(ph_backend_context *context, uint32_t index, const ph_option *options,
                             uint32_t option_count, ph_device **out, ph_error *error) {
  (void)index;
  ph_device *device = calloc(1, sizeof(*device));
  if (device == NULL) return ph_fail_memory(error);
  device->host = context->host;
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < option_count && status == PH_OK; i++) status = read_option(&options[i], device, error);
  if (status == PH_OK && device->bug != BUG_NONE && device->way == KERNEL_ONLINE)
    status = ph_fail(error, PH_INVALID, "a bug is in kernel=plain and kernel=half_weights, not in kernel=online");
  if (status == PH_OK)
    *out = device;
  else
    free(device);
  return status;
}

static ph_status device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  (void)device;
  (void)error;
  describe(out);
  return PH_OK;
}

static void device_close(ph_device *device) {
  free(device);
}

/* ---- supports ---- */

/* Why the tensor cannot be taken; NULL where it can. */
static const char *refuse_tensor(const ph_device *device, const ph_tensor_desc *desc, bool written) {
  bool real = desc->dtype == PH_F32 || desc->dtype == PH_F16 || desc->dtype == PH_BF16;
  if (!real && (written || (desc->dtype != PH_I64 && desc->dtype != PH_BOOL)))
    return "there are kernels for f32, f16 and bf16, with i64 and bool beside them";
  if (device->f32_alone && real && desc->dtype != PH_F32) return "storage=f32 asks for f32 alone";
  if (written && !ph_desc_is_dense(desc)) return "results are written dense";
  if (kernel_tensor_bytes(desc) > max_bytes) return "a tensor is larger than a buffer";
  return NULL;
}

static const char *refuse(const ph_device *device, const ph_graph *graph, const ph_node *node) {
  if (kernel_find(node->op) == NULL || node->op_version != 1) return "there is no kernel for it";
  if (!kernel_bug_concerns(device->bug, node->op)) return "its kernel does not have the bug";
  const char *reason = NULL;
  for (uint32_t i = 0; i < node->input_count && reason == NULL; i++)
    if (node->inputs[i] != PH_NONE) reason = refuse_tensor(device, graph->tensors[node->inputs[i]], false);
  for (uint32_t i = 0; i < node->output_count && reason == NULL; i++)
    if (node->outputs[i] != PH_NONE) reason = refuse_tensor(device, graph->tensors[node->outputs[i]], true);
  return reason;
}

static ph_status supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error) {
  (void)error;
  const char *op = graph->nodes[node]->op, *reason = refuse(device, graph, graph->nodes[node]);
  *out = (ph_support){.struct_size = sizeof(*out), .supported = reason == NULL};
  if (reason != NULL) {
    snprintf(out->reason, sizeof(out->reason), "%s", reason);
    return PH_OK;
  }
  bool half = device->way == KERNEL_HALF_WEIGHTS && (strcmp(op, "attention") == 0 || strcmp(op, "weighted_sum") == 0);
  snprintf(out->variant, sizeof(out->variant), "%s", half ? "half_weights" : "plain");
  for (uint32_t stage = PH_STAGE_SCORE; stage <= PH_STAGE_ACCUM; stage++)
    if (kernel_find(op)->stages >> stage & 1u)
      out->stage_type[stage] = half && stage == PH_STAGE_WEIGHT ? PH_F16 : PH_F32;
  return PH_OK;
}

/* ---- buffers and queues ---- */

static ph_status buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  (void)device;
  ph_buffer *buffer = calloc(1, sizeof(*buffer));
  if (buffer == NULL) return ph_fail_memory(error);
  buffer->bytes = bytes;
  buffer->memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (buffer->memory == NULL) {
    free(buffer);
    return ph_fail_memory(error);
  }
  *out = buffer;
  return PH_OK;
}

static void buffer_destroy(ph_buffer *buffer) {
  if (buffer == NULL) return;
  free(buffer->memory);
  free(buffer);
}

static ph_status queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  (void)device;
  (void)flags;
  *out = calloc(1, sizeof(**out));
  return *out != NULL ? PH_OK : ph_fail_memory(error);
}

static void queue_destroy(ph_queue *queue) {
  free(queue);
}

static ph_status write_buffer(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                              ph_error *error) {
  (void)queue;
  if (offset > to->bytes || bytes > to->bytes - offset) return ph_fail(error, PH_INVALID, "outside the buffer");
  memcpy(to->memory + offset, from, bytes);
  return PH_OK;
}

static ph_status read_buffer(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes,
                             ph_error *error) {
  (void)queue;
  if (offset > from->bytes || bytes > from->bytes - offset) return ph_fail(error, PH_INVALID, "outside the buffer");
  memcpy(to, from->memory + offset, bytes);
  return PH_OK;
}

static ph_status finish(ph_queue *queue, ph_error *error) {
  (void)queue;
  (void)error;
  return PH_OK;
}

static const ph_backend backend = {
    PH_BACKEND_HEADER,
    .name = "kernels",
    .version = "0.1.0",
    .vendor = "Polyhead's tests",
    .summary = "plain f32 kernels, right, or wrong in one line",
    .open = open_backend,
    .close = close_backend,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_limits = device_limits,
    .device_close = device_close,
    .supports = supports,
    .buffer_create = buffer_create,
    .buffer_destroy = buffer_destroy,
    .program_create = kernel_program_create,
    .program_destroy = kernel_program_destroy,
    .plan_create = kernel_plan_create,
    .plan_destroy = kernel_plan_destroy,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .write = write_buffer,
    .read = read_buffer,
    .execute = kernel_execute,
    .finish = finish,
};

PH_BACKEND_EXPORT const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  return host_abi_version >> 16 == PH_ABI_MAJOR ? &backend : NULL;
}
