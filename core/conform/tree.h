/* YAML trees as templates: put on top of each other, with $names filled in, written out as text. */
#ifndef POLYHEAD_CONFORM_TREE_H
#define POLYHEAD_CONFORM_TREE_H

#include "base/text.h"
#include "config/yaml.h"

/* What $name stands for. */
typedef struct ph_binding_name {
  const char *name;
  const ph_yaml *value;
  bool used; /* by ph_tree_fill() */
} ph_binding_name;

typedef struct ph_bindings {
  ph_binding_name *items;
  uint32_t count, capacity;
} ph_bindings;

ph_binding_name *ph_bindings_find(const ph_bindings *bindings, const char *name); /* NULL: not bound */
/* A later value of a name replaces the earlier one.  False when out of memory. */
bool ph_bindings_set(ph_arena *arena, ph_bindings *bindings, const char *name, const ph_yaml *value);

/* New nodes of an arena; NULL when out of memory. */
ph_yaml *ph_tree_map(ph_arena *arena, ph_place place);
ph_yaml *ph_tree_scalar(ph_arena *arena, ph_place place, const char *text);
/* Sets or adds a key of a map that belongs to the caller; false when out of memory. */
bool ph_tree_set(ph_arena *arena, ph_yaml *map, const char *key, ph_place place, ph_yaml *value);

/* `base` with `patch` on top: maps are merged key by key, all else is replaced.  Neither is changed; base may be NULL.
 * NULL when out of memory. */
ph_yaml *ph_tree_merge(ph_arena *arena, const ph_yaml *base, const ph_yaml *patch);

/* A copy in which every plain scalar $name is replaced by its value; where that is null, the key or the item goes.
 * PH_INVALID, with its place, for a name that nothing is bound to. */
PH_NODISCARD ph_status ph_tree_fill(ph_arena *arena, const ph_yaml *tree, const ph_bindings *bindings, ph_yaml **out,
                                    ph_error *error);

/* On one line, as YAML in flow style. */
void ph_tree_write(ph_text *out, const ph_yaml *tree);

#endif
