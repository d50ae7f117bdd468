/* An OpenCL driver for tests, loaded by the ICD loader like any other (cl_khr_icd): one platform; devices whose kernels
 * do nothing; every call can be made to fail. */
#include "stub_icd.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_DEVICES = 4, WORK_GROUP = 64, LOCAL_BYTES = 32768, ALIGN_BITS = 1024 };
static const char binary_text[] = "stub binary";

/* ---- faults and counts ---- */

#define ENTRIES(X)                                                                                                     \
  X(clIcdGetPlatformIDsKHR, CL_OUT_OF_HOST_MEMORY)                                                                     \
  X(clGetPlatformInfo, CL_OUT_OF_HOST_MEMORY)                                                                          \
  X(clGetDeviceIDs, CL_OUT_OF_HOST_MEMORY)                                                                             \
  X(clGetDeviceInfo, CL_OUT_OF_HOST_MEMORY)                                                                            \
  X(clCreateContext, CL_DEVICE_NOT_AVAILABLE)                                                                          \
  X(clReleaseContext, CL_OUT_OF_RESOURCES)                                                                             \
  X(clCreateCommandQueue, CL_OUT_OF_HOST_MEMORY)                                                                       \
  X(clReleaseCommandQueue, CL_OUT_OF_RESOURCES)                                                                        \
  X(clCreateBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                                  \
  X(clReleaseMemObject, CL_OUT_OF_RESOURCES)                                                                           \
  X(clCreateProgramWithSource, CL_OUT_OF_HOST_MEMORY)                                                                  \
  X(clCreateProgramWithBinary, CL_INVALID_BINARY)                                                                      \
  X(clBuildProgram, CL_BUILD_PROGRAM_FAILURE)                                                                          \
  X(clGetProgramBuildInfo, CL_OUT_OF_RESOURCES)                                                                        \
  X(clGetProgramInfo, CL_OUT_OF_RESOURCES)                                                                             \
  X(clReleaseProgram, CL_OUT_OF_RESOURCES)                                                                             \
  X(clCreateKernel, CL_INVALID_KERNEL_DEFINITION)                                                                      \
  X(clSetKernelArg, CL_INVALID_ARG_SIZE)                                                                               \
  X(clGetKernelWorkGroupInfo, CL_OUT_OF_RESOURCES)                                                                     \
  X(clReleaseKernel, CL_OUT_OF_RESOURCES)                                                                              \
  X(clEnqueueNDRangeKernel, CL_OUT_OF_RESOURCES)                                                                       \
  X(clEnqueueReadBuffer, CL_OUT_OF_RESOURCES)                                                                          \
  X(clEnqueueWriteBuffer, CL_OUT_OF_RESOURCES)                                                                         \
  X(clEnqueueMapBuffer, CL_MAP_FAILURE)                                                                                \
  X(clEnqueueUnmapMemObject, CL_OUT_OF_RESOURCES)                                                                      \
  X(clFinish, CL_OUT_OF_RESOURCES)                                                                                     \
  X(clGetEventProfilingInfo, CL_PROFILING_INFO_NOT_AVAILABLE)                                                          \
  X(clReleaseEvent, CL_OUT_OF_RESOURCES)

#define ID(name, code) ID_##name,
typedef enum entry { ENTRIES(ID) ENTRY_COUNT } entry;
#define NAME(name, code) #name,
static const char *const names[] = {ENTRIES(NAME) NULL};
#define CODE(name, code) code,
static const cl_int codes[] = {ENTRIES(CODE)};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool armed; /* else the environment is read */
static char faults[256];
static unsigned counts[ENTRY_COUNT], live_objects, misused;
static size_t kernel_work_group = WORK_GROUP;
static uint64_t kernel_local_bytes;
static bool unified_memory;

static bool fault_fits(entry id) {
  size_t length = strlen(names[id]);
  for (const char *fault = faults; fault != NULL && *fault != '\0';) {
    if (strncmp(fault, names[id], length) == 0 && strchr(":,", fault[length]) != NULL) {
      const char *number = fault[length] == ':' ? fault + length + 1 : "1";
      if (*number == '*' || strtoul(number, NULL, 10) == counts[id]) return true;
    }
    fault = strchr(fault, ',');
    if (fault != NULL) fault++;
  }
  return false;
}

/* Counts a call; says what it must answer. */
static cl_int enter(entry id) {
  pthread_mutex_lock(&lock);
  if (!armed) {
    const char *from = getenv("STUB_ICD_FAIL");
    snprintf(faults, sizeof(faults), "%s", from != NULL ? from : "");
    armed = true;
  }
  counts[id]++;
  cl_int code = fault_fits(id) ? codes[id] : CL_SUCCESS;
  pthread_mutex_unlock(&lock);
  return code;
}

static void count(int change) {
  pthread_mutex_lock(&lock);
  live_objects += (unsigned)change;
  pthread_mutex_unlock(&lock);
}

static cl_int misuse(cl_int code) {
  pthread_mutex_lock(&lock);
  misused++;
  pthread_mutex_unlock(&lock);
  return code;
}

static void arm(const char *text) {
  pthread_mutex_lock(&lock);
  armed = true;
  snprintf(faults, sizeof(faults), "%s", text != NULL ? text : "");
  memset(counts, 0, sizeof(counts));
  pthread_mutex_unlock(&lock);
}

static unsigned calls(const char *name) {
  for (unsigned i = 0; i < ENTRY_COUNT; i++)
    if (strcmp(names[i], name) == 0) return counts[i];
  return 0;
}

static unsigned live(void) {
  return live_objects;
}
static unsigned misuses(void) {
  return misused;
}

static void limit_kernels(size_t work_group, uint64_t local_bytes) {
  kernel_work_group = work_group;
  kernel_local_bytes = local_bytes;
}

static void unify_memory(int unified) {
  unified_memory = unified != 0;
}

EXPORT extern const stub_icd_control stub_icd;
const stub_icd_control stub_icd = {names, arm, calls, live, misuses, limit_kernels, unify_memory};

/* ---- objects ---- */

static const cl_icd_dispatch dispatch;

struct _cl_platform_id {
  const cl_icd_dispatch *dispatch;
};
struct _cl_device_id {
  const cl_icd_dispatch *dispatch;
};
struct _cl_context {
  const cl_icd_dispatch *dispatch;
};
struct _cl_command_queue {
  const cl_icd_dispatch *dispatch;
  bool times;
};
struct _cl_mem {
  const cl_icd_dispatch *dispatch;
  size_t size;
  unsigned char *bytes;
  unsigned char
      *host; /* CL_MEM_USE_HOST_PTR: like a driver that may, this one keeps a copy and gives it back in maps */
  bool mapped;
};
struct _cl_program {
  const cl_icd_dispatch *dispatch;
  bool built;
};
struct _cl_kernel {
  const cl_icd_dispatch *dispatch;
};
struct _cl_event {
  const cl_icd_dispatch *dispatch;
};

static struct _cl_platform_id platform = {&dispatch};
static struct _cl_device_id devices[MAX_DEVICES] = {{&dispatch}, {&dispatch}, {&dispatch}, {&dispatch}};

/* Makes an object whose first member is the dispatch table; NULL, with the code, where the call is to fail. */
static void *make(entry id, size_t size, cl_int *out_code) {
  cl_int code = enter(id);
  void *object = code == CL_SUCCESS ? calloc(1, size) : NULL;
  if (code == CL_SUCCESS && object == NULL) code = CL_OUT_OF_HOST_MEMORY;
  if (object != NULL) {
    const cl_icd_dispatch *table = &dispatch;
    memcpy(object, &table, sizeof(table));
    count(1);
  }
  if (out_code != NULL) *out_code = code;
  return object;
}

/* A release that fails has released all the same: the test is about what the caller makes of the answer. */
static cl_int release(entry id, void *object) {
  free(object);
  count(-1);
  return enter(id);
}

/* Answers a query the way OpenCL does. */
static cl_int answer(const void *value, size_t value_size, size_t size, void *to, size_t *out_size) {
  if (to != NULL && size < value_size) return CL_INVALID_VALUE;
  if (to != NULL) memcpy(to, value, value_size);
  if (out_size != NULL) *out_size = value_size;
  return CL_SUCCESS;
}

/* ---- platform and devices ---- */

static cl_int CL_API_CALL get_platform_info(cl_platform_id id, cl_platform_info what, size_t size, void *to,
                                            size_t *out_size) {
  (void)id;
  cl_int code = enter(ID_clGetPlatformInfo);
  if (code != CL_SUCCESS) return code;
  const char *text = what == CL_PLATFORM_NAME             ? "Stub"
                     : what == CL_PLATFORM_VERSION        ? "OpenCL 1.2 stub"
                     : what == CL_PLATFORM_PROFILE        ? "FULL_PROFILE"
                     : what == CL_PLATFORM_VENDOR         ? "Polyhead"
                     : what == CL_PLATFORM_EXTENSIONS     ? "cl_khr_icd"
                     : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "STUB"
                                                          : NULL;
  return text != NULL ? answer(text, strlen(text) + 1, size, to, out_size) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id id, cl_device_type type, cl_uint room, cl_device_id *to,
                                         cl_uint *out_count) {
  (void)id, (void)type;
  cl_int code = enter(ID_clGetDeviceIDs);
  if (code != CL_SUCCESS) return code;
  const char *wanted = getenv("STUB_ICD_DEVICES");
  cl_uint device_count = wanted != NULL ? (cl_uint)strtoul(wanted, NULL, 10) % (MAX_DEVICES + 1) : 1;
  if (device_count == 0) return CL_DEVICE_NOT_FOUND;
  for (cl_uint i = 0; to != NULL && i < room && i < device_count; i++) to[i] = &devices[i];
  if (out_count != NULL) *out_count = device_count;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info what, size_t size, void *to,
                                          size_t *out_size) {
  (void)id;
  cl_int code = enter(ID_clGetDeviceInfo);
  if (code != CL_SUCCESS) return code;
  const char *text = NULL;
  uint64_t number = 0;
  size_t bytes = sizeof(cl_uint);
  switch (what) {
  case CL_DEVICE_TYPE:
    number = CL_DEVICE_TYPE_GPU, bytes = sizeof(cl_device_type);
    break;
  case CL_DEVICE_AVAILABLE:
  case CL_DEVICE_COMPILER_AVAILABLE:
  case CL_DEVICE_ENDIAN_LITTLE:
    number = CL_TRUE;
    break;
  case CL_DEVICE_HOST_UNIFIED_MEMORY:
    number = unified_memory;
    break;
  case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
    number = ALIGN_BITS;
    break;
  case CL_DEVICE_MAX_COMPUTE_UNITS:
    number = 4;
    break;
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    number = 1;
    break;
  case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
    number = 3;
    break;
  case CL_DEVICE_GLOBAL_MEM_SIZE:
    number = 1u << 30, bytes = sizeof(cl_ulong);
    break;
  case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    number = 1u << 28, bytes = sizeof(cl_ulong);
    break;
  case CL_DEVICE_LOCAL_MEM_SIZE:
    number = LOCAL_BYTES, bytes = sizeof(cl_ulong);
    break;
  case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    number = WORK_GROUP, bytes = sizeof(size_t);
    break;
  case CL_DEVICE_MAX_WORK_ITEM_SIZES:
    return answer((const size_t[3]){WORK_GROUP, WORK_GROUP, 8}, 3 * sizeof(size_t), size, to, out_size);
  case CL_DEVICE_NAME:
    text = "Stub device";
    break;
  case CL_DEVICE_VERSION:
    text = "OpenCL 1.2 stub";
    break;
  case CL_DEVICE_PROFILE:
    text = "FULL_PROFILE";
    break;
  case CL_DRIVER_VERSION:
    text = "1.0";
    break;
  default:
    return CL_INVALID_VALUE;
  }
  /* Little-endian, like everything we run on: the low bytes come first. */
  return text != NULL ? answer(text, strlen(text) + 1, size, to, out_size) : answer(&number, bytes, size, to, out_size);
}

/* ---- contexts, queues, memory ---- */

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint device_count,
                                             const cl_device_id *ids,
                                             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                             void *user, cl_int *code) {
  (void)properties, (void)device_count, (void)ids, (void)notify, (void)user;
  return make(ID_clCreateContext, sizeof(struct _cl_context), code);
}

