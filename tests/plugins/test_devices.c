/* Backends and devices of a context: opened once, listed, chosen by spec or by `auto`; what fails is told and skipped.
 */
#include "scratch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/context.h"

#define MODULES(...)                                                                                                   \
  (const char *const[]) {                                                                                              \
    __VA_ARGS__, NULL                                                                                                  \
  }

static void assert_opens(ph_context *context, const char *spec, const char *expected) {
  ph_open_device *device = NULL;
  ph_status status = ph_context_open_device(context, spec, &device, &scratch_error);
  if (status != PH_OK) fail_msg("%s: %s", spec == NULL ? "the default" : spec, scratch_error.message);
  assert_string_equal(device->entry->spec, expected);
  ph_open_device_close(device);
}

static void assert_refused(ph_context *context, const char *spec, ph_status expected, const char *message) {
  ph_open_device *device = NULL;
  assert_int_equal(ph_context_open_device(context, spec, &device, &scratch_error), expected);
  assert_null(device);
  assert_int_equal(scratch_error.code, expected);
  assert_contains(scratch_error.message, message);
}

static int count_of(const char *part) {
  int count = 0;
  for (const char *at = scratch_log.data; at != NULL && (at = strstr(at, part)) != NULL; at++) count++;
  return count;
}

/* A stub logs the cache folder when it is opened. */
static int open_count(const char *backend) {
  char line[600];
  snprintf(line, sizeof(line), "%s: %s\n", backend, scratch_path("cache"));
  return count_of(line);
}

static void test_list_and_open(void **state) {
  (void)state;
  ph_context *context = scratch_load(MODULES("good"));
  assert_opens(context, "good", "good:0");
  assert_opens(context, "GOOD:1", "good:1");
  assert_opens(context, "good:7:1", "good:1");
  assert_opens(context, "good:beta", "good:1");
  assert_refused(context, "good:stub works", PH_INVALID, "good:0 (Alpha One), good:1 (Beta Two)");
  assert_refused(context, "good:9", PH_UNAVAILABLE, "good has good:0 (Alpha One), good:1 (Beta Two)");
  assert_refused(context, "good:alpba", PH_UNAVAILABLE, "did you mean Alpha?");
  assert_refused(context, "good:", PH_INVALID, "is no index");

  /* Only what was named was opened, and once. */
  assert_int_equal(open_count("good"), 1);
  assert_int_equal(open_count("installed"), 0);
  assert_refused(context, "goof", PH_UNAVAILABLE, "did you mean good?");
  assert_refused(context, "goof", PH_UNAVAILABLE, "loaded: reference, good");
  assert_refused(context, "goof", PH_UNAVAILABLE, "devices there are: reference:0");
  const ph_device_entry *entry = ph_context_device(context, 1);
  assert_string_equal(entry->spec, "good:0");
  assert_string_equal(entry->backend, "good");
  assert_string_equal(entry->info.name, "Alpha One");
  assert_ptr_equal(entry, ph_context_device(context, 1));
  assert_int_equal(ph_context_device_count(context), 5); /* and the two of installed.so */
  assert_null(ph_context_device(context, 5));
  assert_int_equal(ph_context_problem_count(context), 0);
  ph_context_destroy(context);
  assert_int_equal(count_of("good: closed"), 1);
}

static void test_options(void **state) {
  (void)state;
  ph_context *context = scratch_load(MODULES("good"));
  ph_open_device *device;
  assert_int_equal(ph_context_open_device(context, "good", &device, &scratch_error), PH_OK);
  assert_int_equal(device->limits.alignment, 64);
  ph_open_device_close(device);
  assert_int_equal(ph_context_open_device(context, "good:1,Wide=1", &device, &scratch_error), PH_OK);
  assert_int_equal(device->limits.alignment, 128);
  assert_int_equal(device->entry->info.alignment, 64);
  ph_open_device_close(device);
  assert_refused(context, "good,narrow=1", PH_INVALID,
                 "device 'good,narrow=1': unknown option 'narrow'; it knows wide");
  ph_open_device_close(NULL);
  ph_context_destroy(context);
}

/* A backend that cannot be used hides no other, and says why. */
static void test_problems(void **state) {
  (void)state;
  ph_context *context = scratch_load(
      MODULES("fails_in_silence", "fails_to_count", "fails_to_open", "good", "no_device", "wrong_alignment"));
  static const char *const expected[] = {
      "fails_in_silence: open() failed without a reason (device_failed)",
      "fails_to_count: the driver was lost",
      "fails_to_open: the stub was told to fail",
      "no_device: it found no device",
      "wrong_alignment: device 0: its alignment of 48 bytes is no power of two",
  };
  assert_int_equal(ph_context_problem_count(context), 5);
  for (uint32_t i = 0; i < 5; i++) assert_string_equal(ph_context_problem(context, i), expected[i]);
  assert_null(ph_context_problem(context, 5));
  assert_refused(context, "fails_to_open", PH_UNAVAILABLE, "the stub was told to fail; there are: reference:0");
  assert_refused(context, "fails_to_open", PH_UNAVAILABLE, "good:1 (Beta Two)");
  assert_refused(context, "fails_in_silence", PH_UNAVAILABLE, "without a reason");
  assert_refused(context, "fails_to_count:0", PH_UNAVAILABLE, "the driver was lost");
  assert_refused(context, "no_device:0", PH_UNAVAILABLE, "it found no device; there are:");
  assert_refused(context, "wrong_alignment:0", PH_UNAVAILABLE, "wrong_alignment has wrong_alignment:1");
  assert_opens(context, "wrong_alignment", "wrong_alignment:1");
  assert_int_equal(open_count("fails_to_open"), 1); /* not tried again */
  assert_int_equal(open_count("fails_to_count"), 1);
  ph_context_destroy(context);
}

