/* The reference backend's programs and plans: a copy of the graph, and running its nodes one after the other. */
#ifndef POLYHEAD_BACKENDS_REFERENCE_PLAN_H
#define POLYHEAD_BACKENDS_REFERENCE_PLAN_H

#include <polyhead/backend.h>

struct ph_buffer {
  void *memory;
  uint64_t bytes;
};

/* As the functions of the same name in ph_backend. */
ph_status ph_reference_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error);
void ph_reference_program_destroy(ph_program *program);
ph_status ph_reference_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out,
                                   uint64_t *out_workspace_bytes, ph_error *error);
void ph_reference_plan_destroy(ph_plan *plan);

/* Runs every node at once, in the calling thread.  `times` may be NULL. */
ph_status ph_reference_plan_run(const ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                                ph_node_time *times, ph_error *error);

/* Bytes from the first to the last element of a tensor with concrete dims; false where that does not fit 64 bits. */
bool ph_reference_tensor_bytes(const ph_tensor_desc *desc, uint64_t *out);

#endif
