/* The backend's table, which is all that leaves this library. */
#include "backend.h"

#include <stdlib.h>

#include "fail.h"

/* What all devices share: a driver's handle, a compiler.  Two hosts in one process open the backend twice. */
struct ph_backend_context {
  const ph_host *host; /* valid until close(): its log() is the only way to say something */
};

static ph_status open_backend(const ph_host *host, const ph_option *options, uint32_t option_count,
                              ph_backend_context **out, ph_error *error) {
  if (option_count > 0) return FAIL(error, PH_INVALID, "there is no option '%s'; there are none", options[0].key);
  ph_backend_context *context = calloc(1, sizeof(*context));
  if (context == NULL) return NO_MEMORY(error);
  context->host = host;
  *out = context;
  return PH_OK;
}

static void close_backend(ph_backend_context *context) {
  free(context);
}

static const ph_backend backend = {
    PH_BACKEND_HEADER, /* the size of the table and the version of the ABI */
    .name = BACKEND_NAME,
    .version = BACKEND_VERSION,
    .vendor = "You",
    .summary = "plain C on the CPU: a first backend",
    .open = open_backend,
    .close = close_backend,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_limits = device_limits,
    .device_close = device_close,
    .supports = supports,
    .buffer_create = buffer_create,
    .buffer_destroy = buffer_destroy,
    .program_create = program_create,
    .program_destroy = program_destroy,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .write = write_buffer,
    .read = read_buffer,
    .execute = execute,
    .finish = finish,
    .buffer_map = buffer_map, /* these two may be left out */
    .buffer_unmap = buffer_unmap,
};

/* The one exported symbol.  A host of another major version has other structs: it gets nothing. */
const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  return host_abi_version >> 16 == PH_ABI_MAJOR ? &backend : NULL;
}
