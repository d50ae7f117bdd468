/* The host code against PoCL: a device as it is and with pretended limits, options, plans, threads. */
#include "pocl_life.h"

#include <CL/cl.h>
#include <pthread.h>

#include "base/memory.h"

/* ---- a device as it is, and with pretended limits ---- */

static void a_whole_life(void **state) {
  (void)state;
  toy_life life;
  char *log = live_well("", NULL, &life);
  assert_string_equal(log, "");
  free(log);
  assert_string_equal(life.support.variant, "fast");
  assert_int_equal(life.support.stage_type[PH_STAGE_ACCUM], PH_F32);
  for (int i = 0; i < TOY_NODES; i++) {
    assert_true(life.times[i].start_ns > 0);
    assert_true(life.times[i].end_ns > life.times[i].start_ns);
  }
  assert_true(life.times[1].start_ns >= life.times[0].end_ns);
}

static void pretended_limits(void **state) {
  (void)state;
  static const struct {
    const char *options, *variant;
    uint32_t alignment;
  } cases[] = {
      {"max_wg=1", "careful", 0},
      {"max_wg=7", "careful", 0},
      {"max_wg=64", "fast", 0},
      {"local_mem=1024", "fast", 0},
      {"local_mem=32768", "fast", 0},
      {"local_mem=20", "careful", 0},
      {"align_bits=1024", "fast", 128},
      {"align_bits=32768", "fast", 4096},
      {"max_alloc=65536", "fast", 0},
      {"profile=baseline", "careful", 0},
      {"profile=gpu", "fast", 0},
      {"variant=careful", "careful", 0},
      {"profile=baseline,variant=fast", "fast", 0},
      {"variant=fast,max_wg=7", "careful", 0},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    toy_life life;
    free(live_well(cases[i].options, NULL, &life));
    if (strcmp(life.support.variant, cases[i].variant) != 0)
      fail_msg("%s: the variant is %s", cases[i].options, life.support.variant);
    if (cases[i].alignment != 0) assert_int_equal(life.limits.alignment, cases[i].alignment);
  }
}

/* R056: the driver counts bits. */
static void alignment_is_in_bytes(void **state) {
  (void)state;
  cl_platform_id platforms[8];
  cl_uint platform_count = 0, bits = 0;
  assert_int_equal(clGetPlatformIDs(8, platforms, &platform_count), CL_SUCCESS);
  toy_life life;
  free(live_well("", NULL, &life));
  cl_device_id devices[8];
  assert_int_equal(clGetDeviceIDs(platforms[life.limits.platform_index], CL_DEVICE_TYPE_ALL, 8, devices, NULL),
                   CL_SUCCESS);
  assert_int_equal(
      clGetDeviceInfo(devices[life.limits.device_index], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL),
      CL_SUCCESS);
  assert_int_equal(life.limits.alignment, bits / 8);
}

static void refuses_what_is_too_large(void **state) {
  (void)state;
  toy_host host;
  toy_life life = live("max_alloc=3999", NULL, &host);
  assert_int_equal(life.status, PH_UNSUPPORTED);
  assert_false(life.support.supported);
  assert_has(life.support.reason, "'x' has 4000 bytes");
  assert_has(life.support.reason, "3999");
  toy_host_free(&host);
  /* Its tensors fit, but not its scratch. */
  life = live("max_alloc=4000", NULL, &host);
  assert_int_equal(life.status, PH_UNSUPPORTED);
  assert_has(life.support.reason, "scratch");
  toy_host_free(&host);
}

/* 256 bytes of scratch, 328 of tables, and 384 for the weights rearranged. */
static void refuses_a_copy_that_is_too_large(void **state) {
  (void)state;
  ph_option option = {.key = "max_alloc", .value = "350"};
  toy_life life = {.options = &option, .option_count = 1, .count = 1, .runs = 1};
  toy_host host;
  toy_host_init(&host, NULL);
  toy_live(toy_backend(true), &host, &life);
  assert_int_equal(life.status, PH_UNSUPPORTED);
  assert_has(life.support.reason, "384 bytes in one buffer for a rearranged constant");
  toy_host_free(&host);
}

/* A node's tables take 328 bytes: two nodes do not share a buffer. */
static void tables_may_take_several_buffers(void **state) {
  (void)state;
  ph_option option = {.key = "max_alloc", .value = "400"};
  toy_life life = {.options = &option, .option_count = 1, .count = 1, .runs = 1};
  toy_host host;
  toy_host_init(&host, NULL);
  toy_live(toy_backend(true), &host, &life);
  if (life.status != PH_OK) fail_msg("%s%s", life.error.message, life.support.reason);
  assert_true(life.right);
  toy_host_free(&host);
}

