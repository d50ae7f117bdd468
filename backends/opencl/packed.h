/* Copies of constants that kernels rearranged (cl_packing in op.h). */
#ifndef POLYHEAD_OPENCL_PACKED_H
#define POLYHEAD_OPENCL_PACKED_H

#include "opencl/build.h"
#include "opencl/program.h"

/* Finds the copy of a constant, which is not empty, or makes it with a kernel of `build`.  Any thread.  The copy
 * belongs to the program. */
PH_NODISCARD ph_status cl_packed_get(ph_program *program, const cl_build *build, uint32_t tensor,
                                     const cl_packing *packing, cl_mem *out, ph_error *error);
void cl_packed_free(ph_program *program);

#endif
