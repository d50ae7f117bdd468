/* The backend `blas`: the CPU through a BLAS library.  Matrix products are its; the rest is plain C in f32.  Storage in
 * f16 and bf16 is converted on the way in and out. */
#ifndef POLYHEAD_BACKENDS_BLAS_H
#define POLYHEAD_BACKENDS_BLAS_H

#include <polyhead/backend.h>

const ph_backend *ph_blas_backend(void); /* static data */

#endif
