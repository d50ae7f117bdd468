/* The disk cache. */
#include "opencl/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "opencl/status.h"

/* Before the key and the binary.  In the machine's byte order: entries never leave it. */
typedef struct header {
  char magic[16]; /* goes up with the format */
  uint64_t key_size, binary_size;
  uint64_t proven; /* 1: it passed a trial */
  uint64_t check;  /* of key and binary: a driver may crash on a binary that was cut or flipped */
} header;

static const char magic[16] = "polyhead cl 2\n";

uint64_t cl_hash(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *byte = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * 0x100000001B3u;
  return hash;
}

char *cl_cache_key(const ph_device *device, const ph_text *source, const char *options) {
  ph_text key = {0};
  ph_text_add(&key, "%sdevice %s\ndriver %s\nplatform %s\n%s\noptions %s\n", magic, device->info.name,
              device->info.driver, device->info.platform, device->found->platform_version, options);
  ph_text_put(&key, source->data, source->length);
  if (key.failed) ph_text_free(&key);
  return key.data;
}

static bool entry_path(const ph_device *device, const char *key, ph_text *out) {
  ph_text_add(out, "%s/opencl-%016" PRIx64 ".bin", device->context->host->cache_dir,
              cl_hash(CL_HASH_START, key, strlen(key)));
  return !out->failed;
}

/* Where the binary lies in the entry; NULL, with the reason, if the entry is not one for this key. */
static const unsigned char *find_binary(const ph_file_map *map, const char *key, size_t *out_size,
                                        const char **reason) {
  header head;
  size_t key_size = strlen(key);
  *reason = "it is cut short";
  if (map->size < sizeof(head)) return NULL;
  memcpy(&head, map->data, sizeof(head));
  *reason = "it is not a program";
  if (memcmp(head.magic, magic, sizeof(magic)) != 0) return NULL;
  *reason = "its sizes do not fit";
  if (head.key_size > map->size - sizeof(head) || head.binary_size != map->size - sizeof(head) - head.key_size ||
      head.binary_size == 0)
    return NULL;
  const unsigned char *found_key = map->data + sizeof(head);
  *reason = "it is damaged";
  if (cl_hash(CL_HASH_START, found_key, map->size - sizeof(head)) != head.check) return NULL;
  *reason = "it belongs to another program or driver";
  if (head.key_size != key_size || memcmp(found_key, key, key_size) != 0) return NULL;
  *out_size = head.binary_size;
  return found_key + key_size;
}

static cl_program load_binary(ph_device *device, const unsigned char *binary, size_t size, const char *options,
                              const char **reason) {
  cl_int code, state = CL_SUCCESS;
  cl_program program = clCreateProgramWithBinary(device->cl, 1, &device->found->device, &size, &binary, &state, &code);
  if (code == CL_SUCCESS && state != CL_SUCCESS)
    code = state;
  else if (code != CL_SUCCESS)
    program = NULL;
  if (code == CL_SUCCESS) code = clBuildProgram(program, 1, &device->found->device, options, NULL, NULL);
  if (code == CL_SUCCESS) return program;
  *reason = cl_error_name(code);
  if (program != NULL) cl_note_release(device->context, clReleaseProgram(program), "clReleaseProgram");
  return NULL;
}

cl_program cl_cache_load(ph_device *device, const char *key, const char *options, bool *out_proven) {
  ph_text path = {0};
  ph_file_map map = {0};
  cl_program program = NULL;
  ph_error error = PH_ERROR_INIT;
  const char *reason = NULL;
  if (entry_path(device, key, &path) && access(path.data, F_OK) == 0) {
    if (ph_file_map_open(path.data, &map, &error) != PH_OK) {
      reason = error.message;
    } else {
      size_t size = 0;
      const unsigned char *binary = find_binary(&map, key, &size, &reason);
      if (binary != NULL) program = load_binary(device, binary, size, options, &reason);
      *out_proven = program != NULL && ((const header *)(const void *)map.data)->proven == 1;
      ph_file_map_close(&map);
    }
    if (program == NULL)
      cl_log(device->context, PH_LOG_WARN, "the cached program %s is not used and will be made anew: %s", path.data,
             reason);
  }
  ph_text_free(&path);
  return program;
}

bool cl_file_write(const char *path, const ph_text *texts, size_t count) {
  ph_file_writer *writer = NULL;
  if (ph_file_writer_create(path, &writer, NULL) != PH_OK) return false;
  for (size_t i = 0; i < count; i++)
    if (ph_file_writer_put(writer, texts[i].data, texts[i].length, NULL) != PH_OK) {
      ph_file_writer_abandon(writer);
      return false;
    }
  return ph_file_writer_commit(writer, NULL) == PH_OK;
}

void cl_cache_save(ph_device *device, const char *key, cl_program program, bool proven) {
  size_t size = 0;
  unsigned char *binary = NULL;
  ph_text path = {0};
  const char *call = "clGetProgramInfo";
  cl_int code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
  if (code == CL_SUCCESS && size > 0 && (binary = malloc(size)) != NULL)
    code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
  if (code != CL_SUCCESS) {
    cl_log(device->context, PH_LOG_WARN, "a compiled program is not kept on disk: %s in %s", cl_error_name(code), call);
  } else if (binary != NULL && entry_path(device, key, &path)) {
    size_t key_size = strlen(key);
    header head = {.key_size = key_size,
                   .binary_size = size,
                   .proven = proven,
                   .check = cl_hash(cl_hash(CL_HASH_START, key, key_size), binary, size)};
    memcpy(head.magic, magic, sizeof(magic));
    ph_text parts[] = {{.data = (char *)&head, .length = sizeof(head)},
                       {.data = (char *)(uintptr_t)key, .length = key_size},
                       {.data = (char *)binary, .length = size}};
    if (!cl_file_write(path.data, parts, 3) && !device->cache_noticed) {
      device->cache_noticed = true;
      cl_log(device->context, PH_LOG_INFO, "compiled programs are not kept: %s cannot be written",
             device->context->host->cache_dir);
    }
  }
  free(binary);
  ph_text_free(&path);
}
