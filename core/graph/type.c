/* Shapes as text; see type.h. */
#include "graph/type.h"

#include <inttypes.h>
#include <stdio.h>

const char *ph_type_text(const ph_type *type) {
  enum { TEXTS = 4, LENGTH = PH_MAX_RANK * 22 + 3 };
  static _Thread_local char texts[TEXTS][LENGTH];
  static _Thread_local unsigned next;
  char *text = texts[next++ % TEXTS];
  size_t used = 0;
  text[used++] = '[';
  for (uint32_t i = 0; i < type->rank && i < PH_MAX_RANK; i++)
    used += (size_t)snprintf(text + used, LENGTH - used, "%s%" PRId64, i > 0 ? ", " : "", type->dims[i].value);
  text[used++] = ']';
  text[used] = '\0';
  return text;
}
