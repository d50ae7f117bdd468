/* Opening backends, and asking them what devices they have. */
#include "runtime/registry.h"

#include <stdlib.h>

#include "base/error.h"
#include "runtime/cache_folder.h"
#include "runtime/context.h"

/* ---- what is lent to a backend ---- */

static void *host_alloc(void *user, size_t size, size_t alignment) {
  (void)user;
  void *memory = NULL;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&memory, alignment, size > 0 ? size : 1) == 0 ? memory : NULL;
}

static void host_free(void *user, void *memory) {
  (void)user;
  free(memory);
}

static void host_log(void *user, ph_log_level level, const char *text) {
  ph_backend_slot *slot = user;
  ph_context_log(slot->context, level, "%s: %s", slot->name, text);
}

void ph_backend_slot_init(ph_backend_slot *slot, ph_context *context, const ph_plugin *plugin) {
  *slot = (ph_backend_slot){.context = context, .backend = plugin->backend, .name = plugin->info.name};
  slot->host = (ph_host){.struct_size = sizeof(slot->host),
                         .abi_version = PH_ABI_VERSION,
                         .user = slot,
                         .alloc = host_alloc,
                         .free = host_free,
                         .log = host_log,
                         .log_level = context->options.log_level};
}

void ph_backend_slot_close(ph_backend_slot *slot) {
  if (slot->opened != NULL) slot->backend->close(slot->opened);
}

/* ---- opening a backend and looking what it has; all under the lock ---- */

static const char *cache_folder(ph_context *context) {
  if (!context->cache_sought) {
    const char *reason = NULL;
    context->cache_sought = true;
    if (context->options.no_cache) return NULL;
    context->cache_folder = ph_cache_folder(&context->arena, &reason);
    if (context->cache_folder == NULL)
      ph_context_log(context, PH_LOG_INFO, "no cache on disk: %s", reason != NULL ? reason : "out of memory");
  }
  return context->cache_folder;
}

const char *ph_context_cache_folder(ph_context *context) {
  pthread_mutex_lock(&context->lock);
  const char *folder = cache_folder(context);
  pthread_mutex_unlock(&context->lock);
  return folder;
}

static const char *add_problem(ph_backend_slot *slot, const char *text) {
  ph_context *context = slot->context;
  const char *line = ph_arena_text(&context->arena, "%s: %s", slot->name, text);
  const char **place = ph_arena_push(&context->arena, &context->problems, &context->problem_count,
                                     &context->problem_capacity, sizeof(*place));
  if (line == NULL) line = "out of host memory";
  if (place != NULL) *place = line;
  return line;
}

void ph_backend_complete_error(ph_error *error, ph_status status, const char *call) {
  error->message[sizeof(error->message) - 1] = '\0';
  if (error->message[0] == '\0')
    (void)!ph_fail(error, status, "%s() failed without a reason (%s)", call, ph_status_name(status));
}

static void give_up(ph_backend_slot *slot, ph_status status, ph_error *details, const char *call) {
  ph_backend_complete_error(details, status, call);
  /* A driver that cannot even be asked has no device for us: the same exit as where there is none. */
  slot->status = status == PH_DEVICE_FAILED ? PH_UNAVAILABLE : status;
  slot->problem = add_problem(slot, details->message);
}

ph_device_info ph_device_info_empty(void) {
  return (ph_device_info){.struct_size = sizeof(ph_device_info), .platform_index = PH_NONE, .device_index = PH_NONE};
}

ph_status ph_device_info_check(ph_device_info *info, ph_error *error) {
  info->id[sizeof(info->id) - 1] = info->name[sizeof(info->name) - 1] = '\0';
  info->platform[sizeof(info->platform) - 1] = info->driver[sizeof(info->driver) - 1] = '\0';
  if (info->alignment == 0 || (info->alignment & (info->alignment - 1)) != 0)
    return ph_fail(error, PH_INCOMPATIBLE, "its alignment of %u bytes is no power of two", info->alignment);
  if (info->max_buffer_bytes == 0) return ph_fail(error, PH_INCOMPATIBLE, "its max_buffer_bytes is 0");
  return PH_OK;
}

/* Adds device `index`; one that cannot be asked is a problem and does not hide the others. */
static void add_device(ph_backend_slot *slot, uint32_t index) {
  ph_error details = PH_ERROR_INIT;
  ph_device_info info = ph_device_info_empty();
  ph_status status = slot->backend->device_info(slot->opened, index, &info, &details);
  ph_arena *arena = &slot->context->arena;
  if (status == PH_OK) status = ph_device_info_check(&info, &details);
  const char *spec = status == PH_OK ? ph_arena_text(arena, "%s:%u", slot->name, index) : NULL;
  if (spec != NULL) {
    slot->devices[slot->device_count++] =
        (ph_device_entry){.spec = spec, .backend = slot->name, .index = index, .info = info};
    return;
  }
  ph_backend_complete_error(&details, status, "device_info");
  ph_error_prefix(&details, "device %u: ", index);
  add_problem(slot, details.message);
}

static void look(ph_backend_slot *slot) {
  ph_error details = PH_ERROR_INIT;
  slot->looked = true;
  slot->host.cache_dir = cache_folder(slot->context);
  ph_status status = slot->backend->open(&slot->host, NULL, 0, &slot->opened, &details);
  if (status != PH_OK) {
    slot->opened = NULL;
    give_up(slot, status, &details, "open");
    return;
  }
  uint32_t count = 0;
  status = slot->backend->device_count(slot->opened, &count, &details);
  if (status != PH_OK) {
    give_up(slot, status, &details, "device_count");
    return;
  }
  slot->devices = ph_arena_array(&slot->context->arena, count, sizeof(*slot->devices));
  if (slot->devices == NULL) {
    give_up(slot, ph_fail_memory(&details), &details, "device_count");
    return;
  }
  for (uint32_t i = 0; i < count; i++) add_device(slot, i);
  if (slot->device_count == 0)
    give_up(slot, ph_fail(&details, PH_UNAVAILABLE, count == 0 ? "it found no device" : "none of its devices works"),
            &details, "device_count");
}

void ph_backend_slot_need(ph_backend_slot *slot) {
  pthread_mutex_lock(&slot->context->lock);
  if (!slot->looked) look(slot);
  pthread_mutex_unlock(&slot->context->lock);
}
