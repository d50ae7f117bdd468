#include "blas/gemm.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

bool blas_gemm_fits(int64_t m, int64_t n, int64_t k) {
  return m <= INT_MAX && n <= INT_MAX && k <= INT_MAX;
}

/* BLAS wants a leading dimension of 1 at least, of empty matrices too. */
static int leading(int64_t stride) {
  return stride > 0 ? (int)stride : 1;
}

void blas_gemm(int64_t m, int64_t n, int64_t k, float factor, blas_matrix a, blas_matrix b, bool add, float *c,
               int64_t stride) {
  bool one_row = m == 1 && !a.transposed;
  if (m == 0 || n == 0) return;
  if (!add && (k == 0 || one_row)) /* gemv would multiply what c held by 0, NaN included */
    for (int64_t i = 0; i < m; i++) memset(c + i * stride, 0, (size_t)n * sizeof(float));
  if (k == 0) return;
  if (one_row) {
    int rows = (int)(b.transposed ? n : k), columns = (int)(b.transposed ? k : n);
    cblas_sgemv(CblasRowMajor, b.transposed ? CblasNoTrans : CblasTrans, rows, columns, factor, b.data,
                leading(b.stride), a.data, 1, 1, c, 1);
    return;
  }
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans, (int)m,
              (int)n, (int)k, factor, a.data, leading(a.stride), b.data, leading(b.stride), add ? 1 : 0, c,
              leading(stride));
}
