/* Making kernels and choosing local sizes. */
#include "opencl/kernel.h"

#include <inttypes.h>
#include <stdio.h>

#include "opencl/status.h"

/* Where a launch has no wish.  The same for all sizes of tensors, because PoCL compiles anew for each local size. */
static const size_t usual_local[3] = {64, 1, 1};

/* The wish, made smaller until kernel and device take it; the largest axis gives way first. */
static void settle_local(const ph_device *device, const cl_launch *launch, size_t limit, size_t local[3]) {
  const size_t *wish = launch->local[0] == 0 ? usual_local : launch->local;
  for (uint32_t i = 0; i < 3; i++) {
    local[i] = wish[i] > 0 ? wish[i] : 1;
    if (local[i] > device->found->max_items[i]) local[i] = device->found->max_items[i];
    if (local[i] > limit) local[i] = limit;
  }
  while (local[0] * local[1] * local[2] > limit) {
    uint32_t largest = local[1] > local[0] ? 1 : 0;
    if (local[2] > local[largest]) largest = 2;
    local[largest] = (local[largest] + 1) / 2;
  }
}

static void fail_fit(cl_kernel_fit *fit, const cl_launch *launch, cl_int code, const char *call) {
  fit->fits = false;
  fit->code = code;
  fit->call = call;
  snprintf(fit->reason, sizeof(fit->reason), "%s in %s (%s)", cl_error_name(code), call, launch->kernel);
}

/* Sets the limits that a new attempt must keep to; false where the launch is already within them. */
static void judge(const ph_device *device, const cl_launch *launch, const cl_limits *limits, size_t kernel_group,
                  uint64_t static_local, cl_kernel_fit *fit) {
  size_t items = launch->local[0] * launch->local[1] * launch->local[2];
  bool axes_fit = true;
  for (uint32_t i = 0; i < 3; i++) axes_fit = axes_fit && launch->local[i] <= device->found->max_items[i];
  fit->max_work_group = limits->max_work_group;
  fit->local_memory = limits->local_memory;
  if (launch->exact_local && (items > kernel_group || !axes_fit)) {
    fit->fits = false;
    fit->max_work_group = items > kernel_group && kernel_group > 0 ? kernel_group : items / 2;
  }
  if (static_local > limits->local_memory || launch->local_bytes > limits->local_memory - static_local) {
    fit->fits = false;
    fit->local_memory = static_local < limits->local_memory ? limits->local_memory - static_local : 0;
  }
}

ph_status cl_kernel_make(const ph_device *device, const cl_build *build, const cl_launch *launch,
                         const cl_limits *limits, cl_kernel *out, size_t global[3], size_t local[3], cl_kernel_fit *fit,
                         ph_error *error) {
  *out = NULL;
  for (uint32_t i = 0; i < launch->axes; i++)
    if (launch->global[i] == 0) return ph_fail(error, PH_INTERNAL, "%s is launched over nothing", launch->kernel);
  cl_int code;
  cl_kernel kernel = clCreateKernel(build->program, launch->kernel, &code);
  if (code != CL_SUCCESS) {
    fail_fit(fit, launch, code, "clCreateKernel");
    return PH_OK;
  }
  size_t group = 0;
  cl_ulong static_local = 0;
  cl_device_id id = device->found->device;
  code = clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof(group), &group, NULL);
  if (code == CL_SUCCESS)
    code = clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(static_local), &static_local, NULL);
  if (code != CL_SUCCESS)
    fail_fit(fit, launch, code, "clGetKernelWorkGroupInfo");
  else
    judge(device, launch, limits, group, static_local, fit);
  if (!fit->fits) {
    cl_note_release(device->context, clReleaseKernel(kernel), "clReleaseKernel");
    return PH_OK;
  }
  size_t limit = group > 0 && group < limits->max_work_group ? group : limits->max_work_group;
  if (launch->exact_local)
    for (uint32_t i = 0; i < 3; i++) local[i] = launch->local[i];
  else
    settle_local(device, launch, limit, local);
  for (uint32_t i = 0; i < 3; i++) {
    size_t groups = (launch->global[i] - 1) / local[i] + 1;
    if (__builtin_mul_overflow(groups, local[i], &global[i])) {
      cl_note_release(device->context, clReleaseKernel(kernel), "clReleaseKernel");
      return ph_fail(error, PH_UNSUPPORTED, "%s would be launched over too many items", launch->kernel);
    }
  }
  *out = kernel;
  return PH_OK;
}

ph_status cl_kernel_set(cl_kernel kernel, cl_uint parameter, size_t size, const void *value, ph_error *error) {
  cl_int code = clSetKernelArg(kernel, parameter, size, value);
  return code == CL_SUCCESS ? PH_OK : cl_fail(error, code, "clSetKernelArg");
}

ph_status cl_kernel_set_buffer(cl_kernel kernel, cl_uint parameter, cl_mem memory, uint64_t first, ph_error *error) {
  cl_ulong index = first;
  PH_TRY(cl_kernel_set(kernel, parameter, sizeof(memory), memory != NULL ? &memory : NULL, error));
  return cl_kernel_set(kernel, parameter + 1, sizeof(index), &index, error);
}
