#include "conform/external_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { MAX_DEPTH = 8 };

typedef struct lister {
  const char *path;
  ph_arena *arena;
  const char **names;
  uint32_t count, capacity;
  ph_error *error;
} lister;

static ph_status add(lister *l, const char *name) {
  const char **slot = ph_arena_push(l->arena, &l->names, &l->count, &l->capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(l->error);
  *slot = name;
  return PH_OK;
}

static const char *join(lister *l, const char *folder, const char *name) {
  return strcmp(folder, ".") == 0 ? ph_arena_text(l->arena, "%s", name)
                                  : ph_arena_text(l->arena, "%s/%s", folder, name);
}

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* `name` is the folder's way from l->path. */
static ph_status walk(lister *l, const char *name, unsigned depth);

static ph_status walk_entries(lister *l, DIR *folder, const char *name, unsigned depth, bool *out_has_folders) {
  *out_has_folders = false;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    const char *inner = join(l, name, entry->d_name);
    const char *path = inner != NULL ? ph_arena_text(l->arena, "%s/%s", l->path, inner) : NULL;
    if (path == NULL) return ph_fail_memory(l->error);
    if (!is_folder(path)) continue;
    *out_has_folders = true;
    PH_TRY(walk(l, inner, depth + 1));
  }
  return PH_OK;
}

static ph_status walk(lister *l, const char *name, unsigned depth) {
  const char *path = depth == 0 ? l->path : ph_arena_text(l->arena, "%s/%s", l->path, name);
  const char *json = path != NULL ? ph_arena_text(l->arena, "%s/case.json", path) : NULL;
  if (json == NULL) return ph_fail_memory(l->error);
  if (access(json, F_OK) == 0) return add(l, name);
  if (depth > MAX_DEPTH) return ph_fail(l->error, PH_INVALID, "%s lies more than %d folders deep", path, MAX_DEPTH);
  DIR *folder = opendir(path);
  if (folder == NULL) return ph_fail(l->error, PH_IO, "%s cannot be read as a folder: %s", path, strerror(errno));
  bool has_folders;
  ph_status status = walk_entries(l, folder, name, depth, &has_folders);
  closedir(folder);
  if (status == PH_OK && !has_folders && depth > 0) return add(l, name); /* it lost its case.json */
  return status;
}

/* Its first two columns are group and case; the first line names the columns. */
static ph_status read_index(lister *l) {
  const char *path = ph_arena_text(l->arena, "%s/index.tsv", l->path);
  if (path == NULL) return ph_fail_memory(l->error);
  if (access(path, F_OK) != 0) return PH_OK;
  ph_file_map map;
  PH_TRY(ph_file_map_open(path, &map, l->error));
  const char *at = (const char *)map.data, *end = at + map.size;
  ph_status status = PH_OK;
  for (bool head = true; at < end && status == PH_OK; head = false) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (line_end == NULL) line_end = end;
    const char *group_end = memchr(at, '\t', (size_t)(line_end - at));
    const char *rest = group_end != NULL ? group_end + 1 : line_end;
    const char *case_end = memchr(rest, '\t', (size_t)(line_end - rest));
    if (case_end == NULL) case_end = line_end;
    if (!head && rest < case_end) {
      const char *name = ph_arena_text(l->arena, "%.*s/%.*s", (int)(group_end - at), at, (int)(case_end - rest), rest);
      status = name != NULL ? add(l, name) : ph_fail_memory(l->error);
    }
    at = line_end + 1;
  }
  ph_file_map_close(&map);
  return status;
}

static int compare(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

ph_status ph_external_list(const char *path, ph_arena *arena, const char ***out, uint32_t *out_count, ph_error *error) {
  lister l = {.path = path, .arena = arena, .error = error};
  PH_TRY(walk(&l, ".", 0));
  PH_TRY(read_index(&l));
  if (l.count == 0)
    return ph_fail(error, PH_INVALID, "%s holds no case: a case is a folder in it with a case.json", path);
  qsort(l.names, l.count, sizeof(*l.names), compare);
  uint32_t kept = 1;
  for (uint32_t i = 1; i < l.count; i++)
    if (strcmp(l.names[i], l.names[kept - 1]) != 0) l.names[kept++] = l.names[i];
  *out = l.names;
  *out_count = kept;
  return PH_OK;
}
