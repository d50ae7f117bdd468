/* Making, finding and freeing rearranged constants. */
#include "opencl/packed.h"

#include <stdlib.h>
#include <string.h>

#include "opencl/status.h"

typedef struct cl_packed {
  struct cl_packed *next;
  cl_mem memory;
  uint32_t tensor;
  const char *file; /* of the kernel; from the table of ops */
  cl_packing packing;
} cl_packed;

static bool is_same(const cl_packed *packed, const char *file, uint32_t tensor, const cl_packing *packing) {
  return packed->tensor == tensor && packed->packing.bytes == packing->bytes &&
         packed->packing.shape_count == packing->shape_count &&
         memcmp(packed->packing.shape, packing->shape, packing->shape_count * sizeof(packing->shape[0])) == 0 &&
         strcmp(packed->packing.kernel, packing->kernel) == 0 && strcmp(packed->file, file) == 0;
}

static ph_status launch(const ph_program *program, cl_kernel kernel, const cl_packed *packed, cl_mem shape,
                        const size_t global[3], const size_t local[3], ph_error *error) {
  PH_TRY(cl_kernel_set_buffer(kernel, 0, program->constants[packed->tensor], 0, error));
  PH_TRY(cl_kernel_set_buffer(kernel, 2, packed->memory, 0, error));
  PH_TRY(cl_kernel_set_buffer(kernel, 4, shape, 0, error));
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue(program->device->cl, program->device->found->device, 0, &code);
  if (code != CL_SUCCESS) return cl_fail(error, code, "clCreateCommandQueue");
  ph_status status = PH_OK;
  code = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
  if (code != CL_SUCCESS) status = cl_fail(error, code, "clEnqueueNDRangeKernel");
  code = clFinish(queue);
  if (status == PH_OK && code != CL_SUCCESS) status = cl_fail(error, code, "clFinish");
  cl_note_release(program->device->context, clReleaseCommandQueue(queue), "clReleaseCommandQueue");
  return status;
}

/* Fills the copy, where kernel and device take the launch. */
static ph_status fill(const ph_program *program, const cl_build *build, const cl_packed *packed, cl_kernel_fit *fit,
                      ph_error *error) {
  ph_device *device = program->device;
  const cl_packing *packing = &packed->packing;
  const cl_launch wish = {.kernel = packing->kernel,
                          .axes = 3,
                          .global = {packing->global[0], packing->global[1], packing->global[2]},
                          .local = {1, 1, 1},
                          .exact_local = true};
  cl_kernel kernel;
  size_t global[3], local[3];
  PH_TRY(cl_kernel_make(device, build, &wish, &device->limits, &kernel, global, local, fit, error));
  if (kernel == NULL) return PH_OK;
  cl_int code;
  cl_mem shape =
      clCreateBuffer(device->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                     packing->shape_count * sizeof(packing->shape[0]), (void *)(uintptr_t)packing->shape, &code);
  ph_status status = PH_OK;
  if (code != CL_SUCCESS) {
    status = cl_fail(error, code, "clCreateBuffer");
  } else {
    status = launch(program, kernel, packed, shape, global, local, error);
    cl_note_release(device->context, clReleaseMemObject(shape), "clReleaseMemObject");
  }
  cl_note_release(device->context, clReleaseKernel(kernel), "clReleaseKernel");
  return status;
}

static void destroy(ph_program *program, cl_packed *packed) {
  if (packed->memory != NULL)
    cl_note_release(program->device->context, clReleaseMemObject(packed->memory), "clReleaseMemObject");
  free(packed);
}

/* Appends a filled copy to the program's. */
static ph_status make(ph_program *program, const cl_build *build, uint32_t tensor, const cl_packing *packing,
                      cl_kernel_fit *fit, ph_error *error) {
  cl_packed *packed = calloc(1, sizeof(*packed));
  if (packed == NULL) return ph_fail_memory(error);
  *packed = (cl_packed){.next = program->packed, .tensor = tensor, .file = build->file, .packing = *packing};
  cl_int code;
  packed->memory = clCreateBuffer(program->device->cl, CL_MEM_READ_WRITE, (size_t)packing->bytes, NULL, &code);
  ph_status status = PH_OK;
  if (code != CL_SUCCESS) {
    packed->memory = NULL;
    status = cl_fail(error, code, "clCreateBuffer");
  }
  if (status == PH_OK) status = fill(program, build, packed, fit, error);
  if (status == PH_OK && fit->fits)
    program->packed = packed;
  else
    destroy(program, packed);
  return status;
}

static const cl_packed *find(const ph_program *program, const cl_build *build, uint32_t tensor,
                             const cl_packing *packing) {
  const cl_packed *packed = program->packed;
  while (packed != NULL && !is_same(packed, build->file, tensor, packing)) packed = packed->next;
  return packed;
}

ph_status cl_packed_make(ph_program *program, const cl_choice *choice, cl_kernel_fit *fit, ph_error *error) {
  ph_status status = PH_OK;
  pthread_mutex_lock(&program->lock);
  for (const cl_launch *launch = choice->record.first; launch != NULL; launch = launch->next)
    for (uint32_t i = 0; i < launch->arg_count; i++) {
      const cl_arg *arg = &launch->args[i];
      if (arg->kind == CL_ARG_PACKED && status == PH_OK && fit->fits &&
          find(program, choice->build, arg->tensor, arg->packing) == NULL)
        status = make(program, choice->build, arg->tensor, arg->packing, fit, error);
    }
  pthread_mutex_unlock(&program->lock);
  return status;
}

cl_mem cl_packed_get(ph_program *program, const cl_choice *choice, const cl_arg *arg) {
  pthread_mutex_lock(&program->lock);
  cl_mem memory = find(program, choice->build, arg->tensor, arg->packing)->memory;
  pthread_mutex_unlock(&program->lock);
  return memory;
}

void cl_packed_free(ph_program *program) {
  while (program->packed != NULL) {
    cl_packed *packed = program->packed;
    program->packed = packed->next;
    destroy(program, packed);
  }
}
