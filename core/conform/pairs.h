/* Covering arrays: few combinations in which every two values of different factors meet (D. Cohen et al., "The AETG
 * system", 1997: greedy). */
#ifndef POLYHEAD_CONFORM_PAIRS_H
#define POLYHEAD_CONFORM_PAIRS_H

#include <polyhead/backend.h>

#include "base/memory.h"

typedef struct ph_factor {
  uint32_t count;        /* values */
  const uint32_t *level; /* of each value: combinations of level L take values of levels up to L alone */
  bool costly;           /* few combinations of the costly factors are used, again and again */
} ph_factor;

/* Two values that can meet. */
typedef struct ph_value_pair {
  uint32_t factor[2], value[2];
  uint32_t level; /* the first one at which they can */
} ph_value_pair;

typedef struct ph_cover {
  uint32_t *values; /* combination c takes values[c * factor_count + f] of factor f */
  uint32_t *levels; /* by combination */
  uint32_t count, level_capacity, value_count, value_capacity;
  ph_value_pair *pairs; /* all that can meet; each does in some combination of its level or below */
  uint32_t pair_count, pair_capacity;
  uint32_t impossible; /* pairs that `allowed` keeps apart */
} ph_cover;

/* Covers the pairs level by level, from 0 to level_count - 1, so that those of a level meet in combinations of it.
 * allowed(): whether a partial combination (PH_NONE: not chosen yet) breaks no rule; adding values never mends one. The
 * same result everywhere.  *out lives in the arena. */
PH_NODISCARD ph_status ph_pairs_cover(const ph_factor *factors, uint32_t factor_count, uint32_t level_count,
                                      bool (*allowed)(void *user, const uint32_t *values), void *user, ph_arena *arena,
                                      ph_cover *out, ph_error *error);

#endif
