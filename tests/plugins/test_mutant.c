/* The mutant does what it promises: one element of one node wrong, the rest as the reference has it. */
#include "scratch.h"

#include <string.h>

#include "runtime/context.h"

/* x -> first -> second: first = relu(x) or cast(x), second = add(first, first). */
enum { X, FIRST, SECOND, TENSOR_COUNT, NODE_COUNT = 2, MAX_COUNT = 4 };

typedef struct outcome {
  unsigned char first[MAX_COUNT * 8], second[MAX_COUNT * 8];
  ph_node_time times[NODE_COUNT];
} outcome;

static ph_context *context;

static int load_mutant(void **state) {
  if (scratch_setup(state) != 0) return -1;
  return scratch_try(NULL, TEST_MODULES "/mutant.so", &context) == PH_OK ? 0 : -1;
}

static int unload(void **state) {
  ph_context_destroy(context);
  return scratch_teardown(state);
}

#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    if ((call) != PH_OK) fail_msg("%s", scratch_error.message);                                                        \
  } while (0)

/* The graph over `count` elements, first computed by relu (type f32) or by a cast to `type`. */
static void with_graph(ph_dtype type, const char *type_name, int64_t count,
                       void (*use)(const ph_graph *graph, void *user), void *user) {
  ph_tensor_desc x = {sizeof(x), "x", PH_TENSOR_INPUT, PH_F32, 1, {count}, {1}, NULL};
  ph_tensor_desc first = {sizeof(first), "first", PH_TENSOR_OUTPUT, type, 1, {count}, {1}, NULL};
  ph_tensor_desc second = {sizeof(second), "second", PH_TENSOR_OUTPUT, type, 1, {count}, {1}, NULL};
  const ph_tensor_desc *const tensors[] = {&x, &first, &second};
  static const uint32_t roles[][2] = {{X}, {FIRST, FIRST}}, results[][1] = {{FIRST}, {SECOND}};
  const ph_attr to = {.name = "to", .kind = PH_ATTR_STRING, .as.string = type_name};
  bool cast = type != PH_F32;
  const ph_node nodes[] = {
      {sizeof(ph_node), cast ? "cast" : "relu", 1, "block.first", roles[0], 1, results[0], 1, &to, cast ? 1 : 0},
      {sizeof(ph_node), "add", 1, "second", roles[1], 2, results[1], 1, NULL, 0},
  };
  const ph_node *const order[] = {&nodes[0], &nodes[1]};
  /* Bools are not added: there the first node is all. */
  const ph_graph graph = {sizeof(graph), tensors, TENSOR_COUNT, order, type == PH_BOOL ? 1 : NODE_COUNT};
  use(&graph, user);
}

typedef struct run_job {
  const char *spec;
  const float *x;
  size_t count, size; /* elements; bytes of one in first and second */
  outcome *out;
} run_job;

static void run_graph(const ph_graph *graph, void *user) {
  const run_job *job = user;
  ph_error *error = &scratch_error;
  ph_open_device *opened;
  MUST(ph_context_open_device(context, job->spec, &opened, error));
  const ph_backend *backend = opened->backend;
  ph_program *program;
  ph_plan *plan;
  ph_queue *queue;
  uint64_t workspace;
  MUST(backend->program_create(opened->device, graph, &program, error));
  MUST(backend->plan_create(program, graph, &plan, &workspace, error));
  assert_int_equal(workspace, 0);
  MUST(backend->queue_create(opened->device, PH_QUEUE_TIMES, &queue, error));
  ph_binding bindings[TENSOR_COUNT];
  /* Not at the start of a buffer, so that an offset that is forgotten shows. */
  const uint64_t offset = opened->limits.alignment;
  for (uint32_t i = 0; i < TENSOR_COUNT; i++) {
    bindings[i] = (ph_binding){.tensor = i, .offset = offset};
    MUST(backend->buffer_create(opened->device, offset + sizeof(job->out->first), &bindings[i].buffer, error));
  }
  MUST(backend->write(queue, bindings[X].buffer, offset, job->x, job->count * sizeof(float), error));
  MUST(backend->execute(queue, plan, bindings, TENSOR_COUNT, NULL, job->out->times, error));
  MUST(backend->read(queue, job->out->first, bindings[FIRST].buffer, offset, job->count * job->size, error));
  MUST(backend->read(queue, job->out->second, bindings[SECOND].buffer, offset, job->count * job->size, error));
  MUST(backend->finish(queue, error));
  for (uint32_t i = 0; i < TENSOR_COUNT; i++) backend->buffer_destroy(bindings[i].buffer);
  backend->queue_destroy(queue);
  backend->plan_destroy(plan);
  backend->program_destroy(program);
  ph_open_device_close(opened);
}

