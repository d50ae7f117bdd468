/* Trying variants. */
#include "opencl/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/memory.h"
#include "opencl/layout.h"
#include "opencl/program.h"
#include "opencl/status.h"

enum { MAX_TENSORS = 32, ALIGNMENT = 64 };

/* A graph of one node, and memory for its tensors. */
typedef struct tiny {
  ph_graph graph;
  ph_node node;
  const ph_node *nodes[1];
  uint32_t count;
  ph_tensor_desc descs[MAX_TENSORS];
  const ph_tensor_desc *tensors[MAX_TENSORS];
  uint64_t bytes[MAX_TENSORS];
  void *memory[MAX_TENSORS]; /* inputs and constants; outputs: what the reference says */
  void *results[MAX_TENSORS];
  uint32_t roles[MAX_TENSORS];
} tiny;

bool cl_trial_is_due(ph_device *device, const ph_graph *graph, const ph_node *node, const cl_choice *choice) {
  const cl_op *op = cl_find_op(node->op);
  if (device->context->flavour->judge == NULL || op->shrink == NULL || choice->record.first == NULL ||
      cl_variant_at(device, op, graph, node, choice->index + 1) == NULL)
    return false;
  pthread_mutex_lock(&device->lock);
  bool proven = choice->build != NULL && choice->build->proven;
  for (const cl_tried *tried = device->tried; !proven && choice->build == NULL && tried != NULL; tried = tried->next)
    proven = tried->variant == choice->variant && strcmp(tried->options, choice->options.data) == 0;
  pthread_mutex_unlock(&device->lock);
  return !proven;
}

/* ---- the tiny node ---- */

/* Copies the tensors of some roles; false where there are too many. */
static bool copy_roles(tiny *t, const ph_graph *graph, const uint32_t *roles, uint32_t count, uint32_t *out,
                       ph_tensor_desc **descs) {
  for (uint32_t i = 0; i < count; i++) {
    out[i] = PH_NONE;
    descs[i] = NULL;
    if (roles[i] == PH_NONE) continue;
    if (t->count == MAX_TENSORS) return false;
    t->descs[t->count] = *graph->tensors[roles[i]];
    t->tensors[t->count] = &t->descs[t->count];
    descs[i] = &t->descs[t->count];
    out[i] = t->count++;
  }
  return true;
}

/* The node with dims of at most about `most`; *out_index is what its index inputs hold. */
static bool make_tiny(tiny *t, const cl_op *op, const ph_graph *graph, const ph_node *node, int64_t most,
                      int64_t *out_index) {
  ph_tensor_desc *inputs[MAX_TENSORS], *outputs[MAX_TENSORS];
  *t = (tiny){.node = *node};
  if (node->input_count + node->output_count > MAX_TENSORS ||
      !copy_roles(t, graph, node->inputs, node->input_count, t->roles, inputs) ||
      !copy_roles(t, graph, node->outputs, node->output_count, t->roles + node->input_count, outputs) ||
      !op->shrink(most, node, inputs, outputs, out_index))
    return false;
  for (uint32_t i = 0; i < t->count; i++) {
    cl_dense(&t->descs[i], &t->descs[i]);
    if (!cl_span_bytes(&t->descs[i], &t->bytes[i]) || t->bytes[i] == 0) return false;
  }
  t->node.inputs = t->roles;
  t->node.outputs = t->roles + node->input_count;
  t->nodes[0] = &t->node;
  t->graph = (ph_graph){.struct_size = sizeof(ph_graph),
                        .tensors = t->tensors,
                        .tensor_count = t->count,
                        .nodes = t->nodes,
                        .node_count = 1};
  return true;
}

