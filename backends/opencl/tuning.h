/* The order in which variants are tried, as data: a row for each op and class of shapes, measured on this device by
 * `polyhead tune` or built in; where no row fits, the order of the op's table. */
#ifndef POLYHEAD_OPENCL_TUNING_H
#define POLYHEAD_OPENCL_TUNING_H

#include <polyhead/node.h>

#include "base/error.h"
#include "base/memory.h"

enum { CL_CLASS = 64 };

typedef struct cl_tuning_row {
  const char *class;        /* as cl_shape_class() writes it */
  const char *const *names; /* of variants, the best first; NULL-terminated */
} cl_tuning_row;

/* What one file says.  {0}: nothing. */
typedef struct cl_tuning {
  ph_arena arena;
  cl_tuning_row *rows;
  uint32_t count, capacity;
} cl_tuning;

/* Reads the lines "row CLASS : VARIANT VARIANT.." of the file; others are the host's.  PH_IO where it cannot be read.
 */
PH_NODISCARD ph_status cl_tuning_read(const char *path, cl_tuning *out, ph_error *error);
void cl_tuning_free(cl_tuning *tuning);

/* Shapes for which one order is as good as another: "cpu linear f32 rows 1 weight 1M+".  All dims are concrete. */
void cl_shape_class(const ph_device *device, const ph_graph *graph, const ph_node *node, char out[CL_CLASS]);

/* The row for this class: measured, else built in, else NULL. */
const cl_tuning_row *cl_tuning_find(const ph_device *device, const char *class);

bool cl_tuning_is_measured(const ph_device *device, const cl_tuning_row *row); /* and not built in */

#endif
