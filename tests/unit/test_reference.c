/* The reference backend through the ABI, as a host uses it. */
#include "oracle_case.h"

#include "base/error.h"
#include "reference/reference.h"

typedef struct session {
  const ph_backend *backend;
  ph_backend_context *context;
  ph_device *device;
  ph_queue *queue;
} session;

static void session_open(session *s) {
  s->backend = ph_reference_backend();
  assert_int_equal(s->backend->open(NULL, NULL, 0, &s->context, NULL), PH_OK);
  assert_int_equal(s->backend->device_open(s->context, 0, NULL, 0, &s->device, NULL), PH_OK);
  assert_int_equal(s->backend->queue_create(s->device, PH_QUEUE_TIMES, &s->queue, NULL), PH_OK);
}

static void session_close(session *s) {
  s->backend->queue_destroy(s->queue);
  s->backend->device_close(s->device);
  s->backend->close(s->context);
}

/* x [2] twice its size: y = x + x, then z = y * w with w a constant. */
typedef struct example {
  float weights[2];
  ph_tensor_desc x, y, w, z;
  const ph_tensor_desc *tensors[4];
  uint32_t add_inputs[2], add_outputs[1], mul_inputs[2], mul_outputs[1];
  ph_node add, mul;
  const ph_node *nodes[2];
  ph_graph graph;
} example;

static ph_tensor_desc vector(const char *name, ph_tensor_kind kind, ph_dtype dtype) {
  return (ph_tensor_desc){.struct_size = sizeof(ph_tensor_desc),
                          .name = name,
                          .kind = kind,
                          .dtype = dtype,
                          .rank = 1,
                          .dims = {2},
                          .strides = {1}};
}

static void example_open(example *e) {
  *e = (example){.weights = {10, 100}, .add_outputs = {1}, .mul_inputs = {1, 2}, .mul_outputs = {3}};
  e->x = vector("x", PH_TENSOR_INPUT, PH_F32);
  e->y = vector("y", PH_TENSOR_INNER, PH_F16);
  e->w = vector("w", PH_TENSOR_CONSTANT, PH_F32);
  e->z = vector("z", PH_TENSOR_OUTPUT, PH_F32);
  e->w.data = e->weights;
  const ph_tensor_desc *tensors[] = {&e->x, &e->y, &e->w, &e->z};
  memcpy(e->tensors, tensors, sizeof(tensors));
  e->add = (ph_node){.struct_size = sizeof(ph_node),
                     .op = "add",
                     .op_version = 1,
                     .id = "twice",
                     .inputs = e->add_inputs,
                     .input_count = 2,
                     .outputs = e->add_outputs,
                     .output_count = 1};
  e->mul = (ph_node){.struct_size = sizeof(ph_node),
                     .op = "mul",
                     .op_version = 1,
                     .id = "scaled",
                     .inputs = e->mul_inputs,
                     .input_count = 2,
                     .outputs = e->mul_outputs,
                     .output_count = 1};
  e->nodes[0] = &e->add;
  e->nodes[1] = &e->mul;
  e->graph = (ph_graph){sizeof(ph_graph), e->tensors, 4, e->nodes, 2};
}

/* ---- backend, device ---- */

static void test_describes_one_device(void **state) {
  (void)state;
  session s;
  session_open(&s);
  assert_int_equal(s.backend->abi_version >> 16, PH_ABI_MAJOR);
  uint32_t count = 0;
  assert_int_equal(s.backend->device_count(s.context, &count, NULL), PH_OK);
  assert_int_equal(count, 1);
  ph_device_info info = {.struct_size = sizeof(info)}, limits = {.struct_size = sizeof(limits)};
  assert_int_equal(s.backend->device_info(s.context, 0, &info, NULL), PH_OK);
  assert_int_equal(s.backend->device_limits(s.device, &limits, NULL), PH_OK);
  assert_string_equal(info.id, "reference");
  assert_int_equal(info.alignment, 64);
  assert_int_equal(limits.max_buffer_bytes, info.max_buffer_bytes);
  session_close(&s);
}

