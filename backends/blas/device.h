/* What the backend's own files know of its handles. */
#ifndef POLYHEAD_BLAS_DEVICE_H
#define POLYHEAD_BLAS_DEVICE_H

#include <polyhead/backend.h>

enum { BLAS_ALIGNMENT = 64 }; /* bytes: a cache line, and the widest vector */

struct ph_device {
  uint64_t memory_bytes;
  int64_t rows; /* of scores that attention holds at a time; 0: as many as fit a cache */
};

struct ph_buffer {
  void *memory;
  uint64_t bytes;
  bool lent; /* the memory is the host's */
};

/* Work is done when it is queued. */
struct ph_queue {
  uint32_t flags;
};

/* As the functions of the same name in ph_backend. */
ph_status blas_buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error);
ph_status blas_buffer_wrap(ph_device *device, void *memory, uint64_t bytes, ph_buffer **out, ph_error *error);
void blas_buffer_destroy(ph_buffer *buffer);
ph_status blas_queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error);
void blas_queue_destroy(ph_queue *queue);
ph_status blas_write(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                     ph_error *error);
ph_status blas_read(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes, ph_error *error);
ph_status blas_finish(ph_queue *queue, ph_error *error);
ph_status blas_buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t flags,
                          void **out, ph_error *error);
ph_status blas_buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error);

ph_status blas_supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error);
ph_status blas_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error);
void blas_program_destroy(ph_program *program);
ph_status blas_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                           ph_error *error);
void blas_plan_destroy(ph_plan *plan);
ph_status blas_execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                       const ph_binding *workspace, ph_node_time *times, ph_error *error);

/* False where these bytes do not lie inside the buffer. */
static inline bool blas_in_buffer(const ph_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

#endif
