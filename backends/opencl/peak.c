/* device_peak(): what the device can do at most, measured (kernels/peak.cl). */
#include <stdlib.h>
#include <time.h>

#include "opencl/build.h"
#include "opencl/device.h"
#include "opencl/status.h"

enum {
  CHAINS = 12,       /* as in peak.cl */
  STEPS = 8,         /* of a chain in one round, as there */
  ATTEMPTS = 5,      /* the best counts: what disturbs only ever slows down */
  GROUPS_PER_CU = 8, /* so that one that was disturbed does not hold the others up */
  GPU_LOCAL = 64,
  GPU_ITEMS_PER_CU = 2048
};
static const double LONG_ENOUGH = 0.02; /* seconds of one launch */
static const uint64_t LEAST_BYTES = 64u << 20, MOST_BYTES = 512u << 20;

typedef struct peak {
  ph_device *device;
  cl_command_queue queue;
  cl_build *build;
  cl_mem buffers[3]; /* of `bytes` each */
  cl_mem results;    /* a float for each item */
  uint64_t bytes;
  uint32_t width;      /* floats in a vector */
  size_t items, local; /* of a launch */
  ph_error *error;
} peak;

/* ---- setting up ---- */

static ph_status make_buffer(peak *p, uint64_t bytes, cl_mem *out) {
  cl_int code;
  *out = clCreateBuffer(p->device->cl, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
  if (code == CL_SUCCESS) return PH_OK;
  *out = NULL;
  return cl_fail(p->error, code, "clCreateBuffer");
}

/* Three of them are to be larger than all caches, and small beside the memory. */
static ph_status choose_size(peak *p) {
  cl_ulong cache = 0;
  cl_int code = clGetDeviceInfo(p->device->found->device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cache), &cache, NULL);
  if (code != CL_SUCCESS) return cl_fail(p->error, code, "clGetDeviceInfo");
  uint64_t bytes = 2 * cache < LEAST_BYTES ? LEAST_BYTES : 2 * cache > MOST_BYTES ? MOST_BYTES : 2 * cache;
  if (bytes > p->device->info.max_buffer_bytes) bytes = p->device->info.max_buffer_bytes;
  if (bytes > p->device->info.memory_bytes / 8) bytes = p->device->info.memory_bytes / 8;
  uint64_t piece = (uint64_t)p->items * p->width * sizeof(float) * 4; /* peak_read takes four vectors at a time */
  p->bytes = bytes / piece * piece;
  if (p->bytes > 0) return PH_OK;
  return ph_fail(p->error, PH_OUT_OF_MEMORY, "the device has too little memory for its speed to be measured");
}

static void choose_launch(peak *p) {
  const cl_limits *limits = &p->device->limits;
  size_t units = limits->compute_units > 0 ? limits->compute_units : 1;
  p->local = limits->is_cpu ? 1 : GPU_LOCAL < limits->max_work_group ? GPU_LOCAL : limits->max_work_group;
  p->items = limits->is_cpu ? units * GROUPS_PER_CU : units * GPU_ITEMS_PER_CU / p->local * p->local;
  p->width = limits->width;
}

static ph_status set_up(peak *p) {
  cl_int code;
  ph_text options = {0};
  choose_launch(p);
  PH_TRY(choose_size(p));
  ph_text_add(&options, "-cl-std=CL1.2 -w -DWIDTH=%u", p->width);
  ph_status status =
      options.failed ? ph_fail_memory(p->error) : cl_build_get(p->device, "peak.cl", options.data, &p->build, p->error);
  ph_text_free(&options);
  PH_TRY(status);
  p->queue = clCreateCommandQueue(p->device->cl, p->device->found->device, 0, &code);
  if (code != CL_SUCCESS) {
    p->queue = NULL;
    return cl_fail(p->error, code, "clCreateCommandQueue");
  }
  for (int i = 0; i < 3; i++) PH_TRY(make_buffer(p, p->bytes, &p->buffers[i]));
  return make_buffer(p, p->items * sizeof(float), &p->results);
}

static void tear_down(peak *p) {
  const struct ph_backend_context *context = p->device->context;
  for (int i = 0; i < 3; i++)
    if (p->buffers[i] != NULL) cl_note_release(context, clReleaseMemObject(p->buffers[i]), "clReleaseMemObject");
  if (p->results != NULL) cl_note_release(context, clReleaseMemObject(p->results), "clReleaseMemObject");
  if (p->queue != NULL) cl_note_release(context, clReleaseCommandQueue(p->queue), "clReleaseCommandQueue");
}

/* ---- measuring ---- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* By the host's clock: a launch is long beside what is around it, and not every driver's event times can be believed
 * (llvmpipe's kernels end before they ran). */
static ph_status launch(peak *p, cl_kernel kernel, double *out_seconds) {
  const char *call = "clEnqueueNDRangeKernel";
  double start = now();
  cl_int code = clEnqueueNDRangeKernel(p->queue, kernel, 1, NULL, &p->items, &p->local, 0, NULL, NULL);
  if (code == CL_SUCCESS) {
    call = "clFinish";
    code = clFinish(p->queue);
  }
  *out_seconds = now() - start;
  return code == CL_SUCCESS ? PH_OK : cl_fail(p->error, code, call);
}

