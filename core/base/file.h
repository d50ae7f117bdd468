/* Files: mapped for reading, and written so that a reader never sees half of one. */
#ifndef POLYHEAD_BASE_FILE_H
#define POLYHEAD_BASE_FILE_H

#include <polyhead/backend.h>

/* A file in memory, read-only.  Of length 0: data is NULL. */
typedef struct ph_file_map {
  const unsigned char *data;
  size_t size;
} ph_file_map;

/* PH_IO with the path and the reason when it cannot be read; only regular files are taken. */
PH_NODISCARD ph_status ph_file_map_open(const char *path, ph_file_map *out, ph_error *error);
void ph_file_map_close(ph_file_map *map);

/* A file that appears under `path` only when it is whole: written beside it under a name of its own, then renamed.
 * create() fails where the folder cannot be written; commit() flushes, syncs and renames; exactly one of commit() and
 * abandon() ends it (commit() abandons by itself when it fails). */
typedef struct ph_file_writer ph_file_writer;
PH_NODISCARD ph_status ph_file_writer_create(const char *path, ph_file_writer **out, ph_error *error);
PH_NODISCARD ph_status ph_file_writer_put(ph_file_writer *writer, const void *bytes, size_t size, ph_error *error);
PH_NODISCARD ph_status ph_file_writer_commit(ph_file_writer *writer, ph_error *error);
void ph_file_writer_abandon(ph_file_writer *writer); /* NULL is fine */

#endif
