/* Asking the OpenCL loader what there is. */
#include "opencl/platform.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "opencl/backend.h"
#include "opencl/status.h"

/* From cl_khr_icd: the loader's answer where no platform is installed. */
enum { NO_PLATFORM = -1001 };

/* Puts a text of the platform, or of the device where there is one, into `to`, cut to its size. */
static cl_int ask_text(cl_platform_id platform, cl_device_id device, cl_uint what, char *to, size_t size) {
  size_t length = 0;
  cl_int code = device != NULL ? clGetDeviceInfo(device, what, 0, NULL, &length)
                               : clGetPlatformInfo(platform, what, 0, NULL, &length);
  char *text = code == CL_SUCCESS ? malloc(length + 1) : NULL;
  if (code == CL_SUCCESS && text == NULL) code = CL_OUT_OF_HOST_MEMORY;
  if (code == CL_SUCCESS)
    code = device != NULL ? clGetDeviceInfo(device, what, length, text, NULL)
                          : clGetPlatformInfo(platform, what, length, text, NULL);
  if (code == CL_SUCCESS) {
    text[length] = '\0';
    snprintf(to, size, "%s", text);
  }
  free(text);
  return code;
}

#define ASK(device, what, to) clGetDeviceInfo((device), (what), sizeof(to), &(to), NULL)

/* FNV-1a: names a device in a way that is the same in every run. */
static uint64_t mix(uint64_t hash, const char *text) {
  for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
  return (hash ^ 0xFF) * 0x100000001B3u;
}

static uint32_t power_of_two_above(uint32_t value) {
  uint32_t power = 1;
  while (power < value && power < 1u << 31) power *= 2;
  return power;
}

/* Asks everything.  `unfit` is set to the reason where the device works but cannot run our kernels. */
static cl_int ask_device(cl_platform_id platform, cl_device_id device, cl_found *out, const char **unfit) {
  cl_device_type type = 0;
  cl_bool available = CL_FALSE, compiler = CL_FALSE, little_endian = CL_FALSE, unified = CL_FALSE;
  cl_uint align_bits = 0, units = 0, width = 0;
  cl_ulong memory = 0, max_buffer = 0, local = 0;
  size_t axes[16] = {1, 1, 1};
  cl_uint axis_count = 0;
  char version[64] = "", profile[64] = "";
  ph_device_info *info = &out->info;
  cl_int code;
  if ((code = ASK(device, CL_DEVICE_TYPE, type)) || (code = ASK(device, CL_DEVICE_AVAILABLE, available)) ||
      (code = ASK(device, CL_DEVICE_COMPILER_AVAILABLE, compiler)) ||
      (code = ASK(device, CL_DEVICE_ENDIAN_LITTLE, little_endian)) ||
      (code = ASK(device, CL_DEVICE_HOST_UNIFIED_MEMORY, unified)) ||
      (code = ASK(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, align_bits)) ||
      (code = ASK(device, CL_DEVICE_MAX_COMPUTE_UNITS, units)) ||
      (code = ASK(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, width)) ||
      (code = ASK(device, CL_DEVICE_GLOBAL_MEM_SIZE, memory)) ||
      (code = ASK(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, max_buffer)) ||
      (code = ASK(device, CL_DEVICE_LOCAL_MEM_SIZE, local)) ||
      (code = ASK(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, out->max_work_group)) ||
      (code = ASK(device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, axis_count)) ||
      (code = axis_count > 16
                  ? CL_INVALID_VALUE
                  : clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, axis_count * sizeof(axes[0]), axes, NULL)) ||
      (code = ask_text(platform, device, CL_DEVICE_VERSION, version, sizeof(version))) ||
      (code = ask_text(platform, device, CL_DEVICE_PROFILE, profile, sizeof(profile))) ||
      (code = ask_text(platform, device, CL_DEVICE_NAME, info->name, sizeof(info->name))) ||
      (code = ask_text(platform, device, CL_DRIVER_VERSION, info->driver, sizeof(info->driver))))
    return code;
  /* A simulator may claim to be every kind at once: what says CPU is treated as one. */
  info->kind = type & CL_DEVICE_TYPE_CPU ? PH_DEVICE_CPU : type & CL_DEVICE_TYPE_GPU ? PH_DEVICE_GPU : PH_DEVICE_OTHER;
  info->caps = PH_CAP_NODE_TIMES | (unified ? PH_CAP_UNIFIED_MEMORY : 0);
  /* The driver counts bits (OpenCL 1.2, table 4.3).  Elements are up to 8 bytes. */
  info->alignment = power_of_two_above(align_bits / 8 > 8 ? align_bits / 8 : 8);
  info->memory_bytes = memory;
  info->max_buffer_bytes = max_buffer;
  memcpy(out->max_items, axes, sizeof(out->max_items));
  out->local_memory = local;
  out->compute_units = units;
  out->vector_width = width;
  unsigned major = 0, minor = 0;
  *unfit = NULL;
  if (!available)
    *unfit = "the driver says that it is not available";
  else if (!compiler)
    *unfit = "its driver has no compiler";
  else if (!little_endian)
    *unfit = "it is big-endian";
  else if (sscanf(version, "OpenCL %u.%u", &major, &minor) != 2 || major * 10 + minor < 12)
    *unfit = "it is older than OpenCL 1.2";
  else if (strcmp(profile, "FULL_PROFILE") != 0)
    *unfit = "it has the embedded profile only";
  return CL_SUCCESS;
}

