/* An op for tests, and a life with it. */
#include "toy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/backend.h"
#include "opencl/op.h"
#include "opencl/source.h"

/* ---- the op ---- */

static const char common_text[] = "typedef long toy_long;\n";

/* `fast` and `careful` differ in their local size alone, and in their file: each is built by itself. */
#define KERNELS                                                                                                        \
  "kernel void mix_first(global const float *x, ulong x0, global float *w, ulong w0, local float *pad, long n) {\n"    \
  "  size_t i = get_global_id(0);\n"                                                                                   \
  "  pad[get_local_id(0)] = i < n ? x[x0 + i] : 0.0f;\n"                                                               \
  "  barrier(CLK_LOCAL_MEM_FENCE);\n"                                                                                  \
  "  if (i < n) w[w0 + i] = 2.0f * pad[get_local_id(0)];\n"                                                            \
  "}\n"                                                                                                                \
  "kernel void mix_pack(global const float *w, ulong w0, global float *p, ulong p0, global const toy_long *t,\n"       \
  "    ulong t0) {\n"                                                                                                  \
  "  size_t i = get_global_id(0);\n"                                                                                   \
  "  p[p0 + t[t0] - i] = w[w0 + i];\n"                                                                                 \
  "}\n"                                                                                                                \
  "kernel void mix_second(global const float *s, ulong s0, global const float *w, ulong w0, global const float *z,\n"  \
  "    ulong z0, global const toy_long *t, ulong t0, global const float *r, ulong r0, global float *y, ulong y0,\n"    \
  "    int period, float none, long n) {\n"                                                                            \
  "  size_t i = get_global_id(0);\n"                                                                                   \
  "  if (i < n) y[y0 + i] = s[s0 + i] + w[w0 + period - 1 - i % period] + t[t0 + 1] + r[r0 + 1] + (z ? z[z0 + i] : "   \
  "none);\n"                                                                                                           \
  "}\n"

const cl_kernel_file cl_kernel_files[] = {
    {"common.cl", common_text, sizeof(common_text) - 1},
    {"fast.cl", KERNELS, sizeof(KERNELS) - 1},
    {"careful.cl", KERNELS, sizeof(KERNELS) - 1},
    {0},
};

static ph_status plan_mix(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, size_t local,
                          ph_error *error) {
  int64_t n = ph_desc_count(ph_node_output(graph, node, 0));
  size_t rounded = ((size_t)n + local - 1) / local * local;
  cl_plan_workspace(plan, 4); /* so that what is used does not start at 0 */
  uint64_t scratch = cl_plan_workspace(plan, (uint64_t)n * sizeof(float));
  uint64_t integers = cl_plan_table(plan, (const int64_t[40]){-1, 10}, 40);
  uint64_t reals = cl_plan_real_table(plan, (const float[]){-1.0f, 0.5f}, 2);
  cl_launch *launch = cl_plan_launch(plan, "mix_first", 1, (const size_t[3]){rounded}, (const size_t[3]){local}, true);
  cl_arg_tensor(launch, node->inputs[0]);
  cl_arg_workspace(launch, scratch);
  cl_arg_local(launch, local * sizeof(float));
  cl_arg_long(launch, n);
  launch = cl_plan_launch(plan, "mix_second", 1, (const size_t[3]){(size_t)n}, (const size_t[3]){0}, false);
  cl_arg_workspace(launch, scratch);
  /* The weights from last to first, in a room that is larger than the tables. */
  cl_arg_packed(
      launch, node->inputs[1],
      &(cl_packing){.kernel = "mix_pack", .global = {4, 1, 1}, .bytes = TOY_PACKED, .shape = {3}, .shape_count = 1});
  cl_arg_tensor(launch, node->inputs[2]);
  cl_arg_table(launch, integers);
  cl_arg_real_table(launch, reals);
  cl_arg_tensor(launch, node->outputs[0]);
  cl_arg_int(launch, 4);
  cl_arg_float(launch, 0.0f);
  cl_arg_long(launch, n);
  return cl_plan_done(plan, error);
}

enum { FAST_LOCAL = 32 };

static bool dense(const ph_graph *graph, const ph_node *node, char reason[192]) {
  if (ph_desc_is_dense(ph_node_input(graph, node, 0))) return true;
  strcpy(reason, "x is strided; a dense one would be accepted");
  return false;
}

static bool fast_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  strcpy(reason, "work-groups of 32 are needed");
  return limits->max_work_group >= FAST_LOCAL && dense(graph, node, reason);
}

static bool careful_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  strcpy(reason, "local memory for one number is needed");
  return limits->local_memory >= sizeof(float) && dense(graph, node, reason);
}