static cl_int CL_API_CALL release_context(cl_context context) {
  return release(ID_clReleaseContext, context);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id id,
                                                 cl_command_queue_properties properties, cl_int *code) {
  (void)context, (void)id;
  cl_command_queue queue = make(ID_clCreateCommandQueue, sizeof(*queue), code);
  if (queue != NULL) queue->times = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  return queue;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue) {
  return release(ID_clReleaseCommandQueue, queue);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code) {
  (void)context;
  if (size == 0 || (host != NULL) != ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0))
    misuse(CL_INVALID_HOST_PTR);
  cl_mem memory = make(ID_clCreateBuffer, sizeof(*memory), code);
  if (memory == NULL) return NULL;
  memory->size = size;
  memory->bytes = calloc(size, 1);
  if (memory->bytes != NULL && host != NULL) memcpy(memory->bytes, host, size);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) memory->host = host;
  return memory;
}

static cl_int CL_API_CALL release_memory(cl_mem memory) {
  free(memory->bytes);
  return release(ID_clReleaseMemObject, memory);
}

/* ---- programs and kernels ---- */

static cl_program CL_API_CALL create_from_source(cl_context context, cl_uint text_count, const char **texts,
                                                 const size_t *lengths, cl_int *code) {
  (void)context, (void)text_count, (void)texts, (void)lengths;
  return make(ID_clCreateProgramWithSource, sizeof(struct _cl_program), code);
}

