/* What an element is: names, sizes, unit roundoffs, and reading and writing one. */
#ifndef POLYHEAD_BASE_DTYPE_H
#define POLYHEAD_BASE_DTYPE_H

#include <polyhead/backend.h>

size_t ph_dtype_size(ph_dtype dtype);       /* bytes; 0 for PH_DTYPE_NONE */
const char *ph_dtype_name(ph_dtype dtype);  /* "f32" */
ph_dtype ph_dtype_named(const char *name);  /* PH_DTYPE_NONE if there is no such type */
bool ph_dtype_is_real(ph_dtype dtype);      /* f16, bf16, f32, f64 */
double ph_dtype_roundoff(ph_dtype dtype);   /* 2^-24 for f32; 0 for types that do not round */
double ph_dtype_min_normal(ph_dtype dtype); /* smallest normal number; 0 for types that do not round */

/* Element `index` of an array of `dtype`.  ph_write_real rounds once, to nearest even. */
double ph_read_real(ph_dtype dtype, const void *array, size_t index);      /* of any type */
int64_t ph_read_integer(ph_dtype dtype, const void *array, size_t index);  /* i32, i64 and bool only */
void ph_write_real(ph_dtype dtype, void *array, size_t index, double value); /* real types only */
void ph_write_integer(ph_dtype dtype, void *array, size_t index, int64_t value); /* i32, i64 and bool only */

#endif
