/* The backend `pocl`: the CPU, through PoCL, with the kernels made for CPUs. */
#include "opencl/backend.h"
#include "reference/reference.h"

static const cl_flavour flavour = {.name = "pocl", .pocl_only = true, .judge = ph_reference_backend};

static ph_status open_backend(const ph_host *host, const ph_option *options, uint32_t option_count,
                              ph_backend_context **out, ph_error *error) {
  return cl_backend_open(&flavour, host, options, option_count, out, error);
}

static const ph_backend backend = {
    CL_BACKEND_COMMON,
    .name = "pocl",
    .summary = "the CPU through PoCL, with kernels made for CPUs",
    .open = open_backend,
};

const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  return host_abi_version >> 16 == PH_ABI_MAJOR ? &backend : NULL;
}
