#include "runtime/arena.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

static bool meet_in_time(const ph_arena_piece *a, const ph_arena_piece *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Larger first; of equal ones the earlier, so that the layout is the same on every machine. */
static int by_size(const void *left, const void *right) {
  const ph_arena_piece *a = *(ph_arena_piece *const *)left, *b = *(ph_arena_piece *const *)right;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
  return a < b ? -1 : 1;
}

static uint64_t round_up(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/* The lowest offset in `chunk` where `piece` collides with none of the pieces placed so far. */
static uint64_t lowest_offset(ph_arena_piece *const *placed, uint32_t count, const ph_arena_piece *piece,
                              uint32_t chunk, uint64_t alignment) {
  uint64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = 0; i < count; i++) {
      const ph_arena_piece *other = placed[i];
      if (other->chunk != chunk || other->bytes == 0 || !meet_in_time(other, piece)) continue;
      if (offset < other->offset + other->bytes && other->offset < offset + piece->bytes) {
        offset = round_up(other->offset + other->bytes, alignment);
        moved = true;
      }
    }
  }
  return offset;
}

ph_status ph_arena_plan(ph_arena_piece *pieces, uint32_t count, uint32_t alignment, uint64_t max_chunk,
                        uint64_t **out_sizes, uint32_t *out_count, ph_error *error) {
  ph_arena_piece **order = ph_new_array(count, sizeof(*order));
  uint64_t *sizes = NULL;
  size_t capacity = 0;
  uint32_t chunks = 0;
  ph_status status = ph_fail_memory(error);
  if (order == NULL) goto fail;
  for (uint32_t i = 0; i < count; i++) order[i] = &pieces[i];
  qsort(order, count, sizeof(*order), by_size);
  for (uint32_t i = 0; i < count; i++) {
    ph_arena_piece *piece = order[i];
    if (piece->bytes > max_chunk) {
      status =
          ph_fail(error, PH_INVALID, "a tensor of %llu bytes is larger than the device's largest buffer, %llu bytes",
                  (unsigned long long)piece->bytes, (unsigned long long)max_chunk);
      goto fail;
    }
    for (piece->chunk = 0;; piece->chunk++) {
      piece->offset = lowest_offset(order, i, piece, piece->chunk, alignment);
      if (piece->offset <= max_chunk - piece->bytes) break;
    }
    if (piece->chunk >= chunks) {
      if (!ph_grow(&sizes, &capacity, (size_t)piece->chunk + 1, sizeof(*sizes))) goto fail;
      chunks = piece->chunk + 1;
    }
    uint64_t end = piece->offset + piece->bytes;
    if (end > sizes[piece->chunk]) sizes[piece->chunk] = end;
  }
  free(order);
  *out_sizes = sizes;
  *out_count = chunks;
  return PH_OK;
fail:
  free(order);
  free(sizes);
  return status;
}
