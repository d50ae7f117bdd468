#include "conform/whole.h"

#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/error.h"
#include "conform/jitter.h"

ph_status ph_whole_inputs(ph_session *session, ph_tensor **out, ph_error *error) {
  const ph_net *net = session->current->net;
  for (uint32_t i = 0; i < net->value_count; i++) {
    ph_tensor *tensor = NULL;
    if (net->values[i].kind == PH_TENSOR_INPUT)
      PH_TRY(ph_session_input_tensor(session, session->current, i, &tensor, error));
    if (net->values[i].kind == PH_TENSOR_CONSTANT) tensor = net->values[i].tensor;
    if (tensor != NULL) out[i] = ph_tensor_retain(tensor);
    if (net->values[i].kind == PH_TENSOR_STATE)
      PH_TRY(ph_state_initial(net, session->current->dims, net->values[i].state, &out[i], error));
  }
  return ph_check_indices(net, out, session->context, error);
}

double ph_largest_difference(const ph_tensor *a, const ph_tensor *b) {
  double largest = 0;
  for (size_t i = 0; i < a->count; i++) {
    double x = ph_read_real(a->dtype, a->data, i), y = ph_read_real(b->dtype, b->data, i);
    if (x == y || (isnan(x) && isnan(y))) continue;
    double difference = isnan(x) || isnan(y) ? (double)INFINITY : fabs(x - y);
    if (difference > largest) largest = difference;
  }
  return largest;
}

static ph_status run(ph_session *session, ph_tensor *const *inputs, ph_tensor **expected, double *limits,
                     ph_whole_result *out, ph_error *error) {
  const ph_session_plan *plan = session->current;
  PH_TRY(ph_jitter_limits(plan->net, plan->placements, inputs, session->current->output_values, expected, session->output_count,
                          limits, error));
  PH_TRY(ph_session_run(session, error));
  double worst = -1;
  for (uint32_t i = 0; i < session->output_count; i++) {
    double difference = ph_largest_difference(session->outputs[i].tensor, expected[i]);
    double ratio = difference == 0 ? 0 : difference / limits[i]; /* a limit of 0: every node is exact */
    if (!(ratio <= 1)) out->pass = false;
    if (ratio <= worst) continue;
    worst = ratio;
    out->output = i;
    out->difference = difference;
    out->limit = limits[i];
  }
  return PH_OK;
}

ph_status ph_whole_run(ph_session *session, ph_tensor *const *inputs, ph_tensor *const *expected, ph_whole_result *out,
                       ph_error *error) {
  uint32_t count = session->output_count;
  double *limits = ph_new_array(count, sizeof(*limits));
  ph_tensor **values = ph_new_array(count, sizeof(*values));
  *out = (ph_whole_result){.pass = true, .output = PH_NONE};
  ph_status status = limits != NULL && values != NULL ? PH_OK : ph_fail_memory(error);
  for (uint32_t i = 0; i < count && status == PH_OK; i++) values[i] = expected[session->current->output_values[i]];
  if (status == PH_OK) status = run(session, inputs, values, limits, out, error);
  free(limits);
  free(values);
  return status;
}
