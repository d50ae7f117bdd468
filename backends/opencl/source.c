/* Finding the text of the kernels. */
#define _GNU_SOURCE /* secure_getenv */
#include "opencl/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

ph_status cl_kernel_folder(char **out, ph_error *error) {
  const char *folder = secure_getenv("POLYHEAD_KERNEL_DIR");
  *out = NULL;
  if (folder == NULL || folder[0] == '\0') return PH_OK;
  *out = strdup(folder);
  return *out != NULL ? PH_OK : ph_fail_memory(error);
}

static ph_status add_from_folder(const char *folder, const char *file, ph_text *out, ph_error *error) {
  ph_text path = {0};
  ph_text_add(&path, "%s/%s", folder, file);
  ph_file_map map = {0};
  ph_status status = path.failed ? ph_fail_memory(error) : ph_file_map_open(path.data, &map, error);
  if (status == PH_OK) {
    if (map.size > 0) ph_text_put(out, (const char *)map.data, map.size);
    ph_file_map_close(&map);
  }
  ph_text_free(&path);
  return status;
}

/* The file whose name is the first `length` characters of `name`. */
static ph_status add_file(const char *folder, const char *name, size_t length, ph_text *out, ph_error *error) {
  char file[64];
  snprintf(file, sizeof(file), "%.*s", (int)length, name);
  ph_text_add(out, "#line 1 \"%s\"\n", file);
  if (folder != NULL) {
    PH_TRY(add_from_folder(folder, file, out, error));
  } else {
    const cl_kernel_file *found = cl_kernel_files;
    while (found->name != NULL && strcmp(found->name, file) != 0) found++;
    if (found->name == NULL) return ph_fail(error, PH_INTERNAL, "no kernel file '%s' is built into the library", file);
    ph_text_put(out, found->text, found->length);
  }
  ph_text_put(out, "\n", 1);
  return PH_OK;
}

ph_status cl_source(const char *folder, const char *file, ph_text *out, ph_error *error) {
  const char *common = "common.cl";
  PH_TRY(add_file(folder, common, strlen(common), out, error));
  for (const char *at = file; *at != '\0';) {
    size_t length = strcspn(at, " ");
    PH_TRY(add_file(folder, at, length, out, error));
    at += length + strspn(at + length, " ");
  }
  return out->failed ? ph_fail_memory(error) : PH_OK;
}