/* Runs on `spec` and returns both outputs; valid until the next call. */
static const outcome *run(const char *spec, ph_dtype type, const char *type_name, size_t size, const float *x,
                          size_t count) {
  static outcome out;
  memset(&out, 0, sizeof(out));
  run_job job = {spec, x, count, size, &out};
  with_graph(type, type_name, (int64_t)count, run_graph, &job);
  return &out;
}

static void assert_reals(const void *bytes, const float *expected, size_t count) {
  float got[MAX_COUNT];
  memcpy(got, bytes, count * sizeof(float));
  for (size_t i = 0; i < count; i++) assert_float_equal(got[i], expected[i], 1e-6f);
}

static void test_spoils_one_node(void **state) {
  (void)state;
  static const float x[] = {-5, 2, 3, 1};
  const outcome *out = run("mutant", PH_F32, NULL, 4, x, 4);
  assert_reals(out->first, (const float[]){0, 2, 3, 1}, 4);
  assert_reals(out->second, (const float[]){0, 4, 6, 2}, 4);

  out = run("mutant,node=second", PH_F32, NULL, 4, x, 4);
  assert_reals(out->first, (const float[]){0, 2, 3, 1}, 4);
  assert_reals(out->second, (const float[]){0, 4, 6.06f, 2}, 4);

  /* What comes later sees the fault. */
  out = run("mutant,node=block.first", PH_F32, NULL, 4, x, 4);
  assert_reals(out->first, (const float[]){0, 2, 3.03f, 1}, 4);
  assert_reals(out->second, (const float[]){0, 4, 6.06f, 2}, 4);
  for (int i = 0; i < NODE_COUNT; i++) assert_true(out->times[i].start_ns > 0);
  assert_true(out->times[0].end_ns <= out->times[1].start_ns);

  out = run("mutant,node=nowhere", PH_F32, NULL, 4, x, 4);
  assert_reals(out->second, (const float[]){0, 4, 6, 2}, 4);
}

/* Where 1 % would be nothing, or hidden by the floor of the bound, one is put there. */
static void test_zero_and_tiny(void **state) {
  (void)state;
  const outcome *out = run("mutant,node=block.first", PH_F32, NULL, 4, (const float[]){-1, -2}, 2);
  assert_reals(out->first, (const float[]){1, 0}, 2);
  out = run("mutant,node=block.first", PH_F32, NULL, 4, (const float[]){0, 2e-38f}, 2);
  assert_reals(out->first, (const float[]){0, 1}, 2);
  run("mutant,node=block.first", PH_F32, NULL, 4, NULL, 0); /* nothing to spoil */
}

static void test_other_types(void **state) {
  (void)state;
  const outcome *out = run("mutant,node=block.first", PH_I64, "i64", 8, (const float[]){1, -7, 3}, 3);
  assert_memory_equal(out->first, ((const int64_t[]){1, -6, 3}), 24);
  out = run("mutant,node=block.first", PH_I32, "i32", 4, (const float[]){0, 0}, 2);
  assert_memory_equal(out->first, ((const int32_t[]){1, 0}), 8);
  assert_memory_equal(out->second, ((const int32_t[]){2, 0}), 8);
  out = run("mutant,node=block.first", PH_BOOL, "bool", 1, (const float[]){0, 1, 1}, 3);
  assert_memory_equal(out->first, ((const unsigned char[]){0, 0, 1}), 3);
  out = run("mutant,node=block.first", PH_F16, "f16", 2, (const float[]){0.5f, 4}, 2);
  assert_memory_equal(out->first, ((const uint16_t[]){0x3800, 0x440A}), 4); /* 4.04 in f16 */
}

static void ask_supports(const ph_graph *graph, void *user) {
  (void)user;
  ph_open_device *opened;
  MUST(ph_context_open_device(context, "mutant,refuse=add", &opened, &scratch_error));
  ph_support support = {.struct_size = sizeof(support)};
  MUST(opened->backend->supports(opened->device, graph, 0, &support, &scratch_error));
  assert_true(support.supported);
  MUST(opened->backend->supports(opened->device, graph, 1, &support, &scratch_error));
  assert_false(support.supported);
  assert_false(support.needs_dense);
  assert_contains(support.reason, "refuse=add");
  ph_open_device_close(opened);
}

static void test_refuses(void **state) {
  (void)state;
  with_graph(PH_F32, NULL, 2, ask_supports, NULL);
  ph_open_device *opened;
  assert_int_equal(ph_context_open_device(context, "mutant,nodes=x", &opened, &scratch_error), PH_INVALID);
  assert_contains(scratch_error.message, "it knows node and refuse");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, load_mutant, unload)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_spoils_one_node),
      TEST(test_zero_and_tiny),
      TEST(test_other_types),
      TEST(test_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
