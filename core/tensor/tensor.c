/* Making, sharing and freeing tensors. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/storage.h"

/* More than any vector; the alignment of most OpenCL devices (1024 bits), so that they can use the memory as it is. */
enum { ALIGNMENT = 128 };

struct ph_mapping {
  atomic_size_t references;
  ph_file_map map;
};

struct ph_tensor_owner {
  atomic_size_t references;
  void *heap; /* exactly one of the two is set */
  ph_mapping *mapping;
};

typedef struct tensor_and_owner {
  ph_tensor tensor; /* first, so that freeing the tensor frees both */
  struct ph_tensor_owner owner;
} tensor_and_owner;

/* True for the one who must free.  What other threads did with the object happens before. */
static bool last_reference(atomic_size_t *references) {
  return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

ph_status ph_mapping_open(const char *path, ph_mapping **out, ph_error *error) {
  *out = NULL;
  ph_mapping *mapping = calloc(1, sizeof(*mapping));
  if (mapping == NULL) return ph_fail_memory(error);
  ph_status status = ph_file_map_open(path, &mapping->map, error);
  if (status != PH_OK) {
    free(mapping);
    return status;
  }
  atomic_init(&mapping->references, 1);
  *out = mapping;
  return PH_OK;
}

void ph_mapping_release(ph_mapping *mapping) {
  if (mapping == NULL || !last_reference(&mapping->references)) return;
  ph_file_map_close(&mapping->map);
  free(mapping);
}

ph_file_map ph_mapping_bytes(const ph_mapping *mapping) {
  return mapping->map;
}

/* ---- tensors -------------------------------------------------------------------------------------------------------
 */

ph_status ph_tensor_measure(ph_tensor *shape, ph_error *error) {
  size_t size = ph_dtype_size(shape->dtype);
  if (size == 0) return ph_fail(error, PH_INVALID, "a tensor needs a type");
  if (shape->rank > PH_MAX_RANK)
    return ph_fail(error, PH_INVALID, "%u axes are too many: at most %d", shape->rank, PH_MAX_RANK);
  size_t bytes = size;
  bool empty = false;
  for (uint32_t axis = 0; axis < shape->rank; axis++) {
    int64_t dim = shape->dims[axis];
    if (dim < 0) return ph_fail(error, PH_INVALID, "axis %u has a negative extent (%lld)", axis, (long long)dim);
    if (dim == 0)
      empty = true;
    else if (!ph_mul_size(bytes, (size_t)dim, &bytes) || bytes > PTRDIFF_MAX)
      return ph_fail(error, PH_INVALID, "the shape is too large: its size in bytes overflows at axis %u (%lld)", axis,
                     (long long)dim);
  }
  shape->bytes = empty ? 0 : bytes;
  shape->count = shape->bytes / size;
  return PH_OK;
}

/* A tensor without data. */
static ph_status create_shell(const ph_tensor *shape, ph_tensor **out, ph_error *error) {
  *out = NULL;
  tensor_and_owner *both = calloc(1, sizeof(*both));
  if (both == NULL) return ph_fail_memory(error);
  both->tensor = *shape;
  both->tensor.owner = &both->owner;
  atomic_init(&both->owner.references, 1);
  *out = &both->tensor;
  return PH_OK;
}

ph_status ph_tensor_create_raw(const ph_tensor *shape, ph_tensor **out, ph_error *error) {
  PH_TRY(create_shell(shape, out, error));
  /* aligned_alloc() wants a multiple of the alignment; bytes <= PTRDIFF_MAX, so this cannot overflow. */
  size_t room = (shape->bytes / ALIGNMENT + 1) * ALIGNMENT;
  (*out)->data = (*out)->owner->heap = aligned_alloc(ALIGNMENT, room);
  if ((*out)->data != NULL) return PH_OK;
  free(*out);
  *out = NULL;
  return ph_fail(error, PH_OUT_OF_MEMORY, "out of host memory: a tensor of %zu bytes", shape->bytes);
}

ph_status ph_tensor_create(ph_dtype dtype, uint32_t rank, const int64_t *dims, ph_tensor **out, ph_error *error) {
  *out = NULL;
  ph_tensor shape = {.dtype = dtype, .rank = rank};
  if (rank > 0 && rank <= PH_MAX_RANK) memcpy(shape.dims, dims, rank * sizeof(*dims));
  PH_TRY(ph_tensor_measure(&shape, error));
  PH_TRY(ph_tensor_create_raw(&shape, out, error));
  memset((*out)->data, 0, shape.bytes);
  return PH_OK;
}

ph_tensor *ph_tensor_retain(ph_tensor *tensor) {
  atomic_fetch_add_explicit(&tensor->owner->references, 1, memory_order_relaxed);
  return tensor;
}

void ph_tensor_release(ph_tensor *tensor) {
  if (tensor == NULL || !last_reference(&tensor->owner->references)) return;
  free(tensor->owner->heap);
  ph_mapping_release(tensor->owner->mapping);
  free(tensor);
}

bool ph_tensor_is_sole(const ph_tensor *tensor) {
  return atomic_load_explicit(&tensor->owner->references, memory_order_acquire) == 1;
}

/* ---- tensors from files --------------------------------------------------------------------------------------------
 */

void ph_tensor_transpose(const ph_tensor *shape, const void *from, void *to) {
  size_t size = ph_dtype_size(shape->dtype);
  size_t strides[PH_MAX_RANK], stride = size;
  for (uint32_t axis = 0; axis < shape->rank; axis++) {
    strides[axis] = stride;
    stride *= (size_t)shape->dims[axis];
  }
  int64_t index[PH_MAX_RANK] = {0};
  const unsigned char *source = from;
  unsigned char *target = to;
  for (size_t i = 0; i < shape->count; i++, target += size) {
    memcpy(target, source, size);
    for (uint32_t axis = shape->rank; axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape->dims[axis]) break;
      source -= strides[axis] * (size_t)shape->dims[axis];
      index[axis] = 0;
    }
  }
}

ph_status ph_tensor_from_mapping(ph_mapping *mapping, size_t offset, const ph_tensor *shape, bool fortran_order,
                                 ph_tensor **out, ph_error *error) {
  const unsigned char *bytes = mapping->map.data + offset;
  bool transposed = fortran_order && shape->rank > 1;
  if (transposed || (uintptr_t)bytes % ph_dtype_size(shape->dtype) != 0) {
    PH_TRY(ph_tensor_create_raw(shape, out, error));
    if (transposed)
      ph_tensor_transpose(shape, bytes, (*out)->data);
    else
      memcpy((*out)->data, bytes, shape->bytes);
    return PH_OK;
  }
  PH_TRY(create_shell(shape, out, error));
  atomic_fetch_add_explicit(&mapping->references, 1, memory_order_relaxed);
  (*out)->owner->mapping = mapping;
  (*out)->data = (void *)bytes; /* nobody writes to a tensor that was passed on */
  return PH_OK;
}

ph_status ph_tensor_check_bools(const ph_tensor *tensor, ph_error *error) {
  if (tensor->dtype != PH_BOOL) return PH_OK;
  const unsigned char *bytes = tensor->data;
  for (size_t i = 0; i < tensor->count; i++)
    if (bytes[i] > 1)
      return ph_fail(error, PH_INVALID, "element %zu of a bool tensor is the byte %u, neither 0 nor 1", i, bytes[i]);
  return PH_OK;
}
