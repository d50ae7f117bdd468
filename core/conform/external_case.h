/* One case made elsewhere: what its case.json says, and the tensors beside it. */
#ifndef POLYHEAD_CONFORM_EXTERNAL_CASE_H
#define POLYHEAD_CONFORM_EXTERNAL_CASE_H

#include <jansson.h>
#include <polyhead/tensor.h>

#include "base/memory.h"
#include "graph/type.h"

/* An input or an output, by position.  Where it is absent only the role counts. */
typedef struct ph_external_tensor {
  const char *role; /* a name in the sense of the config language */
  bool present;
  const char *file; /* the whole path */
  const char *type; /* as NumPy calls it */
  ph_dtype dtype;   /* PH_DTYPE_NONE: a type that we have not */
  uint32_t rank;
  int64_t dims[PH_MAX_RANK];
  ph_tensor *data; /* NULL before ph_external_case_load() */
} ph_external_tensor;

typedef struct ph_external_case {
  ph_arena arena;
  json_t *json;
  const char *op;
  const json_t *attributes; /* an object */
  ph_external_tensor *inputs, *outputs;
  uint32_t input_count, output_count;
  double rtol, atol; /* |got - stored| <= atol + rtol * |stored| */
  bool equal_nan;    /* a NaN may meet a NaN */
} ph_external_case;

/* Reads FOLDER/case.json, no tensor yet.  PH_IO where it is not there, PH_INVALID where it is malformed. */
PH_NODISCARD ph_status ph_external_case_read(const char *folder, ph_external_case **out, ph_error *error);
void ph_external_case_destroy(ph_external_case *of); /* NULL is fine */

/* Opens the tensors and holds them against what case.json says of them.  PH_UNSUPPORTED for a type that we have not. */
PH_NODISCARD ph_status ph_external_case_load(ph_external_case *of, ph_error *error);
void ph_external_case_unload(ph_external_case *of);

/* A tensor's type, for messages and comparing; extents that do not vary. */
ph_type ph_external_type(ph_dtype dtype, uint32_t rank, const int64_t *dims);
bool ph_external_same_type(const ph_type *a, const ph_type *b);

#endif
