/* Making and freeing programs. */
#include "opencl/program.h"

#include <stdlib.h>

#include "base/memory.h"
#include "opencl/ahead.h"
#include "opencl/choice.h"
#include "opencl/layout.h"
#include "opencl/packed.h"
#include "opencl/status.h"

static ph_status upload(ph_device *device, const ph_tensor_desc *tensor, cl_mem *out, ph_error *error) {
  uint64_t bytes;
  if (!cl_span_bytes(tensor, &bytes) || bytes > device->limits.max_buffer)
    return ph_fail(error, PH_UNSUPPORTED, "the constant '%s' is larger than the device's largest buffer", tensor->name);
  if (bytes == 0) return PH_OK;
  /* A CPU reads the weights where they lie; they stay valid as long as the program. */
  cl_mem_flags flags = CL_MEM_READ_ONLY | (device->limits.is_cpu ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR);
  cl_int code;
  *out = clCreateBuffer(device->cl, flags, (size_t)bytes, (void *)(uintptr_t)tensor->data, &code);
  if (code == CL_SUCCESS) return PH_OK;
  *out = NULL;
  return cl_fail(error, code, "clCreateBuffer");
}

/* Compiles what the node needs before the first plan asks for it.  A node that depends on varying dims waits for its
 * plan, and so does one that nothing takes: the plan says why. */
static ph_status compile_early(ph_device *device, const ph_graph *graph, const ph_node *node, ph_error *error) {
  if (!cl_is_concrete(graph, node)) return PH_OK;
  cl_choice choice;
  ph_status status = cl_choose(device, &device->limits, graph, node, 0, &choice, error);
  cl_choice_free(&choice);
  return status == PH_UNSUPPORTED ? PH_OK : status;
}

ph_status cl_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error) {
  return cl_program_make(device, graph, true, out, error);
}

ph_status cl_program_make(ph_device *device, const ph_graph *graph, bool early, ph_program **out, ph_error *error) {
  ph_program *program = calloc(1, sizeof(*program));
  if (program == NULL) return ph_fail_memory(error);
  if (pthread_mutex_init(&program->lock, NULL) != 0) {
    free(program);
    return ph_fail(error, PH_OUT_OF_MEMORY, "no mutex can be made");
  }
  program->device = device;
  program->node_count = graph->node_count;
  program->tensor_count = graph->tensor_count;
  program->constants = ph_new_array(graph->tensor_count, sizeof(cl_mem));
  ph_status status = program->constants != NULL ? PH_OK : ph_fail_memory(error);
  for (uint32_t i = 0; status == PH_OK && i < graph->tensor_count; i++)
    if (graph->tensors[i]->kind == PH_TENSOR_CONSTANT)
      status = upload(device, graph->tensors[i], &program->constants[i], error);
  if (early && status == PH_OK) cl_build_ahead(device, graph);
  for (uint32_t i = 0; early && status == PH_OK && i < graph->node_count; i++) {
    status = compile_early(device, graph, graph->nodes[i], error);
    if (status != PH_OK && error != NULL) error->node = i;
  }
  if (status == PH_OK)
    *out = program;
  else
    cl_program_destroy(program);
  return status;
}

void cl_program_destroy(ph_program *program) {
  if (program == NULL) return;
  cl_packed_free(program);
  for (uint32_t i = 0; program->constants != NULL && i < program->tensor_count; i++)
    if (program->constants[i] != NULL)
      cl_note_release(program->device->context, clReleaseMemObject(program->constants[i]), "clReleaseMemObject");
  free(program->constants);
  pthread_mutex_destroy(&program->lock);
  free(program);
}