static cl_program CL_API_CALL create_from_binary(cl_context context, cl_uint device_count, const cl_device_id *ids,
                                                 const size_t *sizes, const unsigned char **binaries, cl_int *state,
                                                 cl_int *code) {
  (void)context, (void)device_count, (void)ids;
  if (sizes[0] != sizeof(binary_text) || memcmp(binaries[0], binary_text, sizes[0]) != 0) misuse(CL_INVALID_BINARY);
  cl_program program = make(ID_clCreateProgramWithBinary, sizeof(*program), code);
  if (state != NULL) *state = program != NULL ? CL_SUCCESS : CL_INVALID_BINARY;
  return program;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint device_count, const cl_device_id *ids,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                        void *user) {
  (void)device_count, (void)ids, (void)options, (void)notify, (void)user;
  cl_int code = enter(ID_clBuildProgram);
  program->built = code == CL_SUCCESS;
  return code;
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id id, cl_program_build_info what, size_t size,
                                         void *to, size_t *out_size) {
  (void)program, (void)id;
  cl_int code = enter(ID_clGetProgramBuildInfo);
  if (code != CL_SUCCESS) return code;
  static const char log[] = "stub.cl:1:1: error: the stub was told to fail";
  return what == CL_PROGRAM_BUILD_LOG ? answer(log, sizeof(log), size, to, out_size) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info what, size_t size, void *to,
                                           size_t *out_size) {
  if (!program->built) return misuse(CL_INVALID_PROGRAM);
  cl_int code = enter(ID_clGetProgramInfo);
  if (code != CL_SUCCESS) return code;
  if (what == CL_PROGRAM_BINARY_SIZES)
    return answer(&(size_t){sizeof(binary_text)}, sizeof(size_t), size, to, out_size);
  if (what != CL_PROGRAM_BINARIES) return CL_INVALID_VALUE;
  memcpy(*(unsigned char **)to, binary_text, sizeof(binary_text));
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_program(cl_program program) {
  return release(ID_clReleaseProgram, program);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code) {
  (void)name;
  if (!program->built) misuse(CL_INVALID_PROGRAM_EXECUTABLE);
  return make(ID_clCreateKernel, sizeof(struct _cl_kernel), code);
}

static cl_int CL_API_CALL set_arg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  (void)kernel, (void)index, (void)value;
  if (size == 0) misuse(CL_INVALID_ARG_SIZE);
  return enter(ID_clSetKernelArg);
}

