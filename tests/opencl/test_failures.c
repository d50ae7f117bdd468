/* Each OpenCL call fails in turn, at each place where it is made, under the stub driver: no crash, no leak, and the
 * status and the words that the user needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "stub_icd.h"
#include "toy.h"

static const stub_icd_control *stub;

/* ---- what is to happen ---- */

typedef enum outcome {
  UNAVAILABLE,  /* discovery: PH_UNAVAILABLE with the name */
  NEXT_VARIANT, /* making a kernel: the next variant runs; the log has the name */
  NOTED,        /* a release, or something about the cache: the run is good; the log has the name */
  FAILED,       /* PH_DEVICE_FAILED with the name */
} outcome;

static const struct {
  const char *entry, *error;
  outcome cold, warm; /* without and with a program in the disk cache */
} rules[] = {
    {"clGetPlatformInfo", "CL_OUT_OF_HOST_MEMORY", UNAVAILABLE, UNAVAILABLE},
    {"clGetDeviceIDs", "CL_OUT_OF_HOST_MEMORY", UNAVAILABLE, UNAVAILABLE},
    {"clGetDeviceInfo", "CL_OUT_OF_HOST_MEMORY", UNAVAILABLE, UNAVAILABLE},
    {"clCreateContext", "CL_DEVICE_NOT_AVAILABLE", FAILED, FAILED},
    {"clReleaseContext", "CL_OUT_OF_RESOURCES", NOTED, NOTED},
    {"clCreateCommandQueue", "CL_OUT_OF_HOST_MEMORY", FAILED, FAILED},
    {"clReleaseCommandQueue", "CL_OUT_OF_RESOURCES", NOTED, NOTED},
    {"clCreateBuffer", "CL_MEM_OBJECT_ALLOCATION_FAILURE", FAILED, FAILED},
    {"clReleaseMemObject", "CL_OUT_OF_RESOURCES", NOTED, NOTED},
    {"clCreateProgramWithSource", "CL_OUT_OF_HOST_MEMORY", NEXT_VARIANT, NEXT_VARIANT},
    {"clCreateProgramWithBinary", "CL_INVALID_BINARY", NOTED, NOTED},
    {"clBuildProgram", "CL_BUILD_PROGRAM_FAILURE", NEXT_VARIANT, NOTED},
    {"clGetProgramInfo", "CL_OUT_OF_RESOURCES", NOTED, NOTED},
    {"clReleaseProgram", "CL_OUT_OF_RESOURCES", NOTED, NOTED},
    {"clCreateKernel", "CL_INVALID_KERNEL_DEFINITION", NEXT_VARIANT, NEXT_VARIANT},
    {"clSetKernelArg", "CL_INVALID_ARG_SIZE", FAILED, FAILED},
    {"clGetKernelWorkGroupInfo", "CL_OUT_OF_RESOURCES", NEXT_VARIANT, NEXT_VARIANT},
    {"clReleaseKernel", "CL_OUT_OF_RESOURCES", NOTED, NOTED},
    {"clEnqueueNDRangeKernel", "CL_OUT_OF_RESOURCES", FAILED, FAILED},
    {"clEnqueueReadBuffer", "CL_OUT_OF_RESOURCES", FAILED, FAILED},
    {"clEnqueueWriteBuffer", "CL_OUT_OF_RESOURCES", FAILED, FAILED},
    {"clEnqueueMapBuffer", "CL_MAP_FAILURE", FAILED, FAILED},
    {"clEnqueueUnmapMemObject", "CL_OUT_OF_RESOURCES", FAILED, FAILED},
    {"clFinish", "CL_OUT_OF_RESOURCES", FAILED, FAILED},
    {"clGetEventProfilingInfo", "CL_PROFILING_INFO_NOT_AVAILABLE", FAILED, FAILED},
    {"clReleaseEvent", "CL_OUT_OF_RESOURCES", NOTED, NOTED},
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

/* ---- one life ---- */

typedef struct experiment {
  toy_host host;
  toy_life life;
} experiment;

static void run(experiment *trial, const char *faults, const char *cache_dir) {
  toy_host_init(&trial->host, cache_dir);
  trial->life = (toy_life){.count = 100, .runs = 1};
  stub->arm(faults);
  toy_live(toy_backend(false), &trial->host, &trial->life);
  assert_int_equal(stub->live(), 0);
  assert_int_equal(stub->misuses(), 0);
}

static void assert_has(const char *text, const char *part, const char *faults) {
  if (text != NULL && strstr(text, part) != NULL) return;
  fail_msg("%s: '%s' is not in: %s", faults, part, text != NULL ? text : "(nothing)");
}

static void expect(const experiment *trial, const char *faults, outcome wanted, const char *error, const char *entry) {
  char words[128];
  snprintf(words, sizeof(words), "%s in %s", error, entry);
  const toy_life *life = &trial->life;
  ph_status status = wanted == FAILED ? PH_DEVICE_FAILED : wanted == UNAVAILABLE ? PH_UNAVAILABLE : PH_OK;
  if (life->status != status) fail_msg("%s: status %d: %s", faults, (int)life->status, life->error.message);
  if (status != PH_OK) {
    assert_has(life->error.message, words, faults);
    assert_int_not_equal(life->error.native_code, 0);
  } else {
    assert_has(trial->host.log.data, error, faults);
  }
  if (wanted == NEXT_VARIANT) {
    assert_string_equal(life->support.variant, "careful");
    assert_has(trial->host.log.data, "the variant fast is passed over", faults);
  } else if (status == PH_OK) {
    assert_string_equal(life->support.variant, "fast");
  }
}

/* Fails the entry at each place.  clFinish is called a last time when the queue is destroyed: that is a release. */
static void fail_everywhere(const char *entry, const char *error, outcome wanted, unsigned calls, bool warm) {
  assert_true(calls > 0);
  for (unsigned n = 1; n <= calls; n++) {
    char *cache = scratch_folder();
    char faults[64];
    snprintf(faults, sizeof(faults), "%s:%u", entry, n);
    experiment trial;
    if (warm) {
      run(&trial, NULL, cache);
      toy_host_free(&trial.host);
    }
    run(&trial, faults, cache);
    bool in_destroy = strcmp(entry, "clFinish") == 0 && n == calls;
    expect(&trial, faults, in_destroy ? NOTED : wanted, error, entry);
    toy_host_free(&trial.host);
    scratch_remove(cache);
  }
}

static unsigned calls_of(const char *entry, bool warm) {
  char *cache = scratch_folder();
  experiment trial;
  for (int i = 0; i <= warm; i++) {
    run(&trial, NULL, cache);
    assert_int_equal(trial.life.status, PH_OK);
    assert_string_equal(trial.life.support.variant, "fast");
    assert_int_equal(trial.host.log.length, 0);
    assert_int_equal(trial.life.times[1].end_ns, 2000);
    toy_host_free(&trial.host);
  }
  scratch_remove(cache);
  return stub->calls(entry);
}

static void every_call_fails_in_turn(void **state) {
  (void)state;
  for (size_t i = 0; i < RULES; i++)
    for (int warm = 0; warm < 2; warm++) {
      unsigned calls = calls_of(rules[i].entry, warm);
      if (calls > 0) fail_everywhere(rules[i].entry, rules[i].error, warm ? rules[i].warm : rules[i].cold, calls, warm);
    }
}

/* What a whole life calls, and what the rules speak of, is the same. */
static void no_call_is_left_out(void **state) {
  (void)state;
  for (const char *const *entry = stub->entries; *entry != NULL; entry++) {
    bool ruled = false;
    for (size_t i = 0; i < RULES; i++) ruled = ruled || strcmp(rules[i].entry, *entry) == 0;
    unsigned calls = calls_of(*entry, false) + calls_of(*entry, true);
    bool elsewhere = strcmp(*entry, "clIcdGetPlatformIDsKHR") == 0 || strcmp(*entry, "clGetProgramBuildInfo") == 0;
    if (elsewhere ? ruled : !ruled || calls == 0) fail_msg("%s: %u calls", *entry, calls);
  }
}

/* ---- rearranged constants ---- */

/* Two nodes read the same weights: one copy, made on a queue of its own. */
static void a_copy_is_made_once(void **state) {
  (void)state;
  assert_int_equal(calls_of("clCreateCommandQueue", false), 2);
  assert_int_equal(calls_of("clEnqueueNDRangeKernel", false), 1 + 2 * TOY_NODES);
}

/* ---- where no variant is left ---- */

static void fails_when_no_variant_is_left(void **state) {
  (void)state;
  static const char *const entries[] = {"clCreateProgramWithSource", "clBuildProgram", "clCreateKernel",
                                        "clGetKernelWorkGroupInfo"};
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
    char faults[64];
    snprintf(faults, sizeof(faults), "%s:*", entries[i]);
    experiment trial;
    run(&trial, faults, NULL);
    for (size_t j = 0; j < RULES; j++)
      if (strcmp(rules[j].entry, entries[i]) == 0) expect(&trial, faults, FAILED, rules[j].error, entries[i]);
    assert_int_equal(trial.life.error.node, 0);
    toy_host_free(&trial.host);
  }
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 65536);
  assert_non_null(text);
  assert_true(fread(text, 1, 65535, file) > 0);
  fclose(file);
  return text;
}

