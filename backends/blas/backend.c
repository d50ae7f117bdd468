/* The backend's table, its context and its one device. */
#include "blas/backend.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "blas/device.h"

struct ph_backend_context {
  uint64_t memory_bytes;
};

static ph_status blas_open(const ph_host *host, const ph_option *options, uint32_t option_count,
                           ph_backend_context **out, ph_error *error) {
  (void)host;
  if (option_count > 0)
    return ph_fail(error, PH_INVALID, "the backend blas has no option '%s'; its device knows rows", options[0].key);
  ph_backend_context *context = ph_new_array(1, sizeof(*context));
  if (context == NULL) return ph_fail_memory(error);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  context->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 32;
  *out = context;
  return PH_OK;
}

static void blas_close(ph_backend_context *context) {
  free(context);
}

static ph_status blas_device_count(ph_backend_context *context, uint32_t *out, ph_error *error) {
  (void)context;
  (void)error;
  *out = 1;
  return PH_OK;
}

/* Any library with the CBLAS interface will do; OpenBLAS can say more about itself. */
static void describe(uint64_t memory_bytes, ph_device_info *out) {
  ph_device_info info = {.struct_size = out->struct_size,
                         .kind = PH_DEVICE_CPU,
                         .caps = PH_CAP_UNIFIED_MEMORY | PH_CAP_NODE_TIMES,
                         .platform_index = PH_NONE,
                         .device_index = PH_NONE,
                         .alignment = BLAS_ALIGNMENT,
                         .memory_bytes = memory_bytes,
                         .max_buffer_bytes = memory_bytes,
                         .id = "blas"};
#ifdef OPENBLAS_VERSION
  snprintf(info.name, sizeof(info.name), "CPU (%s kernels)", openblas_get_corename());
  snprintf(info.platform, sizeof(info.platform), "OpenBLAS");
  snprintf(info.driver, sizeof(info.driver), "%s", openblas_get_config());
#else
  snprintf(info.name, sizeof(info.name), "CPU");
  snprintf(info.platform, sizeof(info.platform), "BLAS");
  snprintf(info.driver, sizeof(info.driver), "CBLAS interface");
#endif
  memcpy(out, &info, out->struct_size < sizeof(info) ? out->struct_size : sizeof(info));
}

static ph_status check_index(uint32_t index, ph_error *error) {
  return index == 0 ? PH_OK : ph_fail(error, PH_UNAVAILABLE, "blas has one device, number 0, not number %u", index);
}

static ph_status blas_device_info(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error) {
  PH_TRY(check_index(index, error));
  describe(context->memory_bytes, out);
  return PH_OK;
}

static ph_status read_options(const ph_option *options, uint32_t count, ph_device *device, ph_error *error) {
  for (uint32_t i = 0; i < count; i++) {
    char *end;
    if (strcmp(options[i].key, "rows") != 0)
      return ph_fail(error, PH_INVALID, "blas has no option '%s'; it knows rows", options[i].key);
    device->rows = strtoll(options[i].value, &end, 10);
    if (*end != '\0' || device->rows < 1 || device->rows > 1 << 20)
      return ph_fail(error, PH_INVALID, "rows=%s: the rows of scores held at a time are a number from 1 to 1048576",
                     options[i].value);
  }
  return PH_OK;
}

static ph_status blas_device_open(ph_backend_context *context, uint32_t index, const ph_option *options,
                                  uint32_t option_count, ph_device **out, ph_error *error) {
  ph_device opened = {.memory_bytes = context->memory_bytes};
  PH_TRY(check_index(index, error));
  PH_TRY(read_options(options, option_count, &opened, error));
  ph_device *device = ph_new_array(1, sizeof(*device));
  if (device == NULL) return ph_fail_memory(error);
  *device = opened;
  *out = device;
  return PH_OK;
}

static ph_status blas_device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  (void)error;
  describe(device->memory_bytes, out);
  return PH_OK;
}

static void blas_device_close(ph_device *device) {
  free(device);
}

static const ph_backend backend = {
    PH_BACKEND_HEADER,
    .name = "blas",
    .version = "0.1.0",
    .vendor = "Polyhead",
    .summary = "the CPU through OpenBLAS",
    .open = blas_open,
    .close = blas_close,
    .device_count = blas_device_count,
    .device_info = blas_device_info,
    .device_open = blas_device_open,
    .device_limits = blas_device_limits,
    .device_close = blas_device_close,
    .supports = blas_supports,
    .buffer_create = blas_buffer_create,
    .buffer_destroy = blas_buffer_destroy,
    .program_create = blas_program_create,
    .program_destroy = blas_program_destroy,
    .plan_create = blas_plan_create,
    .plan_destroy = blas_plan_destroy,
    .queue_create = blas_queue_create,
    .queue_destroy = blas_queue_destroy,
    .write = blas_write,
    .read = blas_read,
    .execute = blas_execute,
    .finish = blas_finish,
    .buffer_map = blas_buffer_map,
    .buffer_unmap = blas_buffer_unmap,
    .buffer_wrap = blas_buffer_wrap,
};

const ph_backend *ph_blas_backend(void) {
  return &backend;
}
