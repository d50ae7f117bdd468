/* The text of the kernels: built into the library, or read from a folder while developing. */
#ifndef POLYHEAD_OPENCL_SOURCE_H
#define POLYHEAD_OPENCL_SOURCE_H

#include <polyhead/backend.h>

#include "base/text.h"

typedef struct cl_kernel_file {
  const char *name; /* "linear.cl" */
  const char *text; /* NUL-terminated */
  size_t length;
} cl_kernel_file;

/* Made by the build from kernels/; ends with a row without a name. */
extern const cl_kernel_file cl_kernel_files[];

/* The folder in POLYHEAD_KERNEL_DIR (a copy to be freed), or NULL where it is not set or the process may not trust its
 * environment. */
PH_NODISCARD ph_status cl_kernel_folder(char **out, ph_error *error);

/* What is given to the compiler: common.cl, then each of `file` (names with blanks between), with #line marks.  From
 * `folder` where it is not NULL. */
PH_NODISCARD ph_status cl_source(const char *folder, const char *file, ph_text *out, ph_error *error);

#endif
