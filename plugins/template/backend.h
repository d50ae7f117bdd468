/* The functions of the backend's table (backend.c), by the file that has them.  What each must do is written where
 * <polyhead/backend.h> declares ph_backend. */
#ifndef MINE_BACKEND_H
#define MINE_BACKEND_H

#include <polyhead/backend.h>

/* device.c */
ph_status device_count(ph_backend_context *context, uint32_t *out, ph_error *error);
ph_status device_info(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error);
ph_status device_open(ph_backend_context *context, uint32_t index, const ph_option *options, uint32_t option_count,
                      ph_device **out, ph_error *error);
ph_status device_limits(ph_device *device, ph_device_info *out, ph_error *error);
void device_close(ph_device *device);

/* memory.c */
struct ph_buffer {
  char *memory;
  uint64_t bytes;
};
ph_status buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error);
void buffer_destroy(ph_buffer *buffer);
ph_status queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error);
void queue_destroy(ph_queue *queue);
ph_status write_buffer(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                       ph_error *error);
ph_status read_buffer(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes, ph_error *error);
ph_status finish(ph_queue *queue, ph_error *error);
ph_status buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t flags, void **out,
                     ph_error *error);
ph_status buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error);

/* supports.c */
ph_status supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error);

/* plan.c */
ph_status program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error);
void program_destroy(ph_program *program);
ph_status plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                      ph_error *error);
void plan_destroy(ph_plan *plan);

/* execute.c */
ph_status execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                  const ph_binding *workspace, ph_node_time *times, ph_error *error);

#endif