static cl_int CL_API_CALL get_group_info(cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info what, size_t size,
                                         void *to, size_t *out_size) {
  (void)kernel, (void)id;
  cl_int code = enter(ID_clGetKernelWorkGroupInfo);
  if (code != CL_SUCCESS) return code;
  if (what == CL_KERNEL_WORK_GROUP_SIZE)
    return answer(&kernel_work_group, sizeof(kernel_work_group), size, to, out_size);
  return what == CL_KERNEL_LOCAL_MEM_SIZE ? answer(&kernel_local_bytes, sizeof(cl_ulong), size, to, out_size)
                                          : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
  return release(ID_clReleaseKernel, kernel);
}

/* ---- the queue: everything happens at once ---- */

/* Gives the event that was asked for, as a call that worked. */
static void put_event(cl_event *out) {
  if (out == NULL) return;
  *out = calloc(1, sizeof(**out));
  if (*out == NULL) return;
  (*out)->dispatch = &dispatch;
  count(1);
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t *offset,
                                         const size_t *global, const size_t *local, cl_uint wait_count,
                                         const cl_event *waits, cl_event *event) {
  (void)kernel, (void)wait_count, (void)waits;
  cl_int code = enter(ID_clEnqueueNDRangeKernel);
  if (code != CL_SUCCESS) return code;
  if (offset != NULL || local == NULL || (event != NULL && !queue->times)) return misuse(CL_INVALID_VALUE);
  size_t items = 1;
  for (cl_uint i = 0; i < axes; i++) {
    if (local[i] == 0 || global[i] == 0 || global[i] % local[i] != 0) return misuse(CL_INVALID_WORK_GROUP_SIZE);
    items *= local[i];
  }
  if (items > kernel_work_group) return misuse(CL_INVALID_WORK_GROUP_SIZE);
  put_event(event);
  return CL_SUCCESS;
}

