/* A plugin's life from open() to close(): devices, options, queues, memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conform/plugin_trial.h"
#include "runtime/registry.h"

/* ---- open and close ---- */

static void *lend(void *user, size_t size, size_t alignment) {
  (void)user;
  void *memory = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&memory, alignment, size > 0 ? size : 1) == 0 ? memory : NULL;
}

static void take_back(void *user, void *memory) {
  (void)user;
  free(memory);
}

static void ignore_log(void *user, ph_log_level level, const char *text) {
  (void)user;
  (void)level;
  (void)text;
}

static ph_check_state open_backend(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  trial->host = (ph_host){.struct_size = sizeof(trial->host),
                          .abi_version = PH_ABI_VERSION,
                          .alloc = lend,
                          .free = take_back,
                          .log = ignore_log,
                          .log_level = PH_LOG_ERROR};
  trial->context = NULL;
  ph_status status = trial->backend->open(&trial->host, NULL, 0, &trial->context, &error);
  if (status != PH_OK) {
    trial->context = NULL;
    return ph_trial_call_failed(trial, "open", status, &error);
  }
  if (trial->context == NULL)
    return ph_trial_fail(trial, "set *out: a context may be empty, but not NULL", "open() gave no context");
  return PH_CHECK_PASS;
}

ph_check_state ph_trial_open(ph_plugin_trial *trial) {
  ph_check_state state = open_backend(trial);
  return state == PH_CHECK_PASS ? ph_trial_pass(trial, "opened without options and without a cache folder") : state;
}

void ph_trial_end(ph_plugin_trial *trial) {
  if (trial->device != NULL) trial->backend->device_close(trial->device);
  if (trial->context != NULL) trial->backend->close(trial->context);
  trial->device = NULL;
  trial->context = NULL;
}

/* Libraries stay loaded, and two contexts of one process open the same backend side by side. */
ph_check_state ph_trial_close(ph_plugin_trial *trial) {
  ph_plugin_trial first = *trial;
  ph_check_state state = open_backend(trial);
  if (state == PH_CHECK_PASS && trial->context == first.context) {
    trial->context = NULL; /* closing it twice would be worse */
    state = ph_trial_fail(trial, "allocate the context: keep nothing that open() changes in static data",
                          "a second open() beside the first gave the same context");
  }
  ph_trial_end(&first);
  trial->device = NULL;
  ph_trial_end(trial);
  return state == PH_CHECK_PASS ? ph_trial_pass(trial, "opened a second time, and both closed") : state;
}

/* ---- devices ---- */

static ph_check_state check_info(ph_plugin_trial *trial, ph_device_info *info, const char *call) {
  ph_error error = PH_ERROR_INIT;
  if (ph_device_info_check(info, &error) != PH_OK)
    return ph_trial_fail(trial, "alignment is a power of two and max_buffer_bytes is what one buffer can hold",
                         "%s(): %s", call, error.message);
  if (info->id[0] == '\0' || info->name[0] == '\0')
    return ph_trial_fail(trial, "give the device an id that is the same in every run, and a name to choose it by",
                         "%s(): id or name is empty", call);
  if (info->kind < PH_DEVICE_CPU || info->kind > PH_DEVICE_OTHER)
    return ph_trial_fail(trial, "kind is PH_DEVICE_CPU, PH_DEVICE_GPU or PH_DEVICE_OTHER", "%s(): kind is %d", call,
                         (int)info->kind);
  return PH_CHECK_PASS;
}

/* A host of a later minor version has a longer struct: its end is not the plugin's. */
typedef struct longer_info {
  ph_device_info info;
  unsigned char later[64];
} longer_info;

