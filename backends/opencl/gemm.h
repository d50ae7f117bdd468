/* A product that CLBlast does.  The library is sought when it is first asked for: only a GPU's profile does. */
#ifndef POLYHEAD_OPENCL_GEMM_H
#define POLYHEAD_OPENCL_GEMM_H

#include "opencl/op.h"

/* y = alpha * a b + beta * y, `batches` times, row-major; sizes, leading dimensions and steps in elements.  `turned`:
 * the matrix lies transposed. */
typedef struct cl_gemm {
  size_t rows, columns, depth, batches;
  bool a_turned, b_turned;
  size_t a_lead, b_lead, y_lead;
  size_t a_step, b_step, y_step; /* from one of the batch to the next */
  float alpha, beta;
} cl_gemm;

/* Its arguments are a, b and y; its data is a cl_gemm. */
extern const cl_library_call cl_gemm_call;

/* False, with the reason, where the library is not there. */
bool cl_gemm_available(char reason[192]);

#endif
