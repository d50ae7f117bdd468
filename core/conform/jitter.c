#include "conform/jitter.h"

#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "conform/reference_step.h"

static ph_status run_once(const ph_net *net, const ph_placement *placements, uint64_t seed, uint32_t *reads,
                          ph_tensor **values, ph_error *error) {
  ph_net_count_reads(net, reads);
  for (uint32_t n = 0; n < net->node_count; n++) {
    ph_reference_step step;
    ph_status status = ph_reference_step_run(&step, net, net->nodes[n], values, error);
    if (status == PH_OK)
      status = ph_reference_step_store(&step, placements[n].support.stage_type, ph_random_key(seed, "jitter"), values,
                                       error);
    ph_reference_step_end(&step);
    PH_TRY(status);
    ph_reference_drop(net, net->nodes[n], reads, true, values);
  }
  return PH_OK;
}

static double largest_deviation(const ph_tensor *a, const ph_tensor *b) {
  double largest = 0;
  for (size_t i = 0; i < a->count; i++) {
    double deviation = fabs(ph_read_real(a->dtype, a->data, i) - ph_read_real(b->dtype, b->data, i));
    if (deviation > largest) largest = deviation; /* NaN, where both or one are not finite, counts for nothing */
  }
  return largest;
}

ph_status ph_jitter_limits(const ph_net *net, const ph_placement *placements, ph_tensor *const *inputs,
                           const uint32_t *outputs, ph_tensor *const *expected, uint32_t output_count, double *limits,
                           ph_error *error) {
  ph_tensor **values = ph_new_array(net->value_count, sizeof(*values));
  uint32_t *reads = ph_new_array(net->value_count, sizeof(*reads));
  ph_status status = values != NULL && reads != NULL ? PH_OK : ph_fail_memory(error);
  for (uint32_t i = 0; i < output_count; i++) limits[i] = 0;
  for (uint64_t seed = 1; seed <= PH_JITTER_RUNS && status == PH_OK; seed++) {
    for (uint32_t i = 0; i < net->value_count; i++) values[i] = inputs[i] == NULL ? NULL : ph_tensor_retain(inputs[i]);
    status = run_once(net, placements, seed, reads, values, error);
    for (uint32_t i = 0; i < output_count && status == PH_OK; i++) {
      double limit = 2 * largest_deviation(expected[i], values[outputs[i]]);
      if (limit > limits[i]) limits[i] = limit;
    }
    for (uint32_t i = 0; i < net->value_count; i++) {
      ph_tensor_release(values[i]);
      values[i] = NULL;
    }
  }
  free(values);
  free(reads);
  return status;
}