static ph_check_state check_longer_info(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  longer_info longer = {.info = ph_device_info_empty()}, plain;
  longer.info.struct_size = sizeof(longer);
  memset(longer.later, 0x5A, sizeof(longer.later));
  memcpy(&plain, &longer, sizeof(plain));
  ph_status status = trial->backend->device_info(trial->context, 0, &longer.info, &error);
  if (status != PH_OK) return ph_trial_call_failed(trial, "device_info", status, &error);
  if (memcmp(longer.later, plain.later, sizeof(plain.later)) == 0) return PH_CHECK_PASS;
  return ph_trial_fail(trial, "copy no more than your own sizeof(ph_device_info) and no more than out->struct_size",
                       "device_info() writes past the members that it knows");
}

ph_check_state ph_trial_devices(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  ph_status status = trial->backend->device_count(trial->context, &trial->device_count, &error);
  if (status != PH_OK) return ph_trial_call_failed(trial, "device_count", status, &error);
  if (trial->device_count == 0)
    return ph_trial_skip(trial, "it finds no device on this machine: check it where there is one");
  ph_device_info info;
  for (uint32_t i = trial->device_count; i-- > 0;) {
    info = ph_device_info_empty();
    status = trial->backend->device_info(trial->context, i, &info, &error);
    if (status != PH_OK) return ph_trial_call_failed(trial, "device_info", status, &error);
    ph_check_state state = check_info(trial, &info, "device_info");
    if (state != PH_CHECK_PASS) return state;
  }
  ph_device_info none = ph_device_info_empty();
  if (trial->backend->device_info(trial->context, trial->device_count, &none, &error) == PH_OK)
    return ph_trial_fail(trial, "fail with PH_UNAVAILABLE", "device_info() describes device %u of %u",
                         trial->device_count, trial->device_count);
  ph_check_state state = check_longer_info(trial);
  if (state != PH_CHECK_PASS) return state;
  return ph_trial_pass(trial, "%u; the first is '%s', id '%s'", trial->device_count, info.name, info.id);
}

ph_check_state ph_trial_device(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  ph_status status = trial->backend->device_open(trial->context, 0, NULL, 0, &trial->device, &error);
  if (status != PH_OK) {
    trial->device = NULL;
    return ph_trial_call_failed(trial, "device_open", status, &error);
  }
  if (trial->device == NULL) return ph_trial_fail(trial, "set *out", "device_open() gave no device");
  trial->limits = ph_device_info_empty();
  status = trial->backend->device_limits(trial->device, &trial->limits, &error);
  if (status != PH_OK) return ph_trial_call_failed(trial, "device_limits", status, &error);
  ph_check_state state = check_info(trial, &trial->limits, "device_limits");
  if (state != PH_CHECK_PASS) return state;
  return ph_trial_pass(trial, "opened; buffers up to %" PRIu64 " bytes, at multiples of %u",
                       trial->limits.max_buffer_bytes, trial->limits.alignment);
}

/* A misspelt option must not be taken for a fast run of the wrong thing. */
ph_check_state ph_trial_option(ph_plugin_trial *trial) {
  static const char cure[] =
      "fail with PH_INVALID and name the option and the known ones: \"no option 'x'; it knows a, b\"";
  const ph_option option = {"no_such_option", "1"};
  ph_error error = PH_ERROR_INIT;
  ph_device *device = NULL;
  ph_status status = trial->backend->device_open(trial->context, 0, &option, 1, &device, &error);
  if (status == PH_OK) {
    trial->backend->device_close(device);
    return ph_trial_fail(trial, cure, "device_open() takes the unknown option '%s'", option.key);
  }
  if (status != PH_INVALID)
    return ph_trial_fail(trial, cure, "device_open() refuses the unknown option with the status %s",
                         ph_status_name(status));
  if (strstr(error.message, option.key) == NULL)
    return ph_trial_fail(trial, cure, "the message about the unknown option does not name it: \"%.300s\"",
                         error.message);
  return ph_trial_pass(trial, "an unknown one is refused: %.300s", error.message);
}

ph_check_state ph_trial_nulls(ph_plugin_trial *trial) {
  trial->backend->buffer_destroy(NULL);
  trial->backend->program_destroy(NULL);
  trial->backend->plan_destroy(NULL);
  trial->backend->queue_destroy(NULL);
  return ph_trial_pass(trial, "the destroy functions take NULL");
}

