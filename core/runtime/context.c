/* A context: the plugins that were loaded, their backends (each opened once, when first needed), and the devices. */
#include "runtime/context.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/cache_folder.h"
#include "runtime/device_spec.h"
#include "runtime/plugin.h"

/* A backend, and what was found when it was opened.  Nothing changes after `looked` is set. */
typedef struct backend_slot {
  ph_context *context;
  const ph_backend *backend;
  const char *name;
  ph_host host;
  bool looked;
  ph_backend_context *opened; /* NULL where open() failed */
  ph_status status;           /* why there is no device at all */
  const char *problem;        /* likewise; NULL where there is one */
  bool told;                  /* the notice that auto skips it was given */
  ph_device_entry *devices;
  uint32_t device_count;
} backend_slot;

struct ph_context {
  ph_context_options options;
  ph_plugin_list plugins;
  backend_slot *slots;
  uint32_t slot_count;
  /* The lock guards what follows and the opening of backends. */
  pthread_mutex_t lock;
  ph_arena arena;
  bool cache_sought;
  const char *cache_folder;
  const char **problems;
  uint32_t problem_count, problem_capacity;
};

/* ---- log ---- */

static void put_log(const ph_context *context, ph_log_level level, const char *text) {
  if (context->options.log != NULL && level <= context->options.log_level)
    context->options.log(context->options.log_user, level, text);
}

void ph_context_log(ph_context *context, ph_log_level level, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
  if (text != NULL) {
    vsnprintf(text, (size_t)length + 1, format, again);
    put_log(context, level, text);
  } else {
    put_log(context, level, format); /* out of memory: better without its numbers than not at all */
  }
  va_end(again);
  free(text);
}

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
  backend_slot *slot = user;
  ph_context_log(slot->context, level, "%s: %s", slot->name, text);
}

/* ---- create and destroy ---- */

void ph_context_destroy(ph_context *context) {
  if (context == NULL) return;
  for (uint32_t i = 0; i < context->slot_count; i++)
    if (context->slots[i].opened != NULL) context->slots[i].backend->close(context->slots[i].opened);
  pthread_mutex_destroy(&context->lock);
  ph_arena_free(&context->arena);
  free(context);
}

static ph_status make_slots(ph_context *context, ph_error *error) {
  context->slots = ph_arena_array(&context->arena, context->plugins.count, sizeof(*context->slots));
  if (context->slots == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < context->plugins.count; i++) {
    const ph_plugin *plugin = &context->plugins.items[i];
    if (plugin->backend == NULL) continue;
    backend_slot *slot = &context->slots[context->slot_count++];
    *slot = (backend_slot){.context = context, .backend = plugin->backend, .name = plugin->info.name};
    slot->host = (ph_host){.struct_size = sizeof(slot->host),
                           .abi_version = PH_ABI_VERSION,
                           .user = slot,
                           .alloc = host_alloc,
                           .free = host_free,
                           .log = host_log,
                           .log_level = context->options.log_level};
  }
  return PH_OK;
}

ph_status ph_context_create(const ph_context_options *options, ph_context **out, ph_error *error) {
  *out = NULL;
  if (options != NULL && options->struct_size < sizeof(options->struct_size))
    return ph_fail(error, PH_INVALID, "ph_context_options.struct_size is not set");
  ph_context *context = calloc(1, sizeof(*context));
  if (context == NULL) return ph_fail_memory(error);
  if (pthread_mutex_init(&context->lock, NULL) != 0) {
    free(context);
    return ph_fail(error, PH_OUT_OF_MEMORY, "no mutex could be made");
  }
  /* A caller built against an older header has a shorter struct: the rest stays zero. */
  size_t size = sizeof(context->options);
  if (options != NULL) memcpy(&context->options, options, options->struct_size < size ? options->struct_size : size);
  context->plugins.arena = &context->arena;
  ph_status status =
      ph_plugin_list_load(&context->plugins, context->options.plugins, context->options.plugin_count, error);
  if (status == PH_OK) status = make_slots(context, error);
  if (status != PH_OK) {
    ph_context_destroy(context);
    return status;
  }
  *out = context;
  return PH_OK;
}

