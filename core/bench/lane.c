#include "bench/lane.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "runtime/session.h"

/* Seconds that a lane's runs take together, where nobody says how many there are to be: until ENOUGH and LEAST_RUNS are
 * reached, but never beyond TOO_MUCH. */
static const double ENOUGH = 0.5, TOO_MUCH = 8.0, WARM = 0.2;
enum { LEAST_RUNS = 5, WARM_RUNS = 2 };

struct ph_bench_lane {
  ph_bench_pace pace;
  ph_session *plain; /* as everybody runs it */
  ph_session *timed; /* with node times; NULL where the device has none */
  ph_tensor **first; /* what the first run gave, by output of `plain` */
  bool same_bits;    /* each run must give what the first gave: there is no state that moves on */
  uint32_t warm;     /* runs that are not counted yet to come */
  double spent;      /* seconds, counted runs of `plain` */
  ph_samples run, cpu, device;
  ph_bench_result *result;
};

/* ---- clocks ---- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double seconds_of(struct timeval time) {
  return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Of all threads of the process. */
static double cpu_now(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

/* ---- failures ---- */

static void fail(ph_bench_result *result, ph_status status, const ph_error *error) {
  result->status = status;
  snprintf(result->reason, sizeof(result->reason), "%s", error->message);
}

static void set_wrong(ph_bench_result *result, const char *alias, const char *what) {
  if (result->wrong) return;
  result->wrong = true;
  snprintf(result->reason, sizeof(result->reason), "output '%s' %s", alias, what);
}

/* ---- checks ---- */

static bool has_nan(const ph_tensor *tensor) {
  if (!ph_dtype_is_real(tensor->dtype)) return false;
  for (size_t i = 0; i < tensor->count; i++)
    if (isnan(ph_read_real(tensor->dtype, tensor->data, i))) return true;
  return false;
}

/* Takes a copy: the session may use the memory of its outputs again. */
static ph_status keep_first(ph_bench_lane *lane, ph_error *error) {
  lane->first = ph_new_array(lane->plain->output_count, sizeof(*lane->first));
  if (lane->first == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < lane->plain->output_count; i++) {
    const ph_tensor *from = lane->plain->outputs[i].tensor;
    PH_TRY(ph_tensor_create(from->dtype, from->rank, from->dims, &lane->first[i], error));
    if (from->bytes > 0) memcpy(lane->first[i]->data, from->data, from->bytes);
    if (has_nan(from)) set_wrong(lane->result, lane->plain->outputs[i].alias, "has NaN in it");
  }
  return PH_OK;
}

static void check(ph_bench_lane *lane) {
  for (uint32_t i = 0; i < lane->plain->output_count; i++) {
    const ph_tensor *got = lane->plain->outputs[i].tensor, *first = lane->first[i];
    if (lane->same_bits && got->bytes > 0 && memcmp(got->data, first->data, got->bytes) != 0)
      set_wrong(lane->result, lane->plain->outputs[i].alias, "has other bits in a later run");
    if (!lane->same_bits && has_nan(got)) set_wrong(lane->result, lane->plain->outputs[i].alias, "has NaN in it");
  }
}

/* ---- what the op table says ---- */

static void add_up(ph_bench_lane *lane) {
  ph_bench_result *result = lane->result;
  double most = -1;
  result->nodes = ph_session_node_count(lane->plain);
  for (uint32_t i = 0; i < result->nodes; i++) {
    const ph_node_report *node = ph_session_node(lane->plain, i);
    result->flops += node->flops;
    result->bytes += node->bytes;
    if (node->flops <= most || node->variant == NULL) continue;
    most = node->flops;
    snprintf(result->variant, sizeof(result->variant), "%s", node->variant);
  }
  result->memory = ph_session_memory(lane->plain);
}

static double device_seconds(const ph_session *session) {
  double sum = 0;
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    sum += (double)(node->end_ns - node->start_ns) * 1e-9;
  }
  return sum;
}

/* ---- opening ---- */

static ph_status open_session(ph_context *context, ph_model *model, const ph_bench_options *options,
                              ph_open_device *device, bool times, ph_session **out, ph_error *error) {
  ph_session_options wanted = {.struct_size = sizeof(wanted), .times = times};
  PH_TRY(ph_session_create_on(context, model, &wanted, device, NULL, out, error));
  for (uint32_t i = 0; i < options->input_count; i++)
    PH_TRY(ph_session_set_input(*out, options->input_names[i], options->inputs[i], error));
  return ph_session_prepare(*out, false, error);
}

