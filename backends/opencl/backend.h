/* What the modules `opencl` and `pocl` share: everything but a name, a choice of devices and a profile. */
#ifndef POLYHEAD_OPENCL_BACKEND_H
#define POLYHEAD_OPENCL_BACKEND_H

#include <polyhead/backend.h>

#include "opencl/platform.h"

typedef struct cl_flavour {
  const char *name;
  bool pocl_only;        /* the devices of PoCL alone, else those of every platform */
  const ph_backend *(*judge)(void); /* what variants are tried against (trial.h); NULL: they are not */
  bool baseline_on_pocl; /* PoCL runs the portable kernels unless told otherwise, so that they are always exercised */
} cl_flavour;

struct ph_backend_context {
  const cl_flavour *flavour;
  const ph_host *host;
  cl_found *found; /* best first; does not change after open() */
  uint32_t found_count;
};

/* Fills a sized struct of the host's as far as it goes. */
void cl_give(void *out, const void *from, size_t size);

/* open() of a module. */
PH_NODISCARD ph_status cl_backend_open(const cl_flavour *flavour, const ph_host *host, const ph_option *options,
                                       uint32_t option_count, ph_backend_context **out, ph_error *error);

/* The rest of a ph_backend, as backend.h describes each. */
void cl_close(ph_backend_context *context);
PH_NODISCARD ph_status cl_device_count(ph_backend_context *context, uint32_t *out, ph_error *error);
PH_NODISCARD ph_status cl_device_describe(ph_backend_context *context, uint32_t index, ph_device_info *out,
                                          ph_error *error);
PH_NODISCARD ph_status cl_device_open(ph_backend_context *context, uint32_t index, const ph_option *options,
                                      uint32_t option_count, ph_device **out, ph_error *error);
PH_NODISCARD ph_status cl_device_limits(ph_device *device, ph_device_info *out, ph_error *error);
void cl_device_close(ph_device *device);
PH_NODISCARD ph_status cl_supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out,
                                   ph_error *error);
PH_NODISCARD ph_status cl_candidate(ph_device *device, const ph_graph *graph, uint32_t node, uint32_t number,
                                    ph_support *out, ph_error *error);
PH_NODISCARD ph_status cl_buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error);
PH_NODISCARD ph_status cl_buffer_wrap(ph_device *device, void *memory, uint64_t bytes, ph_buffer **out,
                                      ph_error *error);
void cl_buffer_destroy(ph_buffer *buffer);
PH_NODISCARD ph_status cl_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error);
void cl_program_destroy(ph_program *program);
PH_NODISCARD ph_status cl_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out,
                                      uint64_t *out_workspace_bytes, ph_error *error);
void cl_plan_destroy(ph_plan *plan);
PH_NODISCARD ph_status cl_queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error);
void cl_queue_destroy(ph_queue *queue);
PH_NODISCARD ph_status cl_write(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                                ph_error *error);
PH_NODISCARD ph_status cl_read(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes,
                               ph_error *error);
PH_NODISCARD ph_status cl_execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                                  const ph_binding *workspace, ph_node_time *times, ph_error *error);
PH_NODISCARD ph_status cl_finish(ph_queue *queue, ph_error *error);
PH_NODISCARD ph_status cl_buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     uint32_t flags, void **out, ph_error *error);
PH_NODISCARD ph_status cl_buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error);
PH_NODISCARD ph_status cl_device_peak(ph_device *device, ph_peak *out, ph_error *error);

/* Members of a ph_backend initialiser, all but name, summary and open. */
#define CL_BACKEND_COMMON                                                                                              \
  .struct_size = sizeof(ph_backend), .abi_version = PH_ABI_VERSION, .version = CL_BACKEND_VERSION,                     \
  .vendor = "Polyhead", .close = cl_close, .device_count = cl_device_count, .device_info = cl_device_describe,         \
  .device_open = cl_device_open, .device_limits = cl_device_limits, .device_close = cl_device_close,                   \
  .supports = cl_supports, .buffer_create = cl_buffer_create, .buffer_destroy = cl_buffer_destroy,                     \
  .program_create = cl_program_create, .program_destroy = cl_program_destroy, .plan_create = cl_plan_create,           \
  .plan_destroy = cl_plan_destroy, .queue_create = cl_queue_create, .queue_destroy = cl_queue_destroy,                 \
  .write = cl_write, .read = cl_read, .execute = cl_execute, .finish = cl_finish, .buffer_map = cl_buffer_map,         \
  .buffer_unmap = cl_buffer_unmap, .device_peak = cl_device_peak, .candidate = cl_candidate,                           \
  .buffer_wrap = cl_buffer_wrap
#define CL_BACKEND_VERSION "0.1.0"

#endif