/* R071: device, driver, options, kernel and the whole log are shown; the message says where the log is kept. */
static void build_failure_says_everything(void **state) {
  (void)state;
  char *cache = scratch_folder();
  experiment trial;
  run(&trial, "clBuildProgram:*", cache);
  const char *message = trial.life.error.message;
  expect(&trial, "clBuildProgram:*", FAILED, "CL_BUILD_PROGRAM_FAILURE", "clBuildProgram");
  static const char *const parts[] = {"careful.cl", "Stub device", "driver 1.0",
                                      "-cl-std=CL1.2 -w -DIN0=F32 -DIN1=F32 -DOUT0=F32"};
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) assert_has(message, parts[i], "the message");
  assert_has(trial.host.log.data, "the stub was told to fail", "the log");
  const char *path = strstr(message, cache);
  assert_non_null(path);
  char saved[256];
  snprintf(saved, sizeof(saved), "%.*s", (int)strcspn(path, ","), path);
  char *text = read_file(saved);
  assert_has(text, "the stub was told to fail", saved);
  assert_has(text, "careful.cl", saved);
  free(text);
  toy_host_free(&trial.host);

  run(&trial, "clBuildProgram:1,clGetProgramBuildInfo:1", cache);
  expect(&trial, "no log", NEXT_VARIANT, "CL_OUT_OF_RESOURCES", "clGetProgramBuildInfo");
  toy_host_free(&trial.host);
  scratch_remove(cache);
}

