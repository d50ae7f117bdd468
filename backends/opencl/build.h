/* Compiled programs: one per kernel file and set of options on a device, shared by all ph_programs, kept until the
 * device is closed. */
#ifndef POLYHEAD_OPENCL_BUILD_H
#define POLYHEAD_OPENCL_BUILD_H

#include "opencl/device.h"

typedef struct cl_build {
  struct cl_build *next;
  const char *file; /* from the table of ops */
  char *options;
  bool making;        /* some thread is at it */
  cl_program program; /* NULL where the build failed: then `failure` says why */
  ph_error failure;
  char *key;                /* of its entry in the disk cache; NULL where nothing is to be kept */
  bool proven;              /* it passed a trial (trial.h), now or when it was saved */
  bool saved, saved_proven; /* how it is on disk */
} cl_build;

/* Finds it or makes it: from the disk cache, else from source.  Any thread.  A failed build is remembered and fails
 * again in the same way. */
PH_NODISCARD ph_status cl_build_get(ph_device *device, const char *file, const char *options, cl_build **out,
                                    ph_error *error);
/* Whether it was made, or is being made. */
bool cl_build_is_known(ph_device *device, const char *file, const char *options);
/* Call after the first launches finished: by then drivers that compile late (PoCL) put all they made into the binary,
 * which then loads a hundred times faster.  Saves once; trouble with the cache never fails a run. */
void cl_build_save(ph_device *device, cl_build *build);
void cl_builds_free(ph_device *device);

#endif
