/* Where the data of tensors lies: on the heap, or in a mapped file that several tensors share. */
#ifndef POLYHEAD_TENSOR_STORAGE_H
#define POLYHEAD_TENSOR_STORAGE_H

#include <polyhead/tensor.h>

#include "base/file.h"

/* The formats are little-endian, and so are the tensors that lie in mapped files as they stand. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor files are read and written as they lie in memory");

/* A mapped file, counted like a tensor.  open() leaves one reference with the caller. */
typedef struct ph_mapping ph_mapping;
PH_NODISCARD ph_status ph_mapping_open(const char *path, ph_mapping **out, ph_error *error);
void ph_mapping_release(ph_mapping *mapping); /* NULL is fine */
ph_file_map ph_mapping_bytes(const ph_mapping *mapping);

/* Fills count and bytes of *shape from its dtype, rank and dims.  PH_INVALID where a dim is negative or the size
 * overflows; as in NumPy an empty tensor must still fit if its zeros were ones. */
PH_NODISCARD ph_status ph_tensor_measure(ph_tensor *shape, ph_error *error);

/* Like ph_tensor_create(), without the zeros; *shape was measured. */
PH_NODISCARD ph_status ph_tensor_create_raw(const ph_tensor *shape, ph_tensor **out, ph_error *error);

/* True if the caller's reference is the only one. */
bool ph_tensor_is_sole(const ph_tensor *tensor);

/* A tensor over shape->bytes bytes of a mapping, which must be there; *shape was measured.  Copied where they are not
 * aligned to an element; transposed where they lie in Fortran's order (first axis fastest). */
PH_NODISCARD ph_status ph_tensor_from_mapping(ph_mapping *mapping, size_t offset, const ph_tensor *shape,
                                              bool fortran_order, ph_tensor **out, ph_error *error);

/* Copies shape->bytes bytes in Fortran's order to row-major order. */
void ph_tensor_transpose(const ph_tensor *shape, const void *from, void *to);

/* PH_INVALID where a bool tensor holds a byte other than 0 and 1; PH_OK for other types. */
PH_NODISCARD ph_status ph_tensor_check_bools(const ph_tensor *tensor, ph_error *error);

#endif
