#include "runtime/peak.h"

#include <stdio.h>

#include "base/error.h"
#include "runtime/device_file.h"

static const char format[] = "flops %lg\nread %lg\ntriad %lg\n";

bool ph_peak_cached(ph_context *context, const ph_device_entry *device, ph_peak *out) {
  ph_peak peak = {.struct_size = sizeof(peak)};
  ph_text text = {0};
  bool found = ph_device_file_read(context, device, "peak", &text) &&
               sscanf(text.data, format, &peak.flops, &peak.read_bytes, &peak.triad_bytes) == 3;
  ph_text_free(&text);
  *out = found ? peak : (ph_peak){.struct_size = sizeof(*out)};
  return found;
}

ph_peak ph_peak_measure(ph_context *context, const ph_open_device *device) {
  ph_peak peak = {.struct_size = sizeof(peak)};
  ph_error error = PH_ERROR_INIT;
  if (!PH_HAS(device->backend, ph_backend, device_peak)) return peak;
  if (device->backend->device_peak(device->device, &peak, &error) != PH_OK) {
    ph_context_log(context, PH_LOG_WARN, "%s: its speed could not be measured: %s", device->entry->spec, error.message);
    return (ph_peak){.struct_size = sizeof(peak)};
  }
  char text[128];
  snprintf(text, sizeof(text), format, peak.flops, peak.read_bytes, peak.triad_bytes);
  (void)ph_device_file_write(context, device->entry, "peak", text);
  return peak;
}
