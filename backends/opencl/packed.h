/* Copies of constants that kernels rearranged (cl_packing in op.h). */
#ifndef POLYHEAD_OPENCL_PACKED_H
#define POLYHEAD_OPENCL_PACKED_H

#include "opencl/choice.h"
#include "opencl/kernel.h"
#include "opencl/program.h"

/* Makes the copies that the record asks for and the program has not yet.  Any thread.  They belong to the program.
 * Where kernel or device does not take the launch, `fit`, which holds so far, says so. */
PH_NODISCARD ph_status cl_packed_make(ph_program *program, const cl_choice *choice, cl_kernel_fit *fit,
                                      ph_error *error);
/* One of them. */
cl_mem cl_packed_get(ph_program *program, const cl_choice *choice, const cl_arg *arg);
void cl_packed_free(ph_program *program);

#endif
