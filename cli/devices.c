/* polyhead devices: what can be named with -d. */
#include "base/error.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "setup.h"

static void print_peaks(ph_context *context) {
  for (uint32_t i = 0; i < ph_context_device_count(context); i++)
    cli_print_peak(ph_context_device(context, i), ph_context_peak(context, ph_context_device(context, i)));
}

static ph_status print_devices(ph_context *context, bool verbose, ph_error *error) {
  cli_table table = {.columns = "lllrl"};
  cli_table_add(&table, (const char *const[]){"device", "kind", "name", "memory", "platform and driver"});
  for (uint32_t i = 0; i < ph_context_device_count(context); i++) {
    const ph_device_entry *device = ph_context_device(context, i);
    const ph_device_info *info = &device->info;
    char driver[300];
    snprintf(driver, sizeof(driver), "%s%s%s", info->platform,
             info->platform[0] != '\0' && info->driver[0] != '\0' ? ", " : "", info->driver);
    cli_text memory = info->memory_bytes > 0 ? cli_bytes_text(info->memory_bytes) : (cli_text){""};
    cli_table_add(
        &table, (const char *const[]){device->spec, cli_device_kind_text(info->kind), info->name, memory.text, driver});
  }
  PH_TRY(cli_table_print(&table, stdout, error));
  if (verbose) print_peaks(context);
  for (uint32_t i = 0; i < ph_context_problem_count(context); i++) printf("%s\n", ph_context_problem(context, i));
  return PH_OK;
}

static ph_status fill_document(ph_context *context, json_t *json, ph_error *error) {
  json_t *devices = json_array(), *problems = json_array();
  for (uint32_t i = 0; i < ph_context_device_count(context); i++)
    devices = cli_json_append(devices, cli_json_device(ph_context_device(context, i)));
  for (uint32_t i = 0; i < ph_context_problem_count(context); i++)
    problems = cli_json_append(problems, cli_json_text(ph_context_problem(context, i)));
  PH_TRY(cli_json_set(json, "devices", devices, error));
  return cli_json_set(json, "problems", problems, error);
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  ph_context *context = NULL;
  PH_TRY(cli_context_open(options, &context, error));
  ph_status status = result->json != NULL ? fill_document(context, result->json, error)
                                          : print_devices(context, options->verbose > 0, error);
  ph_context_destroy(context);
  return status;
}

const cli_command cli_devices = {
    .name = "devices",
    .arguments = "",
    .options = CLI_COMMON,
    .summary = "list the devices that -d can name",
    .text = "Lists the devices of all backends, best first, and why a backend has none; with -v, what\n"
            "a bench or a profile measured them to reach.",
    .run = run,
};
