/* Reading a device spec, and finding the device that it means. */
#include "runtime/device_spec.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"

static const char *lower_copy(ph_arena *arena, const char *text, size_t length) {
  char *copy = ph_arena_copy(arena, text, length);
  for (char *c = copy; c != NULL && *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
  return copy;
}

static bool is_word(const char *text) {
  if (!isalpha((unsigned char)text[0])) return false;
  for (const char *c = text; *c != '\0'; c++)
    if (!isalnum((unsigned char)*c) && *c != '_') return false;
  return true;
}

/* Reads digits; saturates, so that a huge index is one that is not there rather than another one. */
static const char *read_index(const char *text, uint64_t *out) {
  uint64_t value = 0;
  for (; isdigit((unsigned char)*text); text++) {
    uint64_t digit = (uint64_t)(*text - '0');
    value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
  }
  *out = value;
  return text;
}

/* What stands between the backend's name and the options. */
static ph_status parse_device(const char *part, ph_device_spec *out, ph_error *error) {
  if (strspn(part, "0123456789:") == strlen(part)) {
    const char *rest = isdigit((unsigned char)part[0]) ? read_index(part, &out->index) : part;
    out->choice = PH_DEVICE_BY_INDEX;
    if (rest > part && rest[0] == ':' && isdigit((unsigned char)rest[1])) {
      out->choice = PH_DEVICE_BY_PLATFORM;
      out->platform = out->index;
      rest = read_index(rest + 1, &out->index);
    }
    if (rest > part && *rest == '\0') return PH_OK;
  } else if (!((part[0] == '-' || part[0] == '+') && isdigit((unsigned char)part[1]))) {
    out->choice = PH_DEVICE_BY_NAME;
    out->part = part;
    return PH_OK;
  }
  return ph_fail(error, PH_INVALID,
                 "device '%s': '%s' is no index; write %s:0, %s:0:1 (platform, device) or a part of a name", out->text,
                 part, out->backend, out->backend);
}

/* ",key=value" once or more; `count` of them. */
static ph_status parse_options(const char *text, uint32_t count, ph_arena *arena, ph_device_spec *out,
                               ph_error *error) {
  ph_option *options = ph_arena_array(arena, count, sizeof(*options));
  if (options == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < count; i++) {
    text++;
    size_t length = strcspn(text, ","), key_length = strcspn(text, "=,");
    options[i].key = lower_copy(arena, text, key_length);
    if (options[i].key == NULL) return ph_fail_memory(error);
    if (!is_word(options[i].key) || key_length + 1 >= length)
      return ph_fail(error, PH_INVALID, "device '%s': option '%.*s' is not of the form name=value", out->text,
                     (int)length, text);
    options[i].value = ph_arena_copy(arena, text + key_length + 1, length - key_length - 1);
    if (options[i].value == NULL) return ph_fail_memory(error);
    for (uint32_t j = 0; j < i; j++)
      if (strcmp(options[i].key, options[j].key) == 0)
        return ph_fail(error, PH_INVALID, "device '%s': option '%s' is given twice", out->text, options[i].key);
    text += length;
  }
  out->options = options;
  out->option_count = count;
  return PH_OK;
}

ph_status ph_device_spec_parse(const char *text, ph_arena *arena, ph_device_spec *out, ph_error *error) {
  *out = (ph_device_spec){.choice = PH_DEVICE_FIRST};
  out->text = ph_arena_text(arena, "%s", text);
  size_t device_end = strcspn(text, ","), backend_end = strcspn(text, ":,");
  out->backend = lower_copy(arena, text, backend_end);
  if (out->text == NULL || out->backend == NULL) return ph_fail_memory(error);
  if (!is_word(out->backend))
    return ph_fail(error, PH_INVALID, "device '%s': it must begin with a backend's name, as in opencl:0", text);
  if (strcmp(out->backend, "auto") == 0 && text[backend_end] != '\0')
    return ph_fail(error, PH_INVALID, "device '%s': auto takes neither a device nor options; name a backend", text);
  if (text[backend_end] == ':') {
    const char *part = ph_arena_copy(arena, text + backend_end + 1, device_end - backend_end - 1);
    if (part == NULL) return ph_fail_memory(error);
    PH_TRY(parse_device(part, out, error));
  }
  uint32_t options = 0;
  for (const char *c = text + device_end; *c != '\0'; c++) options += *c == ',';
  return options > 0 ? parse_options(text + device_end, options, arena, out, error) : PH_OK;
}

/* ---- which one? ---- */

void ph_device_list_text(ph_text *text, const ph_device_entry *devices, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    ph_text_add(text, "%s%s (%s)", i > 0 ? ", " : "", devices[i].spec, devices[i].info.name);
}

static bool fits(const ph_device_spec *spec, const ph_device_entry *device, uint32_t position) {
  const ph_device_info *info = &device->info;
  switch (spec->choice) {
  case PH_DEVICE_FIRST:
    return position == 0;
  case PH_DEVICE_BY_INDEX:
    return device->index == spec->index;
  case PH_DEVICE_BY_PLATFORM:
    return info->platform_index != PH_NONE && info->platform_index == spec->platform &&
           info->device_index == spec->index;
  case PH_DEVICE_BY_NAME:
    return ph_contains_ignoring_case(info->name, spec->part) || ph_contains_ignoring_case(info->platform, spec->part);
  }
  return false;
}

/* Of the words in all names the one most like `part`; names themselves are too long to be typed with one slip. */
static const char *nearest_word(const char *part, const ph_device_entry *devices, uint32_t count, ph_arena *arena) {
  static const char blanks[] = " \t(),/";
  const char **words = NULL;
  uint32_t word_count = 0, capacity = 0;
  for (uint32_t i = 0; i < count * 2; i++) {
    const char *name = i % 2 == 0 ? devices[i / 2].info.name : devices[i / 2].info.platform;
    for (name += strspn(name, blanks); *name != '\0'; name += strspn(name, blanks)) {
      size_t length = strcspn(name, blanks);
      const char **word = ph_arena_push(arena, &words, &word_count, &capacity, sizeof(*words));
      if (word == NULL || (*word = ph_arena_copy(arena, name, length)) == NULL) return NULL;
      name += length;
    }
  }
  return ph_nearest(part, words, word_count);
}

ph_status ph_device_spec_pick(const ph_device_spec *spec, const ph_device_entry *devices, uint32_t count,
                              const ph_device_entry **out, ph_error *error) {
  ph_text fitting = {0};
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!fits(spec, &devices[i], i)) continue;
    *out = &devices[i];
    if (found++ > 0) ph_text_add(&fitting, ", ");
    ph_device_list_text(&fitting, &devices[i], 1);
  }
  ph_status status = PH_OK;
  if (found > 1) {
    status = ph_fail(error, PH_INVALID, "device '%s' fits several: %s", spec->text,
                     fitting.failed ? "out of memory" : fitting.data);
  } else if (found == 0) {
    ph_arena arena = {0};
    ph_text all = {0};
    ph_device_list_text(&all, devices, count);
    const char *near = spec->choice == PH_DEVICE_BY_NAME ? nearest_word(spec->part, devices, count, &arena) : NULL;
    status = ph_fail(error, PH_UNAVAILABLE, "no such device: '%s'%s%s%s; %s has %s", spec->text,
                     near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "",
                     spec->backend, all.failed ? "out of memory" : all.data);
    ph_text_free(&all);
    ph_arena_free(&arena);
  }
  ph_text_free(&fitting);
  return status;
}
