/* A YAML document as a small tree whose nodes know where they were written.  Anchors, aliases, tags, merge keys, a
 * second document, duplicate keys and deep nesting are refused here (CONFIG.md, "YAML"). */
#ifndef POLYHEAD_CONFIG_YAML_H
#define POLYHEAD_CONFIG_YAML_H

#include "graph/model.h"
#include "graph/number.h"

typedef enum ph_yaml_kind { PH_YAML_SCALAR, PH_YAML_LIST, PH_YAML_MAP } ph_yaml_kind;

typedef struct ph_yaml ph_yaml;

typedef struct ph_yaml_pair {
  const char *key;
  ph_place place; /* of the key */
  ph_yaml *value;
} ph_yaml_pair;

struct ph_yaml {
  ph_yaml_kind kind;
  ph_place place;
  bool plain; /* SCALAR: written without quotes */
  bool used;  /* for the one who reads the tree */
  union {
    const char *text;    /* SCALAR; holds no NUL */
    ph_yaml **items;     /* LIST */
    ph_yaml_pair *pairs; /* MAP, in the order of the file */
  };
  uint32_t count, capacity;
  uint32_t size; /* nodes in this tree, itself included */
};

enum { PH_YAML_MAX_DEPTH = 64, PH_YAML_MAX_BYTES = 4 * 1024 * 1024 };

/* Reads a whole document into the arena; `file` is its name in messages. */
PH_NODISCARD ph_status ph_yaml_parse(ph_arena *arena, const char *file, const void *bytes, size_t size, ph_yaml **out,
                                     ph_error *error);

/* NULL where the map has no such key. */
const ph_yaml_pair *ph_yaml_find(const ph_yaml *map, const char *key);
ph_yaml *ph_yaml_get(const ph_yaml *map, const char *key);

/* Scalars are typed by us: an unquoted null or nothing at all; true or false; a number. */
bool ph_yaml_is_null(const ph_yaml *node);
bool ph_yaml_boolean(const ph_yaml *node, bool *out);
bool ph_yaml_number(const ph_yaml *node, ph_number *out);
/* "text 'abc'", "a list", "a mapping" ...: what stands there instead of what was expected. */
const char *ph_yaml_describe(const ph_yaml *node, ph_arena *arena);

#endif
