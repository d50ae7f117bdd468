/* Sessions through the public API: new dims, one program, fallback, kept values, failures that poison. */
#include <polyhead/polyhead.h>
#include <pthread.h>

#include "scratch.h"

static const char config[] = "polyhead: 1\n"
                             "dims: {batch: 1, seq: 3, model: 4}\n"
                             "inputs:\n"
                             "  x: {shape: [batch, seq, model], default: {random: normal, seed: 1}}\n"
                             "weights:\n"
                             "  tensors:\n"
                             "    w: {shape: [model, model], init: {random: xavier_uniform, seed: 2}}\n"
                             "    table: {shape: [5, model], init: {random: normal, seed: 3}}\n"
                             "graph:\n"
                             "  - {name: q, op: linear, inputs: [x, w]}\n"
                             "  - {name: scores, op: scaled_scores, inputs: [q, x]}\n"
                             "  - {name: weights, op: softmax, inputs: [scores]}\n"
                             "  - {name: mixed, op: weighted_sum, inputs: [weights, x]}\n"
                             "  - {name: places, op: positions, inputs: {like: x}}\n"
                             "  - {name: rows, op: embedding, inputs: [places, table]}\n"
                             "  - {name: y, op: add, inputs: [mixed, rows]}\n"
                             "outputs: [y]\n";

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
  if (scratch_create(&f->folder) != 0) return -1;
  char path[SCRATCH_PATH_SIZE];
  snprintf(path, sizeof(path), "%s/model.yaml", (const char *)f->folder);
  FILE *file = fopen(path, "w");
  if (file == NULL || fputs(config, file) < 0 || fclose(file) != 0) return -1;
  const char *plugins[] = {MUTANT};
  ph_context_options options = {.struct_size = sizeof(options), .plugins = plugins, .plugin_count = 1};
  if (ph_context_create(&options, &f->context, &f->error) != PH_OK) return -1;
  return ph_model_load(path, NULL, &f->model, &f->error) == PH_OK ? 0 : -1;
}

static int tear_down(void **state) {
  fixture *f = *state;
  ph_model_destroy(f->model);
  ph_context_destroy(f->context);
  int result = scratch_remove(&f->folder);
  free(f);
  return result;
}

static ph_session *open_session(fixture *f, const char *device, ph_fallback fallback, const char *keep) {
  ph_session_options options = {.struct_size = sizeof(options),
                                .device = device,
                                .fallback = fallback,
                                .keep = &keep,
                                .keep_count = keep != NULL};
  ph_session *session;
  assert_int_equal(ph_session_create(f->context, f->model, &options, &session, &f->error), PH_OK);
  return session;
}

static ph_tensor *tokens(int64_t seq) {
  ph_tensor *x;
  assert_int_equal(ph_tensor_create(PH_F32, 3, (int64_t[]){1, seq, 4}, &x, NULL), PH_OK);
  for (size_t i = 0; i < x->count; i++) ((float *)x->data)[i] = (float)(i % 7) - 3;
  return x;
}

static void run_with(fixture *f, ph_session *session, int64_t seq) {
  ph_tensor *x = tokens(seq);
  assert_int_equal(ph_session_set_input(session, "x", x, &f->error), PH_OK);
  ph_tensor_release(x);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK);
}

/* The first rows do not depend on what a longer run before left behind. */
static void dims_change_between_runs(void **state) {
  fixture *f = *state;
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE, NULL), *fresh;
  run_with(f, session, 2);
  assert_int_equal(ph_session_output(session, 0)->tensor->dims[1], 2);
  run_with(f, session, 5);
  assert_int_equal(ph_session_output(session, 0)->tensor->dims[1], 5);
  run_with(f, session, 0);
  assert_int_equal(ph_session_output(session, 0)->tensor->count, 0);
  run_with(f, session, 2);
  fresh = open_session(f, "reference", PH_FALLBACK_NONE, NULL);
  run_with(f, fresh, 2);
  assert_memory_equal(ph_session_output(session, 0)->tensor->data, ph_session_output(fresh, 0)->tensor->data,
                      2 * 4 * 4);
  ph_session_destroy(fresh);
  ph_session_destroy(session);
}