static bool inside(cl_mem memory, size_t offset, size_t size) {
  return size > 0 && offset <= memory->size && size <= memory->size - offset;
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem from, cl_bool blocking, size_t offset,
                                       size_t size, void *to, cl_uint wait_count, const cl_event *waits,
                                       cl_event *event) {
  (void)queue, (void)blocking, (void)wait_count, (void)waits;
  cl_int code = enter(ID_clEnqueueReadBuffer);
  if (code != CL_SUCCESS) return code;
  if (!inside(from, offset, size)) return misuse(CL_INVALID_VALUE);
  memcpy(to, from->bytes + offset, size);
  put_event(event);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem to, cl_bool blocking, size_t offset, size_t size,
                                        const void *from, cl_uint wait_count, const cl_event *waits, cl_event *event) {
  (void)queue, (void)blocking, (void)wait_count, (void)waits;
  cl_int code = enter(ID_clEnqueueWriteBuffer);
  if (code != CL_SUCCESS) return code;
  if (!inside(to, offset, size)) return misuse(CL_INVALID_VALUE);
  memcpy(to->bytes + offset, from, size);
  put_event(event);
  return CL_SUCCESS;
}

static void *CL_API_CALL enqueue_map(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags,
                                     size_t offset, size_t size, cl_uint wait_count, const cl_event *waits,
                                     cl_event *event, cl_int *out_code) {
  (void)queue, (void)blocking, (void)flags, (void)wait_count, (void)waits;
  cl_int code = enter(ID_clEnqueueMapBuffer);
  if (code == CL_SUCCESS && (memory->mapped || !inside(memory, offset, size))) code = misuse(CL_INVALID_VALUE);
  if (out_code != NULL) *out_code = code;
  if (code != CL_SUCCESS) return NULL;
  memory->mapped = true;
  put_event(event);
  if (memory->host == NULL) return memory->bytes + offset;
  memcpy(memory->host + offset, memory->bytes + offset, size);
  return memory->host + offset;
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue queue, cl_mem memory, void *at, cl_uint wait_count,
                                        const cl_event *waits, cl_event *event) {
  (void)queue, (void)at, (void)wait_count, (void)waits;
  cl_int code = enter(ID_clEnqueueUnmapMemObject);
  if (code != CL_SUCCESS) return code;
  if (!memory->mapped) return misuse(CL_INVALID_VALUE);
  memory->mapped = false;
  put_event(event);
  return CL_SUCCESS;
}

