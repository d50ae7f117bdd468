/* Devices: which there are, and opening one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "fail.h"

struct ph_device {
  uint64_t memory_bytes; /* what the options of a device change goes here, too */
};

static uint64_t machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 32;
}

/* A machine without your device has none: a count of 0, and PH_OK. */
ph_status device_count(ph_backend_context *context, uint32_t *out, ph_error *error) {
  (void)context;
  (void)error;
  *out = 1;
  return PH_OK;
}

/* The host may be older or newer than this header: as much is copied as both have. */
static void describe(uint64_t memory_bytes, ph_device_info *out) {
  ph_device_info info = {.struct_size = out->struct_size,
                         .kind = PH_DEVICE_CPU,
                         .caps = PH_CAP_UNIFIED_MEMORY,
                         .platform_index = PH_NONE,
                         .device_index = PH_NONE,
                         .alignment = 64,
                         .memory_bytes = memory_bytes,
                         .max_buffer_bytes = memory_bytes,
                         .id = BACKEND_NAME,
                         .name = "CPU",
                         .platform = "host",
                         .driver = "plain C"};
  memcpy(out, &info, out->struct_size < sizeof(info) ? out->struct_size : sizeof(info));
}

ph_status device_info(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error) {
  (void)context;
  if (index != 0) return FAIL(error, PH_UNAVAILABLE, "there is no device %u: there is device 0", index);
  describe(machine_memory(), out);
  return PH_OK;
}

/* The options stand behind the device's name, as in -d mine:0,threads=4. */
ph_status device_open(ph_backend_context *context, uint32_t index, const ph_option *options, uint32_t option_count,
                      ph_device **out, ph_error *error) {
  (void)context;
  if (index != 0) return FAIL(error, PH_UNAVAILABLE, "there is no device %u: there is device 0", index);
  if (option_count > 0) return FAIL(error, PH_INVALID, "there is no option '%s'; there are none", options[0].key);
  ph_device *device = calloc(1, sizeof(*device));
  if (device == NULL) return NO_MEMORY(error);
  device->memory_bytes = machine_memory();
  *out = device;
  return PH_OK;
}

ph_status device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  (void)error;
  describe(device->memory_bytes, out);
  return PH_OK;
}

void device_close(ph_device *device) {
  free(device);
}