static ph_status start(ph_bench_lane *lane, ph_context *context, ph_model *model, const ph_bench_options *options,
                       ph_open_device *device, ph_error *error) {
  double begin = now();
  PH_TRY(open_session(context, model, options, device, false, &lane->plain, error));
  double prepared = now();
  PH_TRY(ph_session_run(lane->plain, error));
  double done = now();
  lane->result->prepare = prepared - begin;
  lane->result->first = done - prepared;
  lane->same_bits = model->state_count == 0;
  PH_TRY(keep_first(lane, error));
  add_up(lane);
  lane->warm = lane->pace.warmup;
  if (lane->warm == PH_NONE) lane->warm = lane->result->first < WARM ? WARM_RUNS : 1;
  if (lane->pace.warmup == PH_NONE && lane->result->first > TOO_MUCH) lane->warm = 0;
  if ((device->limits.caps & PH_CAP_NODE_TIMES) == 0 || lane->result->first > TOO_MUCH) return PH_OK;
  PH_TRY(open_session(context, model, options, device, true, &lane->timed, error));
  return ph_session_run(lane->timed, error);
}

ph_status ph_bench_lane_open(ph_context *context, ph_model *model, const ph_bench_options *options,
                             ph_open_device *device, const ph_bench_pace *pace, ph_bench_result *result,
                             ph_bench_lane **out, ph_error *error) {
  ph_bench_lane *lane = ph_new_array(1, sizeof(*lane));
  ph_error local = PH_ERROR_INIT;
  *out = NULL;
  if (lane == NULL) return ph_fail_memory(error);
  lane->pace = *pace;
  lane->result = result;
  ph_status status = start(lane, context, model, options, device, &local);
  if (status == PH_OK) {
    *out = lane;
    return PH_OK;
  }
  fail(result, status, &local);
  ph_bench_lane_close(lane);
  return PH_OK;
}

/* ---- running ---- */

static bool has_enough(const ph_bench_lane *lane) {
  size_t count = lane->run.count;
  if (lane->pace.iters != PH_NONE) return count >= lane->pace.iters;
  return (count >= LEAST_RUNS && lane->spent >= ENOUGH) || (count > 0 && lane->spent >= TOO_MUCH);
}

static ph_status run_plain(ph_bench_lane *lane, bool counted, ph_error *error) {
  PH_TRY(ph_session_poison(lane->plain, error));
  double cpu = cpu_now(), begin = now();
  PH_TRY(ph_session_run(lane->plain, error));
  double end = now();
  cpu = cpu_now() - cpu;
  check(lane);
  if (!counted) return PH_OK;
  lane->spent += end - begin;
  PH_TRY(ph_samples_add(&lane->run, end - begin, error));
  return ph_samples_add(&lane->cpu, cpu, error);
}

static ph_status run_timed(ph_bench_lane *lane, bool counted, ph_error *error) {
  if (lane->timed == NULL) return PH_OK;
  PH_TRY(ph_session_run(lane->timed, error));
  return counted ? ph_samples_add(&lane->device, device_seconds(lane->timed), error) : PH_OK;
}

bool ph_bench_lane_turn(ph_bench_lane *lane) {
  ph_error error = PH_ERROR_INIT;
  bool counted = lane->warm == 0;
  if (lane->result->status != PH_OK || (counted && has_enough(lane))) return false;
  if (!counted) lane->warm--;
  ph_status status = run_plain(lane, counted, &error);
  if (status == PH_OK) status = run_timed(lane, counted, &error);
  if (status != PH_OK) fail(lane->result, status, &error);
  return status == PH_OK;
}

void ph_bench_lane_close(ph_bench_lane *lane) {
  if (lane == NULL) return;
  ph_bench_result *result = lane->result;
  result->run = ph_samples_summary(&lane->run);
  result->device = ph_samples_summary(&lane->device);
  result->cpu = ph_samples_summary(&lane->cpu).median;
  uint32_t outputs = lane->plain != NULL ? lane->plain->output_count : 0;
  ph_tensors_release(lane->first, outputs);
  ph_session_destroy(lane->plain);
  ph_session_destroy(lane->timed);
  ph_samples_free(&lane->run);
  ph_samples_free(&lane->cpu);
  ph_samples_free(&lane->device);
  free(lane);
}
