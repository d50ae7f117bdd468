/* Temporary folders. */
#include "scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *scratch_folder(void) {
  const char *base = getenv("TMPDIR");
  char name[256];
  snprintf(name, sizeof(name), "%s/polyhead-opencl-XXXXXX", base != NULL ? base : "/tmp");
  if (mkdtemp(name) == NULL) {
    perror(name);
    abort();
  }
  return strdup(name);
}

void scratch_remove(char *folder) {
  DIR *open = opendir(folder);
  for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;)
    if (entry->d_name[0] != '.') unlinkat(dirfd(open), entry->d_name, 0);
  if (open != NULL) closedir(open);
  if (rmdir(folder) != 0) perror(folder);
  free(folder);
}

const char *scratch_self(void) {
  static char path[512];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length < 0) length = 0;
  path[length] = '\0';
  return path;
}
