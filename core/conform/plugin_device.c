/* A plugin's life from open() to close(): devices, options, queues. */
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
