/* The options of a device (DESIGN section 4): which kernels to prefer and, for tests, limits to pretend. */
#ifndef POLYHEAD_OPENCL_OPTIONS_H
#define POLYHEAD_OPENCL_OPTIONS_H

#include <polyhead/backend.h>

typedef struct cl_options {
  unsigned profile;    /* CL_PROFILE_*; 0: by the kind of device */
  const char *variant; /* tried first, wherever it can run; a name from the table, or NULL */
  const char *tuning;  /* a file with the order of variants as measured (tuning.h); or NULL */
  /* Lower (for align_bits: higher) than the device's own, or 0. */
  uint64_t max_wg, local_mem, align_bits, max_alloc;
  uint64_t vector_width; /* 4, 8 or 16 instead of the device's own, or 0 */
} cl_options;

/* PH_INVALID with the names that are known, or the values that are accepted. */
PH_NODISCARD ph_status cl_options_read(const ph_option *options, uint32_t count, cl_options *out, ph_error *error);

#endif
