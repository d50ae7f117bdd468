/* Plugins: where they are sought, and what must hold before one is called (DESIGN 5). */
#ifndef POLYHEAD_RUNTIME_PLUGIN_H
#define POLYHEAD_RUNTIME_PLUGIN_H

#include <limits.h>

#include "base/memory.h"
#include <polyhead/polyhead.h>

typedef struct ph_plugin {
  ph_plugin_info info;
  const ph_backend *backend; /* NULL where not loaded */
} ph_plugin;

typedef struct ph_plugin_folder {
  const char *path, *note;
} ph_plugin_folder;

/* Start with {.arena = ...}: it owns every text and both arrays. */
typedef struct ph_plugin_list {
  ph_arena *arena;
  ph_plugin *items; /* the built-in reference first, then in the order of loading; rejected ones keep their place */
  uint32_t count, capacity;
  ph_plugin_folder *folders;
  uint32_t folder_count, folder_capacity;
} ph_plugin_list;

/* Loads `files` (a failure of one is returned), then POLYHEAD_PLUGIN_PATH, then the folder of the installation or of
 * the build tree.  What is rejected in a folder is kept with its reason and is no failure.  Libraries stay loaded for
 * good, whatever becomes of the list. */
PH_NODISCARD ph_status ph_plugin_list_load(ph_plugin_list *list, const char *const *files, uint32_t file_count,
                                           ph_error *error);

/* ---- the steps of loading one file, for those who take them one by one ---- */

/* A regular file that, like its folder, only root or this user can change.  real: where it lies, links followed. */
PH_NODISCARD ph_status ph_plugin_file_check(const char *path, char real[PATH_MAX], ph_error *error);
PH_NODISCARD ph_status ph_plugin_file_open(const char *real, ph_backend_query_function *out, ph_error *error);

/* What a backend's table must be before anything in it is called; each rule stands on those before it. */
typedef struct ph_plugin_rule {
  const char *name;
  ph_status (*check)(const ph_backend *backend, ph_error *error);
} ph_plugin_rule;
enum { PH_PLUGIN_RULE_COUNT = 4 };
extern const ph_plugin_rule ph_plugin_rules[PH_PLUGIN_RULE_COUNT];

#endif