static void fused_and_in_steps_agree(void **state) {
  fixture *f = *state;
  ph_session *fused = open_session(f, "reference", PH_FALLBACK_NONE, NULL);
  ph_session *steps = open_session(f, "reference", PH_FALLBACK_NONE, "weights");
  run_with(f, fused, 4);
  run_with(f, steps, 4);
  assert_int_equal(ph_session_node_count(fused), 5);
  assert_int_equal(ph_session_node_count(steps), 7);
  assert_string_equal(ph_session_node(fused, 1)->members[0], "scores");
  assert_int_equal(ph_session_output_count(steps), 2);
  assert_string_equal(ph_session_output(steps, 1)->path, "weights");
  const float *a = ph_session_output(fused, 0)->tensor->data, *b = ph_session_output(steps, 0)->tensor->data;
  for (size_t i = 0; i < 16; i++) assert_true(a[i] - b[i] < 1e-6f && b[i] - a[i] < 1e-6f);
  ph_session_destroy(fused);
  ph_session_destroy(steps);
}

static void a_refused_node_has_a_reason_or_a_fallback(void **state) {
  fixture *f = *state;
  ph_session *session = open_session(f, "mutant,refuse=embedding", PH_FALLBACK_NONE, NULL);
  assert_int_equal(ph_session_run(session, &f->error), PH_UNSUPPORTED);
  assert_non_null(strstr(f->error.message, "node 'rows' (embedding)"));
  assert_non_null(strstr(f->error.message, "--fallback reference"));
  assert_int_equal(ph_session_prepare(session, true, &f->error), PH_OK);
  assert_null(ph_session_node(session, 3)->device);
  assert_non_null(ph_session_node(session, 3)->reason);
  ph_session_destroy(session);

  ph_session *mixed = open_session(f, "mutant,refuse=embedding", PH_FALLBACK_REFERENCE, NULL);
  ph_session *whole = open_session(f, "reference", PH_FALLBACK_NONE, NULL);
  run_with(f, mixed, 3);
  run_with(f, whole, 3);
  assert_string_equal(ph_session_node(mixed, 3)->device, "reference:0");
  assert_string_equal(ph_session_node(mixed, 4)->device, "mutant:0");
  assert_memory_equal(ph_session_output(mixed, 0)->tensor->data, ph_session_output(whole, 0)->tensor->data, 3 * 4 * 4);
  ph_session_destroy(mixed);
  ph_session_destroy(whole);
}

static void a_refused_attention_runs_in_steps(void **state) {
  fixture *f = *state;
  ph_session *session = open_session(f, "mutant,refuse=attention", PH_FALLBACK_NONE, NULL);
  run_with(f, session, 3);
  assert_int_equal(ph_session_node_count(session), 7);
  ph_session_destroy(session);
}

/* positions run past the table: they are computed, so the backend gives NaN and the run goes on. */
static void computed_ids_outside_the_table_give_nan(void **state) {
  fixture *f = *state;
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE, NULL);
  run_with(f, session, 6);
  const float *y = ph_session_output(session, 0)->tensor->data;
  assert_true(y[4 * 4] == y[4 * 4]);
  assert_true(y[5 * 4] != y[5 * 4]);
  ph_session_destroy(session);
}

static void inputs_are_checked_in_words(void **state) {
  fixture *f = *state;
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE, NULL);
  ph_tensor *wrong;
  assert_int_equal(ph_tensor_create(PH_I64, 3, (int64_t[]){1, 2, 4}, &wrong, NULL), PH_OK);
  assert_int_equal(ph_session_set_input(session, "x", wrong, &f->error), PH_INVALID);
  assert_non_null(strstr(f->error.message, "input x: expected f32, the tensor given has i64"));
  assert_int_equal(ph_session_set_input(session, "xx", wrong, &f->error), PH_INVALID);
  assert_non_null(strstr(f->error.message, "did you mean 'x'"));
  ph_tensor_release(wrong);
  assert_int_equal(ph_tensor_create(PH_F32, 3, (int64_t[]){1, 2, 8}, &wrong, NULL), PH_OK);
  assert_int_equal(ph_session_set_input(session, "x", wrong, &f->error), PH_OK);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK); /* model is 8 then, and so are the weights */
  assert_int_equal(ph_session_output(session, 0)->tensor->dims[2], 8);
  ph_tensor_release(wrong);
  ph_session_destroy(session);
}

static void a_path_that_is_not_there_names_the_nearest(void **state) {
  fixture *f = *state;
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE, "weightz");
  assert_int_equal(ph_session_run(session, &f->error), PH_INVALID);
  assert_non_null(strstr(f->error.message, "did you mean 'weights'"));
  ph_session_destroy(session);
}

