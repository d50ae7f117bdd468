/* Memory: sizes with overflow checks, growing arrays, and an arena for things that die together. */
#ifndef POLYHEAD_BASE_MEMORY_H
#define POLYHEAD_BASE_MEMORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False on overflow; *out is then undefined. */
static inline bool ph_mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool ph_add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool ph_mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool ph_add_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

/* calloc(count, size): NULL when out of memory, never NULL for a count of 0.  Freed with free(). */
void *ph_new_array(size_t count, size_t size);

/* Makes room in *items (a heap array of *capacity elements of `size` bytes) for at least `need` elements; new room is
 * zeroed.  False when out of memory; the array is then as it was. */
bool ph_grow(void *items_pointer, size_t *capacity, size_t need, size_t size);

/* An arena hands out zeroed memory that is freed all at once.  Start with {0}. */
typedef struct ph_arena {
  struct ph_arena_block *blocks;
} ph_arena;

void ph_arena_free(ph_arena *arena);
/* Zeroed, aligned for any type (64 bytes); NULL when out of memory.  A size of 0 is given a byte. */
void *ph_arena_alloc(ph_arena *arena, size_t size);
void *ph_arena_array(ph_arena *arena, size_t count, size_t size);
char *ph_arena_text(ph_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *ph_arena_copy(ph_arena *arena, const char *text, size_t length); /* adds the NUL */

/* Appends room for one element to an array that lives in an arena; returns it, or NULL when out of memory.
 * *items, *count and *capacity belong together; old copies stay in the arena until it dies. */
void *ph_arena_push(ph_arena *arena, void *items_pointer, uint32_t *count, uint32_t *capacity, size_t size);

#endif