static int rank(const cl_found *found) {
  if (found->is_pocl) return 3;
  return found->info.kind == PH_DEVICE_GPU ? 0 : found->info.kind == PH_DEVICE_OTHER ? 1 : 2;
}

/* Keeps the order best first, and the driver's order among equals. */
static bool insert(ph_backend_context *context, size_t *capacity, const cl_found *found) {
  if (!ph_grow(&context->found, capacity, (size_t)context->found_count + 1, sizeof(*context->found))) return false;
  uint32_t at = context->found_count++;
  for (; at > 0 && rank(&context->found[at - 1]) > rank(found); at--) context->found[at] = context->found[at - 1];
  context->found[at] = *found;
  return true;
}

/* A failed look is remembered once, and always in the log. */
static void complain(const ph_backend_context *context, ph_error *problem, cl_int code, const char *call,
                     const char *platform) {
  if (problem->code == PH_OK) {
    problem->code = cl_fail_at(problem, PH_UNAVAILABLE, code, call, __FILE__, __LINE__);
    if (platform[0] != '\0') ph_error_prefix(problem, "platform '%s': ", platform);
  }
  cl_log(context, PH_LOG_WARN, "%s%s%s: %s in %s", platform[0] ? "platform '" : "a platform", platform,
         platform[0] ? "'" : "", cl_error_name(code), call);
}

/* The same in every run: what the driver calls it, and which of several of the same name it is. */
static void identify(const ph_backend_context *context, cl_found *found) {
  uint64_t hash = mix(mix(0xCBF29CE484222325u, found->info.platform), found->info.name);
  uint32_t same = 0;
  for (uint32_t i = 0; i < context->found_count; i++)
    same += strcmp(context->found[i].info.platform, found->info.platform) == 0 &&
            strcmp(context->found[i].info.name, found->info.name) == 0;
  snprintf(found->info.id, sizeof(found->info.id), "%016" PRIx64 "-%" PRIu32, hash, same);
}

static ph_status look_into(ph_backend_context *context, size_t *capacity, cl_platform_id platform, uint32_t index,
                           ph_error *problem, ph_error *error) {
  cl_found model = {.platform = platform, .info = {.struct_size = sizeof(ph_device_info), .platform_index = index}};
  char *name = model.info.platform;
  cl_int code = ask_text(platform, NULL, CL_PLATFORM_NAME, name, sizeof(model.info.platform));
  if (code == CL_SUCCESS)
    code = ask_text(platform, NULL, CL_PLATFORM_VERSION, model.platform_version, sizeof(model.platform_version));
  if (code != CL_SUCCESS) {
    complain(context, problem, code, "clGetPlatformInfo", name);
    return PH_OK;
  }
  model.is_pocl = strcmp(name, "Portable Computing Language") == 0;
  if (context->flavour->pocl_only && !model.is_pocl) return PH_OK;

  cl_uint count = 0;
  code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
  if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0)) {
    cl_log(context, PH_LOG_INFO, "platform '%s' has no device", name);
    return PH_OK;
  }
  cl_device_id *devices = NULL;
  if (code == CL_SUCCESS) {
    devices = ph_new_array(count, sizeof(cl_device_id));
    if (devices == NULL) return ph_fail_memory(error);
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL);
  }
  if (code != CL_SUCCESS) complain(context, problem, code, "clGetDeviceIDs", name);
  ph_status status = PH_OK;
  for (cl_uint i = 0; code == CL_SUCCESS && status == PH_OK && i < count; i++) {
    cl_found found = model;
    found.device = devices[i];
    found.info.device_index = i;
    const char *unfit = NULL;
    cl_int answer = ask_device(platform, devices[i], &found, &unfit);
    if (answer != CL_SUCCESS) {
      complain(context, problem, answer, "clGetDeviceInfo", name);
    } else if (unfit != NULL) {
      cl_log(context, PH_LOG_WARN, "platform '%s': device '%s' cannot be used: %s", name, found.info.name, unfit);
    } else {
      identify(context, &found);
      if (!insert(context, capacity, &found)) status = ph_fail_memory(error);
    }
  }
  free(devices);
  return status;
}

ph_status cl_discover(ph_backend_context *context, ph_error *error) {
  cl_uint count = 0;
  cl_int code = clGetPlatformIDs(0, NULL, &count);
  if (code == NO_PLATFORM || (code == CL_SUCCESS && count == 0)) {
    cl_log(context, PH_LOG_INFO, "no OpenCL platform is installed");
    return PH_OK;
  }
  if (code != CL_SUCCESS) return cl_fail_at(error, PH_UNAVAILABLE, code, "clGetPlatformIDs", __FILE__, __LINE__);
  cl_platform_id *platforms = ph_new_array(count, sizeof(cl_platform_id));
  if (platforms == NULL) return ph_fail_memory(error);
  ph_status status = PH_OK;
  ph_error problem = PH_ERROR_INIT;
  code = clGetPlatformIDs(count, platforms, NULL);
  if (code != CL_SUCCESS) status = cl_fail_at(error, PH_UNAVAILABLE, code, "clGetPlatformIDs", __FILE__, __LINE__);
  size_t capacity = 0;
  for (cl_uint i = 0; status == PH_OK && i < count; i++)
    status = look_into(context, &capacity, platforms[i], i, &problem, error);
  free(platforms);
  if (status == PH_OK && context->found_count == 0 && problem.code != PH_OK) {
    status = problem.code;
    if (error != NULL) cl_give(error, &problem, sizeof(problem));
  }
  return status;
}
