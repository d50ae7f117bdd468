/* CLBlast on the OpenCL device whose platform's name contains WHERE: `open NAME WHERE linear M N K`. */
#include <clblast_c.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

enum { MOST_PLATFORMS = 16 };

struct peer_work {
  cl_context context;
  cl_command_queue queue;
  cl_mem x, w, y;
  size_t m, n, k;
};

static bool find_device(const char *where, cl_device_id *out) {
  cl_platform_id platforms[MOST_PLATFORMS];
  cl_uint count = 0;
  if (clGetPlatformIDs(MOST_PLATFORMS, platforms, &count) != CL_SUCCESS) return false;
  for (cl_uint i = 0; i < count && i < MOST_PLATFORMS; i++) {
    char name[256] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    if (strstr(name, where) != NULL && clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, out, NULL) == CL_SUCCESS)
      return true;
  }
  return false;
}

static cl_mem make(const peer_work *work, size_t count, unsigned seed) {
  float *numbers = peer_numbers(count, seed);
  if (numbers == NULL) return NULL;
  cl_mem memory =
      clCreateBuffer(work->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof(float), numbers, NULL);
  free(numbers);
  return memory;
}

peer_work *peer_open(char **words, int count, const char **reason) {
  cl_device_id device;
  *reason = "CLBlast is asked for linear";
  if (count != 5 || strcmp(words[1], "linear") != 0) return NULL;
  *reason = "no such OpenCL platform";
  if (!find_device(words[0], &device)) return NULL;
  peer_work *work = calloc(1, sizeof(*work));
  if (work == NULL) return NULL;
  work->m = (size_t)atol(words[2]);
  work->n = (size_t)atol(words[3]);
  work->k = (size_t)atol(words[4]);
  work->context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  work->queue = work->context != NULL ? clCreateCommandQueue(work->context, device, 0, NULL) : NULL;
  if (work->queue != NULL) {
    work->x = make(work, work->m * work->k, 1);
    work->w = make(work, work->n * work->k, 2);
    work->y = make(work, work->m * work->n, 3);
  }
  if (work->x != NULL && work->w != NULL && work->y != NULL) return work;
  *reason = "no OpenCL context or memory";
  peer_close(work);
  return NULL;
}

void peer_close(peer_work *work) {
  if (work->x != NULL) clReleaseMemObject(work->x);
  if (work->w != NULL) clReleaseMemObject(work->w);
  if (work->y != NULL) clReleaseMemObject(work->y);
  if (work->queue != NULL) clReleaseCommandQueue(work->queue);
  if (work->context != NULL) clReleaseContext(work->context);
  free(work);
}

int peer_ways(const peer_work *work) {
  (void)work;
  return 2;
}

const char *peer_run(peer_work *work, int way) {
  CLBlastTranspose transpose = way == 0 ? CLBlastTransposeYes : CLBlastTransposeNo;
  CLBlastStatusCode code =
      CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, transpose, work->m, work->n, work->k, 1, work->x, 0,
                   work->k, work->w, 0, way == 0 ? work->k : work->n, 0, work->y, 0, work->n, &work->queue, NULL);
  if (code != CLBlastSuccess) return "CLBlastSgemm failed";
  return clFinish(work->queue) == CL_SUCCESS ? NULL : "clFinish failed";
}

void peer_tell(const peer_work *work) {
  (void)work;
  printf("parameters=default");
}