static void bad_options_name_the_good_ones(void **state) {
  (void)state;
  static const struct {
    const char *options, *part;
  } cases[] = {
      {"max_group=7", "known are profile, variant, tune, max_wg, local_mem, align_bits, max_alloc, vector_width"},
      {"profile=fast", "baseline, cpu, gpu"},
      {"variant=quick", "there are fast, careful"},
      {"max_wg=0", "at least 1"},
      {"max_wg=-1", "at least 1"},
      {"max_wg=7x", "at least 1"},
      {"max_wg=", "at least 1"},
      {"local_mem=99999999999999999999", "at least 1"},
      {"align_bits=1000", "power of two"},
      {"align_bits=4", "power of two"},
      {"vector_width=5", "4, 8 or 16"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    toy_host host;
    toy_life life = live(cases[i].options, NULL, &host);
    assert_int_equal(life.status, PH_INVALID);
    assert_has(life.error.message, cases[i].part);
    toy_host_free(&host);
  }
}

/* ---- an open device ---- */

typedef struct opened {
  const ph_backend *backend;
  toy_host host;
  ph_backend_context *context;
  ph_device *device;
  ph_error error;
} opened;

static void open_device(opened *it) {
  *it = (opened){.backend = toy_backend(true), .error = {.struct_size = sizeof(ph_error)}};
  toy_host_init(&it->host, NULL);
  assert_int_equal(it->backend->open(&it->host.host, NULL, 0, &it->context, &it->error), PH_OK);
  assert_int_equal(it->backend->device_open(it->context, 0, NULL, 0, &it->device, &it->error), PH_OK);
}

static void close_device(opened *it) {
  it->backend->device_close(it->device);
  it->backend->close(it->context);
  toy_host_free(&it->host);
}

static void refusals_have_reasons(void **state) {
  (void)state;
  opened it;
  open_device(&it);
  toy_graph graph;
  ph_support answer = {.struct_size = sizeof(answer)};

  toy_graph_init(&graph, COUNT);
  graph.nodes[0].op = "stir";
  assert_int_equal(it.backend->supports(it.device, &graph.graph, 0, &answer, &it.error), PH_OK);
  assert_false(answer.supported);
  assert_has(answer.reason, "no OpenCL kernels for 'stir'");

  toy_graph_init(&graph, COUNT);
  graph.nodes[0].op_version = 2;
  assert_int_equal(it.backend->supports(it.device, &graph.graph, 0, &answer, &it.error), PH_OK);
  assert_false(answer.supported);
  assert_has(answer.reason, "version 2");

  toy_graph_init(&graph, COUNT);
  graph.tensors[TOY_X].dtype = PH_F64;
  assert_int_equal(it.backend->supports(it.device, &graph.graph, 0, &answer, &it.error), PH_OK);
  assert_false(answer.supported);
  assert_has(answer.reason, "'x' is f64");

  toy_graph_init(&graph, COUNT);
  graph.tensors[TOY_X].strides[0] = 2;
  assert_int_equal(it.backend->supports(it.device, &graph.graph, 0, &answer, &it.error), PH_OK);
  assert_false(answer.supported);
  assert_true(answer.needs_dense);
  assert_has(answer.reason, "dense");

  toy_graph_init(&graph, INT64_MAX);
  assert_int_equal(it.backend->supports(it.device, &graph.graph, 0, &answer, &it.error), PH_OK);
  assert_false(answer.supported);
  assert_has(answer.reason, "overflows");

  /* A host that is older than us knows fewer members. */
  ph_support shorter = {.struct_size = offsetof(ph_support, variant), .reason = "untouched"};
  toy_graph_init(&graph, COUNT);
  assert_int_equal(it.backend->supports(it.device, &graph.graph, 0, &shorter, &it.error), PH_OK);
  assert_true(shorter.supported);
  assert_string_equal(shorter.reason, "untouched");
  assert_int_equal(shorter.struct_size, offsetof(ph_support, variant));
  close_device(&it);
}

static void bad_bindings_are_refused(void **state) {
  (void)state;
  opened it;
  open_device(&it);
  const ph_backend *backend = it.backend;
  ph_error *error = &it.error;
  toy_graph graph;
  toy_graph_init(&graph, COUNT);
  ph_program *program;
  ph_plan *plan;
  ph_buffer *buffer;
  ph_queue *queue;
  uint64_t workspace_bytes;
  enum { STEP = 4096 };
  assert_int_equal(backend->buffer_create(it.device, 0, &buffer, error), PH_INVALID);
  assert_int_equal(backend->program_create(it.device, &graph.graph, &program, error), PH_OK);
  assert_int_equal(backend->plan_create(program, &graph.graph, &plan, &workspace_bytes, error), PH_OK);
  assert_true(workspace_bytes >= STEP);
  assert_int_equal(backend->buffer_create(it.device, 5 * STEP, &buffer, error), PH_OK);
  assert_int_equal(backend->queue_create(it.device, 0, &queue, error), PH_OK);
  ph_binding good[] = {{TOY_X, buffer, 0}, {TOY_INNER, buffer, STEP}, {TOY_Y, buffer, 2 * STEP}};
  ph_binding workspace = {0, buffer, 3 * STEP};
  ph_node_time times[TOY_NODES];

  assert_int_equal(backend->execute(queue, plan, good, 3, &workspace, NULL, error), PH_OK);
  assert_int_equal(backend->execute(queue, plan, good, 3, NULL, NULL, error), PH_INVALID);
  assert_int_equal(backend->execute(queue, plan, good, 2, &workspace, NULL, error), PH_INVALID);
  assert_has(error->message, "not bound");
  assert_int_equal(backend->execute(queue, plan, good, 3, &workspace, times, error), PH_INVALID);
  for (int i = 0; i < 4; i++) {
    ph_binding bad[] = {good[0], good[1], good[2]};
    if (i == 0) bad[2].offset = 5 * STEP - 3996; /* one element past the end */
    if (i == 1) bad[2].offset = 2 * STEP + 2;    /* between elements */
    if (i == 2) bad[2].buffer = NULL;
    if (i == 3) bad[2].tensor = 17;
    assert_int_equal(backend->execute(queue, plan, bad, 3, &workspace, NULL, error), PH_INVALID);
  }
  float value = 0;
  void *mapped;
  assert_int_equal(backend->write(queue, buffer, 5 * STEP, &value, 4, error), PH_INVALID);
  assert_int_equal(backend->read(queue, &value, buffer, UINT64_MAX, 4, error), PH_INVALID);
  assert_int_equal(backend->read(queue, &value, buffer, 5 * STEP, 0, error), PH_OK);
  assert_int_equal(backend->buffer_unmap(queue, buffer, error), PH_INVALID);
  assert_int_equal(backend->buffer_map(queue, buffer, STEP, 8, PH_MAP_DISCARD, &mapped, error), PH_OK);
  assert_int_equal(backend->buffer_map(queue, buffer, STEP, 8, PH_MAP_READ, &mapped, error), PH_INVALID);
  ((float *)mapped)[0] = 7.0f;
  ((float *)mapped)[1] = 8.0f;
  assert_int_equal(backend->buffer_unmap(queue, buffer, error), PH_OK);
  assert_int_equal(backend->read(queue, &value, buffer, STEP + 4, 4, error), PH_OK);
  assert_int_equal(backend->finish(queue, error), PH_OK);
  assert_float_equal(value, 8.0f, 0);
  backend->queue_destroy(queue);
  backend->buffer_destroy(buffer);
  backend->plan_destroy(plan);
  backend->program_destroy(program);
  close_device(&it);
}

/* A program whose dims vary is planned for several; nothing of a plan for no elements is launched. */
static void one_program_many_plans(void **state) {
  (void)state;
  opened it;
  open_device(&it);
  const ph_backend *backend = it.backend;
  ph_error *error = &it.error;
  toy_graph graph;
  toy_graph_init(&graph, PH_DIM_VARIES);
  ph_program *program;
  ph_queue *queue;
  ph_buffer *buffer;
  enum { STEP = 4096 };
  assert_int_equal(backend->program_create(it.device, &graph.graph, &program, error), PH_OK);
  assert_int_equal(backend->queue_create(it.device, PH_QUEUE_TIMES, &queue, error), PH_OK);
  assert_int_equal(backend->buffer_create(it.device, 6 * STEP, &buffer, error), PH_OK);
  static const int64_t counts[] = {1, 33, 0, 1000};
  for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    int64_t n = counts[i];
    toy_graph_init(&graph, n);
    ph_plan *plan;
    uint64_t workspace_bytes;
    assert_int_equal(backend->plan_create(program, &graph.graph, &plan, &workspace_bytes, error), PH_OK);
    assert_int_equal(workspace_bytes == 0, n == 0);
    ph_buffer *bound = n > 0 ? buffer : NULL;
    ph_binding bindings[] = {{TOY_X, bound, 0}, {TOY_INNER, bound, STEP}, {TOY_Y, bound, 2 * STEP}};
    ph_binding workspace = {0, buffer, 3 * STEP};
    ph_node_time times[TOY_NODES];
    float x[COUNT], y[COUNT + 1];
    for (int64_t j = 0; j < n; j++) x[j] = (float)j - 5;
    y[n] = -1;
    assert_int_equal(backend->write(queue, buffer, 0, x, (uint64_t)n * 4, error), PH_OK);
    assert_int_equal(backend->write(queue, buffer, 2 * STEP + (uint64_t)n * 4, &y[n], 4, error), PH_OK);
    assert_int_equal(backend->execute(queue, plan, bindings, 3, n > 0 ? &workspace : NULL, times, error), PH_OK);
    assert_int_equal(backend->read(queue, y, buffer, 2 * STEP, (uint64_t)n * 4 + 4, error), PH_OK);
    assert_int_equal(backend->finish(queue, error), PH_OK);
    for (int64_t j = 0; j < n; j++) assert_float_equal(y[j], toy_expected((float)j - 5, j), 0);
    assert_float_equal(y[n], -1, 0); /* nothing was written past the end */
    assert_int_equal(times[0].end_ns > 0, n > 0);
    backend->plan_destroy(plan);
  }
  graph.graph.node_count = 1;
  ph_plan *plan;
  uint64_t workspace_bytes;
  assert_int_equal(backend->plan_create(program, &graph.graph, &plan, &workspace_bytes, error), PH_INVALID);
  backend->buffer_destroy(buffer);
  backend->queue_destroy(queue);
  backend->program_destroy(program);
  close_device(&it);
}

