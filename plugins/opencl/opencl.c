/* The backend `opencl`: every OpenCL device of the machine. */
#include "opencl/backend.h"
#include "reference/reference.h"

static const cl_flavour flavour = {.name = "opencl", .baseline_on_pocl = true, .judge = ph_reference_backend};

static ph_status open_backend(const ph_host *host, const ph_option *options, uint32_t option_count,
                              ph_backend_context **out, ph_error *error) {
  return cl_backend_open(&flavour, host, options, option_count, out, error);
}

static const ph_backend backend = {
    CL_BACKEND_COMMON,
    .name = "opencl",
    .summary = "any OpenCL 1.2 device; portable kernels on PoCL",
    .open = open_backend,
};

const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  return host_abi_version >> 16 == PH_ABI_MAJOR ? &backend : NULL;
}
