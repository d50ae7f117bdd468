/* A backend without kernels, to be built broken in many ways: each macro below makes one fault (CMakeLists.txt). */
#include <polyhead/backend.h>

#include <stdio.h>
#include <string.h>

#ifndef STUB_NAME
#define STUB_NAME STUB_FILE
#endif
#ifndef STUB_ABI
#define STUB_ABI PH_ABI_VERSION
#endif
#ifndef STUB_SIZE
#define STUB_SIZE sizeof(ph_backend)
#endif
#ifndef STUB_HAS_SUPPORTS
#define STUB_HAS_SUPPORTS 1
#endif
#ifndef STUB_KIND
#define STUB_KIND PH_DEVICE_CPU
#endif
#ifndef STUB_DEVICES
#define STUB_DEVICES 2
#endif
#ifndef STUB_ALIGNMENT
#define STUB_ALIGNMENT 64
#endif
#ifndef STUB_OPEN
#define STUB_OPEN PH_OK
#endif
#ifndef STUB_OPEN_MESSAGE
#define STUB_OPEN_MESSAGE "the stub was told to fail"
#endif
#ifndef STUB_COUNT
#define STUB_COUNT PH_OK
#endif
#ifndef STUB_REFUSED_ABI
#define STUB_REFUSED_ABI 0
#endif
#ifndef STUB_DEVICE_OPEN
#define STUB_DEVICE_OPEN PH_OK
#endif

#ifdef STUB_UNRESOLVED
void stub_is_nowhere(void);
#else
static void stub_is_nowhere(void) {}
#endif

struct ph_backend_context {
  const ph_host *host;
};

struct ph_device {
  uint32_t alignment;
};

static ph_status fail_with(ph_error *error, ph_status status, const char *message) {
  if (status != PH_OK && error != NULL) {
    error->code = status;
    strcpy(error->message, message);
  }
  return status;
}

/* ---- devices ---- */

static ph_status open_backend(const ph_host *host, const ph_option *options, uint32_t option_count,
                              ph_backend_context **out, ph_error *error) {
  stub_is_nowhere();
  ph_backend_context *context = host->alloc(host->user, sizeof(*context), 64);
  if (context == NULL) return fail_with(error, PH_OUT_OF_MEMORY, "out of host memory");
  host->log(host->user, PH_LOG_DEBUG, host->cache_dir != NULL ? host->cache_dir : "no cache");
  if (STUB_OPEN != PH_OK) {
    host->free(host->user, context);
    return fail_with(error, STUB_OPEN, STUB_OPEN_MESSAGE);
  }
  context->host = host;
  *out = context;
  return PH_OK;
}

static void close_backend(ph_backend_context *context) {
  context->host->log(context->host->user, PH_LOG_DEBUG, "closed");
  context->host->free(context->host->user, context);
}

static ph_status device_count(ph_backend_context *context, uint32_t *out, ph_error *error) {
  *out = STUB_DEVICES;
  return fail_with(error, STUB_COUNT, "the driver was lost");
}

static void describe(uint32_t index, uint32_t alignment, ph_device_info *out) {
  *out = (ph_device_info){.struct_size = sizeof(*out),
                          .kind = STUB_KIND,
                          .platform_index = 7,
                          .device_index = index,
                          .alignment = alignment,
                          .memory_bytes = 1u << 20,
                          .max_buffer_bytes = 1u << 20,
                          .id = STUB_NAME,
                          .platform = "Stub Works",
                          .driver = "1"};
  strcpy(out->name, index == 0 ? "Alpha One" : "Beta Two");
}

/* Device 0 of a stub with a wrong alignment has it; the others are fine. */
static ph_status device_info(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error) {
  if (index + 1 > STUB_DEVICES) return fail_with(error, PH_UNAVAILABLE, "there is no such device");
  describe(index, index == 0 ? STUB_ALIGNMENT : 64, out);
  return PH_OK;
}

static ph_status device_open(ph_backend_context *context, uint32_t index, const ph_option *options,
                             uint32_t option_count, ph_device **out, ph_error *error) {
  static ph_device devices[2] = {{64}, {128}}; /* [1]: with the option wide */
  if (STUB_DEVICE_OPEN != PH_OK) return fail_with(error, STUB_DEVICE_OPEN, "the device is busy");
  for (uint32_t i = 0; i < option_count; i++) {
    char message[128];
    snprintf(message, sizeof(message), "unknown option '%.64s'; it knows wide", options[i].key);
    if (strcmp(options[i].key, "wide") != 0) return fail_with(error, PH_INVALID, message);
  }
  *out = &devices[option_count > 0];
  return PH_OK;
}

static ph_status device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  describe(0, device->alignment, out);
  return PH_OK;
}

static void device_close(ph_device *device) {
  (void)device;
}

/* ---- what it refuses ---- */

static ph_status supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error) {
  out->supported = false;
  strcpy(out->reason, "a stub computes nothing; take another device");
  return PH_OK;
}

static ph_status buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  return fail_with(error, PH_UNSUPPORTED, "a stub has no memory");
}

static ph_status program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error) {
  return fail_with(error, PH_UNSUPPORTED, "a stub has no programs");
}

static ph_status plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                             ph_error *error) {
  return fail_with(error, PH_UNSUPPORTED, "a stub has no plans");
}

static ph_status queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  return fail_with(error, PH_UNSUPPORTED, "a stub has no queues");
}

static ph_status write_buffer(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                              ph_error *error) {
  return fail_with(error, PH_UNSUPPORTED, "a stub has no memory");
}

static ph_status read_buffer(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes,
                             ph_error *error) {
  return fail_with(error, PH_UNSUPPORTED, "a stub has no memory");
}

static ph_status execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                         const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  return fail_with(error, PH_UNSUPPORTED, "a stub computes nothing");
}

static ph_status finish(ph_queue *queue, ph_error *error) {
  return PH_OK;
}

/* Nothing of these is ever made. */
static void buffer_destroy(ph_buffer *buffer) {
  (void)buffer;
}
static void program_destroy(ph_program *program) {
  (void)program;
}
static void plan_destroy(ph_plan *plan) {
  (void)plan;
}
static void queue_destroy(ph_queue *queue) {
  (void)queue;
}

/* ---- the table ---- */

/* Followed by what a newer ABI may have, so that a larger size tells no lie. */
static const struct {
  ph_backend backend;
  unsigned char later[64];
} table = {.backend = {
               .struct_size = STUB_SIZE,
               .abi_version = STUB_ABI,
               .name = STUB_NAME,
               .version = "0.0.1",
               .vendor = "Stub Works",
               .summary = "a backend for tests of the loader",
               .open = open_backend,
               .close = close_backend,
               .device_count = device_count,
               .device_info = device_info,
               .device_open = device_open,
               .device_limits = device_limits,
               .device_close = device_close,
               .supports = STUB_HAS_SUPPORTS ? supports : NULL,
               .buffer_create = buffer_create,
               .buffer_destroy = buffer_destroy,
               .program_create = program_create,
               .program_destroy = program_destroy,
               .plan_create = plan_create,
               .plan_destroy = plan_destroy,
               .queue_create = queue_create,
               .queue_destroy = queue_destroy,
               .write = write_buffer,
               .read = read_buffer,
               .execute = execute,
               .finish = finish,
           }};

const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  bool refused = host_abi_version == STUB_REFUSED_ABI || host_abi_version >> 16 > PH_ABI_MAJOR;
  return refused ? NULL : &table.backend;
}
