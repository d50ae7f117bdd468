/* test_external_suite DEVICE FOLDER COUNT: runs every case of a folder of cases made elsewhere on the device.  Prints
 * what does not pass, and how many cases were mapped and passed.  Exit: 0 all COUNT of them pass, 1 not, 77 there is no
 * such folder or device; with POLYHEAD_TEST_REQUIRE_DEVICES a missing device is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "conform/external.h"

typedef struct count {
  unsigned mapped, passed;
} count;

static void add(count *c, const ph_case_result *result) {
  bool mapped = result->state != PH_CASE_UNSUPPORTED,
       passed = result->state == PH_CASE_PASS && (result->trusted || result->empty);
  c->mapped += mapped;
  c->passed += passed;
  if (!passed)
    printf("%s: %s: %s\n", result->name, ph_case_state_name(result->state),
           result->state == PH_CASE_PASS ? "no wrong answer could have failed" : result->reason);
}

static ph_status run_all(ph_case_source *source, ph_case_run *run, count *c, ph_error *error) {
  for (uint32_t i = 0; i < source->case_count; i++) {
    ph_case_result result = {.name = source->cases[i].name};
    PH_TRY(source->run(source, i, run, &result, error));
    add(c, &result);
  }
  return PH_OK;
}

static void print_log(void *user, ph_log_level level, const char *text) {
  (void)user, (void)level;
  fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const char *device = argv[1], *folder = argv[2];
  unsigned wanted = (unsigned)strtoul(argv[3], NULL, 10);
  if (access(folder, F_OK) != 0) {
    printf("SKIPPED: %s is absent; set POLYHEAD_SHARED to the folder that holds conformance\n", folder);
    return 77;
  }
  ph_error error = PH_ERROR_INIT;
  ph_case_source *source = NULL;
  ph_open_device *opened = NULL;
  ph_case_run run = {0};
  count c = {0};
  ph_context_options options = {
      .struct_size = sizeof(options), .log = print_log, .log_level = PH_LOG_WARN, .no_cache = true};
  ph_status status = ph_context_create(&options, &run.context, &error);
  if (status == PH_OK) status = ph_context_open_device(run.context, device, &opened, &error);
  if (status == PH_UNAVAILABLE) printf("SKIPPED: there is no device %s: %s\n", device, error.message);
  run.device = run.reference = opened;
  if (status == PH_OK) status = ph_tally_create(&run.tally, &error);
  if (status == PH_OK) status = ph_external_open(folder, &source, &error);
  if (status == PH_OK) status = run_all(source, &run, &c, &error);
  if (status == PH_OK) printf("%s: %u mapped, %u pass\n", device, c.mapped, c.passed);
  if (status != PH_OK && status != PH_UNAVAILABLE) printf("%s\n", error.message);
  if (source != NULL) source->close(source);
  ph_tally_destroy(run.tally);
  ph_open_device_close(opened);
  ph_context_destroy(run.context);
  if (status == PH_UNAVAILABLE) return getenv("POLYHEAD_TEST_REQUIRE_DEVICES") != NULL ? EXIT_FAILURE : 77;
  return status == PH_OK && c.passed == wanted ? EXIT_SUCCESS : EXIT_FAILURE;
}
