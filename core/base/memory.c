#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCK_BYTES = 64 * 1024 };

struct ph_arena_block {
  struct ph_arena_block *next;
  size_t used, size; /* of what follows the header */
};

/* The header takes one alignment unit, so that the first piece is aligned too. */
static unsigned char *block_memory(struct ph_arena_block *block) { return (unsigned char *)block + ALIGNMENT; }

void *ph_new_array(size_t count, size_t size) { return calloc(count > 0 ? count : 1, size); }

bool ph_grow(void *items_pointer, size_t *capacity, size_t need, size_t size) {
  if (need <= *capacity) return true;
  size_t wanted = *capacity > 0 ? *capacity : 8;
  while (wanted < need)
    if (!ph_mul_size(wanted, 2, &wanted)) return false;
  size_t bytes;
  if (!ph_mul_size(wanted, size, &bytes)) return false;
  void *old;
  memcpy(&old, items_pointer, sizeof(old));
  unsigned char *grown = realloc(old, bytes);
  if (grown == NULL) return false;
  memset(grown + *capacity * size, 0, bytes - *capacity * size);
  memcpy(items_pointer, &grown, sizeof(grown));
  *capacity = wanted;
  return true;
}

void ph_arena_free(ph_arena *arena) {
  struct ph_arena_block *block = arena->blocks;
  while (block != NULL) {
    struct ph_arena_block *next = block->next;
    free(block);
    block = next;
  }
  arena->blocks = NULL;
}

void *ph_arena_alloc(ph_arena *arena, size_t size) {
  if (size == 0) size = 1;
  size_t rounded;
  if (!ph_add_size(size, ALIGNMENT - 1, &rounded)) return NULL;
  rounded &= ~(size_t)(ALIGNMENT - 1);
  struct ph_arena_block *block = arena->blocks;
  if (block == NULL || block->size - block->used < rounded) {
    size_t room = rounded > BLOCK_BYTES / 4 ? rounded : BLOCK_BYTES, bytes;
    if (!ph_add_size(room, ALIGNMENT, &bytes)) return NULL;
    struct ph_arena_block *fresh = aligned_alloc(ALIGNMENT, bytes);
    if (fresh == NULL) return NULL;
    *fresh = (struct ph_arena_block){.size = room};
    if (room == rounded && block != NULL) { /* a large piece: the block in use keeps its room */
      fresh->next = block->next;
      block->next = fresh;
    } else {
      fresh->next = block;
      arena->blocks = fresh;
    }
    block = fresh;
  }
  void *piece = block_memory(block) + block->used;
  block->used += rounded;
  return memset(piece, 0, rounded);
}

void *ph_arena_array(ph_arena *arena, size_t count, size_t size) {
  size_t bytes;
  return ph_mul_size(count, size, &bytes) ? ph_arena_alloc(arena, bytes) : NULL;
}

char *ph_arena_text(ph_arena *arena, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : ph_arena_alloc(arena, (size_t)length + 1);
  if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

char *ph_arena_copy(ph_arena *arena, const char *text, size_t length) {
  char *copy = ph_arena_alloc(arena, length + 1);
  if (copy != NULL) memcpy(copy, text, length);
  return copy;
}

void *ph_arena_push(ph_arena *arena, void *items_pointer, uint32_t *count, uint32_t *capacity, size_t size) {
  void *items;
  memcpy(&items, items_pointer, sizeof(items));
  if (*count == *capacity) {
    if (*capacity > UINT32_MAX / 2) return NULL;
    uint32_t wanted = *capacity > 0 ? *capacity * 2 : 8;
    void *grown = ph_arena_array(arena, wanted, size);
    if (grown == NULL) return NULL;
    if (*count > 0) memcpy(grown, items, *count * size);
    memcpy(items_pointer, &grown, sizeof(grown));
    items = grown;
    *capacity = wanted;
  }
  return (unsigned char *)items + (size_t)(*count)++ * size;
}
