/* Finding and loading plugins. */
#define _GNU_SOURCE /* dladdr, secure_getenv */
#include "runtime/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "reference/reference.h"

#define SUFFIX ".so"

/* ---- may the host call it? ---- */

#define REQUIRED(member)                                                                                               \
  { #member, offsetof(ph_backend, member) }
static const struct {
  const char *name;
  size_t offset;
} required[] = {
    REQUIRED(name),          REQUIRED(version),        REQUIRED(vendor),         REQUIRED(summary),
    REQUIRED(open),          REQUIRED(close),          REQUIRED(device_count),   REQUIRED(device_info),
    REQUIRED(device_open),   REQUIRED(device_limits),  REQUIRED(device_close),   REQUIRED(supports),
    REQUIRED(buffer_create), REQUIRED(buffer_destroy), REQUIRED(program_create), REQUIRED(program_destroy),
    REQUIRED(plan_create),   REQUIRED(plan_destroy),   REQUIRED(queue_create),   REQUIRED(queue_destroy),
    REQUIRED(write),         REQUIRED(read),           REQUIRED(execute),        REQUIRED(finish),
};
static const size_t required_size = offsetof(ph_backend, finish) + sizeof(((ph_backend *)0)->finish);

static bool is_backend_name(const char *name) {
  return name[0] >= 'a' && name[0] <= 'z' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* The first two members are there in every version; nothing after them is read before they are known to be right. */
static ph_status check_version(const ph_backend *backend, ph_error *error) {
  if (backend->struct_size < offsetof(ph_backend, abi_version) + sizeof(backend->abi_version))
    return ph_fail(error, PH_INCOMPATIBLE, "its struct_size of %u bytes is too short for any ABI",
                   backend->struct_size);
  uint32_t major = backend->abi_version >> 16, minor = backend->abi_version & 0xFFFF;
  if (major == PH_ABI_MAJOR) return PH_OK;
  return ph_fail(error, PH_INCOMPATIBLE, "it was built for plugin ABI %u.%u, this library has %u.%u: rebuild it", major,
                 minor, PH_ABI_MAJOR, PH_ABI_MINOR);
}

static ph_status check_size(const ph_backend *backend, ph_error *error) {
  if (backend->struct_size >= required_size) return PH_OK;
  return ph_fail(error, PH_INCOMPATIBLE, "its struct_size is %u bytes, ABI %u.%u needs at least %zu",
                 backend->struct_size, PH_ABI_MAJOR, PH_ABI_MINOR, required_size);
}

static ph_status check_entries(const ph_backend *backend, ph_error *error) {
  for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
    void (*entry)(void); /* texts are read as functions: only whether they are NULL matters */
    memcpy(&entry, (const unsigned char *)backend + required[i].offset, sizeof(entry));
    if (entry == NULL) return ph_fail(error, PH_INCOMPATIBLE, "its required entry '%s' is NULL", required[i].name);
  }
  return PH_OK;
}

static ph_status check_name(const ph_backend *backend, ph_error *error) {
  if (!is_backend_name(backend->name))
    return ph_fail(error, PH_INCOMPATIBLE, "its name '%s' is not of the form [a-z][a-z0-9_]*", backend->name);
  if (strcmp(backend->name, "auto") == 0)
    return ph_fail(error, PH_INCOMPATIBLE, "its name 'auto' means \"choose for me\" and is no backend's");
  return PH_OK;
}

const ph_plugin_rule ph_plugin_rules[PH_PLUGIN_RULE_COUNT] = {
    {"version", check_version}, {"size", check_size}, {"entries", check_entries}, {"name", check_name}};

static ph_status check_backend(const ph_backend *backend, ph_error *error) {
  for (int i = 0; i < PH_PLUGIN_RULE_COUNT; i++) PH_TRY(ph_plugin_rules[i].check(backend, error));
  return PH_OK;
}

/* ---- one file ---- */

static bool copy_info(ph_plugin_list *list, ph_plugin *plugin, const ph_backend *backend) {
  ph_plugin_info *info = &plugin->info;
  info->name = ph_arena_text(list->arena, "%s", backend->name);
  info->version = ph_arena_text(list->arena, "%s", backend->version);
  info->vendor = ph_arena_text(list->arena, "%s", backend->vendor);
  info->summary = ph_arena_text(list->arena, "%s", backend->summary);
  info->abi_version = backend->abi_version;
  plugin->backend = backend;
  return info->name != NULL && info->version != NULL && info->vendor != NULL && info->summary != NULL;
}

/* NULL if only root or this user can change it. */
static const char *distrusted(const struct stat *status) {
  if (status->st_uid != 0 && status->st_uid != geteuid()) return "owned by neither root nor you";
  if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it (cure: chmod go-w)";
  return NULL;
}

static ph_status check_file(const char *path, ph_error *error) {
  struct stat status;
  if (stat(path, &status) != 0) return ph_fail(error, PH_IO, "%s", strerror(errno));
  if (!S_ISREG(status.st_mode)) return ph_fail(error, PH_IO, "it is no regular file");
  if (status.st_size == 0) return ph_fail(error, PH_INCOMPATIBLE, "the file is empty");
  const char *reason = distrusted(&status);
  if (reason != NULL) return ph_fail(error, PH_INVALID, "%s", reason);

  /* Who may write to the folder may put another file in the place of the one just checked. */
  char folder[PATH_MAX];
  size_t length = (size_t)(strrchr(path, '/') - path);
  memcpy(folder, path, length > 0 ? length : 1);
  folder[length > 0 ? length : 1] = '\0';
  if (stat(folder, &status) != 0) return ph_fail(error, PH_IO, "%s: %s", folder, strerror(errno));
  reason = distrusted(&status);
  if (reason != NULL) return ph_fail(error, PH_INVALID, "its folder %s: %s", folder, reason);
  return PH_OK;
}

ph_status ph_plugin_file_check(const char *path, char real[PATH_MAX], ph_error *error) {
  if (realpath(path, real) == NULL) return ph_fail(error, PH_IO, "%s", strerror(errno));
  return check_file(real, error);
}

ph_status ph_plugin_file_open(const char *real, ph_backend_query_function *out, ph_error *error) {
  void *library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return ph_fail(error, PH_INCOMPATIBLE, "it cannot be loaded: %s", dlerror());
  void *symbol = dlsym(library, PH_BACKEND_SYMBOL);
  if (symbol == NULL) return ph_fail(error, PH_INCOMPATIBLE, "it is no polyhead plugin: %s", dlerror());
  memcpy(out, &symbol, sizeof(*out));
  return PH_OK;
}

static ph_status query_file(const char *path, const ph_backend **out, ph_error *error) {
  char real[PATH_MAX];
  ph_backend_query_function query;
  PH_TRY(ph_plugin_file_check(path, real, error));
  PH_TRY(ph_plugin_file_open(real, &query, error));
  const ph_backend *backend = query(PH_ABI_VERSION);
  if (backend == NULL)
    return ph_fail(error, PH_INCOMPATIBLE, "it cannot serve plugin ABI %u.%u", PH_ABI_MAJOR, PH_ABI_MINOR);
  PH_TRY(check_backend(backend, error));
  *out = backend;
  return PH_OK;
}

static const ph_plugin *find_name(const ph_plugin_list *list, const char *name) {
  for (uint32_t i = 0; i < list->count; i++)
    if (list->items[i].backend != NULL && strcmp(list->items[i].info.name, name) == 0) return &list->items[i];
  return NULL;
}

static ph_plugin *push_plugin(ph_plugin_list *list, const char *path) {
  ph_plugin *plugin = ph_arena_push(list->arena, &list->items, &list->count, &list->capacity, sizeof(*plugin));
  if (plugin == NULL) return NULL;
  *plugin = (ph_plugin){.info = {.struct_size = sizeof(plugin->info)}};
  plugin->info.path = ph_arena_text(list->arena, "%s", path);
  return plugin->info.path != NULL ? plugin : NULL;
}

/* Takes the backend unless its name is taken; a rejection is recorded in *plugin and is PH_OK. */
static ph_status settle(ph_plugin_list *list, ph_plugin *plugin, const ph_backend *backend, ph_status status,
                        const ph_error *details, ph_error *error) {
  const char *reason = NULL;
  const ph_plugin *first = backend != NULL ? find_name(list, backend->name) : NULL;
  if (first != NULL) {
    status = PH_INVALID;
    reason =
        ph_arena_text(list->arena, "a backend named '%s' is already there, from %s", backend->name, first->info.path);
  } else if (status != PH_OK) {
    reason = ph_arena_text(list->arena, "%s", details->message);
  } else {
    return copy_info(list, plugin, backend) ? PH_OK : ph_fail_memory(error);
  }
  plugin->info.status = status;
  plugin->info.reason = reason;
  return reason != NULL ? PH_OK : ph_fail_memory(error);
}

static ph_status load_file(ph_plugin_list *list, const char *path, ph_plugin **out, ph_error *error) {
  ph_plugin *plugin = push_plugin(list, path);
  if (plugin == NULL) return ph_fail_memory(error);
  *out = plugin;
  ph_error details = PH_ERROR_INIT;
  const ph_backend *backend = NULL;
  ph_status status = query_file(path, &backend, &details);
  return settle(list, plugin, backend, status, &details, error);
}

/* ---- folders ---- */

static ph_status note_folder(ph_plugin_list *list, const char *path, const char *note, ph_error *error) {
  ph_plugin_folder *folder =
      ph_arena_push(list->arena, &list->folders, &list->folder_count, &list->folder_capacity, sizeof(*folder));
  if (folder == NULL) return ph_fail_memory(error);
  *folder = (ph_plugin_folder){ph_arena_text(list->arena, "%s", path), ph_arena_text(list->arena, "%s", note)};
  return folder->path != NULL && folder->note != NULL ? PH_OK : ph_fail_memory(error);
}

static int is_module(const struct dirent *entry) {
  size_t length = strlen(entry->d_name), suffix = strlen(SUFFIX);
  return entry->d_name[0] != '.' && length > suffix && strcmp(entry->d_name + length - suffix, SUFFIX) == 0;
}

/* Byte order, so that the order does not hang on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static ph_status search_folder(ph_plugin_list *list, const char *path, ph_error *error) {
  if (path[0] == '\0') return note_folder(list, path, "an empty entry, ignored", error);
  if (path[0] != '/') return note_folder(list, path, "refused: not an absolute path", error);
  char real[PATH_MAX];
  struct stat status;
  if (realpath(path, real) == NULL || stat(real, &status) != 0)
    return note_folder(list, path, errno == ENOENT ? "not there" : strerror(errno), error);
  if (!S_ISDIR(status.st_mode)) return note_folder(list, path, "refused: no folder", error);
  const char *reason = distrusted(&status);
  if (reason != NULL) {
    const char *note = ph_arena_text(list->arena, "refused: %s", reason);
    return note != NULL ? note_folder(list, path, note, error) : ph_fail_memory(error);
  }
  for (uint32_t i = 0; i < list->folder_count; i++)
    if (strcmp(list->folders[i].path, path) == 0) return note_folder(list, path, "searched already", error);

  struct dirent **entries = NULL;
  int count = scandir(real, &entries, is_module, by_name);
  if (count < 0) return note_folder(list, path, strerror(errno), error);
  ph_status result = PH_OK;
  for (int i = 0; i < count; i++) {
    if (result == PH_OK) {
      const char *file = ph_arena_text(list->arena, "%s/%s", path, entries[i]->d_name);
      ph_plugin *plugin;
      result = file != NULL ? load_file(list, file, &plugin, error) : ph_fail_memory(error);
    }
    free(entries[i]);
  }
  free(entries);
  PH_TRY(result);
  const char *note = ph_arena_text(list->arena, "%d %s", count, count == 1 ? "file" : "files");
  return note != NULL ? note_folder(list, path, note, error) : ph_fail_memory(error);
}

static ph_status search_environment(ph_plugin_list *list, ph_error *error) {
  const char *path = secure_getenv("POLYHEAD_PLUGIN_PATH");
  if (path == NULL || path[0] == '\0') return PH_OK;
  for (;;) {
    size_t length = strcspn(path, ":");
    const char *folder = ph_arena_copy(list->arena, path, length);
    if (folder == NULL) return ph_fail_memory(error);
    PH_TRY(search_folder(list, folder, error));
    if (path[length] == '\0') return PH_OK;
    path += length + 1;
  }
}

/* Beside the library itself, wherever it was moved to: a path compiled in would break a relocated prefix.  A build tree
 * is known by a marker file that is never installed. */
static ph_status search_installation(ph_plugin_list *list, ph_error *error) {
  static const char anchor = 0;
  Dl_info self;
  char real[PATH_MAX];
  if (dladdr(&anchor, &self) == 0 || self.dli_fname == NULL || realpath(self.dli_fname, real) == NULL)
    return note_folder(list, "(installation)", "unknown: the library's own path cannot be found", error);
  *strrchr(real, '/') = '\0';
  const char *marker = ph_arena_text(list->arena, "%s/polyhead-build-tree", real);
  if (marker == NULL) return ph_fail_memory(error);
  const char *folder;
  if (access(marker, F_OK) == 0) {
    *strrchr(real, '/') = '\0';
    folder = ph_arena_text(list->arena, "%s/plugins", real);
  } else {
    folder = ph_arena_text(list->arena, "%s/polyhead/plugins-%u", real, PH_ABI_MAJOR);
  }
  return folder != NULL ? search_folder(list, folder, error) : ph_fail_memory(error);
}

ph_status ph_plugin_list_load(ph_plugin_list *list, const char *const *files, uint32_t file_count, ph_error *error) {
  /* The reference has the first place, but a --plugin may replace it: then its entry says so. */
  if (push_plugin(list, "(built in)") == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < file_count; i++) {
    ph_plugin *plugin;
    PH_TRY(load_file(list, files[i], &plugin, error));
    if (plugin->backend == NULL)
      return ph_fail(error, plugin->info.status, "plugin %s: %s", files[i], plugin->info.reason);
  }
  PH_TRY(settle(list, &list->items[0], ph_reference_backend(), PH_OK, NULL, error));
  PH_TRY(search_environment(list, error));
  return search_installation(list, error);
}
