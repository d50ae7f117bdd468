/* Device specs: the grammar of DESIGN 4, and which device is meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "runtime/device_spec.h"

static ph_arena arena;
static ph_error error = PH_ERROR_INIT;

static int free_arena(void **state) {
  (void)state;
  ph_arena_free(&arena);
  return 0;
}

static ph_device_spec parse(const char *text) {
  ph_device_spec spec;
  ph_status status = ph_device_spec_parse(text, &arena, &spec, &error);
  if (status != PH_OK) fail_msg("%s: %s", text, error.message);
  assert_string_equal(spec.text, text);
  return spec;
}

static void test_grammar(void **state) {
  (void)state;
  ph_device_spec spec = parse("pocl");
  assert_string_equal(spec.backend, "pocl");
  assert_int_equal(spec.choice, PH_DEVICE_FIRST);
  assert_int_equal(spec.option_count, 0);

  spec = parse("OpenCL:12");
  assert_string_equal(spec.backend, "opencl");
  assert_int_equal(spec.choice, PH_DEVICE_BY_INDEX);
  assert_int_equal(spec.index, 12);

  spec = parse("opencl:1:02");
  assert_int_equal(spec.choice, PH_DEVICE_BY_PLATFORM);
  assert_int_equal(spec.platform, 1);
  assert_int_equal(spec.index, 2);

  spec = parse("opencl:NVIDIA H200: part 1");
  assert_int_equal(spec.choice, PH_DEVICE_BY_NAME);
  assert_string_equal(spec.part, "NVIDIA H200: part 1");

  spec = parse("opencl:portable,Profile=baseline,node=h.3.Scores");
  assert_string_equal(spec.part, "portable");
  assert_int_equal(spec.option_count, 2);
  assert_string_equal(spec.options[0].key, "profile");
  assert_string_equal(spec.options[0].value, "baseline");
  assert_string_equal(spec.options[1].key, "node");
  assert_string_equal(spec.options[1].value, "h.3.Scores"); /* values keep their case: paths have one */

  spec = parse("pocl,path=a:b=c"); /* ':' and '=' are free in a value */
  assert_int_equal(spec.choice, PH_DEVICE_FIRST);
  assert_string_equal(spec.options[0].value, "a:b=c");

  assert_int_equal(parse("opencl:99999999999999999999").index, UINT64_MAX);
}

static void test_malformed(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "backend's name"},
      {":0", "backend's name"},
      {"0", "backend's name"},
      {"open cl", "backend's name"},
      {"opencl:", "'' is no index"},
      {"opencl:,a=b", "'' is no index"},
      {"opencl:-1", "'-1' is no index"},
      {"opencl:+1", "'+1' is no index"},
      {"opencl::1", "':1' is no index"},
      {"opencl:1:", "'1:' is no index"},
      {"opencl:0:1:2", "'0:1:2' is no index"},
      {"auto:0", "auto takes neither"},
      {"auto,profile=cpu", "auto takes neither"},
      {"pocl,", "option ''"},
      {"pocl,,a=b", "option ''"},
      {"pocl,profile", "option 'profile'"},
      {"pocl,profile=", "option 'profile='"},
      {"pocl,=cpu", "option '=cpu'"},
      {"pocl,a=1,A=2", "'a' is given twice"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_device_spec spec;
    assert_int_equal(ph_device_spec_parse(cases[i].text, &arena, &spec, &error), PH_INVALID);
    if (strstr(error.message, cases[i].message) == NULL) fail_msg("'%s': %s", cases[i].text, error.message);
  }
}

#define DEVICE(number, p, d, device_name, platform_name)                                                               \
  {                                                                                                                    \
    .spec = "opencl:" #number, .backend = "opencl", .index = number, .info = {                                         \
      .platform_index = p,                                                                                             \
      .device_index = d,                                                                                               \
      .name = device_name,                                                                                             \
      .platform = platform_name                                                                                        \
    }                                                                                                                  \
  }

