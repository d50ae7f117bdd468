/* The backends of a context: each is opened once, when it is first needed, and asked for its devices. */
#ifndef POLYHEAD_RUNTIME_REGISTRY_H
#define POLYHEAD_RUNTIME_REGISTRY_H

#include "base/memory.h"
#include "runtime/plugin.h"

#include <pthread.h>

/* A backend, and what was found when it was opened.  Nothing changes after `looked` is set. */
typedef struct ph_backend_slot {
  ph_context *context;
  const ph_backend *backend;
  const char *name;
  ph_host host;
  bool looked;
  ph_backend_context *opened; /* NULL where open() failed */
  ph_status status;           /* why there is no device at all */
  const char *problem;        /* likewise; NULL where there is one */
  bool told;                  /* the notice that auto skips it was given */
  ph_device_entry *devices;
  uint32_t device_count;
} ph_backend_slot;

struct ph_context {
  ph_context_options options;
  ph_plugin_list plugins;
  ph_backend_slot *slots;
  uint32_t slot_count;
  /* The lock guards what follows and the opening of backends. */
  pthread_mutex_t lock;
  ph_arena arena;
  bool cache_sought;
  const char *cache_folder;
  const char **problems;
  uint32_t problem_count, problem_capacity;
};

/* A place for `plugin`, which is loaded; calls nothing. */
void ph_backend_slot_init(ph_backend_slot *slot, ph_context *context, const ph_plugin *plugin);
/* Opens the backend and lists its devices unless that was done; any thread. */
void ph_backend_slot_need(ph_backend_slot *slot);
void ph_backend_slot_close(ph_backend_slot *slot);

/* The folder for what is kept on disk, or NULL; any thread. */
const char *ph_context_cache_folder(ph_context *context);

/* Fills what a backend may leave out, so that there is always a message: `call` failed with `status`. */
void ph_backend_complete_error(ph_error *error, ph_status status, const char *call);

/* For a backend's device_info() and device_limits(). */
ph_device_info ph_device_info_empty(void);
/* Ends its texts; PH_INCOMPATIBLE where the host cannot work with what it says. */
PH_NODISCARD ph_status ph_device_info_check(ph_device_info *info, ph_error *error);

#endif