/* A host of an older minor version has shorter structs: nothing is written behind them. */
static void test_older_hosts_have_shorter_structs(void **state) {
  (void)state;
  session s;
  session_open(&s);
  ph_device_info info;
  memset(&info, 0x5a, sizeof(info));
  info.struct_size = (uint32_t)offsetof(ph_device_info, name);
  assert_int_equal(s.backend->device_info(s.context, 0, &info, NULL), PH_OK);
  assert_string_equal(info.id, "reference");
  assert_int_equal(info.name[0], 0x5a);
  assert_int_equal(info.struct_size, offsetof(ph_device_info, name));
  session_close(&s);
}

static void test_refuses_options_and_other_devices(void **state) {
  (void)state;
  session s;
  session_open(&s);
  ph_option option = {"profile", "gpu"};
  ph_device *device = NULL;
  ph_error error = PH_ERROR_INIT;
  assert_int_equal(s.backend->device_open(s.context, 0, &option, 1, &device, &error), PH_INVALID);
  assert_non_null(strstr(error.message, "'profile'"));
  assert_int_equal(s.backend->device_open(s.context, 1, NULL, 0, &device, &error), PH_UNAVAILABLE);
  assert_null(device);
  session_close(&s);
}

static void test_destroying_nothing_is_fine(void **state) {
  (void)state;
  const ph_backend *backend = ph_reference_backend();
  backend->close(NULL);
  backend->device_close(NULL);
  backend->buffer_destroy(NULL);
  backend->program_destroy(NULL);
  backend->plan_destroy(NULL);
  backend->queue_destroy(NULL);
}

/* ---- supports ---- */

static void test_supports(void **state) {
  (void)state;
  session s;
  example e;
  session_open(&s);
  example_open(&e);
  ph_support support = {.struct_size = sizeof(support)};
  assert_int_equal(s.backend->supports(s.device, &e.graph, 0, &support, NULL), PH_OK);
  assert_true(support.supported);
  assert_int_equal(support.stage_type[PH_STAGE_ACCUM], PH_DTYPE_NONE);

  e.mul.op = "linear";
  assert_int_equal(s.backend->supports(s.device, &e.graph, 1, &support, NULL), PH_OK);
  assert_int_equal(support.stage_type[PH_STAGE_ACCUM], PH_F64);

  e.mul.op_version = 2;
  assert_int_equal(s.backend->supports(s.device, &e.graph, 1, &support, NULL), PH_OK);
  assert_false(support.supported);
  assert_non_null(strstr(support.reason, "version 2"));

  e.x.rank = 3;
  for (int i = 0; i < 3; i++) e.x.dims[i] = INT64_C(1) << 30, e.x.strides[i] = INT64_C(1) << (60 - 30 * i);
  assert_int_equal(s.backend->supports(s.device, &e.graph, 0, &support, NULL), PH_OK);
  assert_false(support.supported);
  assert_non_null(strstr(support.reason, "'x'"));
  session_close(&s);
}

/* ---- running ---- */

static ph_buffer *buffer_of(const session *s, uint64_t bytes) {
  ph_buffer *buffer = NULL;
  assert_int_equal(s->backend->buffer_create(s->device, bytes, &buffer, NULL), PH_OK);
  return buffer;
}

