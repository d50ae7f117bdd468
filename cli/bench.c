/* polyhead bench: how fast is a device? */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "progress.h"
#include "setup.h"

/* ---- rates ---- */

/* Of the time that the caller sees. */
static double per_second(double amount, const ph_bench_result *result) {
  return result->run.median > 0 ? amount / result->run.median : 0;
}

static uint64_t all_memory(const ph_memory_report *memory) {
  return memory->inputs + memory->outputs + memory->constants + memory->arena + memory->workspace;
}

/* ---- the table ---- */

static void add_result(cli_table *table, const char *name, const char *device, const ph_peak *peak,
                       const ph_bench_result *result) {
  cli_text first = cli_seconds_text(result->first), median = cli_seconds_text(result->run.median);
  cli_text p10 = cli_seconds_text(result->run.p10), p90 = cli_seconds_text(result->run.p90);
  cli_text inside = cli_seconds_text(result->device.median), cpu = cli_seconds_text(result->cpu);
  cli_text prepare = cli_seconds_text(result->prepare), memory = cli_bytes_text(all_memory(&result->memory));
  double flop_rate = per_second(result->flops, result), byte_rate = per_second((double)result->bytes, result);
  cli_text flop_share = cli_share_text(flop_rate, peak->flops),
           byte_share = cli_share_text(byte_rate, peak->read_bytes);
  char flops[32], bytes[32];
  snprintf(flops, sizeof(flops), "%.1f", flop_rate * 1e-9);
  snprintf(bytes, sizeof(bytes), "%.1f", byte_rate * 1e-9);
  cli_table_add(table, (const char *const[]){name, device, prepare.text, first.text, median.text, p10.text, p90.text,
                                             result->device.count > 0 ? inside.text : "", flops, flop_share.text, bytes,
                                             byte_share.text, cpu.text, memory.text, result->variant});
}

static ph_status print_results(const ph_bench *bench, ph_error *error) {
  cli_table table = {.columns = "llrrrrrrrrrrrrl"};
  cli_table_add(&table, (const char *const[]){"case", "device", "prepare", "first", "median", "p10", "p90", "inside",
                                              "GFLOP/s", "peak", "GB/s", "read", "CPU", "memory", "variant"});
  for (uint32_t i = 0; i < ph_bench_case_count(bench); i++)
    for (uint32_t d = 0; d < ph_bench_device_count(bench); d++) {
      const ph_bench_result *result = ph_bench_result_of(bench, i, d);
      const char *device = ph_bench_device(bench, d)->spec;
      ph_peak peak = ph_bench_peak(bench, d);
      if (result->status == PH_OK)
        add_result(&table, d == 0 ? ph_bench_case_name(bench, i) : "", device, &peak, result);
      else
        cli_table_add(&table, (const char *const[]){d == 0 ? ph_bench_case_name(bench, i) : "", device, "", "", "", "",
                                                    "", "", "", "", "", "", "", "", ph_status_name(result->status)});
    }
  return cli_table_print(&table, stdout, error);
}

static void print_peaks(const ph_bench *bench) {
  for (uint32_t d = 0; d < ph_bench_device_count(bench); d++)
    cli_print_peak(ph_bench_device(bench, d), ph_bench_peak(bench, d));
}

/* What the table has no room for. */
static void print_reasons(const ph_bench *bench) {
  for (uint32_t i = 0; i < ph_bench_case_count(bench); i++)
    for (uint32_t d = 0; d < ph_bench_device_count(bench); d++) {
      const ph_bench_result *result = ph_bench_result_of(bench, i, d);
      if (result->status == PH_OK && !result->wrong) continue;
      cli_print_colored(stdout, result->wrong ? CLI_RED : CLI_YELLOW,
                        result->wrong ? "wrong" : ph_status_name(result->status));
      printf("  %s on %s: %s\n", ph_bench_case_name(bench, i), ph_bench_device(bench, d)->spec, result->reason);
    }
}

/* ---- JSON ---- */

static json_t *times_json(const ph_bench_times *times) {
  if (times->count == 0) return json_null();
  return json_pack("{sf sf sf sf si}", "median", times->median, "p10", times->p10, "p90", times->p90, "least",
                   times->least, "count", (int)times->count);
}

