/* What sessions ask of a driver, run after run, counted by the stub driver: nothing twice that can be done once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <polyhead/polyhead.h>

#include "scratch.h"
#include "stub_icd.h"

static const stub_icd_control *stub;

/* An output of 64 KiB at seq 256: worth wrapping. */
static const char config[] = "polyhead: 1\n"
                             "dims: {seq: 256, model: 64}\n"
                             "inputs:\n"
                             "  x: {shape: [seq, model]}\n"
                             "weights:\n"
                             "  tensors:\n"
                             "    w: {shape: [model, model], init: {random: xavier_uniform, seed: 1}}\n"
                             "graph:\n"
                             "  - {name: q, op: linear, inputs: [x, w]}\n"
                             "  - {name: y, op: silu, inputs: [q]}\n"
                             "outputs: [y]\n";

typedef struct fixture {
  char *folder;
  ph_context *context;
  ph_model *model;
  ph_session *session;
  ph_error error;
} fixture;

static void open_all(fixture *f, bool unified) {
  *f = (fixture){.folder = scratch_folder(), .error = {.struct_size = sizeof(f->error)}};
  stub->unify_memory(unified);
  setenv("POLYHEAD_CACHE_DIR", f->folder, 1);
  char path[256];
  snprintf(path, sizeof(path), "%s/model.yaml", f->folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(config, file) >= 0 && fclose(file) == 0);
  const char *plugins[] = {TEST_PLUGIN};
  ph_context_options options = {.struct_size = sizeof(options), .plugins = plugins, .plugin_count = 1};
  assert_int_equal(ph_context_create(&options, &f->context, &f->error), PH_OK);
  if (ph_model_load(path, NULL, &f->model, &f->error) != PH_OK) fail_msg("%s", f->error.message);
  ph_session_options how = {.struct_size = sizeof(how),
                            .device = "opencl,profile=baseline"}; /* the stub is no match for CLBlast */
  assert_int_equal(ph_session_create(f->context, f->model, &how, &f->session, &f->error), PH_OK);
}

static void close_all(fixture *f) {
  ph_session_destroy(f->session);
  ph_model_destroy(f->model);
  ph_context_destroy(f->context);
  assert_int_equal(stub->live(), 0);
  assert_int_equal(stub->misuses(), 0);
  scratch_remove(f->folder);
}

static ph_tensor *tokens(int64_t seq) {
  ph_tensor *x;
  assert_int_equal(ph_tensor_create(PH_F32, 2, (int64_t[]){seq, 64}, &x, NULL), PH_OK);
  return x;
}

static void give(fixture *f, ph_tensor *x) {
  assert_int_equal(ph_session_set_input(f->session, "x", x, &f->error), PH_OK);
}

static void run(fixture *f) {
  ph_status status = ph_session_run(f->session, &f->error);
  if (status != PH_OK) fail_msg("%s", f->error.message);
}

/* A session that ran once with an input of the config's size, which is the caller's to release. */
static ph_tensor *start(fixture *f, bool unified) {
  open_all(f, unified);
  ph_tensor *x = tokens(256);
  give(f, x);
  run(f);
  return x;
}

static void assert_calls(const char *entry, unsigned wanted) {
  if (stub->calls(entry) != wanted) fail_msg("%s: %u calls, not %u", entry, stub->calls(entry), wanted);
}

/* Calls that make or bind something: none of them belongs into a run that repeats the last one. */
static void assert_only_launches(void) {
  static const char *const making[] = {
      "clCreateBuffer",       "clReleaseMemObject",   "clCreateProgramWithSource", "clCreateProgramWithBinary",
      "clBuildProgram",       "clCreateKernel",       "clReleaseKernel",           "clSetKernelArg",
      "clCreateCommandQueue", "clEnqueueWriteBuffer", "clGetDeviceInfo",           "clGetKernelWorkGroupInfo"};
  for (size_t i = 0; i < sizeof(making) / sizeof(making[0]); i++) assert_calls(making[i], 0);
  assert_true(stub->calls("clEnqueueNDRangeKernel") > 0);
}

static void a_repeated_run_launches_and_fetches(void **state) {
  (void)state;
  for (int unified = 0; unified < 2; unified++) {
    fixture f;
    ph_tensor *x = start(&f, unified != 0);
    for (int i = 0; i < 3; i++) {
      stub->arm(NULL);
      run(&f);
      assert_only_launches();
      /* One wait: the map, or the finish() after a read. */
      assert_calls("clEnqueueMapBuffer", unified ? 1 : 0);
      assert_calls("clEnqueueReadBuffer", unified ? 0 : 1);
      assert_calls("clFinish", unified ? 0 : 1);
    }
    ph_tensor_release(x);
    close_all(&f);
  }
}

