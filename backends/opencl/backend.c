/* Opening and closing the backend, and what its devices are. */
#include "opencl/backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

ph_status cl_backend_open(const cl_flavour *flavour, const ph_host *host, const ph_option *options,
                          uint32_t option_count, ph_backend_context **out, ph_error *error) {
  if (option_count > 0)
    return ph_fail(error, PH_INVALID, "unknown option '%s': the backend %s has none; its devices have", options[0].key,
                   flavour->name);
  ph_backend_context *context = calloc(1, sizeof(*context));
  if (context == NULL) return ph_fail_memory(error);
  context->flavour = flavour;
  context->host = host;
  ph_status status = cl_discover(context, error);
  if (status == PH_OK)
    *out = context;
  else
    cl_close(context);
  return status;
}

void cl_close(ph_backend_context *context) {
  if (context == NULL) return;
  free(context->found);
  free(context);
}

ph_status cl_device_count(ph_backend_context *context, uint32_t *out, ph_error *error) {
  (void)error;
  *out = context->found_count;
  return PH_OK;
}

ph_status cl_device_describe(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error) {
  if (index >= context->found_count)
    return ph_fail(error, PH_UNAVAILABLE, "there is no device %u: %s has %u", index, context->flavour->name,
                   context->found_count);
  cl_give(out, &context->found[index].info, sizeof(*out));
  return PH_OK;
}

void cl_give(void *out, const void *from, size_t size) {
  uint32_t room;
  memcpy(&room, out, sizeof(room));
  memcpy(out, from, room < size ? room : size);
  memcpy(out, &room, sizeof(room));
}
