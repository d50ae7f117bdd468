/* Building programs. */
#include "opencl/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "opencl/cache.h"
#include "opencl/source.h"
#include "opencl/status.h"

/* The whole log of a failed build; "" where the driver has none to give. */
static void fetch_log(const ph_device *device, cl_program program, ph_text *out) {
  size_t size = 0;
  cl_device_id id = device->found->device;
  cl_int code = clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *log = code == CL_SUCCESS ? calloc(size + 1, 1) : NULL;
  if (log != NULL) code = clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  if (code != CL_SUCCESS)
    ph_text_add(out, "(the driver gave no log: %s in clGetProgramBuildInfo)", cl_error_name(code));
  else if (log != NULL)
    ph_text_add(out, "%s", log);
  free(log);
}

/* Shows the whole log, saves it where there is a folder for it, and makes the one sentence. */
static ph_status fail_build(const ph_device *device, const cl_build *build, const char *log, cl_int code,
                            ph_error *error) {
  const ph_host *host = device->context->host;
  ph_text text = {0}, path = {0};
  ph_text_add(&text, "%s in clBuildProgram\ndevice:  %s (%s)\ndriver:  %s, %s\nkernels: %s\noptions: %s\nlog:\n%s\n",
              cl_error_name(code), device->info.name, device->info.platform, device->info.driver,
              device->found->platform_version, build->file, build->options, log);
  bool saved = false;
  if (!text.failed && host->cache_dir != NULL) {
    ph_text_add(&path, "%s/build-%016" PRIx64 ".log", host->cache_dir,
                cl_hash(cl_hash(CL_HASH_START, build->file, strlen(build->file)), text.data, text.length));
    saved = !path.failed && cl_file_write(path.data, &text, 1);
  }
  if (!text.failed) cl_log(device->context, PH_LOG_WARN, "%s", text.data);
  /* The options, which may be long, come last: only they may be cut. */
  ph_status status = ph_fail(error, PH_DEVICE_FAILED, "%s in clBuildProgram: %s on '%s' (driver %s)%s%s, options %s",
                             cl_error_name(code), build->file, device->info.name, device->info.driver,
                             saved ? ", log in " : "", saved ? path.data : "", build->options);
  if (error != NULL) error->native_code = code;
  ph_text_free(&path);
  ph_text_free(&text);
  return status;
}

static ph_status build_from_source(ph_device *device, cl_build *build, const ph_text *source, ph_error *error) {
  const char *string = source->data;
  size_t length = source->length;
  cl_int code;
  cl_program program = clCreateProgramWithSource(device->cl, 1, &string, &length, &code);
  if (code != CL_SUCCESS) return cl_fail(error, code, "clCreateProgramWithSource");
  code = clBuildProgram(program, 1, &device->found->device, build->options, NULL, NULL);
  ph_text log = {0};
  if (code != CL_SUCCESS || device->kernel_folder != NULL) fetch_log(device, program, &log);
  const char *text = log.data != NULL ? log.data : "";
  if (code == CL_SUCCESS) {
    if (text[0] != '\0') cl_log(device->context, PH_LOG_WARN, "%s, options %s:\n%s", build->file, build->options, text);
    ph_text_free(&log);
    build->program = program;
    return PH_OK;
  }
  ph_status status = fail_build(device, build, text, code, error);
  ph_text_free(&log);
  cl_note_release(device->context, clReleaseProgram(program), "clReleaseProgram");
  return status;
}

static ph_status make(ph_device *device, cl_build *build, ph_error *error) {
  ph_text source = {0};
  char *key = NULL;
  ph_status status = cl_source(device->kernel_folder, build->file, &source, error);
  if (status == PH_OK && device->context->host->cache_dir != NULL) {
    key = cl_cache_key(device, &source, build->options);
    if (key == NULL)
      status = ph_fail_memory(error);
    else
      build->program = cl_cache_load(device, key, build->options, &build->proven);
  }
  build->saved = build->program != NULL;
  build->saved_proven = build->proven;
  if (status == PH_OK && build->program == NULL) status = build_from_source(device, build, &source, error);
  if (status == PH_OK)
    build->key = key;
  else
    free(key);
  ph_text_free(&source);
  return status;
}

/* Under the lock; NULL where there is none. */
static cl_build *find(const ph_device *device, const char *file, const char *options) {
  cl_build *build = device->builds;
  while (build != NULL && (strcmp(build->file, file) != 0 || strcmp(build->options, options) != 0)) build = build->next;
  return build;
}

bool cl_build_is_known(ph_device *device, const char *file, const char *options) {
  pthread_mutex_lock(&device->lock);
  bool known = find(device, file, options) != NULL;
  pthread_mutex_unlock(&device->lock);
  return known;
}

/* Under the lock, which it gives up while it compiles. */
static ph_status find_or_make(ph_device *device, const char *file, const char *options, cl_build **out,
                              ph_error *error) {
  cl_build *build = find(device, file, options);
  if (build == NULL) {
    build = calloc(1, sizeof(*build));
    if (build == NULL || (build->options = strdup(options)) == NULL) {
      free(build);
      return ph_fail_memory(error);
    }
    build->file = file;
    build->failure = (ph_error)PH_ERROR_INIT;
    build->making = true;
    build->next = device->builds;
    device->builds = build;
    pthread_mutex_unlock(&device->lock);
    ph_status status = make(device, build, &build->failure);
    pthread_mutex_lock(&device->lock);
    build->failure.code = status;
    build->making = false;
    pthread_cond_broadcast(&device->built);
  }
  while (build->making) pthread_cond_wait(&device->built, &device->lock);
  *out = build;
  if (build->program == NULL && error != NULL) cl_give(error, &build->failure, sizeof(build->failure));
  return build->failure.code;
}

ph_status cl_build_get(ph_device *device, const char *file, const char *options, cl_build **out, ph_error *error) {
  pthread_mutex_lock(&device->lock);
  ph_status status = find_or_make(device, file, options, out, error);
  pthread_mutex_unlock(&device->lock);
  return status;
}

void cl_build_save(ph_device *device, cl_build *build) {
  pthread_mutex_lock(&device->lock);
  if (build->key != NULL && (!build->saved || (build->proven && !build->saved_proven))) {
    cl_cache_save(device, build->key, build->program, build->proven);
    build->saved = true;
    build->saved_proven = build->proven;
  }
  pthread_mutex_unlock(&device->lock);
}

void cl_builds_free(ph_device *device) {
  while (device->builds != NULL) {
    cl_build *build = device->builds;
    device->builds = build->next;
    if (build->program != NULL) cl_note_release(device->context, clReleaseProgram(build->program), "clReleaseProgram");
    free(build->options);
    free(build->key);
    free(build);
  }
}
