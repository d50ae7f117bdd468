/* A table from names to numbers, so that large files do not take quadratic time. */
#ifndef POLYHEAD_CONFIG_NAMES_H
#define POLYHEAD_CONFIG_NAMES_H

#include "base/memory.h"

/* Start with {0}.  Lives in the arena that ph_names_add() is given; keys are not copied. */
typedef struct ph_names {
  struct ph_names_slot {
    const char *name;
    uint32_t value;
  } * slots;
  uint32_t count, capacity;
} ph_names;

/* PH_NONE where the name is not there. */
uint32_t ph_names_find(const ph_names *names, const char *name);
/* Adds a name that is not there yet; false when out of memory. */
bool ph_names_add(ph_names *names, ph_arena *arena, const char *name, uint32_t value);
/* All names, count of them, by their numbers; NULL when out of memory.  For ph_nearest(). */
const char *const *ph_names_list(const ph_names *names, ph_arena *arena);

#endif