static json_t *memory_json(const ph_memory_report *memory) {
  return json_pack("{sI sI sI sI sI}", "inputs", (json_int_t)memory->inputs, "outputs", (json_int_t)memory->outputs,
                   "constants", (json_int_t)memory->constants, "arena", (json_int_t)memory->arena, "workspace",
                   (json_int_t)memory->workspace);
}

static json_t *result_json(const char *name, const ph_device_entry *device, const ph_bench_result *result) {
  json_t *json = json_pack("{so so ss sb so}", "case", cli_json_text(name), "device", cli_json_text(device->spec),
                           "status", result->status == PH_OK ? "ok" : ph_status_name(result->status), "wrong",
                           (int)result->wrong, "reason", cli_json_text(result->reason));
  if (json == NULL || result->status != PH_OK) return json;
  json_t *numbers =
      json_pack("{sf sf so so sf sf sI sf sf so si ss}", "prepare", result->prepare, "first", result->first, "run",
                times_json(&result->run), "device_time", times_json(&result->device), "cpu", result->cpu, "flops",
                result->flops, "bytes", (json_int_t)result->bytes, "gflops", per_second(result->flops, result) * 1e-9,
                "gbytes", per_second((double)result->bytes, result) * 1e-9, "memory", memory_json(&result->memory),
                "nodes", (int)result->nodes, "variant", result->variant);
  if (numbers == NULL || json_object_update(json, numbers) != 0) {
    json_decref(json);
    json = NULL;
  }
  json_decref(numbers);
  return json;
}

static ph_status fill_document(const ph_bench *bench, json_t *to, ph_error *error) {
  json_t *devices = json_array(), *results = json_array();
  for (uint32_t d = 0; d < ph_bench_device_count(bench); d++) {
    json_t *device = cli_json_device(ph_bench_device(bench, d));
    if (device != NULL && json_object_set_new(device, "peak", cli_json_peak(ph_bench_peak(bench, d))) != 0) {
      json_decref(device);
      device = NULL;
    }
    devices = cli_json_append(devices, device);
  }
  for (uint32_t i = 0; i < ph_bench_case_count(bench); i++)
    for (uint32_t d = 0; d < ph_bench_device_count(bench); d++)
      results = cli_json_append(results, result_json(ph_bench_case_name(bench, i), ph_bench_device(bench, d),
                                                     ph_bench_result_of(bench, i, d)));
  PH_TRY(cli_json_set(to, "devices", devices, error));
  return cli_json_set(to, "results", results, error);
}

/* ---- the command ---- */

static ph_status list_cases(const ph_bench *bench, cli_result *result, ph_error *error) {
  json_t *names = result->json != NULL ? json_array() : NULL;
  for (uint32_t i = 0; i < ph_bench_case_count(bench); i++) {
    if (result->json != NULL)
      names = cli_json_append(names, cli_json_text(ph_bench_case_name(bench, i)));
    else
      printf("%s\n", ph_bench_case_name(bench, i));
  }
  return result->json != NULL ? cli_json_set(result->json, "cases", names, error) : PH_OK;
}

/* Wrong output is a failed case; nothing that ran at all is nothing supported. */
static int exit_code(const ph_bench *bench) {
  bool ran = false, wrong = false, invalid = false, failed = false;
  for (uint32_t i = 0; i < ph_bench_case_count(bench); i++)
    for (uint32_t d = 0; d < ph_bench_device_count(bench); d++) {
      const ph_bench_result *result = ph_bench_result_of(bench, i, d);
      ran = ran || result->status == PH_OK;
      wrong = wrong || result->wrong;
      invalid = invalid || result->status == PH_INVALID;
      failed = failed || (result->status != PH_OK && result->status != PH_UNSUPPORTED && result->status != PH_INVALID);
    }
  if (wrong) return CLI_EXIT_DIFFERENT;
  if (invalid) return CLI_EXIT_USAGE;
  if (failed) return CLI_EXIT_DEVICE;
  return ran ? CLI_EXIT_GOOD : CLI_EXIT_UNSUPPORTED;
}

static ph_status write_plot(const ph_bench *bench, ph_file_writer **file, ph_error *error) {
  char *svg;
  size_t size;
  PH_TRY(ph_bench_draw(bench, &svg, &size, error));
  ph_status status = ph_file_writer_put(*file, svg, size, error);
  free(svg);
  if (status != PH_OK) return status;
  status = ph_file_writer_commit(*file, error);
  *file = NULL;
  return status;
}