uint32_t ph_context_plugin_count(const ph_context *context) {
  return context->plugins.count;
}

const ph_plugin_info *ph_context_plugin(const ph_context *context, uint32_t index) {
  return index < context->plugins.count ? &context->plugins.items[index].info : NULL;
}

uint32_t ph_context_folder_count(const ph_context *context) {
  return context->plugins.folder_count;
}

const char *ph_context_folder(const ph_context *context, uint32_t index, const char **out_note) {
  if (index >= context->plugins.folder_count) return NULL;
  if (out_note != NULL) *out_note = context->plugins.folders[index].note;
  return context->plugins.folders[index].path;
}

/* ---- opening a backend and looking what it has; all under the lock ---- */

static const char *cache_folder(ph_context *context) {
  if (!context->cache_sought) {
    const char *reason = NULL;
    context->cache_sought = true;
    context->cache_folder = ph_cache_folder(&context->arena, &reason);
    if (context->cache_folder == NULL)
      ph_context_log(context, PH_LOG_INFO, "no cache on disk: %s", reason != NULL ? reason : "out of memory");
  }
  return context->cache_folder;
}

static const char *add_problem(backend_slot *slot, const char *text) {
  ph_context *context = slot->context;
  const char *line = ph_arena_text(&context->arena, "%s: %s", slot->name, text);
  const char **place = ph_arena_push(&context->arena, &context->problems, &context->problem_count,
                                     &context->problem_capacity, sizeof(*place));
  if (line == NULL) line = "out of host memory";
  if (place != NULL) *place = line;
  return line;
}

/* A backend that says no more than a status still gives a message. */
static void complete(ph_error *error, ph_status status, const char *call) {
  error->message[sizeof(error->message) - 1] = '\0';
  if (error->message[0] == '\0')
    (void)!ph_fail(error, status, "%s() failed without a reason (%s)", call, ph_status_name(status));
}

static void give_up(backend_slot *slot, ph_status status, ph_error *details, const char *call) {
  complete(details, status, call);
  /* A driver that cannot even be asked has no device for us: the same exit as where there is none. */
  slot->status = status == PH_DEVICE_FAILED ? PH_UNAVAILABLE : status;
  slot->problem = add_problem(slot, details->message);
}

/* NULL where the host can work with these limits. */
static const char *wrong_limits(const ph_device_info *info) {
  if (info->alignment == 0 || (info->alignment & (info->alignment - 1)) != 0) return "its alignment is no power of two";
  if (info->max_buffer_bytes == 0) return "its max_buffer_bytes is 0";
  return NULL;
}

static ph_device_info empty_info(void) {
  return (ph_device_info){.struct_size = sizeof(ph_device_info), .platform_index = PH_NONE, .device_index = PH_NONE};
}

static void terminate_texts(ph_device_info *info) {
  info->id[sizeof(info->id) - 1] = info->name[sizeof(info->name) - 1] = '\0';
  info->platform[sizeof(info->platform) - 1] = info->driver[sizeof(info->driver) - 1] = '\0';
}

/* Adds device `index`; one that cannot be asked is a problem and does not hide the others. */
static void add_device(backend_slot *slot, uint32_t index) {
  ph_error details = PH_ERROR_INIT;
  ph_device_info info = empty_info();
  ph_status status = slot->backend->device_info(slot->opened, index, &info, &details);
  ph_arena *arena = &slot->context->arena;
  terminate_texts(&info);
  if (status == PH_OK && wrong_limits(&info) != NULL)
    status = ph_fail(&details, PH_INCOMPATIBLE, "%s", wrong_limits(&info));
  const char *spec = status == PH_OK ? ph_arena_text(arena, "%s:%u", slot->name, index) : NULL;
  if (spec != NULL) {
    slot->devices[slot->device_count++] =
        (ph_device_entry){.spec = spec, .backend = slot->name, .index = index, .info = info};
    return;
  }
  complete(&details, status, "device_info");
  ph_error_prefix(&details, "device %u: ", index);
  add_problem(slot, details.message);
}

