/* Between storage in f16 or bf16 and f32, array-wise. */
#ifndef POLYHEAD_BLAS_CONVERT_H
#define POLYHEAD_BLAS_CONVERT_H

#include <polyhead/backend.h>

/* `dtype` is PH_F32, PH_F16 or PH_BF16.  Storing rounds once, to nearest even; NaN stays NaN. */
void blas_load(ph_dtype dtype, const void *from, int64_t count, float *to);
void blas_store(ph_dtype dtype, const float *from, int64_t count, void *to);

#endif
