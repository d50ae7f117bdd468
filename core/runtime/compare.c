/* Comparing devices with the oracle, node by node: each node is fed with the reference's inputs, so that its verdict is
 * about itself alone (NUMERICS section 3). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "oracle/tolerance.h"
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
  ph_segment *segment;   /* all nodes apart */
  ph_tensor **reference; /* by net value: what the reference says */
  ph_tensor **got;       /* by storage of the segment: what the device wrote */
  ph_compare_device *device;
  ph_error *error;
} comparer;

static ph_status make_tensor(const ph_type *type, ph_tensor **out, ph_error *error) {
  int64_t dims[PH_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; i++) dims[i] = type->dims[i].value;
  return ph_tensor_create(type->dtype, type->rank, dims, out, error);
}

/* Element 0 of every tensor that node `node` reads. */
static void point_at_inputs(const comparer *c, const ph_lowered *lowered, uint32_t node, const void **data) {
  const ph_node *n = lowered->graph.nodes[node];
  for (uint32_t i = 0; i < n->input_count; i++) {
    if (n->inputs[i] == PH_NONE) continue;
    const ph_tensor_desc *desc = lowered->graph.tensors[n->inputs[i]];
    const ph_storage *storage = &lowered->storages[lowered->tensor_storage[n->inputs[i]]];
    data[n->inputs[i]] = desc->kind == PH_TENSOR_CONSTANT ? desc->data : c->reference[storage->value]->data;
  }
}

static void round_to_type(const ph_oracle_output *output, ph_tensor *to) {
  for (int64_t i = 0; i < output->count; i++) {
    if (ph_dtype_is_real(to->dtype))
      ph_write_real(to->dtype, to->data, (size_t)i, output->real[i]);
    else
      ph_write_integer(to->dtype, to->data, (size_t)i, output->integer[i]);
  }
}

/* Runs the oracle over a node and hands its outputs to `use`. */
static ph_status with_oracle(comparer *c, uint32_t node, bool magnitudes,
                             ph_status (*use)(comparer *, uint32_t node, ph_oracle_output *outputs)) {
  const ph_lowered *lowered = ph_segment_lowered(c->segment);
  uint32_t count = lowered->graph.nodes[node]->output_count;
  const void **data = ph_new_array(lowered->graph.tensor_count, sizeof(*data));
  ph_oracle_output *outputs = ph_new_array(count, sizeof(*outputs));
  ph_status status = ph_fail_memory(c->error);
  if (data != NULL && outputs != NULL) {
    point_at_inputs(c, lowered, node, data);
    status = ph_oracle_node(&lowered->graph, node, data, magnitudes, outputs, c->error);
    if (status == PH_OK) status = use(c, node, outputs);
    ph_oracle_outputs_free(outputs, count);
  }
  free(outputs);
  free(data);
  return status;
}

static ph_status keep_reference(comparer *c, uint32_t node, ph_oracle_output *outputs) {
  const ph_net_node *n = c->plan->net->nodes[node];
  const ph_node *lowered = ph_segment_lowered(c->segment)->graph.nodes[node];
  for (uint32_t i = 0; i < n->output_count; i++) {
    if (lowered->outputs[i] == PH_NONE) continue;
    ph_tensor *tensor;
    PH_TRY(make_tensor(&c->plan->net->values[n->outputs[i]].type, &tensor, c->error));
    round_to_type(&outputs[i], tensor);
    c->reference[n->outputs[i]] = tensor;
  }
  return PH_OK;
}

static ph_status reference_pass(comparer *c) {
  const ph_net *net = c->plan->net;
  for (uint32_t i = 0; i < net->value_count; i++) {
    ph_tensor *tensor = NULL;
    if (net->values[i].kind == PH_TENSOR_INPUT)
      PH_TRY(ph_session_input_tensor(c->session, c->plan, i, &tensor, c->error));
    if (net->values[i].kind == PH_TENSOR_CONSTANT) tensor = net->values[i].tensor;
    c->reference[i] = tensor == NULL ? NULL : ph_tensor_retain(tensor);
  }
  PH_TRY(ph_check_indices(net, c->reference, c->session->context, c->error));
  for (uint32_t n = 0; n < net->node_count; n++) PH_TRY(with_oracle(c, n, false, keep_reference));
  return PH_OK;
}

static ph_status device_pass(comparer *c) {
  const ph_lowered *lowered = ph_segment_lowered(c->segment);
  const void **inputs = ph_new_array(lowered->storage_count, sizeof(*inputs));
  void **outputs = ph_new_array(lowered->storage_count, sizeof(*outputs));
  ph_status status = inputs != NULL && outputs != NULL ? PH_OK : ph_fail_memory(c->error);
  for (uint32_t i = 0; i < lowered->storage_count && status == PH_OK; i++) {
    const ph_storage *storage = &lowered->storages[i];
    if (storage->kind == PH_TENSOR_INPUT) inputs[i] = c->reference[storage->value]->data;
    if (storage->kind != PH_TENSOR_OUTPUT) continue;
    status = make_tensor(&c->plan->net->values[storage->value].type, &c->got[i], c->error);
    if (status == PH_OK) outputs[i] = c->got[i]->data;
  }
  if (status == PH_OK) status = ph_segment_run(c->segment, inputs, outputs, NULL, c->error);
  free(inputs);
  free(outputs);
  return status;
}

