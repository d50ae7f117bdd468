/* Finding the cases below a folder (external.h says what counts as one). */
#ifndef POLYHEAD_CONFORM_EXTERNAL_LIST_H
#define POLYHEAD_CONFORM_EXTERNAL_LIST_H

#include "base/error.h"
#include "base/memory.h"

/* Names as "GROUP/CASE", sorted, each once; "." is the folder itself.  They live in the arena. */
PH_NODISCARD ph_status ph_external_list(const char *path, ph_arena *arena, const char ***out, uint32_t *out_count,
                                        ph_error *error);

#endif
