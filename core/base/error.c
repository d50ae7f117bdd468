#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Cuts a text that vsnprintf shortened so that no UTF-8 sequence is left half. */
static void trim_utf8(char *text, size_t length) {
  size_t end = length;
  while (end > 0 && ((unsigned char)text[end - 1] & 0xC0) == 0x80) end--;
  if (end == 0) return;
  unsigned char lead = (unsigned char)text[end - 1];
  size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (end - 1 + need > length) text[end - 1] = '\0';
}

static void put(char *to, size_t size, const char *format, va_list arguments) {
  int written = vsnprintf(to, size, format, arguments);
  if (written >= 0 && (size_t)written >= size) trim_utf8(to, size - 1);
}

ph_status ph_error_set(ph_error *error, ph_status code, const char *file, int line, const char *format, ...) {
  if (error == NULL) return code;
  error->code = code;
  error->node = PH_NONE;
  error->native_code = 0;
  snprintf(error->where, sizeof(error->where), "%s:%d", file, line);
  va_list arguments;
  va_start(arguments, format);
  put(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return code;
}

void ph_error_prefix(ph_error *error, const char *format, ...) {
  if (error == NULL) return;
  char old[sizeof(error->message)];
  memcpy(old, error->message, sizeof(old));
  va_list arguments;
  va_start(arguments, format);
  put(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  size_t used = strlen(error->message);
  int written = snprintf(error->message + used, sizeof(error->message) - used, "%s", old);
  if (written >= 0 && (size_t)written >= sizeof(error->message) - used)
    trim_utf8(error->message, sizeof(error->message) - 1);
}
