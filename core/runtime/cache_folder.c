/* Finding and making the cache folder. */
#define _GNU_SOURCE /* secure_getenv */
#include "runtime/cache_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty variable counts as unset, as the XDG base directory specification has it. */
static const char *variable(const char *name) {
  const char *value = secure_getenv(name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

static char *wanted_path(ph_arena *arena) {
  const char *own = variable("POLYHEAD_CACHE_DIR"), *xdg = variable("XDG_CACHE_HOME"), *home = variable("HOME");
  if (own != NULL) return ph_arena_text(arena, "%s", own);
  if (xdg != NULL && xdg[0] == '/')
    return ph_arena_text(arena, "%s/polyhead", xdg); /* relative ones are to be ignored */
  return home != NULL ? ph_arena_text(arena, "%s/.cache/polyhead", home) : NULL;
}

static bool make_folders(char *path) {
  for (char *c = path + 1; *c != '\0'; c++) {
    if (*c != '/') continue;
    *c = '\0';
    bool made = mkdir(path, 0700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;
    *c = '/';
    if (!made) return false;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

const char *ph_cache_folder(ph_arena *arena, const char **out_reason) {
  char *path = wanted_path(arena);
  char real[PATH_MAX];
  struct stat status;
  if (path == NULL) {
    *out_reason = "neither POLYHEAD_CACHE_DIR nor HOME is set";
  } else if (!make_folders(path) || realpath(path, real) == NULL || stat(real, &status) != 0) {
    *out_reason = ph_arena_text(arena, "%s: %s", path, strerror(errno));
  } else if (!S_ISDIR(status.st_mode)) {
    *out_reason = ph_arena_text(arena, "%s: no folder", path);
  } else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    *out_reason = ph_arena_text(arena, "%s: others may write to it", path);
  } else {
    return ph_arena_text(arena, "%s", real);
  }
  return NULL;
}
