/* Comparing devices with the oracle, node by node, and end to end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
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

static ph_status find_inputs(comparer *c) {
  const ph_net *net = c->plan->net;
  for (uint32_t i = 0; i < net->value_count; i++) {
    ph_tensor *tensor = NULL;
    if (net->values[i].kind == PH_TENSOR_INPUT)
      PH_TRY(ph_session_input_tensor(c->session, c->plan, i, &tensor, c->error));
    if (net->values[i].kind == PH_TENSOR_CONSTANT) tensor = net->values[i].tensor;
    if (tensor != NULL) c->values[i] = ph_tensor_retain(tensor);
  }
  return ph_check_indices(net, c->values, c->session->context, c->error);
}

/* The largest difference of the outputs when the device runs the whole by itself. */
static ph_status end_to_end(comparer *c) {
  PH_TRY(ph_session_run(c->session, c->error));
  for (uint32_t i = 0; i < c->session->output_count; i++) {
    const ph_tensor *got = c->session->outputs[i].tensor, *expected = c->values[c->session->output_values[i]];
    for (size_t k = 0; k < got->count; k++) {
      double difference =
          fabs(ph_read_real(got->dtype, got->data, k) - ph_read_real(expected->dtype, expected->data, k));
      if (difference > c->device->end_to_end) c->device->end_to_end = difference;
    }
  }
  return PH_OK;
}

static ph_status compare_plan(comparer *c) {
  const ph_net *net = c->plan->net;
  c->values = ph_new_array(net->value_count, sizeof(*c->values));
  c->nodes = ph_arena_array(&c->comparison->arena, net->node_count, sizeof(*c->nodes));
  if (c->values == NULL || c->nodes == NULL) return ph_fail_memory(c->error);
  c->device->nodes = c->nodes;
  PH_TRY(find_inputs(c));
  ph_judge judge = {.net = net,
                    .placements = c->plan->placements,
                    .programs = c->session->programs,
                    .values = c->values,
                    .keep_outputs = true,
                    .after = record,
                    .user = c};
  PH_TRY(ph_judge_run(&judge, c->error));
  return end_to_end(c);
}

static ph_status compare_device(ph_context *context, ph_model *model, const ph_compare_options *options, uint32_t index,
                                ph_comparison *comparison, ph_error *error) {
  comparer c = {.comparison = comparison, .device = &comparison->devices[index], .error = error};
  ph_session_options session_options = {.struct_size = sizeof(session_options), .device = options->devices[index]};
  PH_TRY(ph_session_create(context, model, &session_options, &c.session, error));
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < options->input_count && status == PH_OK; i++)
    status = ph_session_set_input(c.session, options->input_names[i], options->inputs[i], error);
  if (status == PH_OK) status = ph_session_prepare(c.session, false, error);
  if (status == PH_OK) {
    c.plan = c.session->current;
    c.device->pass = true;
    c.device->first_failed = PH_NONE;
    c.device->spec = ph_arena_text(&comparison->arena, "%s", options->devices[index]);
    memcpy(c.device->name, c.session->device->limits.name, sizeof(c.device->name));
    status = c.device->spec == NULL ? ph_fail_memory(error) : compare_plan(&c);
  }
  for (uint32_t i = 0; c.values != NULL && i < c.plan->net->value_count; i++) ph_tensor_release(c.values[i]);
  free(c.values);
  ph_session_destroy(c.session);
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