/* The shortest of several; the first launch, in which a driver may still compile, is none of them. */
static ph_status best(peak *p, cl_kernel kernel, double *out_seconds) {
  PH_TRY(launch(p, kernel, out_seconds));
  for (int i = 0; i < ATTEMPTS; i++) {
    double seconds;
    PH_TRY(launch(p, kernel, &seconds));
    if (i == 0 || seconds < *out_seconds) *out_seconds = seconds;
  }
  return PH_OK;
}

static ph_status set(peak *p, cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  cl_int code = clSetKernelArg(kernel, index, size, value);
  return code == CL_SUCCESS ? PH_OK : cl_fail(p->error, code, "clSetKernelArg");
}

static ph_status measure_fma(peak *p, cl_kernel kernel, double *out) {
  const cl_float a = 0.999f, b = 0.001f; /* the chains stay finite and far from zero */
  PH_TRY(set(p, kernel, 0, sizeof(cl_mem), &p->results));
  PH_TRY(set(p, kernel, 1, sizeof(a), &a));
  PH_TRY(set(p, kernel, 2, sizeof(b), &b));
  double seconds = 0;
  cl_int rounds = 256;
  for (;; rounds *= 2) {
    PH_TRY(set(p, kernel, 3, sizeof(rounds), &rounds));
    PH_TRY(launch(p, kernel, &seconds));
    if (seconds >= LONG_ENOUGH || rounds >= 1 << 28) break;
  }
  PH_TRY(best(p, kernel, &seconds));
  if (seconds > 0) *out = 2.0 * STEPS * CHAINS * p->width * (double)p->items * rounds / seconds;
  return PH_OK;
}

/* The last three parameters of the sweeps over memory. */
static ph_status set_sweep(peak *p, cl_kernel kernel, cl_uint index) {
  cl_ulong count = p->bytes / sizeof(float) / p->width / p->items;
  cl_ulong lead = p->device->limits.is_cpu ? count : 1, step = p->device->limits.is_cpu ? 1 : p->items;
  PH_TRY(set(p, kernel, index, sizeof(lead), &lead));
  PH_TRY(set(p, kernel, index + 1, sizeof(step), &step));
  return set(p, kernel, index + 2, sizeof(count), &count);
}

static ph_status measure_triad(peak *p, cl_kernel kernel, double *out) {
  const cl_float factor = 3;
  double seconds = 0;
  for (cl_uint i = 0; i < 3; i++) PH_TRY(set(p, kernel, i, sizeof(cl_mem), &p->buffers[i]));
  PH_TRY(set(p, kernel, 3, sizeof(factor), &factor));
  PH_TRY(set_sweep(p, kernel, 4));
  PH_TRY(best(p, kernel, &seconds));
  if (seconds > 0) *out = 3 * (double)p->bytes / seconds;
  return PH_OK;
}

/* After the triad, so that the memory was written: pages that nobody has touched are all the same one. */
static ph_status measure_read(peak *p, cl_kernel kernel, double *out) {
  double seconds = 0;
  PH_TRY(set(p, kernel, 0, sizeof(cl_mem), &p->buffers[0]));
  PH_TRY(set(p, kernel, 1, sizeof(cl_mem), &p->results));
  PH_TRY(set_sweep(p, kernel, 2));
  PH_TRY(best(p, kernel, &seconds));
  if (seconds > 0) *out = (double)p->bytes / seconds;
  return PH_OK;
}

static ph_status fill(peak *p) {
  const cl_float one = 1;
  for (int i = 0; i < 3; i++) {
    cl_int code = clEnqueueFillBuffer(p->queue, p->buffers[i], &one, sizeof(one), 0, (size_t)p->bytes, 0, NULL, NULL);
    if (code != CL_SUCCESS) return cl_fail(p->error, code, "clEnqueueFillBuffer");
  }
  return PH_OK;
}

static ph_status with_kernel(peak *p, const char *name, ph_status (*measure)(peak *, cl_kernel, double *),
                             double *out) {
  cl_int code;
  cl_kernel kernel = clCreateKernel(p->build->program, name, &code);
  if (code != CL_SUCCESS) return cl_fail(p->error, code, "clCreateKernel");
  ph_status status = measure(p, kernel, out);
  cl_note_release(p->device->context, clReleaseKernel(kernel), "clReleaseKernel");
  return status;
}

ph_status cl_device_peak(ph_device *device, ph_peak *out, ph_error *error) {
  peak p = {.device = device, .error = error};
  ph_peak found = {.struct_size = sizeof(found)};
  ph_status status = set_up(&p);
  if (status == PH_OK) status = with_kernel(&p, "peak_fma", measure_fma, &found.flops);
  if (status == PH_OK) status = fill(&p);
  if (status == PH_OK) status = with_kernel(&p, "peak_triad", measure_triad, &found.triad_bytes);
  if (status == PH_OK) status = with_kernel(&p, "peak_read", measure_read, &found.read_bytes);
  if (status == PH_OK) cl_build_save(device, p.build);
  tear_down(&p);
  if (status == PH_OK) cl_give(out, &found, sizeof(found));
  return status;
}
