/* polyhead tune: which of a device's variants is best for which shapes. */
#include "base/error.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "progress.h"
#include "setup.h"

static ph_status print_rows(const ph_tuning *tuning, ph_error *error) {
  cli_table table = {.columns = "lllrr"};
  cli_table_add(&table, (const char *const[]){"shapes", "best", "without tuning", "gain", "cases"});
  for (uint32_t i = 0; i < ph_tuning_row_count(tuning); i++) {
    const ph_tune_row *row = ph_tuning_row(tuning, i);
    char gain[32], cases[16];
    snprintf(gain, sizeof(gain), "%.2f", row->gain);
    snprintf(cases, sizeof(cases), "%u", row->cases);
    cli_table_add(&table, (const char *const[]){row->shape_class, row->best, row->usual, gain, cases});
  }
  PH_TRY(cli_table_print(&table, stdout, error));
  printf("%s (%s) is tuned: %u rows\n", ph_tuning_device(tuning)->spec, ph_tuning_device(tuning)->info.name,
         ph_tuning_row_count(tuning));
  return PH_OK;
}

static ph_status fill_document(const ph_tuning *tuning, json_t *to, ph_error *error) {
  json_t *rows = json_array();
  for (uint32_t i = 0; i < ph_tuning_row_count(tuning); i++) {
    const ph_tune_row *row = ph_tuning_row(tuning, i);
    rows = cli_json_append(rows, json_pack("{so so so sf si}", "shape_class", cli_json_text(row->shape_class), "best",
                                           cli_json_text(row->best), "usual", cli_json_text(row->usual), "gain",
                                           row->gain, "cases", (int)row->cases));
  }
  PH_TRY(cli_json_set(to, "device", cli_json_device(ph_tuning_device(tuning)), error));
  return cli_json_set(to, "rows", rows, error);
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  ph_context *context;
  ph_tuning *tuning = NULL;
  ph_tune_options wanted = {.struct_size = sizeof(wanted),
                            .device = options->devices.count > 0 ? options->devices.items[0] : NULL,
                            .quick = options->quick,
                            .before = cli_progress_show};
  PH_TRY(cli_context_open(options, &context, error));
  ph_status status = ph_tune(context, &wanted, &tuning, error);
  cli_progress_clear();
  if (status == PH_OK)
    status = result->json != NULL ? fill_document(tuning, result->json, error) : print_rows(tuning, error);
  ph_tuning_destroy(tuning);
  ph_context_destroy(context);
  return status;
}

const cli_command cli_tune = {
    .name = "tune",
    .arguments = "",
    .options = CLI_DEVICE | CLI_QUICK | CLI_COMMON,
    .summary = "measure which of a device's variants is best for which shapes",
    .text =
        "Times every variant that could run it on shapes of each class and keeps the order, fastest first, in the "
        "cache\n"
        "folder, for this device and driver: from then on it is used whenever the device is opened (tune=none among\n"
        "the device's options leaves it out), and `check` says which row chose a node's variant.  Takes minutes; a "
        "run\n"
        "that was interrupted goes on where it was.",
    .run = run,
};