/* ---- queues and memory ---- */

ph_check_state ph_trial_queue(ph_plugin_trial *trial) {
  const ph_backend *backend = trial->backend;
  bool times = (trial->limits.caps & PH_CAP_NODE_TIMES) != 0;
  for (uint32_t flags = 0; flags <= (times ? PH_QUEUE_TIMES : 0u); flags++) {
    ph_error error = PH_ERROR_INIT;
    ph_queue *queues[2] = {NULL, NULL};
    ph_status status = PH_OK;
    const char *call = "queue_create";
    for (int i = 0; i < 2 && status == PH_OK; i++)
      status = backend->queue_create(trial->device, flags, &queues[i], &error);
    if (status == PH_OK) {
      call = "finish";
      status = backend->finish(queues[0], &error);
    }
    for (int i = 0; i < 2; i++) backend->queue_destroy(queues[i]);
    if (status != PH_OK) return ph_trial_call_failed(trial, call, status, &error);
  }
  return ph_trial_pass(trial, "two at a time, %s", times ? "with and without times" : "without times");
}

/* One buffer of `bytes`, and what its check does with it. */
typedef struct memory_trial {
  ph_plugin_trial *trial;
  ph_queue *queue;
  ph_buffer *buffer;
  uint64_t bytes;
  unsigned char *written, *got;
  const char *call; /* the one that failed */
  ph_error error;
} memory_trial;

static ph_status begin_memory(memory_trial *m) {
  const ph_backend *backend = m->trial->backend;
  m->written = malloc(m->bytes);
  m->got = malloc(m->bytes);
  m->call = "malloc";
  if (m->written == NULL || m->got == NULL) return ph_fail_memory(&m->error);
  for (uint64_t i = 0; i < m->bytes; i++) m->written[i] = (unsigned char)(i * 7 + 1);
  memset(m->got, 0, m->bytes);
  m->call = "queue_create";
  PH_TRY(backend->queue_create(m->trial->device, 0, &m->queue, &m->error));
  m->call = "buffer_create";
  return backend->buffer_create(m->trial->device, m->bytes, &m->buffer, &m->error);
}

static void end_memory(memory_trial *m) {
  m->trial->backend->queue_destroy(m->queue);
  m->trial->backend->buffer_destroy(m->buffer);
  free(m->written);
  free(m->got);
}

/* Written in two pieces, read in one, then a piece from the middle. */
static ph_status round_trip(memory_trial *m) {
  const ph_backend *backend = m->trial->backend;
  uint64_t half = m->bytes / 2;
  PH_TRY(begin_memory(m));
  m->call = "write";
  PH_TRY(backend->write(m->queue, m->buffer, 0, m->written, m->bytes, &m->error));
  PH_TRY(backend->write(m->queue, m->buffer, half, m->written, m->bytes - half, &m->error));
  m->call = "read";
  PH_TRY(backend->read(m->queue, m->got, m->buffer, 0, m->bytes, &m->error));
  m->call = "finish";
  PH_TRY(backend->finish(m->queue, &m->error));
  if (memcmp(m->got, m->written, half) != 0 || memcmp(m->got + half, m->written, m->bytes - half) != 0)
    return ph_fail(&m->error, PH_INTERNAL, "what is read is not what was written");
  m->call = "read";
  PH_TRY(backend->read(m->queue, m->got, m->buffer, half, m->bytes - half, &m->error));
  m->call = "finish";
  PH_TRY(backend->finish(m->queue, &m->error));
  if (memcmp(m->got, m->written, m->bytes - half) != 0)
    return ph_fail(&m->error, PH_INTERNAL, "what is read from the middle is not what was written there");
  return PH_OK;
}

