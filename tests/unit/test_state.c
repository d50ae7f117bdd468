/* States: caches that fill, values that carry on, one device, what a reset brings back. */
#include <polyhead/polyhead.h>

#include "scratch.h"

static const char cache_config[] =
    "polyhead: 1\n"
    "dims: {batch: 1, seq: 1, slots: 8, model: 4}\n"
    "inputs:\n"
    "  x: {shape: [batch, seq, model]}\n"
    "  past: {dtype: i64, shape: [batch]}\n"
    "state:\n"
    "  cache: {shape: [batch, 1, slots, model], next: keys}\n"
    "graph:\n"
    "  - {name: heads, op: split_heads, inputs: [x], heads: 1}\n"
    "  - {name: keys, op: cache_write, inputs: [cache, heads, past]}\n"
    "  - {name: mixed, op: attention, inputs: {q: heads, k: keys, v: keys, offset: past}, causal: true}\n"
    "  - {name: y, op: concat_heads, inputs: [mixed]}\n"
    "outputs: [y]\n";

/* a and b change places in every run; n counts. */
static const char carry_config[] = "polyhead: 1\n"
                                   "dims: {size: 2}\n"
                                   "inputs:\n"
                                   "  one: {shape: [size], default: {fill: 1}}\n"
                                   "state:\n"
                                   "  a: {shape: [size], init: {values: [1, 2]}, next: b}\n"
                                   "  b: {shape: [size], init: {values: [3, 4]}, next: a}\n"
                                   "  n: {shape: [size], next: more}\n"
                                   "graph:\n"
                                   "  - {name: more, op: add, inputs: [n, one]}\n"
                                   "  - {name: y, op: add, inputs: [a, more]}\n"
                                   "outputs: [y, more]\n";

/* `far` depends on the held input alone, and `near` on both. */
static const char held_config[] = "polyhead: 1\n"
                                  "dims: {batch: 1, long: 3, short: 1, model: 2}\n"
                                  "inputs:\n"
                                  "  source: {shape: [batch, long, model], hold: true, default: {fill: 1}}\n"
                                  "  x: {shape: [batch, short, model], default: {fill: 1}}\n"
                                  "graph:\n"
                                  "  - {name: near, op: exp, inputs: [x]}\n"
                                  "  - {name: far, op: exp, inputs: [source]}\n"
                                  "  - {name: y, op: attention, inputs: [near, far, far]}\n"
                                  "outputs: [y, far]\n";

typedef struct fixture {
  void *folder;
  ph_context *context;
  ph_model *model;
  ph_error error;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  *state = f;
  f->error = (ph_error)PH_ERROR_INIT;
  const char *plugins[] = {MUTANT};
  ph_context_options options = {.struct_size = sizeof(options), .plugins = plugins, .plugin_count = 1};
  if (scratch_create(&f->folder) != 0) return -1;
  return ph_context_create(&options, &f->context, &f->error) == PH_OK ? 0 : -1;
}

static int tear_down(void **state) {
  fixture *f = *state;
  ph_model_destroy(f->model);
  ph_context_destroy(f->context);
  int result = scratch_remove(&f->folder);
  free(f);
  return result;
}

static ph_status load(fixture *f, const char *config) {
  char path[SCRATCH_PATH_SIZE];
  snprintf(path, sizeof(path), "%s/model.yaml", (const char *)f->folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(config, file) >= 0 && fclose(file) == 0);
  return ph_model_load(path, NULL, &f->model, &f->error);
}

static ph_session *open_session(fixture *f, const char *device, ph_fallback fallback) {
  ph_session_options options = {.struct_size = sizeof(options), .device = device, .fallback = fallback};
  ph_session *session;
  assert_int_equal(ph_session_create(f->context, f->model, &options, &session, &f->error), PH_OK);
  return session;
}

/* Tokens first .. first + count - 1 of a fixed sequence, written at slot `first`. */
static ph_status feed(fixture *f, ph_session *session, int64_t first, int64_t count) {
  ph_tensor *x, *past;
  assert_int_equal(ph_tensor_create(PH_F32, 3, (int64_t[]){1, count, 4}, &x, NULL), PH_OK);
  assert_int_equal(ph_tensor_create(PH_I64, 1, (int64_t[]){1}, &past, NULL), PH_OK);
  for (int64_t i = 0; i < count * 4; i++) ((float *)x->data)[i] = (float)((first * 4 + i) * 7 % 11) / 5 - 1;
  *(int64_t *)past->data = first;
  assert_int_equal(ph_session_set_input(session, "x", x, &f->error), PH_OK);
  assert_int_equal(ph_session_set_input(session, "past", past, &f->error), PH_OK);
  ph_tensor_release(x);
  ph_tensor_release(past);
  return ph_session_run(session, &f->error);
}

static void expect_rows(const ph_session *session, const float *whole, int64_t first, int64_t count) {
  const ph_tensor *y = ph_session_output(session, 0)->tensor;
  assert_int_equal(y->count, count * 4);
  for (int64_t i = 0; i < count * 4; i++) {
    float difference = ((const float *)y->data)[i] - whole[first * 4 + i];
    assert_true(difference < 1e-6f && difference > -1e-6f);
  }
}

