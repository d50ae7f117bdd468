/* polyhead/tensor.h: tensors in host memory, and the files they come from and go to. */
#ifndef POLYHEAD_TENSOR_H
#define POLYHEAD_TENSOR_H

#include <polyhead/backend.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PH_API __attribute__((visibility("default")))
#else
#define PH_API
#endif

/* A dense, row-major array.  Counted: retain and release from any thread; the last release frees it.  The fields are
 * for reading; only the one who made a tensor writes its data, and only before passing it on.  A tensor read from a file
 * may lie in the mapped file: its data is then read-only and aligned to its element alone. */
typedef struct ph_tensor {
  ph_dtype dtype;
  uint32_t rank;               /* 0 .. PH_MAX_RANK; rank 0 holds one element */
  int64_t dims[PH_MAX_RANK];
  size_t count;                /* elements */
  size_t bytes;
  void *data;                  /* never NULL, even for a count of 0 */
  struct ph_tensor_owner *owner; /* private */
} ph_tensor;

/* Zeroed, aligned to 128 bytes.  PH_INVALID when the size overflows or a dim is negative. */
PH_API PH_NODISCARD ph_status ph_tensor_create(ph_dtype dtype, uint32_t rank, const int64_t *dims, ph_tensor **out,
                                               ph_error *error);
PH_API ph_tensor *ph_tensor_retain(ph_tensor *tensor);
PH_API void ph_tensor_release(ph_tensor *tensor); /* NULL is fine */

/* Several tensors with names: what a .npz or .safetensors file holds.  Sorted by name. */
typedef struct ph_tensor_file ph_tensor_file;

/* Opens .npy (one tensor, named ""), .npz or .safetensors, told apart by their first bytes.  Sizes are checked before
 * anything is allocated.  Types: f32, f16, i64, i32, bool; f64 is refused by name; bf16 in safetensors only.  Fortran order
 * is transposed; big-endian is refused by name.  PH_IO when unreadable, PH_INVALID when malformed; the message names
 * the file and, inside it, the tensor. */
PH_API PH_NODISCARD ph_status ph_tensor_file_open(const char *path, ph_tensor_file **out, ph_error *error);
PH_API void ph_tensor_file_close(ph_tensor_file *file); /* tensors taken from it live on; NULL is fine */
PH_API size_t ph_tensor_file_count(const ph_tensor_file *file);
PH_API const char *ph_tensor_file_name(const ph_tensor_file *file, size_t index); /* of a tensor; owned by the file */
/* Finds by name; SIZE_MAX if absent. */
PH_API size_t ph_tensor_file_find(const ph_tensor_file *file, const char *name);
/* The tensor, retained for the caller.  Data of .safetensors and .npy stays mapped where its alignment allows. */
PH_API PH_NODISCARD ph_status ph_tensor_file_get(ph_tensor_file *file, size_t index, ph_tensor **out, ph_error *error);

/* Writes a .npy, .npz or .safetensors, by the ending of `path`; the file appears by rename, whole or not at all.
 * .npy takes exactly one tensor.  PH_INVALID for an unknown ending or bf16 outside safetensors. */
PH_API PH_NODISCARD ph_status ph_tensor_file_write(const char *path, const char *const *names,
                                                   const ph_tensor *const *tensors, size_t count, ph_error *error);

/* Prints values the way NumPy would, shortened past 1000 elements, at most 6 significant digits (as many as tell f32
 * values apart where `exact`).  `labels[axis]`, where not NULL, holds dims[axis] texts that head rows and columns:
 * labelled tensors are printed as tables.  `labels` may be NULL. */
typedef struct ph_print_options {
  uint32_t struct_size;
  const char *const *const *labels;
  bool exact;
} ph_print_options;
PH_API void ph_tensor_print(FILE *to, const ph_tensor *tensor, const ph_print_options *options);

#ifdef __cplusplus
}
#endif
#endif