/* ---- where a kernel takes less than the device ---- */

static void smaller_kernels_get_smaller_groups(void **state) {
  (void)state;
  static const struct {
    size_t work_group;
    uint64_t local;
    ph_status status;
  } cases[] = {
      {64, 0, PH_OK},                 /* as it is */
      {8, 0, PH_OK},                  /* not fast's 32: careful, asked again for 8 */
      {1, 0, PH_OK},                  /* */
      {64, 32768 - 128, PH_OK},       /* just what fast needs */
      {64, 32768 - 64, PH_OK},        /* careful with its 16 */
      {64, 32768 - 8, PH_OK},         /* careful with 2 */
      {64, 32768, PH_UNSUPPORTED},    /* nothing left */
      {64, 1u << 20, PH_UNSUPPORTED}, /* more than there is */
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    experiment trial;
    stub->limit_kernels(cases[i].work_group, cases[i].local);
    run(&trial, NULL, NULL);
    if (trial.life.status != cases[i].status)
      fail_msg("case %zu: %d: %s", i, (int)trial.life.status, trial.life.error.message);
    toy_host_free(&trial.host);
  }
  stub->limit_kernels(64, 0);
}

/* ---- discovery, in a process of its own: the loader looks once ---- */

/* Prints what open() and device_count() say. */
static int look(void) {
  toy_host host;
  toy_host_init(&host, NULL);
  ph_backend_context *context = NULL;
  ph_error error = {.struct_size = sizeof(error)};
  uint32_t count = 0;
  ph_status status = toy_backend(false)->open(&host.host, NULL, 0, &context, &error);
  if (status == PH_OK) status = toy_backend(false)->device_count(context, &count, &error);
  toy_backend(false)->close(context);
  printf("%d devices, status %d: %s%s\n", (int)count, (int)status, error.message, host.log.data);
  toy_host_free(&host);
  return 0;
}

static void assert_looks(const char *environment, const char *wanted) {
  char command[512], text[1024] = "";
  snprintf(command, sizeof(command), "%s '%s' look", environment, scratch_self());
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  size_t length = fread(text, 1, sizeof(text) - 1, pipe);
  assert_int_equal(pclose(pipe), 0);
  assert_true(length > 0);
  assert_has(text, wanted, environment);
}

static void discovery_fails_without_a_crash(void **state) {
  (void)state;
  assert_looks("", "1 devices, status 0");
  assert_looks("STUB_ICD_DEVICES=2", "2 devices, status 0");
  assert_looks("STUB_ICD_DEVICES=0", "0 devices, status 0");
  assert_looks("STUB_ICD_DEVICES=0", "platform 'Stub' has no device");
  assert_looks("STUB_ICD_FAIL=clIcdGetPlatformIDsKHR", "0 devices");
  assert_looks("STUB_ICD_FAIL='clGetPlatformInfo:*'", "0 devices");
  assert_looks("STUB_ICD_FAIL='clGetDeviceIDs:*'",
               "0 devices, status 3: platform 'Stub': CL_OUT_OF_HOST_MEMORY in clGetDeviceIDs");
  assert_looks("STUB_ICD_DEVICES=2 STUB_ICD_FAIL=clGetDeviceInfo:3", "1 devices, status 0");
  assert_looks("OCL_ICD_VENDORS=/nonexistent", "0 devices, status 0");
  assert_looks("OCL_ICD_VENDORS=/nonexistent", "no OpenCL platform is installed");
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "look") == 0) return look();
  void *driver = dlopen(TEST_STUB_ICD, RTLD_NOW | RTLD_LOCAL);
  stub = driver != NULL ? dlsym(driver, "stub_icd") : NULL;
  if (stub == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_call_is_left_out),
      cmocka_unit_test(every_call_fails_in_turn),
      cmocka_unit_test(a_copy_is_made_once),
      cmocka_unit_test(fails_when_no_variant_is_left),
      cmocka_unit_test(build_failure_says_everything),
      cmocka_unit_test(smaller_kernels_get_smaller_groups),
      cmocka_unit_test(discovery_fails_without_a_crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