ph_check_state ph_trial_buffer(ph_plugin_trial *trial) {
  static const uint64_t sizes[] = {1, 4, 4099, 1 << 20};
  for (int i = 0; i < 4; i++) {
    memory_trial m = {.trial = trial, .bytes = sizes[i], .error = PH_ERROR_INIT};
    if (sizes[i] > trial->limits.max_buffer_bytes) break;
    ph_status status = round_trip(&m);
    end_memory(&m);
    if (status == PH_INTERNAL)
      return ph_trial_fail(trial, "queues are in order, and finish() waits for all of it; offsets are in bytes",
                           "a buffer of %" PRIu64 " bytes: %s", sizes[i], m.error.message);
    if (status != PH_OK) return ph_trial_call_failed(trial, m.call, status, &m.error);
  }
  return ph_trial_pass(trial, "bytes come back as they were written, at any offset");
}

static ph_status map_trip(memory_trial *m) {
  const ph_backend *backend = m->trial->backend;
  uint64_t half = m->bytes / 2;
  void *memory = NULL;
  PH_TRY(begin_memory(m));
  m->call = "write";
  PH_TRY(backend->write(m->queue, m->buffer, 0, m->written, m->bytes, &m->error));
  m->call = "buffer_map";
  PH_TRY(
      backend->buffer_map(m->queue, m->buffer, half, m->bytes - half, PH_MAP_READ | PH_MAP_WRITE, &memory, &m->error));
  if (memory == NULL || memcmp(memory, m->written + half, m->bytes - half) != 0)
    return ph_fail(&m->error, PH_INTERNAL, "a mapped buffer does not hold what was queued before");
  memset(memory, 0x3C, m->bytes - half);
  m->call = "buffer_unmap";
  PH_TRY(backend->buffer_unmap(m->queue, m->buffer, &m->error));
  m->call = "read";
  PH_TRY(backend->read(m->queue, m->got, m->buffer, 0, m->bytes, &m->error));
  m->call = "finish";
  PH_TRY(backend->finish(m->queue, &m->error));
  memset(m->written + half, 0x3C, m->bytes - half);
  if (memcmp(m->got, m->written, m->bytes) != 0)
    return ph_fail(&m->error, PH_INTERNAL, "what was written to the map is not what is read");
  return PH_OK;
}

ph_check_state ph_trial_map(ph_plugin_trial *trial) {
  if (!PH_HAS(trial->backend, ph_backend, buffer_map)) {
    if ((trial->limits.caps & PH_CAP_UNIFIED_MEMORY) != 0)
      return ph_trial_fail(trial, "fill in buffer_map and buffer_unmap, or leave the capability out",
                           "the device has PH_CAP_UNIFIED_MEMORY, but no buffer_map");
    return ph_trial_pass(trial, "there is none; it is optional");
  }
  memory_trial m = {.trial = trial, .bytes = 4099, .error = PH_ERROR_INIT};
  ph_status status = map_trip(&m);
  end_memory(&m);
  if (status == PH_INTERNAL)
    return ph_trial_fail(trial, "buffer_map() waits for the queue; what is written is there after buffer_unmap()", "%s",
                         m.error.message);
  if (status != PH_OK) return ph_trial_call_failed(trial, m.call, status, &m.error);
  return ph_trial_pass(trial, "a mapped buffer holds what was written, and keeps what is put there");
}

/* Sizes come from configs: one that no machine has must end in a message. */
ph_check_state ph_trial_memory(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  ph_buffer *buffer = NULL;
  ph_status status = trial->backend->buffer_create(trial->device, UINT64_MAX - 8, &buffer, &error);
  if (status == PH_OK) {
    trial->backend->buffer_destroy(buffer);
    return ph_trial_fail(trial, "compare with max_buffer_bytes, and let no size overflow",
                         "buffer_create() makes a buffer of 2^64 - 9 bytes");
  }
  if (error.message[0] == '\0') return ph_trial_call_failed(trial, "buffer_create", status, &error);
  return ph_trial_pass(trial, "a buffer of 2^64 - 9 bytes is refused: %.300s", error.message);
}
