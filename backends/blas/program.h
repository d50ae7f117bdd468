/* A program: the constants that are stored in f16 or bf16 and computed with, as f32. */
#ifndef POLYHEAD_BLAS_PROGRAM_H
#define POLYHEAD_BLAS_PROGRAM_H

#include <polyhead/backend.h>

struct ph_program {
  const ph_device *device;
  float **converted; /* by tensor; NULL where it is used as it is */
  uint32_t tensor_count;
};

#endif
