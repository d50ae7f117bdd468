/* Comparing devices with the oracle, node by node, and end to end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "conform/jitter.h"
#include "conform/judge.h"
#include "runtime/session.h"

struct ph_comparison {
  ph_arena arena;
  ph_compare_device *devices;
  uint32_t count;
};

/* One device being compared. */
typedef struct comparer {
  ph_comparison *comparison;
  ph_session *session;
  ph_session_plan *plan;
  ph_compare_device *device;
  ph_compare_node *nodes; /* device->nodes */
  ph_tensor **values;     /* by net value: the reference's */
  ph_error *error;
} comparer;

static void split_index(int64_t flat, const ph_type *type, int64_t *out) {
  for (uint32_t i = type->rank; i-- > 0 && flat >= 0;) {
    out[i] = flat % type->dims[i].value;
    flat /= type->dims[i].value;
  }
}

/* The name of an output: the table's, or what split's `into` calls it. */
static const char *output_name(const ph_net *net, const ph_net_node *node, uint32_t slot) {
  return node->op->outputs != NULL ? node->op->outputs[slot].name
                                   : strrchr(net->values[node->outputs[slot]].path, '.') + 1;
}

static ph_status record(void *user, const ph_judgement *judgement, const ph_oracle_output *expected,
                        ph_tensor *const *got, ph_error *error) {
  (void)expected;
  (void)got;
  comparer *c = user;
  const ph_net *net = c->plan->net;
  const ph_net_node *node = net->nodes[judgement->node];
  ph_arena *arena = &c->comparison->arena;
  const ph_type *type = &net->values[node->outputs[judgement->slot]].type;
  ph_compare_node *out = &c->nodes[judgement->node];
  *out = (ph_compare_node){
      .path = ph_arena_text(arena, "%s", node->path),
      .op = node->op->name,
      .output = ph_arena_text(arena, "%s", output_name(net, node, judgement->slot)),
      .variant = ph_arena_text(arena, "%s", c->plan->placements[judgement->node].support.variant),
      .pass = judgement->pass,
      .same_bits = judgement->same_bits,
      .overrun = judgement->overrun,
      .compared = judgement->compared,
      .bad = judgement->bad,
      .rank = judgement->element < 0 ? 0 : type->rank,
      .expected = judgement->expected,
      .got = judgement->got,
      .bound = judgement->bound,
      .ratio = judgement->ratio,
  };
  if (out->path == NULL || out->output == NULL || out->variant == NULL) return ph_fail_memory(error);
  split_index(judgement->element, type, out->index);
  if (!out->pass && c->device->first_failed == PH_NONE) c->device->first_failed = judgement->node;
  c->device->pass = c->device->pass && out->pass;
  c->device->node_count = judgement->node + 1;
  return PH_OK;
}

/* The host tensors of inputs and constants. */
static ph_status find_inputs(comparer *c, ph_tensor **out) {
  const ph_net *net = c->plan->net;
  for (uint32_t i = 0; i < net->value_count; i++) {
    ph_tensor *tensor = NULL;
    if (net->values[i].kind == PH_TENSOR_INPUT)
      PH_TRY(ph_session_input_tensor(c->session, c->plan, i, &tensor, c->error));
    if (net->values[i].kind == PH_TENSOR_CONSTANT) tensor = net->values[i].tensor;
    if (tensor != NULL) out[i] = ph_tensor_retain(tensor);
  }
  return ph_check_indices(net, out, c->session->context, c->error);
}

/* INFINITY where one is NaN and the other not, or infinities differ. */
static double largest_difference(const ph_tensor *a, const ph_tensor *b) {
  double largest = 0;
  for (size_t i = 0; i < a->count; i++) {
    double x = ph_read_real(a->dtype, a->data, i), y = ph_read_real(b->dtype, b->data, i);
    if (x == y || (isnan(x) && isnan(y))) continue;
    double difference = isnan(x) || isnan(y) ? (double)INFINITY : fabs(x - y);
    if (difference > largest) largest = difference;
  }
  return largest;
}

