/* The backend `blas` as a module. */
#include "blas/backend.h"

const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  return host_abi_version >> 16 == PH_ABI_MAJOR ? ph_blas_backend() : NULL;
}
