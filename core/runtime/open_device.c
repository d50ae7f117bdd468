/* Opening the device that a spec means; choosing one for `auto`. */
#include "runtime/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "runtime/device_file.h"
#include "runtime/device_spec.h"
#include "runtime/registry.h"

static bool has_option(const ph_device_spec *spec, const char *key) {
  for (uint32_t i = 0; i < spec->option_count; i++)
    if (strcmp(spec->options[i].key, key) == 0) return true;
  return false;
}

/* What `polyhead tune` found for the device goes along, unless somebody chooses for himself.  Adds the path to `path`.
 */
static bool add_tuning(const ph_backend_slot *slot, const ph_device_entry *entry, const ph_device_spec *spec,
                       ph_text *path) {
  ph_text content = {0};
  bool found = PH_HAS(slot->backend, ph_backend, candidate) && !has_option(spec, "tune") &&
               ph_device_file_read(slot->context, entry, "tune", &content) &&
               ph_device_file_path(slot->context, entry, "tune", path);
  ph_text_free(&content);
  return found;
}

static ph_status call_open(const ph_backend_slot *slot, const ph_device_entry *entry, const ph_device_spec *spec,
                           ph_device **out, ph_error *error) {
  ph_text path = {0};
  ph_option *options = ph_new_array((size_t)spec->option_count + 1, sizeof(*options));
  if (options == NULL) return ph_fail_memory(error);
  uint32_t count = spec->option_count;
  for (uint32_t i = 0; i < count; i++) options[i] = spec->options[i];
  if (add_tuning(slot, entry, spec, &path)) options[count++] = (ph_option){"tune", path.data};
  ph_status status = slot->backend->device_open(slot->opened, entry->index, options, count, out, error);
  ph_text_free(&path);
  free(options);
  return status;
}

static ph_status open_entry(ph_backend_slot *slot, const ph_device_entry *entry, const ph_device_spec *spec,
                            ph_open_device **out, ph_error *error) {
  const ph_backend *backend = slot->backend;
  ph_error details = PH_ERROR_INIT;
  ph_open_device *opened = calloc(1, sizeof(*opened));
  if (opened == NULL) return ph_fail_memory(error);
  *opened = (ph_open_device){.backend = backend, .limits = ph_device_info_empty(), .entry = entry};
  const char *call = "device_open";
  ph_status status = call_open(slot, entry, spec, &opened->device, &details);
  if (status != PH_OK) {
    opened->device = NULL;
  } else {
    call = "device_limits";
    status = backend->device_limits(opened->device, &opened->limits, &details);
    if (status == PH_OK) status = ph_device_info_check(&opened->limits, &details);
  }
  if (status != PH_OK) {
    ph_backend_complete_error(&details, status, call);
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
  ph_context_device_count(context); /* looks everywhere */
  for (uint32_t i = 0; i < context->slot_count; i++) {
    const ph_backend_slot *slot = &context->slots[i];
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

static ph_status no_backend(ph_context *context, const char *name, ph_error *error) {
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
  ph_text there = {0};
  list_devices(context, &there);
  ph_status status = ph_fail(error, PH_UNAVAILABLE, "no backend '%s'%s%s%s; loaded: %s; devices there are: %s", name,
                             near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "",
                             names.failed ? "out of memory" : names.data, there.length > 0 ? there.data : "none");
  ph_text_free(&there);
  ph_text_free(&names);
  free(list);
  return status;
}

static ph_status open_named(ph_context *context, const ph_device_spec *spec, ph_open_device **out, ph_error *error) {
  ph_backend_slot *slot = NULL;
  for (uint32_t i = 0; i < context->slot_count; i++)
    if (strcmp(context->slots[i].name, spec->backend) == 0) slot = &context->slots[i];
  if (slot == NULL) return no_backend(context, spec->backend, error);
  ph_backend_slot_need(slot);
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

static void tell_once(ph_backend_slot *slot) {
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
      ph_backend_slot *slot = &context->slots[i];
      ph_backend_slot_need(slot);
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