static ph_status fast_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  return plan_mix(plan, graph, node, FAST_LOCAL, error);
}

static ph_status careful_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const cl_limits *limits = cl_plan_limits(plan);
  size_t local = limits->max_work_group < 16 ? limits->max_work_group : 16;
  while (local * sizeof(float) > limits->local_memory) local--;
  return plan_mix(plan, graph, node, local, error);
}

static const cl_variant mix_variants[] = {
    {"fast",
     "fast.cl",
     CL_PROFILE_CPU | CL_PROFILE_GPU,
     {PH_DTYPE_NONE, PH_DTYPE_NONE, PH_F32},
     fast_can_run,
     NULL,
     fast_plan},
    {"careful",
     "careful.cl",
     CL_PROFILE_ALL,
     {PH_DTYPE_NONE, PH_DTYPE_NONE, PH_F32},
     careful_can_run,
     NULL,
     careful_plan},
};
static const cl_op mix = {.name = "mix", .version = 1, .variants = mix_variants, .variant_count = 2};
const cl_op *const cl_ops[] = {&mix};
const uint32_t cl_op_count = 1;

/* ---- the backend and its host ---- */

static ph_status open_all(const ph_host *host, const ph_option *options, uint32_t count, ph_backend_context **out,
                          ph_error *error) {
  static const cl_flavour flavour = {.name = "opencl"};
  return cl_backend_open(&flavour, host, options, count, out, error);
}

static ph_status open_pocl(const ph_host *host, const ph_option *options, uint32_t count, ph_backend_context **out,
                           ph_error *error) {
  static const cl_flavour flavour = {.name = "pocl", .pocl_only = true};
  return cl_backend_open(&flavour, host, options, count, out, error);
}

