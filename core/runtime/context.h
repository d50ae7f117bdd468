/* The context, as the rest of the library sees it: a backend's device by its spec, and the log. */
#ifndef POLYHEAD_RUNTIME_CONTEXT_H
#define POLYHEAD_RUNTIME_CONTEXT_H

#include <polyhead/polyhead.h>

typedef struct ph_open_device {
  const ph_backend *backend;
  ph_device *device;
  ph_device_info limits;        /* as opened: options may have changed them */
  const ph_device_entry *entry; /* lives as long as the context */
} ph_open_device;

/* Opens the device that `spec` means (DESIGN 4); NULL is "auto".  Each call opens it anew.  PH_INVALID for a malformed
 * or ambiguous spec, PH_UNAVAILABLE where there is no such backend or device: the message lists those there are. */
PH_NODISCARD ph_status ph_context_open_device(ph_context *context, const char *spec, ph_open_device **out,
                                              ph_error *error);
void ph_open_device_close(ph_open_device *device); /* before the context; NULL is fine */

/* Any thread; dropped where the level is above what the caller of ph_context_create() wants to see. */
void ph_context_log(ph_context *context, ph_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
