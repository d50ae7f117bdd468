/* Files for tests: a folder of one's own, files with given bytes, and what is left in the folder. */
#ifndef POLYHEAD_TESTS_SCRATCH_H
#define POLYHEAD_TESTS_SCRATCH_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"

enum { SCRATCH_PATH_SIZE = 512 };

/* cmocka group set-up and tear-down: *state is the folder's path. */
static inline int scratch_create(void **state) {
  char *folder = strdup("/tmp/polyhead-test-XXXXXX");
  *state = folder;
  return folder != NULL && mkdtemp(folder) != NULL ? 0 : -1;
}

static inline int scratch_remove(void **state) {
  char command[SCRATCH_PATH_SIZE];
  snprintf(command, sizeof(command), "rm -rf '%s'", (const char *)*state);
  int result = system(command);
  free(*state);
  return result;
}

/* "FOLDER/name", in a buffer that the next call overwrites after four. */
static inline const char *scratch_path(void **state, const char *name) {
  static char paths[4][SCRATCH_PATH_SIZE];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, SCRATCH_PATH_SIZE, "%s/%s", (const char *)*state, name);
  return path;
}

static inline const char *scratch_file(void **state, const char *name, const void *bytes, size_t size) {
  const char *path = scratch_path(state, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  return path;
}

/* Files in a folder, hidden ones too. */
static inline int scratch_count(const char *folder) {
  DIR *entries = opendir(folder);
  assert_non_null(entries);
  int count = -2; /* . and .. */
  while (readdir(entries) != NULL) count++;
  closedir(entries);
  return count;
}

static inline void assert_contains(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("'%s' does not contain '%s'", text, part);
}

#define assert_ok(expression, error)                                                                                   \
  do {                                                                                                                 \
    if ((expression) != PH_OK) fail_msg("%s: %s", #expression, (error).message);                                       \
  } while (0)

#endif
