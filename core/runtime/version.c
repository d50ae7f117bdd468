/* Names and versions in words. */
#include <polyhead/polyhead.h>

#include "base/dtype.h"

const char *ph_version(void) {
  return POLYHEAD_VERSION;
}

const char *ph_status_name(ph_status status) {
  switch (status) {
  case PH_OK:
    return "ok";
  case PH_INVALID:
    return "invalid";
  case PH_UNSUPPORTED:
    return "unsupported";
  case PH_UNAVAILABLE:
    return "unavailable";
  case PH_OUT_OF_MEMORY:
    return "out_of_memory";
  case PH_INCOMPATIBLE:
    return "incompatible";
  case PH_DEVICE_FAILED:
    return "device_failed";
  case PH_IO:
    return "io";
  case PH_INTERNAL:
    return "internal";
  }
  return "unknown";
}

const char *ph_dtype_text(ph_dtype dtype) {
  return ph_dtype_name(dtype);
}
