/* OpenCL's error codes as names, and how a failed call becomes a ph_error or a line in the log. */
#ifndef POLYHEAD_OPENCL_STATUS_H
#define POLYHEAD_OPENCL_STATUS_H

#include <CL/cl.h>

#include "base/error.h"

const char *cl_error_name(cl_int code); /* "CL_OUT_OF_RESOURCES"; "an unknown OpenCL error" if it has no name */

/* PH_DEVICE_FAILED with "CL_OUT_OF_RESOURCES in clFinish"; native_code is set. */
#define cl_fail(error, code, call) cl_fail_at((error), PH_DEVICE_FAILED, (code), (call), __FILE__, __LINE__)
PH_NODISCARD ph_status cl_fail_at(ph_error *error, ph_status status, cl_int code, const char *call, const char *file,
                                  int line);

/* A line of any length for the host, which puts the backend's name before it. */
struct ph_backend_context;
void cl_log(const struct ph_backend_context *context, ph_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Releasing cannot fail for our caller: a driver's complaint goes to the log. */
void cl_note_release(const struct ph_backend_context *context, cl_int code, const char *call);

#endif