/* An output that the user keeps is not written to again. */
static void a_kept_output_gets_a_successor(void **state) {
  (void)state;
  fixture f;
  ph_tensor *x = start(&f, true);
  ph_tensor *kept = ph_tensor_retain(ph_session_output(f.session, 0)->tensor);
  run(&f);
  assert_ptr_not_equal(ph_session_output(f.session, 0)->tensor, kept);
  ph_tensor *second = ph_session_output(f.session, 0)->tensor;
  run(&f);
  assert_ptr_equal(ph_session_output(f.session, 0)->tensor, second); /* nobody has it: its memory serves again */
  ph_tensor_release(kept);
  ph_tensor_release(x);
  close_all(&f);
}

static void an_input_given_again_counts_as_new(void **state) {
  (void)state;
  for (int unified = 0; unified < 2; unified++) {
    fixture f;
    ph_tensor *x = start(&f, unified != 0);
    give(&f, x);
    stub->arm(NULL);
    run(&f);
    assert_calls("clEnqueueWriteBuffer", unified ? 0 : 1);
    assert_calls("clCreateBuffer", unified ? 1 : 0);
    assert_calls("clBuildProgram", 0);
    ph_tensor_release(x);
    close_all(&f);
  }
}

static void a_new_length_compiles_nothing(void **state) {
  (void)state;
  fixture f;
  open_all(&f, true);
  for (int64_t seq = 256; seq > 250; seq--) {
    ph_tensor *x = tokens(seq);
    give(&f, x);
    ph_tensor_release(x);
    stub->arm(NULL);
    run(&f);
    if (seq == 256)
      assert_true(stub->calls("clBuildProgram") > 0);
    else
      assert_calls("clBuildProgram", 0);
  }
  close_all(&f);
}

/* The plan that is used most stays, however many lengths come in between. */
static void plans_in_use_are_kept(void **state) {
  (void)state;
  fixture f;
  open_all(&f, true);
  ph_tensor *one = tokens(1);
  for (int64_t seq = 2; seq < 40; seq++) {
    ph_tensor *x = tokens(seq);
    give(&f, x);
    ph_tensor_release(x);
    run(&f);
    give(&f, one);
    stub->arm(NULL);
    run(&f);
    if (seq > 2) assert_calls("clCreateKernel", 0);
  }
  ph_tensor_release(one);
  close_all(&f);
}

/* Each call of a repeated run fails once: the run says so, and the session works again when it is reset. */
static void a_failed_run_leaves_a_session_that_can_be_reset(void **state) {
  (void)state;
  static const char *const entries[] = {"clEnqueueNDRangeKernel", "clEnqueueMapBuffer", "clEnqueueUnmapMemObject"};
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
    fixture f;
    ph_tensor *x = start(&f, true);
    stub->arm(entries[i]);
    assert_int_equal(ph_session_run(f.session, &f.error), PH_DEVICE_FAILED);
    assert_non_null(strstr(f.error.message, entries[i]));
    assert_int_equal(ph_session_run(f.session, &f.error), PH_INVALID);
    assert_int_equal(ph_session_reset(f.session, &f.error), PH_OK);
    run(&f);
    ph_tensor_release(x);
    close_all(&f);
  }
}

/* A driver that does not want the host's memory gets copies. */
static void memory_that_is_not_wanted_is_copied(void **state) {
  (void)state;
  fixture f;
  ph_tensor *x = start(&f, true);
  give(&f, x);
  stub->arm("clCreateBuffer:1");
  run(&f);
  assert_calls("clCreateBuffer", 2);
  assert_calls("clEnqueueWriteBuffer", 1);
  ph_tensor_release(x);
  close_all(&f);
}

int main(void) {
  void *library = dlopen(TEST_STUB_ICD, RTLD_NOW);
  stub = library != NULL ? dlsym(library, "stub_icd") : NULL;
  if (stub == NULL) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_repeated_run_launches_and_fetches),
      cmocka_unit_test(a_kept_output_gets_a_successor),
      cmocka_unit_test(an_input_given_again_counts_as_new),
      cmocka_unit_test(a_new_length_compiles_nothing),
      cmocka_unit_test(plans_in_use_are_kept),
      cmocka_unit_test(a_failed_run_leaves_a_session_that_can_be_reset),
      cmocka_unit_test(memory_that_is_not_wanted_is_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
