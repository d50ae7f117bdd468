/* The arena of a plan: where inner tensors lie, so that what is dead makes room (DESIGN section 3). */
#ifndef POLYHEAD_RUNTIME_ARENA_H
#define POLYHEAD_RUNTIME_ARENA_H

#include <polyhead/backend.h>

/* A block that lives from node `first` to node `last`, both included.  `chunk` and `offset` are the answer. */
typedef struct ph_arena_piece {
  uint64_t bytes; /* 0: takes no room */
  uint32_t first, last;
  uint32_t chunk;
  uint64_t offset;
} ph_arena_piece;

/* Lays the pieces out in chunks of at most `max_chunk` bytes, offsets multiples of `alignment`; blocks that live at the
 * same time never overlap.  *out_sizes has *out_count bytes-per-chunk entries, freed with free().  PH_INVALID where one
 * piece alone is larger than a chunk may be. */
PH_NODISCARD ph_status ph_arena_plan(ph_arena_piece *pieces, uint32_t count, uint32_t alignment, uint64_t max_chunk,
                                     uint64_t **out_sizes, uint32_t *out_count, ph_error *error);

#endif
