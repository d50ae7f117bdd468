/* Compiled programs on disk (DESIGN section 6).  An entry is a file of its own, written whole or not at all; it holds
 * the whole text of its key, so that neither a clash of hashes nor another driver's entry is ever taken for ours.  What
 * is wrong with an entry or with the folder makes a miss and a notice, never a failure. */
#ifndef POLYHEAD_OPENCL_CACHE_H
#define POLYHEAD_OPENCL_CACHE_H

#include "opencl/device.h"

#define CL_HASH_START 0xCBF29CE484222325u
uint64_t cl_hash(uint64_t hash, const void *bytes, size_t size); /* FNV-1a, 64 bits */

/* Source, options, device, driver and platform version, and our format's; NUL-terminated, to be freed; NULL when out of
 * memory. */
char *cl_cache_key(const ph_device *device, const ph_text *source, const char *options);
/* The built program, or NULL for a miss; *out_proven as it was saved. */
cl_program cl_cache_load(ph_device *device, const char *key, const char *options, bool *out_proven);
/* Under the device's lock. */
void cl_cache_save(ph_device *device, const char *key, cl_program program, bool proven);

/* Writes the texts, one after the other, to a file that appears under its name only when it is whole. */
bool cl_file_write(const char *path, const ph_text *texts, size_t count);

#endif
