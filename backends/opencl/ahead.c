/* A few threads, each of which takes the next build that is missing.  Drivers differ: some compile as many programs at
 * a time as there are cores, PoCL one after the other (docs/performance.md, Cold start). */
#include "opencl/ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "opencl/layout.h"
#include "opencl/variant.h"

enum { MAX_THREADS = 4 };

typedef struct wanted_build {
  const char *file;
  ph_text options;
} wanted_build;

typedef struct build_queue {
  ph_device *device;
  wanted_build *builds;
  size_t count, capacity;
  atomic_size_t next;
} build_queue;

static void want(build_queue *work, const char *file, ph_text *options) {
  for (size_t i = 0; i < work->count; i++)
    if (strcmp(work->builds[i].file, file) == 0 && strcmp(work->builds[i].options.data, options->data) == 0) return;
  if (cl_build_is_known(work->device, file, options->data) ||
      !ph_grow(&work->builds, &work->capacity, work->count + 1, sizeof(*work->builds)))
    return;
  work->builds[work->count++] = (wanted_build){.file = file, .options = *options};
  *options = (ph_text){0};
}

/* What cl_choose() would build first. */
static void look_at(build_queue *work, const ph_graph *graph, const ph_node *node) {
  const cl_op *op = cl_find_op(node->op);
  if (op == NULL || !cl_is_concrete(graph, node)) return;
  const cl_variant *variant;
  bool fits = false;
  for (uint32_t i = 0; !fits && (variant = cl_variant_at(work->device, op, graph, node, i)) != NULL; i++) {
    cl_plan_node record;
    ph_text options = {0};
    char reason[CL_REASON];
    const cl_limits *limits = &work->device->limits;
    if (cl_variant_try(work->device, limits, variant, graph, node, &record, &fits, reason, NULL) != PH_OK) fits = true;
    if (fits && cl_record_has_kernel(&record) &&
        cl_variant_options(work->device, op, variant, graph, node, &options, NULL) == PH_OK)
      want(work, variant->file, &options);
    ph_text_free(&options);
    cl_record_free(&record);
  }
}

static void *build_some(void *user) {
  build_queue *work = user;
  for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->count;) {
    cl_build *build;
    (void)!cl_build_get(work->device, work->builds[i].file, work->builds[i].options.data, &build, NULL);
  }
  return NULL;
}

static void build_all(build_queue *work) {
  pthread_t threads[MAX_THREADS];
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t count = 0, most = work->count < MAX_THREADS ? work->count : MAX_THREADS;
  if (cores >= 1 && (size_t)cores < most) most = (size_t)cores;
  /* Drivers for CPUs compile in this process, with little to gain (PoCL: one at a time), and Oclgrind's compiler crashes
   * where two threads call it. */
  if (work->device->limits.is_cpu) most = 1;
  while (count + 1 < most && pthread_create(&threads[count], NULL, build_some, work) == 0) count++;
  build_some(work);
  while (count > 0) pthread_join(threads[--count], NULL);
}

void cl_build_ahead(ph_device *device, const ph_graph *graph) {
  build_queue work = {.device = device};
  for (uint32_t i = 0; i < graph->node_count; i++) look_at(&work, graph, graph->nodes[i]);
  if (work.count > 1) build_all(&work);
  for (size_t i = 0; i < work.count; i++) ph_text_free(&work.builds[i].options);
  free(work.builds);
}