/* `plot`: begun before anything runs, so that a folder that cannot be written is known at once; or NULL. */
static ph_status run_cases(const cli_options *options, ph_bench *bench, ph_file_writer **plot, cli_result *result,
                           ph_error *error) {
  ph_context *context;
  PH_TRY(cli_context_open(options, &context, error));
  ph_status status = ph_bench_run(bench, context, error);
  cli_progress_clear();
  if (status == PH_OK) result->exit_code = exit_code(bench);
  if (status == PH_OK && result->json != NULL) status = fill_document(bench, result->json, error);
  if (status == PH_OK && result->json == NULL) {
    status = print_results(bench, error);
    print_peaks(bench);
    print_reasons(bench);
  }
  if (status == PH_OK && *plot != NULL) status = write_plot(bench, plot, error);
  ph_context_destroy(context);
  return status;
}

static ph_status read_pace(const cli_options *options, ph_bench_options *wanted, ph_error *error) {
  uint64_t warmup = PH_NONE, iters = PH_NONE;
  PH_TRY(cli_count_parse("warmup", options->warmup, 0, &warmup, error));
  PH_TRY(cli_count_parse("iters", options->iters, 1, &iters, error));
  wanted->warmup = warmup < PH_NONE ? (uint32_t)warmup : PH_NONE;
  wanted->iters = iters < PH_NONE ? (uint32_t)iters : PH_NONE;
  return PH_OK;
}

static ph_status run_with_inputs(const cli_options *options, const cli_inputs *inputs, const char **names,
                                 cli_result *result, ph_error *error) {
  ph_model_options model;
  PH_TRY(cli_model_options(options, &model, error));
  for (uint32_t i = 0; i < inputs->count; i++) names[i] = inputs->pairs[i].name;
  ph_bench_options wanted = {.struct_size = sizeof(wanted),
                             .files = options->arguments.items,
                             .file_count = options->arguments.count,
                             .devices = options->devices.items,
                             .device_count = options->devices.count,
                             .set = options->set,
                             .filter = options->filter,
                             .seed = options->seed,
                             .model = &model,
                             .input_names = names,
                             .inputs = inputs->tensors,
                             .input_count = inputs->count,
                             .before = cli_progress_show};
  PH_TRY(read_pace(options, &wanted, error));
  ph_bench *bench;
  PH_TRY(ph_bench_open(&wanted, &bench, error));
  ph_file_writer *plot = NULL;
  ph_status status = PH_OK;
  if (options->plot != NULL && !options->list) status = ph_file_writer_create(options->plot, &plot, error);
  if (status == PH_OK)
    status = options->list ? list_cases(bench, result, error) : run_cases(options, bench, &plot, result, error);
  ph_file_writer_abandon(plot);
  ph_bench_close(bench);
  return status;
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  cli_inputs inputs = {0};
  const char **names = calloc(options->inputs.count + 1, sizeof(*names));
  ph_status status = names != NULL ? cli_inputs_open(options, &inputs, error) : ph_fail_memory(error);
  if (status == PH_OK) status = run_with_inputs(options, &inputs, names, result, error);
  cli_inputs_close(&inputs);
  free(names);
  return status;
}

const cli_command cli_bench = {
    .name = "bench",
    .arguments = "[CONFIG|SUITE]...",
    .most = UINT32_MAX,
    .options = CLI_DEVICES | CLI_WEIGHTS | CLI_INPUT | CLI_DIM | CLI_RANDOM | CLI_SET | CLI_FILTER | CLI_SEED |
               CLI_LIST | CLI_WARMUP | CLI_ITERS | CLI_PLOT | CLI_COMMON,
    .summary = "measure how fast configs run on devices",
    .text =
        "Runs each config, and each case of a suite (without any: of the library's own; bench_linear names one of "
        "them),\n"
        "on each device again and again, the devices in turn, round by round.  One row for each: prepare (shapes, "
        "packed\n"
        "weights, compiled kernels), the first run, then the median, the 10th and 90th percentile of the others, as a\n"
        "caller sees them; inside, the device's own times of its nodes added up; rates by the op table's FLOPs and "
        "bytes\n"
        "over the median, and their shares of the multiply-adds and the reading that the device was measured to "
        "reach;\n"
        "the CPU time of one run, all threads; buffers and workspace; the variant of the node with the most FLOPs.\n"
        "Outputs are filled with NaN before each run and must come out as the first ones.  Exits with 1 where not.",
    .run = run,
};
