/* Opening and closing a device. */
#include "opencl/device.h"

#include <stdlib.h>

#include "opencl/build.h"
#include "opencl/options.h"
#include "opencl/source.h"
#include "opencl/status.h"
#include "opencl/trial.h"
#include "opencl/variant.h"

static uint64_t lower(uint64_t own, uint64_t pretended) {
  return pretended > 0 && pretended < own ? pretended : own;
}

/* Kernels know vectors of 4, 8 and 16 floats; a compiler splits what is wider than the registers. */
static uint32_t usable_width(uint32_t native) {
  return native >= 16 ? 16 : native >= 8 ? 8 : 4;
}

static void apply_limits(ph_device *device, const cl_options *options) {
  const cl_found *found = device->found;
  device->info = found->info;
  device->info.max_buffer_bytes = lower(found->info.max_buffer_bytes, options->max_alloc);
  if (options->align_bits / 8 > device->info.alignment) device->info.alignment = (uint32_t)(options->align_bits / 8);
  device->limits = (cl_limits){
      .is_cpu = found->info.kind == PH_DEVICE_CPU,
      .max_work_group = (size_t)lower(found->max_work_group, options->max_wg),
      .local_memory = lower(found->local_memory, options->local_mem),
      .max_buffer = device->info.max_buffer_bytes,
      .compute_units = found->compute_units,
      .width = options->vector_width > 0 ? (uint32_t)options->vector_width : usable_width(found->vector_width),
  };
  device->first_variant = options->variant;
  device->profile = options->profile;
  if (device->profile == 0) {
    bool baseline =
        found->info.kind == PH_DEVICE_OTHER || (found->is_pocl && device->context->flavour->baseline_on_pocl);
    device->profile = baseline                            ? CL_PROFILE_BASELINE
                      : found->info.kind == PH_DEVICE_CPU ? CL_PROFILE_CPU
                                                          : CL_PROFILE_GPU;
  }
}

ph_status cl_device_open(ph_backend_context *context, uint32_t index, const ph_option *options, uint32_t option_count,
                         ph_device **out, ph_error *error) {
  if (index >= context->found_count)
    return ph_fail(error, PH_UNAVAILABLE, "there is no device %u: %s has %u", index, context->flavour->name,
                   context->found_count);
  cl_options wanted;
  PH_TRY(cl_options_read(options, option_count, &wanted, error));
  ph_device *device = calloc(1, sizeof(*device));
  if (device == NULL) return ph_fail_memory(error);
  device->context = context;
  device->found = &context->found[index];
  apply_limits(device, &wanted);
  bool locked = pthread_mutex_init(&device->lock, NULL) == 0;
  if (!locked || pthread_cond_init(&device->built, NULL) != 0) {
    if (locked) pthread_mutex_destroy(&device->lock);
    free(device);
    return ph_fail(error, PH_OUT_OF_MEMORY, "no lock can be made");
  }
  ph_status status = cl_kernel_folder(&device->kernel_folder, error);
  if (status == PH_OK && wanted.tuning != NULL) status = cl_tuning_read(wanted.tuning, &device->tuning, error);
  if (status == PH_OK) {
    cl_int code;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->found->platform, 0};
    device->cl = clCreateContext(properties, 1, &device->found->device, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
      device->cl = NULL;
      status = cl_fail(error, code, "clCreateContext");
    }
  }
  if (status == PH_OK)
    *out = device;
  else
    cl_device_close(device);
  return status;
}

ph_status cl_device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  (void)error;
  cl_give(out, &device->info, sizeof(*out));
  return PH_OK;
}

void cl_device_close(ph_device *device) {
  if (device == NULL) return;
  cl_retired_free(device);
  cl_tried_free(device);
  cl_builds_free(device);
  if (device->cl != NULL) cl_note_release(device->context, clReleaseContext(device->cl), "clReleaseContext");
  pthread_cond_destroy(&device->built);
  pthread_mutex_destroy(&device->lock);
  free(device->kernel_folder);
  cl_tuning_free(&device->tuning);
  free(device);
}
