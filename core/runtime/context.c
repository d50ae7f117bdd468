/* A context: its plugins, its backends, its log. */
#include "runtime/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/peak.h"
#include "runtime/registry.h"

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

/* ---- create and destroy ---- */

void ph_context_destroy(ph_context *context) {
  if (context == NULL) return;
  for (uint32_t i = 0; i < context->slot_count; i++) ph_backend_slot_close(&context->slots[i]);
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
    ph_backend_slot_init(&context->slots[context->slot_count++], context, plugin);
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

/* ---- devices ---- */

static void need_all(ph_context *context) {
  for (uint32_t i = 0; i < context->slot_count; i++) ph_backend_slot_need(&context->slots[i]);
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

ph_peak ph_context_peak(ph_context *context, const ph_device_entry *device) {
  ph_peak peak;
  (void)ph_peak_cached(context, device, &peak);
  return peak;
}

uint32_t ph_context_problem_count(ph_context *context) {
  need_all(context);
  return context->problem_count;
}

const char *ph_context_problem(ph_context *context, uint32_t index) {
  need_all(context);
  return index < context->problem_count ? context->problems[index] : NULL;
}
