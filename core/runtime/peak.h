/* What devices reach at most, as they measure it themselves (ph_backend.device_peak), kept in the cache folder. */
#ifndef POLYHEAD_RUNTIME_PEAK_H
#define POLYHEAD_RUNTIME_PEAK_H

#include "runtime/context.h"

/* Measures, which takes a second, and keeps the answer.  All 0 where the backend measures nothing, and where it fails,
 * with a warning: nothing else hangs on it. */
ph_peak ph_peak_measure(ph_context *context, const ph_open_device *device);
/* What an earlier run on this machine measured, with this driver; false where none did. */
bool ph_peak_cached(ph_context *context, const ph_device_entry *device, ph_peak *out);

#endif