/* ---- threads: one device, one program, a plan and a queue each ---- */

typedef struct worker {
  const opened *it;
  ph_program *program;
  int64_t count;
  bool right;
} worker;

static void *work(void *argument) {
  worker *me = argument;
  const ph_backend *backend = me->it->backend;
  ph_error error = {.struct_size = sizeof(error)};
  toy_graph graph;
  toy_graph_init(&graph, me->count);
  enum { STEP = 4096 };
  for (int round = 0; round < 10; round++) {
    ph_plan *plan = NULL;
    ph_queue *queue = NULL;
    ph_buffer *buffer = NULL;
    uint64_t workspace_bytes;
    float x[COUNT], y[COUNT];
    for (int64_t i = 0; i < me->count; i++) x[i] = (float)(i + me->count);
    bool right = backend->plan_create(me->program, &graph.graph, &plan, &workspace_bytes, &error) == PH_OK &&
                 backend->queue_create(me->it->device, 0, &queue, &error) == PH_OK &&
                 backend->buffer_create(me->it->device, 6 * STEP, &buffer, &error) == PH_OK;
    ph_binding bindings[] = {{TOY_X, buffer, 0}, {TOY_INNER, buffer, STEP}, {TOY_Y, buffer, 2 * STEP}};
    ph_binding workspace = {0, buffer, 3 * STEP};
    right = right && backend->write(queue, buffer, 0, x, (uint64_t)me->count * 4, &error) == PH_OK &&
            backend->execute(queue, plan, bindings, 3, &workspace, NULL, &error) == PH_OK &&
            backend->read(queue, y, buffer, 2 * STEP, (uint64_t)me->count * 4, &error) == PH_OK &&
            backend->finish(queue, &error) == PH_OK;
    for (int64_t i = 0; right && i < me->count; i++) right = y[i] == toy_expected(x[i], i);
    backend->queue_destroy(queue);
    backend->buffer_destroy(buffer);
    backend->plan_destroy(plan);
    if (!right) return NULL;
  }
  me->right = true;
  return NULL;
}

static void threads_share_a_device(void **state) {
  (void)state;
  opened it;
  open_device(&it);
  toy_graph graph;
  toy_graph_init(&graph, PH_DIM_VARIES);
  ph_program *program;
  assert_int_equal(it.backend->program_create(it.device, &graph.graph, &program, &it.error), PH_OK);
  enum { WORKERS = 4 };
  worker workers[WORKERS];
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.it = &it, .program = program, .count = 100 * (i + 1)};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < WORKERS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(workers[i].right);
  }
  it.backend->program_destroy(program);
  close_device(&it);
}

int main(void) {
  int missing = without_pocl();
  if (missing >= 0) return missing;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_life),
      cmocka_unit_test(pretended_limits),
      cmocka_unit_test(alignment_is_in_bytes),
      cmocka_unit_test(refuses_what_is_too_large),
      cmocka_unit_test(refuses_a_copy_that_is_too_large),
      cmocka_unit_test(tables_may_take_several_buffers),
      cmocka_unit_test(bad_options_name_the_good_ones),
      cmocka_unit_test(refusals_have_reasons),
      cmocka_unit_test(bad_bindings_are_refused),
      cmocka_unit_test(one_program_many_plans),
      cmocka_unit_test(threads_share_a_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