/* The device runs the whole by itself; its outputs may drift as far as the bounds of all nodes together allow. */
static ph_status end_to_end(comparer *c, ph_tensor *const *inputs) {
  uint32_t count = c->session->output_count;
  const uint32_t *outputs = c->session->output_values;
  double *limits = ph_new_array(count, sizeof(*limits));
  ph_tensor **expected = ph_new_array(count, sizeof(*expected));
  ph_status status = limits != NULL && expected != NULL ? PH_OK : ph_fail_memory(c->error);
  for (uint32_t i = 0; i < count && status == PH_OK; i++) expected[i] = c->values[outputs[i]];
  if (status == PH_OK)
    status = ph_jitter_limits(c->plan->net, c->plan->placements, inputs, outputs, expected, count, limits, c->error);
  if (status == PH_OK) status = ph_session_run(c->session, c->error);
  double worst = -1;
  for (uint32_t i = 0; i < count && status == PH_OK; i++) {
    double difference = largest_difference(c->session->outputs[i].tensor, expected[i]);
    double ratio = difference == 0 ? 0 : difference / limits[i]; /* a limit of 0: every node is exact */
    if (ratio > 1) c->device->pass = c->device->end_to_end_pass = false;
    if (ratio <= worst) continue;
    worst = ratio;
    c->device->end_to_end = difference;
    c->device->end_to_end_limit = limits[i];
    c->device->end_to_end_output = ph_arena_text(&c->comparison->arena, "%s", c->session->outputs[i].alias);
    if (c->device->end_to_end_output == NULL) status = ph_fail_memory(c->error);
  }
  free(limits);
  free(expected);
  return status;
}

static void release_values(const comparer *c, ph_tensor **values) {
  for (uint32_t i = 0; values != NULL && i < c->plan->net->value_count; i++) ph_tensor_release(values[i]);
  free(values);
}

static ph_status judge_nodes(comparer *c) {
  c->nodes = ph_arena_array(&c->comparison->arena, c->plan->net->node_count, sizeof(*c->nodes));
  if (c->nodes == NULL) return ph_fail_memory(c->error);
  c->device->nodes = c->nodes;
  ph_judge judge = {.net = c->plan->net,
                    .placements = c->plan->placements,
                    .programs = c->session->programs,
                    .values = c->values,
                    .keep_outputs = true,
                    .after = record,
                    .user = c};
  return ph_judge_run(&judge, c->error);
}

static ph_status compare_plan(comparer *c, bool whole, ph_tensor **inputs) {
  if (c->values == NULL || inputs == NULL) return ph_fail_memory(c->error);
  PH_TRY(find_inputs(c, inputs));
  for (uint32_t i = 0; i < c->plan->net->value_count; i++)
    c->values[i] = inputs[i] == NULL ? NULL : ph_tensor_retain(inputs[i]);
  PH_TRY(judge_nodes(c));
  return whole ? end_to_end(c, inputs) : PH_OK;
}

/* Opens the device and judges the model's nodes on it; with `whole` the graph end to end, too.  `keep`: a value that is
 * wanted, so that the group around it is not fused; or NULL. */
static ph_status compare_session(ph_context *context, ph_model *model, const ph_compare_options *options,
                                 const char *spec, const char *keep, bool whole, ph_comparison *comparison,
                                 ph_compare_device *device, ph_session **out, ph_error *error) {
  comparer c = {.comparison = comparison, .device = device, .error = error};
  ph_session_options session_options = {
      .struct_size = sizeof(session_options), .device = spec, .keep = &keep, .keep_count = keep != NULL};
  PH_TRY(ph_session_create(context, model, &session_options, &c.session, error));
  *out = c.session;
  for (uint32_t i = 0; i < options->input_count; i++)
    PH_TRY(ph_session_set_input(c.session, options->input_names[i], options->inputs[i], error));
  PH_TRY(ph_session_prepare(c.session, false, error));
  c.plan = c.session->current;
  device->pass = device->end_to_end_pass = true;
  device->first_failed = PH_NONE;
  device->spec = ph_arena_text(&comparison->arena, "%s", spec);
  memcpy(device->name, c.session->device->limits.name, sizeof(device->name));
  ph_tensor **inputs = ph_new_array(c.plan->net->value_count, sizeof(*inputs));
  c.values = ph_new_array(c.plan->net->value_count, sizeof(*c.values));
  ph_status status = device->spec == NULL ? ph_fail_memory(error) : compare_plan(&c, whole, inputs);
  release_values(&c, inputs);
  release_values(&c, c.values);
  return status;
}

