/* The folder in which backends may keep compiled programs. */
#ifndef POLYHEAD_RUNTIME_CACHE_FOLDER_H
#define POLYHEAD_RUNTIME_CACHE_FOLDER_H

#include "base/memory.h"
#include <polyhead/backend.h>

/* POLYHEAD_CACHE_DIR, else $XDG_CACHE_HOME/polyhead, else ~/.cache/polyhead: absolute, made where it is missing (mode
 * 0700), owned by the user and writable by nobody else.  NULL where there is no such folder: *out_reason says why. */
const char *ph_cache_folder(ph_arena *arena, const char **out_reason);

#endif