static cl_int CL_API_CALL finish(cl_command_queue queue) {
  (void)queue;
  return enter(ID_clFinish);
}

static cl_int CL_API_CALL get_times(cl_event event, cl_profiling_info what, size_t size, void *to, size_t *out_size) {
  (void)event;
  cl_int code = enter(ID_clGetEventProfilingInfo);
  if (code != CL_SUCCESS) return code;
  cl_ulong time = what == CL_PROFILING_COMMAND_END ? 2000 : 1000;
  return answer(&time, sizeof(time), size, to, out_size);
}

static cl_int CL_API_CALL release_event(cl_event event) {
  return release(ID_clReleaseEvent, event);
}

/* ---- the door ---- */

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *to, cl_uint *out_count) {
  cl_int code = enter(ID_clIcdGetPlatformIDsKHR);
  if (code != CL_SUCCESS) return code;
  if (to != NULL && room > 0) to[0] = &platform;
  if (out_count != NULL) *out_count = 1;
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t size, void *to,
                                            size_t *out_size) {
  return get_platform_info(id, what, size, to, out_size);
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
  /* ISO C has no cast between pointers to functions and to objects; POSIX says that they look alike. */
  void *address = NULL;
  cl_api_clGetPlatformInfo info = clGetPlatformInfo;
  cl_api_clGetPlatformIDs ids = clIcdGetPlatformIDsKHR;
  if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) memcpy(&address, &ids, sizeof(address));
  if (strcmp(name, "clGetPlatformInfo") == 0) memcpy(&address, &info, sizeof(address));
  return address;
}

static const cl_icd_dispatch dispatch = {
    .clGetPlatformIDs = clIcdGetPlatformIDsKHR,
    .clGetPlatformInfo = get_platform_info,
    .clGetDeviceIDs = get_device_ids,
    .clGetDeviceInfo = get_device_info,
    .clCreateContext = create_context,
    .clReleaseContext = release_context,
    .clCreateCommandQueue = create_queue,
    .clReleaseCommandQueue = release_queue,
    .clCreateBuffer = create_buffer,
    .clReleaseMemObject = release_memory,
    .clCreateProgramWithSource = create_from_source,
    .clCreateProgramWithBinary = create_from_binary,
    .clReleaseProgram = release_program,
    .clBuildProgram = build_program,
    .clGetProgramInfo = get_program_info,
    .clGetProgramBuildInfo = get_build_info,
    .clCreateKernel = create_kernel,
    .clReleaseKernel = release_kernel,
    .clSetKernelArg = set_arg,
    .clGetKernelWorkGroupInfo = get_group_info,
    .clReleaseEvent = release_event,
    .clGetEventProfilingInfo = get_times,
    .clFinish = finish,
    .clEnqueueReadBuffer = enqueue_read,
    .clEnqueueWriteBuffer = enqueue_write,
    .clEnqueueMapBuffer = enqueue_map,
    .clEnqueueUnmapMemObject = enqueue_unmap,
    .clEnqueueNDRangeKernel = enqueue_kernel,
};
