/* What is known of a device from earlier runs, in the cache folder: a file for each device and driver, and for each
 * kind of knowledge. */
#ifndef POLYHEAD_RUNTIME_DEVICE_FILE_H
#define POLYHEAD_RUNTIME_DEVICE_FILE_H

#include <polyhead/polyhead.h>

#include "base/text.h"

/* Where it lies, whether it is there or not; false where nothing is kept on disk.  `kind`: "peak". */
bool ph_device_file_path(ph_context *context, const ph_device_entry *device, const char *kind, ph_text *out);
/* Adds what the file holds; false where there is none for this very device and driver. */
bool ph_device_file_read(ph_context *context, const ph_device_entry *device, const char *kind, ph_text *out);
/* The file then holds this.  A folder that cannot be written is no cache: false, and nothing more. */
bool ph_device_file_write(ph_context *context, const ph_device_entry *device, const char *kind, const char *content);

#endif
