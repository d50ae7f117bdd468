/* What the readers of .npy, .npz and .safetensors share: an open file and its entries. */
#ifndef POLYHEAD_TENSOR_FILE_H
#define POLYHEAD_TENSOR_FILE_H

#include "base/memory.h"
#include "tensor/storage.h"

/* A tensor in a file. */
typedef struct ph_file_entry {
  const char *name;
  ph_tensor shape;     /* measured; of type PH_DTYPE_NONE where `refused` is set.  Unused in a .npz */
  const char *refused; /* why it cannot be had, or NULL */
  bool fortran_order;
  size_t offset;   /* of its data in the mapping */
  uint64_t member; /* its index in the archive of a .npz */
} ph_file_entry;

struct ph_tensor_file {
  ph_mapping *mapping;
  struct zip *archive; /* of a .npz over the mapping; else NULL */
  char *path;
  ph_arena arena; /* of entries, names and reasons */
  ph_file_entry *entries;
  uint32_t count, capacity;
};

/* Adds a zeroed entry with a copy of the name; NULL when out of memory. */
ph_file_entry *ph_tensor_file_add(ph_tensor_file *file, const char *name);

/* The formats.  Each fills the entries of a file whose mapping is open, in any order; names may still repeat. */
PH_NODISCARD ph_status ph_npy_open(ph_tensor_file *file, ph_error *error);
PH_NODISCARD ph_status ph_npz_open(ph_tensor_file *file, ph_error *error);
PH_NODISCARD ph_status ph_safetensors_open(ph_tensor_file *file, ph_error *error);

/* Reads a member of a .npz. */
PH_NODISCARD ph_status ph_npz_get(ph_tensor_file *file, const ph_file_entry *entry, ph_tensor **out, ph_error *error);
void ph_npz_close(ph_tensor_file *file);

/* Writes; names are checked by the caller, types are not. */
PH_NODISCARD ph_status ph_npz_write(ph_file_writer *writer, const char *const *names, const ph_tensor *const *tensors,
                                    size_t count, ph_error *error);
PH_NODISCARD ph_status ph_safetensors_write(ph_file_writer *writer, const char *const *names,
                                            const ph_tensor *const *tensors, size_t count, ph_error *error);

#endif
