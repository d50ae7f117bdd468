#include "base/dtype.h"

#include <float.h>
#include <string.h>

#include "base/half.h"

typedef struct dtype_row {
  const char *name;
  size_t size;
  double roundoff, min_normal;
} dtype_row;

static const dtype_row rows[] = {
    [PH_DTYPE_NONE] = {"none", 0, 0, 0}, [PH_F32] = {"f32", 4, 0x1p-24, 0x1p-126},
    [PH_F16] = {"f16", 2, 0x1p-11, 0x1p-14},  [PH_BF16] = {"bf16", 2, 0x1p-8, 0x1p-126},
    [PH_F64] = {"f64", 8, 0x1p-53, 0x1p-1022}, [PH_I32] = {"i32", 4, 0, 0},
    [PH_I64] = {"i64", 8, 0, 0},          [PH_BOOL] = {"bool", 1, 0, 0},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const dtype_row *row(ph_dtype dtype) { return &rows[(unsigned)dtype < ROWS ? dtype : PH_DTYPE_NONE]; }

size_t ph_dtype_size(ph_dtype dtype) { return row(dtype)->size; }
const char *ph_dtype_name(ph_dtype dtype) { return row(dtype)->name; }
bool ph_dtype_is_real(ph_dtype dtype) { return row(dtype)->roundoff > 0; }
double ph_dtype_roundoff(ph_dtype dtype) { return row(dtype)->roundoff; }
double ph_dtype_min_normal(ph_dtype dtype) { return row(dtype)->min_normal; }

ph_dtype ph_dtype_named(const char *name) {
  for (unsigned i = PH_F32; i < ROWS; i++)
    if (strcmp(rows[i].name, name) == 0) return (ph_dtype)i;
  return PH_DTYPE_NONE;
}

double ph_read_real(ph_dtype dtype, const void *array, size_t index) {
  switch (dtype) {
  case PH_F32: return ((const float *)array)[index];
  case PH_F64: return ((const double *)array)[index];
  case PH_F16: return ph_f16_to_double(((const uint16_t *)array)[index]);
  case PH_BF16: return ph_bf16_to_double(((const uint16_t *)array)[index]);
  default: return (double)ph_read_integer(dtype, array, index);
  }
}

int64_t ph_read_integer(ph_dtype dtype, const void *array, size_t index) {
  switch (dtype) {
  case PH_I32: return ((const int32_t *)array)[index];
  case PH_I64: return ((const int64_t *)array)[index];
  case PH_BOOL: return ((const uint8_t *)array)[index] != 0;
  default: return 0;
  }
}

void ph_write_real(ph_dtype dtype, void *array, size_t index, double value) {
  switch (dtype) {
  case PH_F32: ((float *)array)[index] = (float)value; break;
  case PH_F64: ((double *)array)[index] = value; break;
  case PH_F16: ((uint16_t *)array)[index] = ph_double_to_f16(value); break;
  case PH_BF16: ((uint16_t *)array)[index] = ph_double_to_bf16(value); break;
  default: break;
  }
}

void ph_write_integer(ph_dtype dtype, void *array, size_t index, int64_t value) {
  switch (dtype) {
  case PH_I32: ((int32_t *)array)[index] = (int32_t)value; break;
  case PH_I64: ((int64_t *)array)[index] = value; break;
  case PH_BOOL: ((uint8_t *)array)[index] = value != 0; break;
  default: break;
  }
}
