/* A bench: cases, each on all devices in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench/cases.h"
#include "bench/lane.h"
#include "runtime/peak.h"

struct ph_bench {
  ph_arena arena;
  ph_bench_options options; /* pointers are the caller's, who keeps them alive */
  ph_bench_cases cases;
  ph_bench_result *results; /* by case and device */
  const ph_device_entry **devices;
  ph_peak *peaks; /* by device */
};

static const char *const any_device[] = {"auto"};

ph_status ph_bench_open(const ph_bench_options *options, ph_bench **out, ph_error *error) {
  ph_bench *bench = ph_new_array(1, sizeof(*bench));
  if (bench == NULL) return ph_fail_memory(error);
  bench->options = *options;
  if (bench->options.device_count == 0) {
    bench->options.devices = any_device;
    bench->options.device_count = 1;
  }
  ph_status status = ph_bench_cases_open(options, &bench->arena, &bench->cases, error);
  if (status == PH_OK) {
    bench->results = ph_arena_array(&bench->arena, (size_t)bench->cases.count * bench->options.device_count,
                                    sizeof(*bench->results));
    bench->devices = ph_arena_array(&bench->arena, bench->options.device_count, sizeof(*bench->devices));
    bench->peaks = ph_arena_array(&bench->arena, bench->options.device_count, sizeof(*bench->peaks));
    if (bench->results == NULL || bench->devices == NULL || bench->peaks == NULL) status = ph_fail_memory(error);
  }
  if (status == PH_OK)
    *out = bench;
  else
    ph_bench_close(bench);
  return status;
}

void ph_bench_close(ph_bench *bench) {
  if (bench == NULL) return;
  ph_bench_cases_close(&bench->cases);
  ph_arena_free(&bench->arena);
  free(bench);
}

/* ---- running ---- */

/* A queue that died takes the device with it (backend.h): the next case gets a fresh one. */
static void lose_devices(const ph_bench *bench, const ph_bench_result *results, ph_open_device **devices) {
  for (uint32_t d = 0; d < bench->options.device_count; d++) {
    if (results[d].status != PH_DEVICE_FAILED) continue;
    ph_open_device_close(devices[d]);
    devices[d] = NULL;
  }
}

static ph_status open_devices(ph_bench *bench, ph_context *context, ph_open_device **devices, ph_error *error) {
  for (uint32_t d = 0; d < bench->options.device_count; d++) {
    if (devices[d] != NULL) continue;
    PH_TRY(ph_context_open_device(context, bench->options.devices[d], &devices[d], error));
    bench->devices[d] = devices[d]->entry;
  }
  return PH_OK;
}

static ph_status run_lanes(ph_bench *bench, ph_context *context, ph_model *model, ph_open_device **devices,
                           ph_bench_result *results, ph_bench_lane **lanes, ph_error *error) {
  ph_bench_pace pace = {.warmup = bench->options.warmup, .iters = bench->options.iters};
  for (uint32_t d = 0; d < bench->options.device_count; d++)
    PH_TRY(ph_bench_lane_open(context, model, &bench->options, devices[d], &pace, &results[d], &lanes[d], error));
  for (bool more = true; more;) {
    more = false;
    for (uint32_t d = 0; d < bench->options.device_count; d++)
      if (lanes[d] != NULL && ph_bench_lane_turn(lanes[d])) more = true;
  }
  return PH_OK;
}

/* A case of a suite that is no config costs no other case its figures; a config that was named ends the bench. */
static ph_status load(ph_bench *bench, uint32_t index, ph_bench_result *results, ph_model **out, ph_error *error) {
  const ph_bench_case *one = &bench->cases.items[index];
  ph_error local = PH_ERROR_INIT;
  *out = NULL;
  if (one->config != NULL) return ph_bench_case_load(one, bench->options.model, bench->options.seed, out, error);
  ph_status status = ph_bench_case_load(one, NULL, bench->options.seed, out, &local);
  for (uint32_t d = 0; status != PH_OK && d < bench->options.device_count; d++) {
    results[d].status = status;
    snprintf(results[d].reason, sizeof(results[d].reason), "%s", local.message);
  }
  return PH_OK;
}

static ph_status run_case(ph_bench *bench, uint32_t index, ph_context *context, ph_open_device **devices,
                          ph_error *error) {
  uint32_t count = bench->options.device_count;
  ph_bench_result *results = bench->results + (size_t)index * count;
  ph_bench_lane **lanes = ph_new_array(count, sizeof(*lanes));
  ph_model *model = NULL;
  ph_status status = lanes != NULL ? open_devices(bench, context, devices, error) : ph_fail_memory(error);
  if (status == PH_OK) status = load(bench, index, results, &model, error);
  if (status == PH_OK && model != NULL) status = run_lanes(bench, context, model, devices, results, lanes, error);
  for (uint32_t d = 0; lanes != NULL && d < count; d++) ph_bench_lane_close(lanes[d]);
  lose_devices(bench, results, devices);
  ph_model_destroy(model);
  free(lanes);
  return status;
}

/* Keeps the better of what was measured before and now. */
static void measure_peaks(ph_bench *bench, ph_context *context, ph_open_device **devices) {
  for (uint32_t d = 0; d < bench->options.device_count; d++) {
    ph_peak *best = &bench->peaks[d];
    if (devices[d] == NULL) continue;
    ph_peak found = ph_peak_measure(context, devices[d]);
    if (found.flops > best->flops) best->flops = found.flops;
    if (found.read_bytes > best->read_bytes) best->read_bytes = found.read_bytes;
    if (found.triad_bytes > best->triad_bytes) best->triad_bytes = found.triad_bytes;
  }
}

ph_status ph_bench_run(ph_bench *bench, ph_context *context, ph_error *error) {
  ph_open_device **devices = ph_new_array(bench->options.device_count, sizeof(*devices));
  if (devices == NULL) return ph_fail_memory(error);
  ph_status status = open_devices(bench, context, devices, error);
  if (status == PH_OK) measure_peaks(bench, context, devices);
  for (uint32_t i = 0; i < bench->cases.count && status == PH_OK; i++) {
    if (bench->options.before != NULL)
      bench->options.before(bench->options.user, i, bench->cases.count, bench->cases.items[i].name);
    status = run_case(bench, i, context, devices, error);
  }
  if (status == PH_OK) measure_peaks(bench, context, devices);
  for (uint32_t d = 0; d < bench->options.device_count; d++) ph_open_device_close(devices[d]);
  free(devices);
  return status;
}

/* ---- what there is to know ---- */

uint32_t ph_bench_case_count(const ph_bench *bench) {
  return bench->cases.count;
}
const char *ph_bench_case_name(const ph_bench *bench, uint32_t index) {
  return bench->cases.items[index].name;
}
uint32_t ph_bench_device_count(const ph_bench *bench) {
  return bench->options.device_count;
}
const ph_device_entry *ph_bench_device(const ph_bench *bench, uint32_t device) {
  return bench->devices[device];
}
ph_peak ph_bench_peak(const ph_bench *bench, uint32_t device) {
  return bench->peaks[device];
}
const ph_bench_result *ph_bench_result_of(const ph_bench *bench, uint32_t index, uint32_t device) {
  return &bench->results[(size_t)index * bench->options.device_count + device];
}
