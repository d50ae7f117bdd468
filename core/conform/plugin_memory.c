/* What a plugin's buffers must do: bytes that come back, maps, memory of the host's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "conform/plugin_trial.h"

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

/* The same bytes through a buffer over host memory; m->buffer is that buffer. */
static ph_status wrap_trip(memory_trial *m, unsigned char *memory) {
  const ph_backend *backend = m->trial->backend;
  void *mapped = NULL;
  m->call = "buffer_wrap";
  ph_status status = backend->buffer_wrap(m->trial->device, memory, m->bytes, &m->buffer, &m->error);
  if (status == PH_UNSUPPORTED) return PH_OK; /* the host copies */
  PH_TRY(status);
  m->call = "queue_create";
  PH_TRY(backend->queue_create(m->trial->device, 0, &m->queue, &m->error));
  m->call = "read";
  PH_TRY(backend->read(m->queue, m->got, m->buffer, 0, m->bytes, &m->error));
  m->call = "finish";
  PH_TRY(backend->finish(m->queue, &m->error));
  if (memcmp(m->got, memory, m->bytes) != 0)
    return ph_fail(&m->error, PH_INTERNAL, "a buffer over host memory does not hold what lies there");
  m->call = "write";
  PH_TRY(backend->write(m->queue, m->buffer, 1, m->written, m->bytes - 1, &m->error));
  m->call = "buffer_map";
  PH_TRY(backend->buffer_map(m->queue, m->buffer, 0, m->bytes, PH_MAP_READ, &mapped, &m->error));
  bool same = mapped == memory && memcmp(memory + 1, m->written, m->bytes - 1) == 0;
  m->call = "buffer_unmap";
  PH_TRY(backend->buffer_unmap(m->queue, m->buffer, &m->error));
  return same ? PH_OK
              : ph_fail(&m->error, PH_INTERNAL, "mapping a buffer over host memory does not bring the bytes there");
}

static ph_check_state trial_wrap(ph_plugin_trial *trial) {
  memory_trial m = {.trial = trial, .bytes = 4099, .error = PH_ERROR_INIT};
  size_t alignment = trial->limits.alignment > sizeof(void *) ? trial->limits.alignment : sizeof(void *);
  void *memory = NULL;
  m.written = malloc(m.bytes);
  m.got = malloc(m.bytes);
  ph_status status = PH_OUT_OF_MEMORY;
  m.call = "malloc";
  if (posix_memalign(&memory, alignment, m.bytes) == 0 && m.written != NULL && m.got != NULL) {
    for (uint64_t i = 0; i < m.bytes; i++) m.written[i] = (unsigned char)(i * 31 + 7);
    memset(memory, 0x5A, m.bytes);
    status = wrap_trip(&m, memory);
  }
  end_memory(&m);
  free(memory);
  if (status == PH_INTERNAL)
    return ph_trial_fail(trial, "what the device writes lies in the host's memory after buffer_map(), which gives it",
                         "%s", m.error.message);
  if (status != PH_OK) return ph_trial_call_failed(trial, m.call, status, &m.error);
  return PH_CHECK_PASS;
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
  bool wraps = PH_HAS(trial->backend, ph_backend, buffer_wrap) && (trial->limits.caps & PH_CAP_UNIFIED_MEMORY) != 0;
  ph_check_state wrapped = wraps ? trial_wrap(trial) : PH_CHECK_PASS;
  if (wrapped != PH_CHECK_PASS) return wrapped;
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