static void look(backend_slot *slot) {
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

static void need(backend_slot *slot) {
  pthread_mutex_lock(&slot->context->lock);
  if (!slot->looked) look(slot);
  pthread_mutex_unlock(&slot->context->lock);
}

static void need_all(ph_context *context) {
  for (uint32_t i = 0; i < context->slot_count; i++) need(&context->slots[i]);
}

uint32_t ph_context_device_count(ph_context *context) {
  need_all(context);
  uint32_t count = 0;
  for (uint32_t i = 0; i < context->slot_count; i++) count += context->slots[i].device_count;
  return count;
}

const ph_device_entry *ph_context_device(ph_context *context, uint32_t index) {
  need_all(context);
  for (uint32_t i = 0; i < context->slot_count; i++) {
    if (index < context->slots[i].device_count) return &context->slots[i].devices[index];
    index -= context->slots[i].device_count;
  }
  return NULL;
}

uint32_t ph_context_problem_count(ph_context *context) {
  need_all(context);
  return context->problem_count;
}

const char *ph_context_problem(ph_context *context, uint32_t index) {
  need_all(context);
  return index < context->problem_count ? context->problems[index] : NULL;
}

/* ---- opening a device ---- */

static ph_status open_entry(backend_slot *slot, const ph_device_entry *entry, const ph_device_spec *spec,
                            ph_open_device **out, ph_error *error) {
  const ph_backend *backend = slot->backend;
  ph_error details = PH_ERROR_INIT;
  ph_open_device *opened = calloc(1, sizeof(*opened));
  if (opened == NULL) return ph_fail_memory(error);
  *opened = (ph_open_device){.backend = backend, .limits = empty_info(), .entry = entry};
  const char *call = "device_open";
  ph_status status =
      backend->device_open(slot->opened, entry->index, spec->options, spec->option_count, &opened->device, &details);
  if (status != PH_OK) {
    opened->device = NULL;
  } else {
    call = "device_limits";
    status = backend->device_limits(opened->device, &opened->limits, &details);
    terminate_texts(&opened->limits);
    if (status == PH_OK && wrong_limits(&opened->limits) != NULL)
      status = ph_fail(&details, PH_INCOMPATIBLE, "%s", wrong_limits(&opened->limits));
  }
  if (status != PH_OK) {
    complete(&details, status, call);
    if (error != NULL) {
      *error = details;
      error->code = status;
      ph_error_prefix(error, "device '%s': ", strcmp(spec->backend, "auto") == 0 ? entry->spec : spec->text);
    }
    ph_open_device_close(opened);
    return status;
  }
  *out = opened;
  return PH_OK;
}

void ph_open_device_close(ph_open_device *device) {
  if (device == NULL) return;
  if (device->device != NULL) device->backend->device_close(device->device);
  free(device);
}

/* All devices of all backends, for messages. */
static void list_devices(ph_context *context, ph_text *text) {
  need_all(context);
  for (uint32_t i = 0; i < context->slot_count; i++) {
    const backend_slot *slot = &context->slots[i];
    if (slot->device_count > 0 && text->length > 0) ph_text_add(text, ", ");
    ph_device_list_text(text, slot->devices, slot->device_count);
  }
}

/* A file of that name which was rejected is the likeliest reason why a backend is missing. */
static const ph_plugin_info *rejected_file(const ph_context *context, const char *name) {
  size_t length = strlen(name);
  for (uint32_t i = 0; i < context->plugins.count; i++) {
    const ph_plugin_info *info = &context->plugins.items[i].info;
    const char *slash = strrchr(info->path, '/'), *file = slash != NULL ? slash + 1 : info->path;
    if (info->status != PH_OK && strncmp(file, name, length) == 0 && strcmp(file + length, ".so") == 0) return info;
  }
  return NULL;
}

static ph_status no_backend(const ph_context *context, const char *name, ph_error *error) {
  const ph_plugin_info *rejected = rejected_file(context, name);
  if (rejected != NULL)
    return ph_fail(error, PH_UNAVAILABLE, "no backend '%s': %s was rejected: %s", name, rejected->path,
                   rejected->reason);
  ph_text names = {0};
  const char **list = ph_new_array(context->slot_count, sizeof(*list));
  if (list == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < context->slot_count; i++) {
    list[i] = context->slots[i].name;
    ph_text_add(&names, "%s%s", i > 0 ? ", " : "", list[i]);
  }
  const char *near = ph_nearest(name, list, context->slot_count);
  ph_status status =
      ph_fail(error, PH_UNAVAILABLE, "no backend '%s'%s%s%s; loaded: %s", name, near != NULL ? "; did you mean " : "",
              near != NULL ? near : "", near != NULL ? "?" : "", names.failed ? "out of memory" : names.data);
  ph_text_free(&names);
  free(list);
  return status;
}

static ph_status open_named(ph_context *context, const ph_device_spec *spec, ph_open_device **out, ph_error *error) {
  backend_slot *slot = NULL;
  for (uint32_t i = 0; i < context->slot_count; i++)
    if (strcmp(context->slots[i].name, spec->backend) == 0) slot = &context->slots[i];
  if (slot == NULL) return no_backend(context, spec->backend, error);
  need(slot);
  if (slot->problem != NULL) {
    ph_text there = {0};
    list_devices(context, &there);
    ph_status status = ph_fail(error, slot->status, "no device '%s': %s; there are: %s", spec->text, slot->problem,
                               there.length > 0 ? there.data : "none");
    ph_text_free(&there);
    return status;
  }
  const ph_device_entry *entry = NULL;
  PH_TRY(ph_device_spec_pick(spec, slot->devices, slot->device_count, &entry, error));
  return open_entry(slot, entry, spec, out, error);
}

/* ---- auto: the first GPU, else PoCL, else the reference ---- */

enum { RANK_GPU, RANK_POCL, RANK_REFERENCE, RANK_COUNT };

static bool has_rank(const ph_device_entry *entry, int rank) {
  switch (rank) {
  case RANK_GPU:
    return entry->info.kind == PH_DEVICE_GPU;
  case RANK_POCL:
    return strcmp(entry->backend, "pocl") == 0;
  default:
    return strcmp(entry->backend, "reference") == 0;
  }
}

static void tell_once(backend_slot *slot) {
  pthread_mutex_lock(&slot->context->lock);
  bool told = slot->told;
  slot->told = true;
  pthread_mutex_unlock(&slot->context->lock);
  /* That a machine has no such device is no fault of anything. */
  if (!told)
    ph_context_log(slot->context, slot->opened == NULL ? PH_LOG_WARN : PH_LOG_INFO, "auto: skipping %s", slot->problem);
}

static ph_status open_auto(ph_context *context, const ph_device_spec *spec, ph_open_device **out, ph_error *error) {
  ph_error last = PH_ERROR_INIT;
  ph_status status = ph_fail(&last, PH_UNAVAILABLE, "no device at all: see `polyhead plugins -v`");
  for (int rank = 0; rank < RANK_COUNT; rank++) {
    for (uint32_t i = 0; i < context->slot_count; i++) {
      backend_slot *slot = &context->slots[i];
      need(slot);
      if (slot->problem != NULL) tell_once(slot);
      for (uint32_t j = 0; j < slot->device_count; j++) {
        const ph_device_entry *entry = &slot->devices[j];
        if (!has_rank(entry, rank)) continue;
        status = open_entry(slot, entry, spec, out, &last);
        if (status == PH_OK) {
          ph_context_log(context, PH_LOG_INFO, "auto: %s (%s)", entry->spec, entry->info.name);
          return PH_OK;
        }
        ph_context_log(context, PH_LOG_WARN, "auto: skipping %s", last.message);
      }
    }
  }
  if (error != NULL) *error = last;
  return status;
}

ph_status ph_context_open_device(ph_context *context, const char *spec, ph_open_device **out, ph_error *error) {
  ph_arena arena = {0};
  ph_device_spec parsed;
  *out = NULL;
  ph_status status = ph_device_spec_parse(spec != NULL ? spec : "auto", &arena, &parsed, error);
  if (status == PH_OK)
    status = strcmp(parsed.backend, "auto") == 0 ? open_auto(context, &parsed, out, error)
                                                 : open_named(context, &parsed, out, error);
  ph_arena_free(&arena);
  return status;
}