/* A backend that is missing because its file was rejected: the reason is what helps. */
static void test_rejected_backend(void **state) {
  (void)state;
  ph_context *context = scratch_load(MODULES("next_major"));
  assert_refused(context, "next_major:0", PH_UNAVAILABLE,
                 "next_major.so was rejected: it was built for plugin ABI 2.0");
  ph_context_destroy(context);
}

static void test_auto_takes_gpu(void **state) {
  (void)state;
  ph_context *context = scratch_load(MODULES("fails_to_open", "fake_pocl", "gpu", "gpu_busy"));
  assert_opens(context, NULL, "gpu:0");
  assert_opens(context, "Auto", "gpu:0");
  assert_int_equal(count_of("2 auto: gpu:0 (Alpha One)"), 2);
  /* Told once, not at each choice (R079). */
  assert_int_equal(count_of("1 auto: skipping fails_to_open: the stub was told to fail"), 1);
  assert_refused(context, "gpu_busy", PH_DEVICE_FAILED, "device 'gpu_busy': the device is busy");
  ph_context_destroy(context);
}

static void test_auto_goes_on(void **state) {
  (void)state;
  ph_context *context = scratch_load(MODULES("fake_pocl", "gpu_busy", "no_device"));
  assert_opens(context, "auto", "pocl:0");
  assert_int_equal(count_of("1 auto: skipping device 'gpu_busy:1': the device is busy"), 1);
  assert_int_equal(count_of("2 auto: skipping no_device: it found no device"), 1);
  ph_context_destroy(context);
}

/* Neither a GPU nor PoCL: other devices are for those who name them. */
static void test_auto_ends_at_reference(void **state) {
  (void)state;
  ph_context *context = scratch_load(MODULES("good"));
  assert_opens(context, "auto", "reference:0");
  ph_context_destroy(context);
}

static void *open_one(void *context) {
  ph_open_device *device = NULL;
  if (ph_context_open_device(context, "good:1", &device, NULL) != PH_OK) return context;
  ph_open_device_close(device);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { THREAD_COUNT = 8 };
  ph_context *context = scratch_load(MODULES("good"));
  pthread_t threads[THREAD_COUNT];
  for (int i = 0; i < THREAD_COUNT; i++) assert_int_equal(pthread_create(&threads[i], NULL, open_one, context), 0);
  for (int i = 0; i < THREAD_COUNT; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  assert_int_equal(open_count("good"), 1);
  ph_context_destroy(context);
}

/* The stub logs the cache folder that it was given. */
static void test_cache_folder(void **state) {
  (void)state;
  setenv("POLYHEAD_CACHE_DIR", scratch_path("new/cache"), 1);
  ph_context *context = scratch_load(MODULES("good"));
  assert_opens(context, "good", "good:0");
  ph_context_destroy(context);
  assert_int_equal(count_of(scratch_path("new/cache")), 1);
  struct stat status;
  assert_int_equal(stat(scratch_path("new/cache"), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0700);

  /* Others may write to it: nothing is kept there. */
  assert_int_equal(chmod(scratch_path("new/cache"), 0777), 0);
  assert_int_equal(scratch_try(scratch_path("p"), NULL, &context), PH_OK);
  assert_opens(context, "good", "good:0");
  ph_context_destroy(context);
  assert_int_equal(count_of("good: no cache"), 1);
  assert_int_equal(count_of("2 no cache on disk: "), 1);

  /* Or the caller wants none: no folder is made, and nothing is said. */
  setenv("POLYHEAD_CACHE_DIR", scratch_path("unwanted"), 1);
  const ph_context_options no_cache = {.struct_size = sizeof(no_cache),
                                       .log = scratch_record,
                                       .log_user = &scratch_log,
                                       .log_level = PH_LOG_DEBUG,
                                       .no_cache = true};
  assert_int_equal(ph_context_create(&no_cache, &context, &scratch_error), PH_OK);
  assert_opens(context, "good", "good:0");
  ph_context_destroy(context);
  assert_int_equal(count_of("good: no cache"), 2);
  assert_int_equal(count_of("2 no cache on disk: "), 1);
  assert_int_equal(stat(scratch_path("unwanted"), &status), -1);

  /* By XDG, then by HOME; a relative XDG_CACHE_HOME is to be ignored. */
  unsetenv("POLYHEAD_CACHE_DIR");
  setenv("XDG_CACHE_HOME", scratch_path("xdg"), 1);
  setenv("HOME", scratch_path("home"), 1);
  assert_int_equal(scratch_try(scratch_path("p"), NULL, &context), PH_OK);
  assert_opens(context, "good", "good:0");
  ph_context_destroy(context);
  assert_int_equal(count_of(scratch_path("xdg/polyhead")), 1);
  setenv("XDG_CACHE_HOME", "relative", 1);
  assert_int_equal(scratch_try(scratch_path("p"), NULL, &context), PH_OK);
  assert_opens(context, "good", "good:0");
  ph_context_destroy(context);
  assert_int_equal(count_of(scratch_path("home/.cache/polyhead")), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_list_and_open),          TEST(test_options),        TEST(test_problems),
      TEST(test_rejected_backend),       TEST(test_auto_takes_gpu), TEST(test_auto_goes_on),
      TEST(test_auto_ends_at_reference), TEST(test_threads),        TEST(test_cache_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