/* R017: a prompt in chunks of any size gives what one pass gives; going back by `past` too. */
static void chunks_equal_one_pass(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, cache_config), PH_OK);
  ph_session *at_once = open_session(f, "reference", PH_FALLBACK_NONE);
  assert_int_equal(feed(f, at_once, 0, 6), PH_OK);
  float whole[24];
  memcpy(whole, ph_session_output(at_once, 0)->tensor->data, sizeof(whole));
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE);
  const int64_t chunks[] = {3, 1, 2};
  for (int64_t first = 0, i = 0; i < 3; first += chunks[i], i++) {
    assert_int_equal(feed(f, session, first, chunks[i]), PH_OK);
    expect_rows(session, whole, first, chunks[i]);
  }
  assert_int_equal(feed(f, session, 2, 4), PH_OK);
  expect_rows(session, whole, 2, 4);
  assert_int_equal(ph_session_reset(session, &f->error), PH_OK);
  assert_int_equal(feed(f, session, 0, 2), PH_OK);
  expect_rows(session, whole, 0, 2);
  ph_session_destroy(session);
  ph_session_destroy(at_once);
}

static void a_write_past_the_end_changes_nothing(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, cache_config), PH_OK);
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE);
  assert_int_equal(feed(f, session, 0, 6), PH_OK);
  assert_int_equal(feed(f, session, 6, 3), PH_INVALID);
  assert_non_null(strstr(f->error.message, "offset[0] is 6, but must lie between 0 and 5"));
  assert_int_equal(feed(f, session, 6, 2), PH_OK); /* the session was not poisoned */
  ph_session_destroy(session);
}

static void everyone_reads_the_old_value(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, carry_config), PH_OK);
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE);
  const float expected[][2] = {{1 + 1, 2 + 1}, {3 + 2, 4 + 2}, {1 + 3, 2 + 3}};
  for (int round = 0; round < 2; round++) {
    for (int run = 0; run < 3; run++) {
      assert_int_equal(ph_session_run(session, &f->error), PH_OK);
      assert_memory_equal(ph_session_output(session, 0)->tensor->data, expected[run], sizeof(expected[run]));
    }
    assert_int_equal(ph_session_reset(session, &f->error), PH_OK);
  }
  ph_session_destroy(session);
}

static void a_state_lives_on_one_device(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, cache_config), PH_OK);
  ph_session *session = open_session(f, "mutant,refuse=cache_write", PH_FALLBACK_REFERENCE);
  assert_int_equal(feed(f, session, 0, 2), PH_UNSUPPORTED);
  assert_non_null(strstr(f->error.message, "a state lives on one device"));
  ph_session_destroy(session);
}

static void what_it_becomes_must_look_like_it(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, "polyhead: 1\n"
                           "dims: {a: 2, b: 3}\n"
                           "inputs: {x: {shape: [b], default: {fill: 0}}}\n"
                           "state: {s: {shape: [a], next: y}}\n"
                           "graph:\n"
                           "  - {name: z, op: relu, inputs: [s]}\n"
                           "  - {name: y, op: relu, inputs: [x]}\n"
                           "outputs: [z]\n"),
                   PH_OK);
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE);
  assert_int_equal(ph_session_run(session, &f->error), PH_INVALID);
  assert_non_null(strstr(f->error.message, "model.yaml:4:9: error: state 's' is f32 [2], but next, 'y', is f32 [3]"));
  ph_session_destroy(session);
}

static ph_tensor *filled(int64_t rows, float value) {
  ph_tensor *x;
  assert_int_equal(ph_tensor_create(PH_F32, 3, (int64_t[]){1, rows, 2}, &x, NULL), PH_OK);
  for (size_t i = 0; i < x->count; i++) ((float *)x->data)[i] = value;
  return x;
}

/* The same tensor comes out as long as it is not computed anew. */
static void what_is_held_is_computed_once(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, held_config), PH_OK);
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK);
  assert_string_equal(ph_session_node(session, 0)->path, "far"); /* first, whatever the file's order */
  ph_tensor *kept = ph_tensor_retain(ph_session_output(session, 1)->tensor);
  ph_tensor *x = filled(4, 2);
  assert_int_equal(ph_session_set_input(session, "x", x, &f->error), PH_OK);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK); /* other dims, so another plan */
  assert_ptr_equal(ph_session_output(session, 1)->tensor, kept);
  ph_tensor *source = filled(3, 0);
  assert_int_equal(ph_session_set_input(session, "source", source, &f->error), PH_OK);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK);
  assert_ptr_not_equal(ph_session_output(session, 1)->tensor, kept);
  assert_true(((const float *)ph_session_output(session, 1)->tensor->data)[0] == 1.0f);
  assert_true(((const float *)ph_session_output(session, 0)->tensor->data)[0] == 1.0f);
  ph_tensor_release(kept);
  ph_tensor_release(x);
  ph_tensor_release(source);
  ph_session_destroy(session);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(chunks_equal_one_pass),
      TEST(a_write_past_the_end_changes_nothing),
      TEST(everyone_reads_the_old_value),
      TEST(a_state_lives_on_one_device),
      TEST(what_it_becomes_must_look_like_it),
      TEST(what_is_held_is_computed_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
