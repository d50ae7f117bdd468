/* Filling a ph_error. */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fail(ph_error *error, ph_status status, const char *file, int line, const char *format, ...) {
  if (error == NULL) return;
  const char *slash = strrchr(file, '/');
  error->code = status;
  error->node = PH_NONE;
  error->native_code = 0; /* what your driver returned, if it was the driver */
  snprintf(error->where, sizeof(error->where), "%s:%d", slash != NULL ? slash + 1 : file, line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
}
