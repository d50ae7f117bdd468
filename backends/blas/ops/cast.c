/* cast: the same values in another type, rounded once. */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "blas/convert.h"
#include "blas/op.h"

/* Towards zero, and kept within the type; NaN gives 0. */
static int64_t to_integer(double value, ph_dtype dtype) {
  double low = dtype == PH_I32 ? (double)INT32_MIN : -0x1p63, high = dtype == PH_I32 ? (double)INT32_MAX : 0x1p63;
  if (dtype == PH_BOOL) return value != 0;
  if (isnan(value)) return 0;
  if (value <= low) return dtype == PH_I32 ? INT32_MIN : INT64_MIN;
  if (value >= high) return dtype == PH_I32 ? INT32_MAX : INT64_MAX;
  return (int64_t)value;
}

static void cast_reals(const blas_operand *x, const char *from, const blas_operand *y, char *to) {
  enum { PIECE = 256 };
  float piece[PIECE];
  for (int64_t i = 0; i < y->count; i += PIECE) {
    int64_t count = y->count - i < PIECE ? y->count - i : PIECE;
    blas_load(x->dtype, from + (size_t)i * ph_dtype_size(x->dtype), count, piece);
    blas_store(y->dtype, piece, count, to + (size_t)i * ph_dtype_size(y->dtype));
  }
}

static void run_cast(const blas_call *call) {
  const blas_operand *x = &call->node->in[0], *y = &call->node->out[0];
  const void *from = call->in[0];
  void *to = call->out[0];
  bool from_real = ph_dtype_is_real(x->dtype), to_real = ph_dtype_is_real(y->dtype);
  if (from_real && to_real) {
    cast_reals(x, from, y, to);
    return;
  }
  for (size_t i = 0; i < (size_t)y->count; i++) {
    if (to_real)
      ph_write_real(y->dtype, to, i, ph_read_real(x->dtype, from, i));
    else if (from_real)
      ph_write_integer(y->dtype, to, i, to_integer(ph_read_real(x->dtype, from, i), y->dtype));
    else
      ph_write_integer(y->dtype, to, i, ph_read_integer(x->dtype, from, i));
  }
}

const blas_op blas_cast = {.name = "cast", .version = 1, .run = run_cast};
