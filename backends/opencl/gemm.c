/* CLBlast's strided batched SGEMM. */
#include "opencl/gemm.h"

#include <stdio.h>

#ifdef POLYHEAD_CLBLAST
#include <clblast_c.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "opencl/library.h"
#include "opencl/status.h"

/* Linking would load it, and what it brings, into every process that looks for a device. */
#define LIBRARY "libclblast.so.1"

typedef CLBlastStatusCode (*sgemm_function)(CLBlastLayout layout, CLBlastTranspose a_transpose,
                                            CLBlastTranspose b_transpose, size_t m, size_t n, size_t k, float alpha,
                                            cl_mem a, size_t a_offset, size_t a_lead, size_t a_step, cl_mem b,
                                            size_t b_offset, size_t b_lead, size_t b_step, float beta, cl_mem c,
                                            size_t c_offset, size_t c_lead, size_t c_step, size_t batches,
                                            cl_command_queue *queue, cl_event *event);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sgemm_function sgemm; /* set once; the library stays */
static char problem[128];

static void open_library(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library != NULL ? dlsym(library, "CLBlastSgemmStridedBatched") : NULL;
  if (symbol != NULL)
    memcpy(&sgemm, &symbol, sizeof(sgemm)); /* ISO C has no such cast; POSIX says that they look alike */
  else
    snprintf(problem, sizeof(problem), "%s", dlerror());
}

bool cl_gemm_available(char reason[192]) {
  pthread_once(&once, open_library);
  if (sgemm == NULL) snprintf(reason, 192, "CLBlast cannot be loaded: %s", problem);
  return sgemm != NULL;
}

/* OpenCL's codes are below 0 and above -1000; the rest are CLBlast's own. */
static ph_status fail(CLBlastStatusCode code, ph_error *error) {
  if (code > -1000) return cl_fail(error, (cl_int)code, "CLBlastSgemmStridedBatched");
  ph_status status = ph_fail(error, PH_DEVICE_FAILED, "CLBlast's status %d in CLBlastSgemmStridedBatched", (int)code);
  if (error != NULL) error->native_code = code;
  return status;
}

static size_t first_of(const cl_place *place) {
  return (size_t)(place->offset / sizeof(float));
}

static ph_status run(cl_command_queue queue, const cl_place *args, const void *data, cl_event *event, ph_error *error) {
  cl_gemm g;
  memcpy(&g, data, sizeof(g));
  CLBlastStatusCode code =
      sgemm(CLBlastLayoutRowMajor, g.a_turned ? CLBlastTransposeYes : CLBlastTransposeNo,
            g.b_turned ? CLBlastTransposeYes : CLBlastTransposeNo, g.rows, g.columns, g.depth, g.alpha, args[0].memory,
            first_of(&args[0]), g.a_lead, g.a_step, args[1].memory, first_of(&args[1]), g.b_lead, g.b_step, g.beta,
            args[2].memory, first_of(&args[2]), g.y_lead, g.y_step, g.batches, &queue, event);
  return code == CLBlastSuccess ? PH_OK : fail(code, error);
}

const cl_library_call cl_gemm_call = {"CLBlast", run};
#else
#include "opencl/library.h"

bool cl_gemm_available(char reason[192]) {
  snprintf(reason, 192, "this build has no CLBlast");
  return false;
}

const cl_library_call cl_gemm_call = {"CLBlast", NULL};
#endif
