/* A backend of somebody else's that has no device yet: enough to be found, loaded and listed.  Also compiled as C++. */
#include <polyhead/backend.h>
#include <polyhead/node.h>

#ifndef BACKEND_NAME
#define BACKEND_NAME "outsider"
#endif

static int anchor; /* what open() hands out: there is nothing to keep */

static ph_status outsider_open(const ph_host *host, const ph_option *options, uint32_t option_count,
                               ph_backend_context **out, ph_error *error) {
  *out = (ph_backend_context *)(void *)&anchor;
  return PH_OK;
}
static void outsider_close(ph_backend_context *context) {}
static ph_status outsider_device_count(ph_backend_context *context, uint32_t *out, ph_error *error) {
  *out = 0;
  return PH_OK;
}

/* Without a device the host calls none of these. */
#define NEVER(name, ...)                                                                                               \
  static ph_status outsider_##name(__VA_ARGS__) {                                                                      \
    return PH_UNAVAILABLE;                                                                                             \
  }
#define NEVER_DESTROY(name, type)                                                                                      \
  static void outsider_##name(type *it) {}
NEVER(device_info, ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error)
NEVER(device_open, ph_backend_context *context, uint32_t index, const ph_option *options, uint32_t option_count,
      ph_device **out, ph_error *error)
NEVER(device_limits, ph_device *device, ph_device_info *out, ph_error *error)
NEVER_DESTROY(device_close, ph_device)
NEVER(supports, ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error)
NEVER(buffer_create, ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error)
NEVER_DESTROY(buffer_destroy, ph_buffer)
NEVER(program_create, ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error)
NEVER_DESTROY(program_destroy, ph_program)
NEVER(plan_create, ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
      ph_error *error)
NEVER_DESTROY(plan_destroy, ph_plan)
NEVER(queue_create, ph_device *device, uint32_t flags, ph_queue **out, ph_error *error)
NEVER_DESTROY(queue_destroy, ph_queue)
NEVER(write, ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes, ph_error *error)
NEVER(read, ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes, ph_error *error)
NEVER(execute, ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
      const ph_binding *workspace, ph_node_time *times, ph_error *error)
NEVER(finish, ph_queue *queue, ph_error *error)

static const ph_backend backend = {PH_BACKEND_HEADER,
                                   BACKEND_NAME,
                                   "1.0.0",
                                   "Somebody else",
                                   "a backend that lives outside the tree",
                                   outsider_open,
                                   outsider_close,
                                   outsider_device_count,
                                   outsider_device_info,
                                   outsider_device_open,
                                   outsider_device_limits,
                                   outsider_device_close,
                                   outsider_supports,
                                   outsider_buffer_create,
                                   outsider_buffer_destroy,
                                   outsider_program_create,
                                   outsider_program_destroy,
                                   outsider_plan_create,
                                   outsider_plan_destroy,
                                   outsider_queue_create,
                                   outsider_queue_destroy,
                                   outsider_write,
                                   outsider_read,
                                   outsider_execute,
                                   outsider_finish,
                                   NULL,
                                   NULL,
                                   NULL,
                                   NULL,
                                   NULL};

const ph_backend *ph_backend_query(uint32_t host_abi_version) {
  return host_abi_version >> 16 == PH_ABI_MAJOR ? &backend : NULL;
}