static void test_runs_a_graph_that_the_host_has_forgotten(void **state) {
  (void)state;
  session s;
  session_open(&s);
  const ph_backend *b = s.backend;
  example *e = malloc(sizeof(*e));
  example_open(e);
  float weights[] = {10, 100};
  e->w.data = weights;
  ph_program *program = NULL;
  ph_plan *plan = NULL;
  uint64_t workspace = 1;
  assert_int_equal(b->program_create(s.device, &e->graph, &program, NULL), PH_OK);
  assert_int_equal(b->plan_create(program, &e->graph, &plan, &workspace, NULL), PH_OK);
  assert_int_equal(workspace, 0);
  memset(e, 0xff, sizeof(*e)); /* what was passed in died with the calls */
  free(e);

  ph_buffer *io = buffer_of(&s, 256), *inner = buffer_of(&s, 64);
  const float x[] = {1, 1e-8f + 1};
  float guard[64];
  for (int i = 0; i < 64; i++) guard[i] = 7;
  assert_int_equal(b->write(s.queue, io, 0, guard, sizeof(guard), NULL), PH_OK);
  assert_int_equal(b->write(s.queue, io, 64, x, sizeof(x), NULL), PH_OK);
  const ph_binding bindings[] = {{0, io, 64}, {1, inner, 0}, {3, io, 128}};
  ph_node_time times[2] = {{0}};
  for (int run = 0; run < 2; run++) { /* the same plan twice */
    assert_int_equal(b->execute(s.queue, plan, bindings, 3, NULL, times, NULL), PH_OK);
    assert_int_equal(b->finish(s.queue, NULL), PH_OK);
  }
  assert_true(times[0].start_ns > 0 && times[0].end_ns >= times[0].start_ns && times[1].start_ns >= times[0].end_ns);
  float all[64];
  assert_int_equal(b->read(s.queue, all, io, 0, sizeof(all), NULL), PH_OK);
  for (int i = 0; i < 64; i++) {
    bool is_x = i == 16 || i == 17, is_z = i == 32 || i == 33;
    if (!is_x && !is_z) assert_true(all[i] == 7); /* nothing outside a tensor was touched */
  }
  assert_true(all[32] == 20 && all[33] == 200);

  uint16_t *y = NULL; /* 2 and 2 in f16: the node's one rounding */
  assert_int_equal(b->buffer_map(s.queue, inner, 0, 4, PH_MAP_READ, (void **)&y, NULL), PH_OK);
  assert_int_equal(y[0], 0x4000);
  assert_int_equal(y[1], 0x4000);
  assert_int_equal(b->buffer_unmap(s.queue, inner, NULL), PH_OK);
  b->buffer_destroy(inner);
  b->buffer_destroy(io);
  b->plan_destroy(plan);
  b->program_destroy(program);
  session_close(&s);
}

static void test_unknown_op_names_its_node(void **state) {
  (void)state;
  session s;
  example e;
  session_open(&s);
  example_open(&e);
  e.mul.op = "fourier";
  ph_program *program = NULL;
  ph_error error = PH_ERROR_INIT;
  assert_int_equal(s.backend->program_create(s.device, &e.graph, &program, &error), PH_UNSUPPORTED);
  assert_int_equal(error.node, 1);
  assert_non_null(strstr(error.message, "'scaled'"));
  assert_null(program);
  session_close(&s);
}

static void test_bindings_must_lie_inside_their_buffers(void **state) {
  (void)state;
  session s;
  example e;
  session_open(&s);
  example_open(&e);
  const ph_backend *b = s.backend;
  ph_program *program = NULL;
  ph_plan *plan = NULL;
  uint64_t workspace;
  ph_error error = PH_ERROR_INIT;
  assert_int_equal(b->program_create(s.device, &e.graph, &program, NULL), PH_OK);
  assert_int_equal(b->plan_create(program, &e.graph, &plan, &workspace, NULL), PH_OK);
  ph_buffer *buffer = buffer_of(&s, 64);
  const ph_binding outside[] = {{0, buffer, 60}}, unknown[] = {{9, buffer, 0}}, missing[] = {{0, NULL, 0}};
  const ph_binding *cases[] = {outside, unknown, missing};
  for (int i = 0; i < 3; i++) assert_int_equal(b->execute(s.queue, plan, cases[i], 1, NULL, NULL, &error), PH_INVALID);
  assert_int_equal(b->write(s.queue, buffer, 60, &error, 5, &error), PH_INVALID);
  assert_int_equal(b->read(s.queue, &error, buffer, 65, 0, &error), PH_INVALID);
  const ph_binding too_few[] = {{0, buffer, 0}, {1, buffer, 16}};
  assert_int_equal(b->execute(s.queue, plan, too_few, 2, NULL, NULL, &error), PH_INVALID);
  assert_non_null(strstr(error.message, "'z'"));
  ph_buffer *none = NULL;
  assert_int_equal(b->buffer_create(s.device, 0, &none, &error), PH_INVALID);
  assert_int_equal(b->buffer_create(s.device, UINT64_MAX, &none, &error), PH_OUT_OF_MEMORY);
  b->buffer_destroy(buffer);
  b->plan_destroy(plan);
  b->program_destroy(program);
  session_close(&s);
}