static void split_index(int64_t flat, const ph_type *type, int64_t *out) {
  for (uint32_t i = type->rank; i-- > 0;) {
    out[i] = type->dims[i].value > 0 ? flat % type->dims[i].value : 0;
    flat = type->dims[i].value > 0 ? flat / type->dims[i].value : 0;
  }
}

static double element(const ph_oracle_output *output, int64_t index) {
  return output->real != NULL ? output->real[index] : (double)output->integer[index];
}

/* The verdict of a node is that of its worst output. */
static ph_status judge(comparer *c, uint32_t node, ph_oracle_output *outputs) {
  const ph_net_node *n = c->plan->net->nodes[node];
  const ph_lowered *lowered = ph_segment_lowered(c->segment);
  const ph_support *support = &c->plan->placements[node].support;
  ph_compare_node *result = (ph_compare_node *)&c->device->nodes[node];
  *result = (ph_compare_node){.path = ph_arena_text(&c->comparison->arena, "%s", n->path),
                              .op = n->op->name,
                              .output = "y",
                              .pass = true,
                              .ratio = -1,
                              .variant = ph_arena_text(&c->comparison->arena, "%s", support->variant)};
  for (uint32_t i = 0; i < n->output_count; i++) {
    uint32_t tensor = lowered->graph.nodes[node]->outputs[i];
    if (tensor == PH_NONE) continue;
    const ph_tensor *got = c->got[lowered->tensor_storage[tensor]];
    ph_verdict verdict = ph_verdict_of(&outputs[i], got->data, support->stage_type, n->op->exact);
    result->compared += verdict.compared;
    result->bad += verdict.bad;
    bool worse =
        (result->pass && !verdict.pass) || (result->pass == verdict.pass && verdict.worst_ratio > result->ratio);
    result->pass = result->pass && verdict.pass;
    if (!worse || verdict.compared == 0) continue;
    const ph_type *type = &c->plan->net->values[n->outputs[i]].type;
    int64_t at = verdict.first_bad >= 0 ? verdict.first_bad : verdict.worst;
    if (at < 0) at = 0;
    result->output =
        n->op->outputs == NULL ? strrchr(c->plan->net->values[n->outputs[i]].path, '.') + 1 : n->op->outputs[i].name;
    result->output = ph_arena_text(&c->comparison->arena, "%s", result->output);
    result->rank = type->rank;
    split_index(at, type, result->index);
    result->expected = element(&outputs[i], at);
    result->got = ph_read_real(got->dtype, got->data, (size_t)at);
    result->bound = ph_tolerance(&outputs[i], at, support->stage_type, n->op->exact);
    result->ratio = verdict.worst_ratio;
  }
  if (result->path == NULL || result->variant == NULL || result->output == NULL) return ph_fail_memory(c->error);
  if (result->ratio < 0) result->ratio = 0;
  if (!result->pass && c->device->first_failed == PH_NONE) c->device->first_failed = node;
  c->device->pass = c->device->pass && result->pass;
  return PH_OK;
}

/* The largest difference of the outputs when the device runs the whole by itself. */
static ph_status end_to_end(comparer *c) {
  PH_TRY(ph_session_run(c->session, c->error));
  for (uint32_t i = 0; i < c->session->output_count; i++) {
    const ph_tensor *got = c->session->outputs[i].tensor, *expected = c->reference[c->session->output_values[i]];
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
  ph_lowered *lowered;
  PH_TRY(ph_lower(net, net->nodes, net->node_count, PH_LOWER_APART, &lowered, c->error));
  PH_TRY(ph_segment_create(c->session->device, c->session->programs, net, lowered, &c->segment, c->error));
  c->reference = ph_new_array(net->value_count, sizeof(*c->reference));
  c->got = ph_new_array(lowered->storage_count, sizeof(*c->got));
  c->device->nodes = ph_arena_array(&c->comparison->arena, net->node_count, sizeof(*c->device->nodes));
  if (c->reference == NULL || c->got == NULL || c->device->nodes == NULL) return ph_fail_memory(c->error);
  c->device->node_count = net->node_count;
  PH_TRY(reference_pass(c));
  PH_TRY(device_pass(c));
  for (uint32_t n = 0; n < net->node_count; n++) PH_TRY(with_oracle(c, n, true, judge));
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
  for (uint32_t i = 0; c.reference != NULL && i < c.plan->net->value_count; i++) ph_tensor_release(c.reference[i]);
  for (uint32_t i = 0; c.got != NULL && i < ph_segment_lowered(c.segment)->storage_count; i++)
    ph_tensor_release(c.got[i]);
  free(c.reference);
  free(c.got);
  ph_segment_destroy(c.segment);
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
