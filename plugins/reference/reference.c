/* The reference backend as a module. */
#include "reference/reference.h"

const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  return host_abi_version >> 16 == PH_ABI_MAJOR ? ph_reference_backend() : NULL;
}
