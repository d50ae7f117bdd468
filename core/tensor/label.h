/* Labels as they stand in a table. */
#ifndef POLYHEAD_TENSOR_LABEL_H
#define POLYHEAD_TENSOR_LABEL_H

#include "base/memory.h"

/* A copy of `text` (UTF-8) for a terminal, with control characters and broken bytes escaped (\n, \x1b) and cut with an
 * ellipsis where it takes more than `limit` columns; *out_width is what it takes.  NULL when out of memory. */
const char *ph_label_shown(ph_arena *arena, const char *text, size_t limit, size_t *out_width);

#endif
