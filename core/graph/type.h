/* The type of a value: what its elements are and how far its axes go. */
#ifndef POLYHEAD_GRAPH_TYPE_H
#define POLYHEAD_GRAPH_TYPE_H

#include <polyhead/backend.h>

#include "base/memory.h"

/* An extent or an integer attribute.  The value is always concrete; `varies` says that another run of the same program
 * may have another one (a sequence length), so that program_create() must not see it. */
typedef struct ph_dim {
  int64_t value;
  bool varies;
  const char *name; /* of the config's dim that it was written as, through every op that passes it on; NULL if none */
} ph_dim;

typedef struct ph_type {
  ph_dtype dtype; /* PH_DTYPE_NONE: absent */
  uint32_t rank;
  ph_dim dims[PH_MAX_RANK];
} ph_type;

/* Elements; false when the number does not fit in 63 bits. */
static inline bool ph_type_count(const ph_type *type, int64_t *out) {
  *out = 1;
  bool zero = false, fits = true;
  for (uint32_t i = 0; i < type->rank; i++) {
    if (type->dims[i].value == 0) zero = true;
    else fits = fits && ph_mul_i64(*out, type->dims[i].value, out);
  }
  if (zero) *out = 0;
  return zero || fits;
}

/* "[2, 8, 64]", in a ring of static per-thread buffers: four may be in use at once. */
const char *ph_type_text(const ph_type *type);

#endif