/* Number 2 could not be asked and is left out: indices need not be positions. */
static const ph_device_entry devices[] = {
    DEVICE(0, 2, 0, "NVIDIA H200", "NVIDIA CUDA"),
    DEVICE(1, 2, 1, "NVIDIA H200", "NVIDIA CUDA"),
    DEVICE(3, 1, 0, "llvmpipe (LLVM 15.0.6, 256 bits)", "rusticl"),
    DEVICE(4, 0, 0, "cpu-haswell", "Portable Computing Language"),
};
enum { DEVICE_COUNT = sizeof(devices) / sizeof(devices[0]) };

static const char *pick(const char *text) {
  ph_device_spec spec = parse(text);
  const ph_device_entry *entry = NULL;
  ph_status status = ph_device_spec_pick(&spec, devices, DEVICE_COUNT, &entry, &error);
  if (status != PH_OK) fail_msg("%s: %s", text, error.message);
  return entry->spec;
}

static void test_pick(void **state) {
  (void)state;
  assert_string_equal(pick("opencl"), "opencl:0");
  assert_string_equal(pick("opencl:3"), "opencl:3");
  assert_string_equal(pick("opencl:2:1"), "opencl:1");
  assert_string_equal(pick("opencl:0:0"), "opencl:4");
  assert_string_equal(pick("opencl:LLVMpipe"), "opencl:3");
  assert_string_equal(pick("opencl:portable"), "opencl:4");
  assert_string_equal(pick("opencl:rusticl"), "opencl:3");
}

static void test_pick_fails(void **state) {
  (void)state;
  static const struct {
    const char *text;
    ph_status status;
    const char *parts[3];
  } cases[] = {
      {"opencl:h200", PH_INVALID, {"fits several", "opencl:0 (NVIDIA H200)", "opencl:1 (NVIDIA H200)"}},
      {"opencl:2", PH_UNAVAILABLE, {"no such device: 'opencl:2'", "opencl:1 (NVIDIA H200)", "opencl:4 (cpu-haswell)"}},
      {"opencl:9", PH_UNAVAILABLE, {"no such device", "opencl has opencl:0", "opencl:3 (llvmpipe"}},
      {"opencl:18446744073709551616", PH_UNAVAILABLE, {"no such device", "", ""}}, /* 2^64 is not 0 */
      {"opencl:0:1", PH_UNAVAILABLE, {"no such device", "", ""}},
      {"opencl:portabel", PH_UNAVAILABLE, {"no such device", "did you mean Portable?", "opencl:4"}},
      {"opencl:llvmpype", PH_UNAVAILABLE, {"no such device", "did you mean llvmpipe?", "opencl:3"}},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_device_spec spec = parse(cases[i].text);
    const ph_device_entry *entry = NULL;
    assert_int_equal(ph_device_spec_pick(&spec, devices, DEVICE_COUNT, &entry, &error), cases[i].status);
    for (int j = 0; j < 3; j++)
      if (strstr(error.message, cases[i].parts[j]) == NULL) fail_msg("'%s': %s", cases[i].text, error.message);
  }
}

/* A backend that knows no platforms (PH_NONE) is not matched by one with that number. */
static void test_no_platform(void **state) {
  (void)state;
  const ph_device_entry only = {
      .spec = "reference:0",
      .backend = "reference",
      .info = {.platform_index = PH_NONE, .device_index = PH_NONE, .name = "scalar reference"}};
  const ph_device_entry *entry = NULL;
  ph_device_spec spec = parse("reference:4294967295:4294967295");
  assert_int_equal(ph_device_spec_pick(&spec, &only, 1, &entry, &error), PH_UNAVAILABLE);
  assert_null(entry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grammar),    cmocka_unit_test(test_malformed),   cmocka_unit_test(test_pick),
      cmocka_unit_test(test_pick_fails), cmocka_unit_test(test_no_platform),
  };
  return cmocka_run_group_tests(tests, NULL, free_arena);
}