/* The cache is input and output at once. */
static void test_cache_write_in_place(void **state) {
  (void)state;
  session s;
  session_open(&s);
  const ph_backend *b = s.backend;
  oracle_case c;
  case_open(&c, "cache_write");
  case_fill(&c, PH_F32, DIMS(1, 4), 0);
  case_fill(&c, PH_F32, DIMS(1, 2), 0);
  case_fill(&c, PH_I64, DIMS(1), 0);
  case_integer(&c, "axis", 1);
  case_integer(&c, "ring", 1);
  c.outputs[c.node.output_count++] = 0;
  ph_program *program = NULL;
  ph_plan *plan = NULL;
  uint64_t workspace;
  assert_int_equal(b->program_create(s.device, &c.graph, &program, NULL), PH_OK);
  assert_int_equal(b->plan_create(program, &c.graph, &plan, &workspace, NULL), PH_OK);
  ph_buffer *cache = buffer_of(&s, 16), *x = buffer_of(&s, 8), *offset = buffer_of(&s, 8);
  float slots[] = {1, 2, 3, 4};
  const float rows[] = {8, 9};
  const int64_t at = 3;
  assert_int_equal(b->write(s.queue, cache, 0, slots, sizeof(slots), NULL), PH_OK);
  assert_int_equal(b->write(s.queue, x, 0, rows, sizeof(rows), NULL), PH_OK);
  assert_int_equal(b->write(s.queue, offset, 0, &at, sizeof(at), NULL), PH_OK);
  const ph_binding bindings[] = {{0, cache, 0}, {1, x, 0}, {2, offset, 0}};
  assert_int_equal(b->execute(s.queue, plan, bindings, 3, NULL, NULL, NULL), PH_OK);
  assert_int_equal(b->read(s.queue, slots, cache, 0, sizeof(slots), NULL), PH_OK);
  const float expected[] = {9, 2, 3, 8};
  assert_memory_equal(slots, expected, sizeof(slots));
  b->buffer_destroy(cache);
  b->buffer_destroy(x);
  b->buffer_destroy(offset);
  b->plan_destroy(plan);
  b->program_destroy(program);
  case_close(&c);
  session_close(&s);
}

/* Lists, texts and absent operands survive the copy; tensors without elements have no buffer. */
static void test_empty_tensors_and_attributes(void **state) {
  (void)state;
  session s;
  session_open(&s);
  const ph_backend *b = s.backend;
  oracle_case c;
  case_open(&c, "attention");
  case_fill(&c, PH_F32, DIMS(1, 1, 1, 2), 0);
  case_fill(&c, PH_F32, DIMS(1, 1, 0, 2), 0);
  case_fill(&c, PH_F32, DIMS(1, 1, 0, 2), 0);
  case_absent(&c, 5);
  case_text(&c, "align", "top_left");
  case_list(&c, "window", 2, (const int64_t[]){1, 1});
  case_output(&c, PH_F32, DIMS(1, 1, 1, 2));
  case_no_output(&c);
  ph_program *program = NULL;
  ph_plan *plan = NULL;
  uint64_t workspace;
  assert_int_equal(b->program_create(s.device, &c.graph, &program, NULL), PH_OK);
  assert_int_equal(b->plan_create(program, &c.graph, &plan, &workspace, NULL), PH_OK);
  ph_buffer *q = buffer_of(&s, 8), *y = buffer_of(&s, 8);
  float zeros[2] = {0}, result[] = {5, 5};
  assert_int_equal(b->write(s.queue, q, 0, zeros, sizeof(zeros), NULL), PH_OK);
  const ph_binding bindings[] = {{0, q, 0}, {1, NULL, 0}, {2, NULL, 0}, {3, y, 0}};
  assert_int_equal(b->execute(s.queue, plan, bindings, 4, NULL, NULL, NULL), PH_OK);
  assert_int_equal(b->read(s.queue, result, y, 0, sizeof(result), NULL), PH_OK);
  assert_memory_equal(result, zeros, sizeof(zeros));
  b->buffer_destroy(q);
  b->buffer_destroy(y);
  b->plan_destroy(plan);
  b->program_destroy(program);
  case_close(&c);
  session_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_describes_one_device),
      cmocka_unit_test(test_older_hosts_have_shorter_structs),
      cmocka_unit_test(test_refuses_options_and_other_devices),
      cmocka_unit_test(test_destroying_nothing_is_fine),
      cmocka_unit_test(test_supports),
      cmocka_unit_test(test_runs_a_graph_that_the_host_has_forgotten),
      cmocka_unit_test(test_unknown_op_names_its_node),
      cmocka_unit_test(test_bindings_must_lie_inside_their_buffers),
      cmocka_unit_test(test_cache_write_in_place),
      cmocka_unit_test(test_empty_tensors_and_attributes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