/* Would the same build run it? */
static bool is_of_build(ph_device *device, const cl_op *op, const tiny *t, const cl_choice *choice) {
  ph_text options = {0};
  cl_plan_node record;
  char reason[CL_REASON];
  bool fits = false;
  ph_status status =
      cl_variant_try(device, &device->limits, choice->variant, &t->graph, &t->node, &record, &fits, reason, NULL);
  cl_record_free(&record);
  if (status == PH_OK && fits)
    status = cl_variant_options(device, op, choice->variant, &t->graph, &t->node, &options, NULL);
  fits = fits && status == PH_OK && strcmp(options.data, choice->options.data) == 0;
  ph_text_free(&options);
  return fits;
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void fill(const ph_tensor_desc *desc, void *memory, int64_t index, uint32_t *random) {
  int64_t count = ph_desc_count(desc);
  for (int64_t i = 0; i < count; i++) {
    double value = (double)next_random(random) / (1 << 23) - 1; /* -1 to 1 */
    if (desc->dtype == PH_BOOL)
      ((unsigned char *)memory)[i] = value > -0.5;
    else if (ph_dtype_is_real(desc->dtype))
      ph_write_real(desc->dtype, memory, (size_t)i, value);
    else if (desc->dtype == PH_I64)
      ((int64_t *)memory)[i] = index;
    else
      ((int32_t *)memory)[i] = (int32_t)index;
  }
}

/* Memory and numbers for everything; outputs start as NaN. */
static bool fill_all(tiny *t, int64_t index) {
  uint32_t random = 12345;
  for (uint32_t i = 0; i < t->count; i++) {
    size_t room = ((size_t)t->bytes[i] / ALIGNMENT + 1) * ALIGNMENT;
    t->memory[i] = aligned_alloc(ALIGNMENT, room);
    if (t->memory[i] == NULL) return false;
    memset(t->memory[i], 0xff, room);
  }
  for (uint32_t i = 0; i < t->node.input_count; i++)
    if (t->roles[i] != PH_NONE) fill(&t->descs[t->roles[i]], t->memory[t->roles[i]], index, &random);
  for (uint32_t i = 0; i < t->node.output_count; i++) {
    uint32_t tensor = t->node.outputs[i];
    if (tensor == PH_NONE) continue;
    t->results[tensor] = malloc((size_t)t->bytes[tensor]);
    if (t->results[tensor] == NULL) return false;
    memset(t->results[tensor], 0xff, (size_t)t->bytes[tensor]);
    t->descs[tensor].kind = PH_TENSOR_OUTPUT;
  }
  for (uint32_t i = 0; i < t->node.input_count; i++) {
    if (t->roles[i] == PH_NONE) continue;
    ph_tensor_desc *desc = &t->descs[t->roles[i]];
    if (desc->kind == PH_TENSOR_CONSTANT)
      desc->data = t->memory[t->roles[i]];
    else
      desc->kind = PH_TENSOR_INPUT;
  }
  return true;
}

static void free_tiny(tiny *t) {
  for (uint32_t i = 0; i < t->count; i++) {
    free(t->memory[i]);
    free(t->results[i]);
  }
}

/* ---- running it, here and on the reference ---- */

typedef struct run_memory {
  ph_queue *queue;
  ph_buffer *workspace, *buffers[MAX_TENSORS];
} run_memory;

static ph_status run_steps(const ph_backend *backend, ph_device *device, ph_plan *plan, uint64_t workspace_bytes,
                           tiny *t, void *const *to, run_memory *run, ph_error *error) {
  ph_binding bindings[MAX_TENSORS], workspace = {.tensor = PH_NONE};
  uint32_t count = 0;
  PH_TRY(backend->queue_create(device, 0, &run->queue, error));
  if (workspace_bytes > 0) PH_TRY(backend->buffer_create(device, workspace_bytes, &run->workspace, error));
  workspace.buffer = run->workspace;
  for (uint32_t i = 0; i < t->count; i++) {
    if (t->descs[i].kind == PH_TENSOR_CONSTANT) continue;
    PH_TRY(backend->buffer_create(device, t->bytes[i], &run->buffers[i], error));
    const void *from = t->descs[i].kind == PH_TENSOR_OUTPUT ? t->results[i] : t->memory[i];
    PH_TRY(backend->write(run->queue, run->buffers[i], 0, from, t->bytes[i], error));
    bindings[count++] = (ph_binding){.tensor = i, .buffer = run->buffers[i]};
  }
  PH_TRY(backend->execute(run->queue, plan, bindings, count, run->workspace != NULL ? &workspace : NULL, NULL, error));
  for (uint32_t i = 0; i < t->count; i++)
    if (t->descs[i].kind == PH_TENSOR_OUTPUT)
      PH_TRY(backend->read(run->queue, to[i], run->buffers[i], 0, t->bytes[i], error));
  return backend->finish(run->queue, error);
}

static ph_status run_plan(const ph_backend *backend, ph_device *device, ph_plan *plan, uint64_t workspace_bytes,
                          tiny *t, void *const *to, ph_error *error) {
  run_memory run = {0};
  ph_status status = run_steps(backend, device, plan, workspace_bytes, t, to, &run, error);
  backend->queue_destroy(run.queue);
  backend->buffer_destroy(run.workspace);
  for (uint32_t i = 0; i < t->count; i++) backend->buffer_destroy(run.buffers[i]);
  return status;
}

static ph_status run_reference(const ph_device *ours, tiny *t, ph_error *error) {
  const ph_backend *backend = ours->context->flavour->judge();
  ph_backend_context *context = NULL;
  ph_device *device = NULL;
  ph_program *program = NULL;
  ph_plan *plan = NULL;
  uint64_t workspace = 0;
  ph_status status = backend->open(ours->context->host, NULL, 0, &context, error);
  if (status == PH_OK) status = backend->device_open(context, 0, NULL, 0, &device, error);
  if (status == PH_OK) status = backend->program_create(device, &t->graph, &program, error);
  if (status == PH_OK) status = backend->plan_create(program, &t->graph, &plan, &workspace, error);
  if (status == PH_OK) status = run_plan(backend, device, plan, workspace, t, t->memory, error);
  if (plan != NULL) backend->plan_destroy(plan);
  if (program != NULL) backend->program_destroy(program);
  if (device != NULL) backend->device_close(device);
  if (context != NULL) backend->close(context);
  return status;
}

static ph_status run_ours(ph_device *device, const cl_choice *choice, tiny *t, ph_error *error) {
  static const ph_backend backend = {CL_BACKEND_COMMON};
  ph_program *program = NULL;
  ph_plan *plan = NULL;
  ph_status status = cl_program_make(device, &t->graph, false, &program, error);
  if (status == PH_OK) status = cl_plan_make(program, &t->graph, choice->variant, &plan, error);
  if (status == PH_OK) status = run_plan(&backend, device, plan, plan->workspace, t, t->results, error);
  cl_plan_destroy(plan);
  cl_program_destroy(program);
  return status;
}

/* ---- the verdict ---- */

/* Not the bound of the conformance kit: what a miscompiled kernel gives is not nearly right. */
static const double tolerance = 0.01;

static bool is_right(const tiny *t, char reason[CL_REASON]) {
  for (uint32_t i = 0; i < t->count; i++) {
    const ph_tensor_desc *desc = &t->descs[i];
    if (desc->kind != PH_TENSOR_OUTPUT || !ph_dtype_is_real(desc->dtype)) continue;
    int64_t count = ph_desc_count(desc);
    double largest = 0;
    for (int64_t k = 0; k < count; k++) {
      double wanted = fabs(ph_read_real(desc->dtype, t->memory[i], (size_t)k));
      if (wanted > largest && wanted < INFINITY) largest = wanted;
    }
    for (int64_t k = 0; k < count; k++) {
      double wanted = ph_read_real(desc->dtype, t->memory[i], (size_t)k);
      double got = ph_read_real(desc->dtype, t->results[i], (size_t)k);
      if (got == wanted || fabs(got - wanted) <= tolerance * largest || (isnan(got) && isnan(wanted))) continue;
      snprintf(reason, CL_REASON, "a trial gives %g where %g is right", got, wanted);
      return false;
    }
  }
  return true;
}

/* Remembers that there is nothing to try any more. */
static ph_status note_passed(ph_device *device, const cl_choice *choice, ph_error *error) {
  cl_tried *tried = NULL;
  if (choice->build == NULL) {
    tried = calloc(1, sizeof(*tried));
    if (tried == NULL || (tried->options = strdup(choice->options.data)) == NULL) {
      free(tried);
      return ph_fail_memory(error);
    }
    tried->variant = choice->variant;
  }
  pthread_mutex_lock(&device->lock);
  if (tried != NULL) {
    tried->next = device->tried;
    device->tried = tried;
  } else {
    choice->build->proven = true;
  }
  pthread_mutex_unlock(&device->lock);
  return PH_OK;
}

void cl_tried_free(ph_device *device) {
  while (device->tried != NULL) {
    cl_tried *tried = device->tried;
    device->tried = tried->next;
    free(tried->options);
    free(tried);
  }
}

/* *out_judged stays false where the reference does not take the node: then nobody can say. */
static ph_status judge(ph_device *device, const cl_choice *choice, tiny *t, bool *out_judged, bool *out_passed,
                       char reason[CL_REASON], ph_error *error) {
  ph_error problem = PH_ERROR_INIT;
  ph_status status = run_reference(device, t, &problem);
  if (status == PH_OUT_OF_MEMORY) return ph_fail_memory(error);
  if (status != PH_OK) return PH_OK;
  *out_judged = true;
  status = run_ours(device, choice, t, &problem);
  if (status == PH_OUT_OF_MEMORY) return ph_fail_memory(error);
  *out_passed = status == PH_OK && is_right(t, reason);
  if (status != PH_OK) snprintf(reason, CL_REASON, "a trial failed: %.160s", problem.message);
  return PH_OK;
}

ph_status cl_trial(ph_device *device, const ph_graph *graph, const ph_node *node, const cl_choice *choice,
                   bool *out_passed, char reason[CL_REASON], ph_error *error) {
  /* Several sizes, because which build and which variant a node gets may depend on how large it is. */
  static const int64_t sizes[] = {24, 40, 72, 136};
  const cl_op *op = cl_find_op(node->op);
  *out_passed = true;
  bool judged = false;
  ph_status status = PH_OK;
  tiny *t = malloc(sizeof(*t));
  if (t == NULL) return ph_fail_memory(error);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    int64_t index;
    if (!make_tiny(t, op, graph, node, sizes[i], &index) || !is_of_build(device, op, t, choice)) continue;
    status = fill_all(t, index) ? judge(device, choice, t, &judged, out_passed, reason, error) : ph_fail_memory(error);
    free_tiny(t);
    break;
  }
  free(t);
  if (status == PH_OK && judged && *out_passed) status = note_passed(device, choice, error);
  return status;
}
