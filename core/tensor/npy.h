/* The .npy format, versions 1 to 3: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef POLYHEAD_TENSOR_NPY_H
#define POLYHEAD_TENSOR_NPY_H

#include "base/text.h"
#include "tensor/storage.h"

enum { PH_NPY_START = 12 }; /* bytes that tell the length of the header; no file is shorter */
#define PH_NPY_MAGIC "\x93NUMPY"

typedef struct ph_npy_header {
  ph_tensor shape; /* measured; no data */
  bool fortran_order;
  size_t size; /* bytes before the data */
} ph_npy_header;

/* Bytes before the data, from the first PH_NPY_START bytes of something `size` bytes long; never more than `size`. */
PH_NODISCARD ph_status ph_npy_header_size(const unsigned char *start, size_t size, size_t *out, ph_error *error);

/* Reads the header_size bytes before the data; `size`, of header and data together, must be what the header promises.
 */
PH_NODISCARD ph_status ph_npy_header_read(const unsigned char *bytes, size_t header_size, size_t size,
                                          ph_npy_header *out, ph_error *error);

/* Appends the header of a tensor, in version 1, a multiple of 64 bytes.  PH_INVALID for a type that .npy has not. */
PH_NODISCARD ph_status ph_npy_header_write(const ph_tensor *tensor, ph_text *out, ph_error *error);

#endif
