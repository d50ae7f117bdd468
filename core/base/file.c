/* Files mapped for reading, and files that appear whole or not at all. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* "cannot read 'x.npy': No such file or directory", with errno kept in native_code. */
static ph_status fail_errno(ph_error *error, const char *action, const char *path, int reason) {
  ph_status status = ph_fail(error, PH_IO, "cannot %s '%s': %s", action, path, strerror(reason));
  if (error != NULL) error->native_code = reason;
  return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

ph_status ph_file_map_open(const char *path, ph_file_map *out, ph_error *error) {
  *out = (ph_file_map){0};
  /* Without O_NONBLOCK a pipe that nobody writes to would hang us here. */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return fail_errno(error, "read", path, errno);
  ph_status status = PH_OK;
  struct stat about;
  if (fstat(descriptor, &about) != 0) {
    status = fail_errno(error, "read", path, errno);
  } else if (!S_ISREG(about.st_mode)) {
    status = ph_fail(error, PH_IO, "cannot read '%s': it is %s, not a regular file", path,
                     S_ISDIR(about.st_mode) ? "a folder" : "a device or a pipe");
  } else if (about.st_size > 0) {
    void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
      status = fail_errno(error, "map", path, errno);
    else
      *out = (ph_file_map){.data = data, .size = (size_t)about.st_size};
  }
  close(descriptor);
  return status;
}

void ph_file_map_close(ph_file_map *map) {
  if (map->data != NULL) munmap((void *)map->data, map->size);
  *map = (ph_file_map){0};
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

struct ph_file_writer {
  FILE *file;
  char *path;      /* where it will be: links resolved, so that a link keeps pointing at the new file */
  char *temporary; /* where it is now */
};

enum { TEMPORARY_NAME_SIZE = 64, ATTEMPTS = 100 };

/* Length of the folder part of a path with its slash; 0 for the working folder. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static void free_writer(ph_file_writer *writer) {
  free(writer->temporary);
  free(writer->path);
  free(writer);
}

/* A new file beside `path`.  Not mkstemp(): that makes files private, and the umask cannot be read without changing it.
 */
static ph_status open_temporary(ph_file_writer *writer, const char *path, ph_error *error) {
  int folder = (int)folder_length(writer->path);
  size_t size = (size_t)folder + TEMPORARY_NAME_SIZE;
  writer->temporary = malloc(size);
  if (writer->temporary == NULL) return ph_fail_memory(error);
  int descriptor = -1;
  for (int attempt = 0; descriptor < 0 && attempt < ATTEMPTS; attempt++) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(writer->temporary, size, "%.*s.polyhead-%ld-%ld%09ld.tmp", folder, writer->path, (long)getpid(),
             (long)now.tv_sec, now.tv_nsec);
    descriptor = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0) {
    int reason = errno;
    ph_status status = ph_fail(error, PH_IO, "cannot write '%s': no file can be made in the folder '%.*s': %s", path,
                               folder > 0 ? folder : 1, folder > 0 ? writer->path : ".", strerror(reason));
    if (error != NULL) error->native_code = reason;
    return status;
  }
  writer->file = fdopen(descriptor, "wb");
  if (writer->file != NULL) return PH_OK;
  int reason = errno;
  close(descriptor);
  unlink(writer->temporary);
  return fail_errno(error, "write", path, reason);
}

/* Refuses what a rename would wrongly replace: folders, devices (/dev/null!), files the user made read-only. */
static ph_status check_target(const char *path, ph_error *error) {
  struct stat about;
  if (path[folder_length(path)] == '\0') return ph_fail(error, PH_IO, "cannot write '%s': it names no file", path);
  if (stat(path, &about) != 0) return errno == ENOENT ? PH_OK : fail_errno(error, "write", path, errno);
  if (!S_ISREG(about.st_mode))
    return ph_fail(error, PH_IO, "cannot write '%s': it is %s, not a regular file", path,
                   S_ISDIR(about.st_mode) ? "a folder" : "a device or a pipe");
  return access(path, W_OK) == 0 ? PH_OK : fail_errno(error, "write", path, errno);
}

ph_status ph_file_writer_create(const char *path, ph_file_writer **out, ph_error *error) {
  *out = NULL;
  PH_TRY(check_target(path, error));
  ph_file_writer *writer = calloc(1, sizeof(*writer));
  if (writer == NULL) return ph_fail_memory(error);
  ph_status status;
  writer->path = realpath(path, NULL);
  if (writer->path == NULL) writer->path = strdup(path); /* not there yet */
  if (writer->path == NULL)
    status = ph_fail_memory(error);
  else
    status = open_temporary(writer, path, error);
  if (status != PH_OK) {
    free_writer(writer);
    return status;
  }
  *out = writer;
  return PH_OK;
}

ph_status ph_file_writer_put(ph_file_writer *writer, const void *bytes, size_t size, ph_error *error) {
  if (size == 0 || fwrite(bytes, 1, size, writer->file) == size) return PH_OK;
  return fail_errno(error, "write", writer->path, errno);
}

/* So that the new name survives a power failure; the file itself is safe already, hence no error. */
static void sync_folder(char *path) {
  path[folder_length(path)] = '\0';
  int descriptor = open(*path != '\0' ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)fsync(descriptor);
  close(descriptor);
}

ph_status ph_file_writer_commit(ph_file_writer *writer, ph_error *error) {
  if (ferror(writer->file) || fflush(writer->file) != 0 || fsync(fileno(writer->file)) != 0) {
    ph_status status = fail_errno(error, "write", writer->path, errno);
    ph_file_writer_abandon(writer);
    return status;
  }
  ph_status status = PH_OK;
  bool closed = fclose(writer->file) == 0;
  if (!closed || rename(writer->temporary, writer->path) != 0) {
    status = fail_errno(error, "write", writer->path, errno);
    unlink(writer->temporary);
  } else {
    sync_folder(writer->path);
  }
  free_writer(writer);
  return status;
}

void ph_file_writer_abandon(ph_file_writer *writer) {
  if (writer == NULL) return;
  fclose(writer->file);
  unlink(writer->temporary);
  free_writer(writer);
}
