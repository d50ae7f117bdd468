/* An open-addressing hash table over FNV-1a; see names.h. */
#include "config/names.h"

#include <polyhead/backend.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *name) {
  uint32_t h = 2166136261u;
  for (; *name != '\0'; name++) h = (h ^ (unsigned char)*name) * 16777619u;
  return h;
}

/* The slot of the name, or the empty one where it belongs.  The capacity is a power of two and never full. */
static struct ph_names_slot *locate(const ph_names *names, const char *name) {
  uint32_t mask = names->capacity - 1, at = hash(name) & mask;
  while (names->slots[at].name != NULL && strcmp(names->slots[at].name, name) != 0) at = (at + 1) & mask;
  return &names->slots[at];
}

uint32_t ph_names_find(const ph_names *names, const char *name) {
  if (names->capacity == 0) return PH_NONE;
  const struct ph_names_slot *slot = locate(names, name);
  return slot->name != NULL ? slot->value : PH_NONE;
}

bool ph_names_add(ph_names *names, ph_arena *arena, const char *name, uint32_t value) {
  if (names->count >= names->capacity / 2) {
    ph_names grown = {.capacity = names->capacity > 0 ? names->capacity * 2 : 16, .count = names->count};
    grown.slots = ph_arena_array(arena, grown.capacity, sizeof(*grown.slots));
    if (grown.slots == NULL) return false;
    for (uint32_t i = 0; i < names->capacity; i++)
      if (names->slots[i].name != NULL) *locate(&grown, names->slots[i].name) = names->slots[i];
    *names = grown;
  }
  *locate(names, name) = (struct ph_names_slot){name, value};
  names->count++;
  return true;
}

static int by_value(const void *a, const void *b) {
  const struct ph_names_slot *left = a, *right = b;
  return left->value < right->value ? -1 : left->value > right->value;
}

const char *const *ph_names_list(const ph_names *names, ph_arena *arena) {
  struct ph_names_slot *slots = ph_arena_array(arena, names->count, sizeof(*slots));
  const char **list = ph_arena_array(arena, names->count, sizeof(*list));
  if (slots == NULL || list == NULL) return NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < names->capacity; i++)
    if (names->slots[i].name != NULL) slots[count++] = names->slots[i];
  qsort(slots, count, sizeof(*slots), by_value);
  for (uint32_t i = 0; i < count; i++) list[i] = slots[i].name;
  return list;
}