static const ph_net_node *find_node(const ph_net *net, const char *path) {
  for (uint32_t n = 0; n < net->node_count; n++)
    if (strcmp(net->nodes[n]->path, path) == 0) return net->nodes[n];
  return NULL;
}

/* A fused node that fails is run again in its steps: either one of them is wrong too, or only the fused kernel is. */
static ph_status look_inside(ph_context *context, ph_model *model, const ph_compare_options *options, const ph_net *net,
                             ph_comparison *comparison, const char *spec, ph_compare_node *failed, ph_error *error) {
  const ph_net_node *fused = find_node(net, failed->path);
  if (fused->step_count < 2) return PH_OK;
  const ph_net_node *before_last = fused->steps[fused->step_count - 2];
  ph_compare_device steps = {0};
  ph_session *session = NULL;
  ph_status status = compare_session(context, model, options, spec, net->values[before_last->outputs[0]].path, false,
                                     comparison, &steps, &session, error);
  for (uint32_t n = 0; n < steps.node_count && status == PH_OK && failed->inside == NULL; n++)
    for (uint32_t i = 0; i < fused->step_count; i++)
      if (!steps.nodes[n].pass && strcmp(steps.nodes[n].path, fused->steps[i]->path) == 0 && failed->inside == NULL)
        failed->inside = ph_arena_text(&comparison->arena, "in steps, '%s' differs first", steps.nodes[n].path);
  if (failed->inside == NULL) failed->inside = "differs only when fused";
  ph_session_destroy(session);
  return status;
}

static ph_status compare_device(ph_context *context, ph_model *model, const ph_compare_options *options, uint32_t index,
                                ph_comparison *comparison, ph_error *error) {
  ph_compare_device *device = &comparison->devices[index];
  ph_session *session = NULL;
  ph_status status = compare_session(context, model, options, options->devices[index], NULL, true, comparison, device,
                                     &session, error);
  for (uint32_t n = 0; status == PH_OK && n < device->node_count; n++) {
    ph_compare_node *node = (ph_compare_node *)&device->nodes[n];
    if (!node->pass)
      status =
          look_inside(context, model, options, session->current->net, comparison, options->devices[index], node, error);
  }
  ph_session_destroy(session);
  return status;
}

ph_status ph_compare(ph_context *context, ph_model *model, const ph_compare_options *options, ph_comparison **out,
                     ph_error *error) {
  ph_comparison *comparison = ph_new_array(1, sizeof(*comparison));
  if (comparison == NULL) return ph_fail_memory(error);
  comparison->devices = ph_arena_array(&comparison->arena, options->device_count, sizeof(*comparison->devices));
  ph_status status = comparison->devices != NULL ? PH_OK : ph_fail_memory(error);
  for (uint32_t i = 0; i < options->device_count && status == PH_OK; i++, comparison->count++)
    status = compare_device(context, model, options, i, comparison, error);
  if (status == PH_OK)
    *out = comparison;
  else
    ph_comparison_destroy(comparison);
  return status;
}

void ph_comparison_destroy(ph_comparison *comparison) {
  if (comparison == NULL) return;
  ph_arena_free(&comparison->arena);
  free(comparison);
}

uint32_t ph_comparison_device_count(const ph_comparison *comparison) {
  return comparison->count;
}
const ph_compare_device *ph_comparison_device(const ph_comparison *comparison, uint32_t index) {
  return &comparison->devices[index];
}
