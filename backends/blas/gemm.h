/* Matrix products, row-major, with what BLAS leaves open settled: empty ones, and factors of 0. */
#ifndef POLYHEAD_BLAS_GEMM_H
#define POLYHEAD_BLAS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/* A matrix in memory: its leading dimension, and whether it is used as its transpose. */
typedef struct blas_matrix {
  const float *data;
  int64_t stride; /* from row to row of what lies in memory, in elements */
  bool transposed;
} blas_matrix;

/* c [m, n] = factor * a [m, k] * b [k, n], plus what c holds where `add`.  c's rows are `stride` apart. */
void blas_gemm(int64_t m, int64_t n, int64_t k, float factor, blas_matrix a, blas_matrix b, bool add, float *c,
               int64_t stride);

/* BLAS counts in int. */
bool blas_gemm_fits(int64_t m, int64_t n, int64_t k);

#endif
