/* Looking into a model; see model.h. */
#include "graph/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

uint32_t ph_model_value_find(const ph_model *model, const char *path) {
  for (uint32_t i = 0; i < model->value_count; i++)
    if (strcmp(model->values[i].path, path) == 0) return i;
  for (uint32_t i = 0; i < model->alias_count; i++)
    if (strcmp(model->aliases[i].path, path) == 0) return model->aliases[i].value;
  return PH_NONE;
}

ph_status ph_place_fail(ph_error *error, ph_place place, const char *file, int line, const char *format, ...) {
  char text[sizeof(error->message)];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return ph_place_prefix(error, place, ph_error_set(error, PH_INVALID, file, line, "%s", text));
}

ph_status ph_place_prefix(ph_error *error, ph_place place, ph_status status) {
  if (status != PH_OK && place.line > 0)
    ph_error_prefix(error, "%s:%u:%u: error: ", place.file, place.line, place.column);
  return status;
}