const ph_backend *toy_backend(bool pocl_only) {
  static const ph_backend all = {CL_BACKEND_COMMON, .name = "opencl", .open = open_all};
  static const ph_backend pocl = {CL_BACKEND_COMMON, .name = "pocl", .open = open_pocl};
  return pocl_only ? &pocl : &all;
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void collect(void *user, ph_log_level level, const char *text) {
  (void)level;
  pthread_mutex_lock(&log_lock);
  ph_text_add(&((toy_host *)user)->log, "%s\n", text);
  pthread_mutex_unlock(&log_lock);
}

void toy_host_init(toy_host *host, const char *cache_dir) {
  *host = (toy_host){.host = {.struct_size = sizeof(ph_host),
                              .abi_version = PH_ABI_VERSION,
                              .log = collect,
                              .log_level = PH_LOG_INFO,
                              .cache_dir = cache_dir}};
  host->host.user = host;
  ph_text_put(&host->log, "", 0);
}

void toy_host_free(toy_host *host) {
  ph_text_free(&host->log);
}

/* ---- the graph ---- */

static const _Alignas(64) float weights[4] = {0.25f, 1.0f, -3.0f, 100.0f};

static ph_tensor_desc vector(const char *name, ph_tensor_kind kind, int64_t count) {
  return (ph_tensor_desc){.struct_size = sizeof(ph_tensor_desc),
                          .name = name,
                          .kind = kind,
                          .dtype = PH_F32,
                          .rank = 1,
                          .dims = {count},
                          .strides = {1}};
}

void toy_graph_init(toy_graph *graph, int64_t count) {
  *graph = (toy_graph){.tensors = {vector("x", PH_TENSOR_INPUT, count), vector("w", PH_TENSOR_CONSTANT, 4),
                                   vector("h", PH_TENSOR_INNER, count), vector("y", PH_TENSOR_OUTPUT, count)}};
  graph->tensors[TOY_W].data = weights;
  for (uint32_t i = 0; i < 4; i++) graph->tensor_pointers[i] = &graph->tensors[i];
  for (uint32_t i = 0; i < TOY_NODES; i++) {
    graph->inputs[i][0] = i == 0 ? TOY_X : TOY_INNER;
    graph->inputs[i][1] = TOY_W;
    graph->inputs[i][2] = PH_NONE;
    graph->outputs[i][0] = i == 0 ? TOY_INNER : TOY_Y;
    graph->nodes[i] = (ph_node){.struct_size = sizeof(ph_node),
                                .op = "mix",
                                .op_version = 1,
                                .id = i == 0 ? "first" : "second",
                                .inputs = graph->inputs[i],
                                .input_count = 3,
                                .outputs = graph->outputs[i],
                                .output_count = 1};
    graph->node_pointers[i] = &graph->nodes[i];
  }
  graph->graph = (ph_graph){.struct_size = sizeof(ph_graph),
                            .tensors = graph->tensor_pointers,
                            .tensor_count = 4,
                            .nodes = graph->node_pointers,
                            .node_count = TOY_NODES};
}

float toy_expected(float x, int64_t index) {
  for (int i = 0; i < TOY_NODES; i++) x = 2.0f * x + weights[index % 4] + 10.5f;
  return x;
}

/* ---- a life ---- */

typedef struct things {
  ph_backend_context *context;
  ph_device *device;
  ph_program *program;
  ph_plan *plan;
  ph_buffer *arena, *workspace;
  ph_queue *queue;
} things;

static uint64_t up(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

#define TRY(expression)                                                                                                \
  do {                                                                                                                 \
    ph_status try_status = (expression);                                                                               \
    if (try_status != PH_OK) return try_status;                                                                        \
  } while (0)

static ph_status map_and_check(const ph_backend *backend, things *all, toy_life *life, uint64_t offset, float *y) {
  ph_error *error = &life->error;
  void *mapped;
  uint64_t bytes = (uint64_t)life->count * sizeof(float);
  TRY(backend->buffer_map(all->queue, all->arena, offset, bytes, PH_MAP_READ, &mapped, error));
  life->right = memcmp(mapped, y, bytes) == 0;
  TRY(backend->buffer_unmap(all->queue, all->arena, error));
  TRY(backend->finish(all->queue, error));
  life->first = y[0];
  life->last = y[life->count - 1];
  for (int64_t i = 0; i < life->count; i++) life->right = life->right && y[i] == toy_expected((float)i, i);
  return PH_OK;
}

static ph_status live(const ph_backend *backend, const toy_host *host, toy_life *life, things *all, float *x,
                      float *y) {
  ph_error *error = &life->error;
  toy_graph graph;
  toy_graph_init(&graph, life->count);
  TRY(backend->open(&host->host, NULL, 0, &all->context, error));
  TRY(backend->device_count(all->context, &life->device_count, error));
  if (life->device_count == 0) return PH_UNAVAILABLE;
  TRY(backend->device_open(all->context, life->device, life->options, life->option_count, &all->device, error));
  life->limits.struct_size = sizeof(life->limits);
  TRY(backend->device_limits(all->device, &life->limits, error));
  life->support.struct_size = sizeof(life->support);
  for (uint32_t i = 0; i < TOY_NODES; i++) {
    TRY(backend->supports(all->device, &graph.graph, i, &life->support, error));
    if (!life->support.supported) return PH_UNSUPPORTED;
  }
  TRY(backend->program_create(all->device, &graph.graph, &all->program, error));
  uint64_t workspace_bytes;
  TRY(backend->plan_create(all->program, &graph.graph, &all->plan, &workspace_bytes, error));
  TRY(backend->supports(all->device, &graph.graph, 0, &life->support, error));
  uint64_t bytes = (uint64_t)life->count * sizeof(float), step = up(bytes, life->limits.alignment);
  TRY(backend->buffer_create(all->device, 3 * step, &all->arena, error));
  TRY(backend->buffer_create(all->device, workspace_bytes + life->limits.alignment, &all->workspace, error));
  TRY(backend->queue_create(all->device, PH_QUEUE_TIMES, &all->queue, error));
  ph_binding bindings[] = {{TOY_X, all->arena, 0}, {TOY_INNER, all->arena, step}, {TOY_Y, all->arena, 2 * step}};
  ph_binding workspace = {0, all->workspace, life->limits.alignment};
  for (uint32_t i = 0; i < life->runs; i++) {
    TRY(backend->write(all->queue, all->arena, 0, x, bytes, error));
    TRY(backend->execute(all->queue, all->plan, bindings, 3, &workspace, life->times, error));
    TRY(backend->read(all->queue, y, all->arena, 2 * step, bytes, error));
    TRY(backend->finish(all->queue, error));
  }
  return map_and_check(backend, all, life, 2 * step, y);
}

void toy_live(const ph_backend *backend, const toy_host *host, toy_life *life) {
  things all = {0};
  life->error = (ph_error){.struct_size = sizeof(ph_error)};
  float *x = calloc((size_t)life->count, sizeof(float)), *y = calloc((size_t)life->count, sizeof(float));
  for (int64_t i = 0; x != NULL && i < life->count; i++) x[i] = (float)i;
  life->status = x != NULL && y != NULL ? live(backend, host, life, &all, x, y) : PH_OUT_OF_MEMORY;
  backend->queue_destroy(all.queue);
  backend->buffer_destroy(all.arena);
  backend->buffer_destroy(all.workspace);
  backend->plan_destroy(all.plan);
  backend->program_destroy(all.program);
  backend->device_close(all.device);
  backend->close(all.context);
  free(x);
  free(y);
}