static void *run_in_a_thread(void *user) {
  fixture *f = user;
  ph_session_options options = {.struct_size = sizeof(options), .device = "reference"};
  ph_session *session = NULL;
  bool good = ph_session_create(f->context, f->model, &options, &session, NULL) == PH_OK;
  for (int64_t seq = 1; good && seq < 6; seq++) {
    ph_tensor *x = NULL;
    good = ph_tensor_create(PH_F32, 3, (int64_t[]){1, seq, 4}, &x, NULL) == PH_OK &&
           ph_session_set_input(session, "x", x, NULL) == PH_OK && ph_session_run(session, NULL) == PH_OK &&
           ph_session_output(session, 0)->tensor->dims[1] == seq;
    ph_tensor_release(x);
  }
  ph_session_destroy(session);
  return good ? f : NULL;
}

static void sessions_of_one_model_run_in_threads(void **state) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_in_a_thread, *state), 0);
  for (int i = 0; i < THREADS; i++) {
    void *result;
    assert_int_equal(pthread_join(threads[i], &result), 0);
    assert_non_null(result);
  }
}

/* What was checked is not checked again, but what was found wrong is. */
static void wrong_ids_are_wrong_each_time(void **state) {
  static const char text[] = "polyhead: 1\n"
                             "dims: {seq: 2}\n"
                             "inputs: {ids: {shape: [seq], dtype: i64}}\n"
                             "weights: {tensors: {table: {shape: [5, 4], init: {random: normal, seed: 3}}}}\n"
                             "graph: [{name: y, op: embedding, inputs: [ids, table]}]\n"
                             "outputs: [y]\n";
  fixture *f = *state;
  char path[SCRATCH_PATH_SIZE];
  snprintf(path, sizeof(path), "%s/ids.yaml", (const char *)f->folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
  ph_model *model;
  assert_int_equal(ph_model_load(path, NULL, &model, &f->error), PH_OK);
  ph_session_options options = {.struct_size = sizeof(options), .device = "reference"};
  ph_session *session;
  assert_int_equal(ph_session_create(f->context, model, &options, &session, &f->error), PH_OK);
  ph_tensor *ids;
  assert_int_equal(ph_tensor_create(PH_I64, 1, (int64_t[]){2}, &ids, NULL), PH_OK);
  int64_t *values = ids->data;
  values[1] = 5;
  assert_int_equal(ph_session_set_input(session, "ids", ids, &f->error), PH_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(ph_session_run(session, &f->error), PH_INVALID);
    assert_non_null(strstr(f->error.message, "ids[1] is 5"));
  }
  values[1] = 4; /* the tensor's maker may use it again, if it gives it again */
  assert_int_equal(ph_session_set_input(session, "ids", ids, &f->error), PH_OK);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK);
  values[1] = 7;
  assert_int_equal(ph_session_set_input(session, "ids", ids, &f->error), PH_OK);
  assert_int_equal(ph_session_run(session, &f->error), PH_INVALID);
  ph_tensor_release(ids);
  ph_session_destroy(session);
  ph_model_destroy(model);
}

/* An output that somebody has is not written to by later runs; nor does it go with the session. */
static void outputs_that_are_kept_stay(void **state) {
  fixture *f = *state;
  ph_session *session = open_session(f, "reference", PH_FALLBACK_NONE, NULL);
  run_with(f, session, 3);
  ph_tensor *kept = ph_tensor_retain(ph_session_output(session, 0)->tensor);
  float first = ((float *)kept->data)[0];
  ph_tensor *x = tokens(3);
  for (size_t i = 0; i < x->count; i++) ((float *)x->data)[i] = 9;
  assert_int_equal(ph_session_set_input(session, "x", x, &f->error), PH_OK);
  ph_tensor_release(x);
  assert_int_equal(ph_session_run(session, &f->error), PH_OK);
  assert_true(((float *)ph_session_output(session, 0)->tensor->data)[0] != first);
  assert_true(((float *)kept->data)[0] == first);
  ph_session_destroy(session);
  assert_true(((float *)kept->data)[0] == first);
  ph_tensor_release(kept);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(dims_change_between_runs),
      TEST(fused_and_in_steps_agree),
      TEST(a_refused_node_has_a_reason_or_a_fallback),
      TEST(a_refused_attention_runs_in_steps),
      TEST(computed_ids_outside_the_table_give_nan),
      TEST(inputs_are_checked_in_words),
      TEST(wrong_ids_are_wrong_each_time),
      TEST(outputs_that_are_kept_stay),
      TEST(a_path_that_is_not_there_names_the_nearest),
      TEST(sessions_of_one_model_run_in_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
