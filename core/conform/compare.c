/* Comparing devices with the oracle, node by node, and end to end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "conform/jitter.h"
#include "conform/judge.h"
#include "conform/saved.h"
#include "conform/whole.h"
#include "passes/fuse.h"
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
  ph_compare_node *nodes;   /* device->nodes */
  ph_tensor **values;       /* by net value: the reference's */
  ph_answers *answers;      /* what is to be saved, or NULL */
  const ph_saved *saved;    /* the answers of another machine, or NULL */
  ph_placement *placements; /* by node: the plan's, or made from `saved` */
  bool equal_nan;           /* a NaN in saved outputs may be right */
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
      .variant = ph_arena_text(arena, "%s", c->placements[judgement->node].support.variant),
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
  if (c->answers == NULL) return PH_OK;
  return ph_answers_add_node(c->answers, node, c->placements[judgement->node].support.stage_type, got, error);
}

/* An output of the whole graph, retained: from the session's run, or from the file. */
static ph_status whole_output(comparer *c, uint32_t index, ph_tensor **out) {
  const ph_output *output = &c->session->outputs[index];
  if (c->saved != NULL) return ph_saved_output(c->saved, output->alias, out, c->error);
  *out = ph_tensor_retain(output->tensor);
  return c->answers == NULL ? PH_OK : ph_answers_add_output(c->answers, output->alias, output->tensor, c->error);
}

static bool has_nan(const ph_tensor *tensor) {
  for (size_t i = 0; i < tensor->count; i++)
    if (isnan(ph_read_real(tensor->dtype, tensor->data, i))) return true;
  return false;
}

static ph_status judge_whole(comparer *c, uint32_t index, const ph_tensor *expected, double limit, double *worst) {
  ph_tensor *got;
  PH_TRY(whole_output(c, index, &got));
  bool refused = got->count != expected->count || (c->saved != NULL && !c->equal_nan && has_nan(got));
  double difference = refused ? (double)INFINITY : ph_largest_difference(got, expected);
  ph_tensor_release(got);
  double ratio = difference == 0 ? 0 : difference / limit; /* a limit of 0: every node is exact */
  if (ratio > 1) c->device->pass = c->device->end_to_end_pass = false;
  if (ratio <= *worst) return PH_OK;
  *worst = ratio;
  c->device->end_to_end = difference;
  c->device->end_to_end_limit = limit;
  c->device->end_to_end_output = ph_arena_text(&c->comparison->arena, "%s", c->session->outputs[index].alias);
  return c->device->end_to_end_output != NULL ? PH_OK : ph_fail_memory(c->error);
}

/* The device runs the whole by itself; its outputs may drift as far as the bounds of all nodes together allow.  Where a
 * node differs already that limit would say nothing, and is not sought. */
static ph_status end_to_end(comparer *c, ph_tensor *const *inputs) {
  uint32_t count = c->session->output_count;
  const uint32_t *outputs = c->session->current->output_values;
  double *limits = ph_new_array(count, sizeof(*limits));
  ph_tensor **expected = ph_new_array(count, sizeof(*expected));
  ph_status status = limits != NULL && expected != NULL ? PH_OK : ph_fail_memory(c->error);
  for (uint32_t i = 0; i < count && status == PH_OK; i++) expected[i] = c->values[outputs[i]];
  if (status == PH_OK && c->device->pass)
    status = ph_jitter_limits(c->plan->net, c->placements, inputs, outputs, expected, count, limits, c->error);
  if (status == PH_OK && c->saved == NULL) status = ph_session_run(c->session, c->error);
  double worst = -1;
  for (uint32_t i = 0; i < count && status == PH_OK; i++) status = judge_whole(c, i, expected[i], limits[i], &worst);
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
                    .placements = c->placements,
                    .saved = c->saved,
                    .programs = c->session->programs,
                    .values = c->values,
                    .keep_outputs = true,
                    .after = record,
                    .user = c};
  return ph_judge_run(&judge, c->error);
}

static ph_status compare_plan(comparer *c, bool whole, ph_tensor **inputs) {
  if (c->values == NULL || inputs == NULL) return ph_fail_memory(c->error);
  PH_TRY(ph_whole_inputs(c->session, inputs, c->error));
  for (uint32_t i = 0; i < c->plan->net->value_count; i++)
    c->values[i] = inputs[i] == NULL ? NULL : ph_tensor_retain(inputs[i]);
  PH_TRY(judge_nodes(c));
  return whole ? end_to_end(c, inputs) : PH_OK;
}

static ph_status open_session(comparer *c, ph_context *context, ph_model *model, const ph_compare_options *options,
                              const char *spec, const char *keep) {
  ph_session_options session_options = {.struct_size = sizeof(session_options),
                                        .device = spec,
                                        .keep = &keep,
                                        .keep_count = keep != NULL,
                                        .unfolded = true};
  PH_TRY(ph_session_create(context, model, &session_options, &c->session, c->error));
  for (uint32_t i = 0; i < options->input_count; i++)
    PH_TRY(ph_session_set_input(c->session, options->input_names[i], options->inputs[i], c->error));
  PH_TRY(ph_session_prepare(c->session, false, c->error));
  c->plan = c->session->current;
  c->placements = c->plan->placements;
  return PH_OK;
}

/* Judges all nodes of the session's plan; with `whole` the graph end to end, too. */
static ph_status compare_session(comparer *c, const char *spec, bool whole) {
  ph_compare_device *device = c->device;
  device->pass = device->end_to_end_pass = true;
  device->first_failed = PH_NONE;
  device->spec = ph_arena_text(&c->comparison->arena, "%s", spec);
  if (device->spec == NULL) return ph_fail_memory(c->error);
  ph_tensor **inputs = ph_new_array(c->plan->net->value_count, sizeof(*inputs));
  c->values = ph_new_array(c->plan->net->value_count, sizeof(*c->values));
  ph_status status = compare_plan(c, whole, inputs);
  release_values(c, inputs);
  release_values(c, c->values);
  return status;
}

static const ph_net_node *find_node(const ph_net *net, const char *path) {
  for (uint32_t n = 0; n < net->node_count; n++)
    if (strcmp(net->nodes[n]->path, path) == 0) return net->nodes[n];
  return NULL;
}

/* What a comparison was asked for. */
typedef struct request {
  ph_context *context;
  ph_model *model;
  const ph_compare_options *options;
  ph_comparison *comparison;
  ph_error *error;
} request;

/* A fused node that fails is run again in its steps: either one of them is wrong too, or only the fused kernel is. */
static ph_status look_inside(const request *r, const char *spec, const ph_net *net, ph_compare_node *failed) {
  const ph_net_node *fused = find_node(net, failed->path);
  if (fused->step_count < 2) return PH_OK;
  const char *inner = net->values[fused->steps[fused->step_count - 2]->outputs[0]].path;
  ph_compare_device steps = {0};
  comparer c = {.comparison = r->comparison, .device = &steps, .error = r->error};
  ph_status status = open_session(&c, r->context, r->model, r->options, spec, inner);
  if (status == PH_OK) status = compare_session(&c, spec, false);
  for (uint32_t n = 0; n < steps.node_count && status == PH_OK && failed->inside == NULL; n++)
    for (uint32_t i = 0; i < fused->step_count; i++)
      if (!steps.nodes[n].pass && strcmp(steps.nodes[n].path, fused->steps[i]->path) == 0 && failed->inside == NULL)
        failed->inside = ph_arena_text(&r->comparison->arena, "in steps, '%s' differs first", steps.nodes[n].path);
  if (failed->inside == NULL) failed->inside = "differs only when fused";
  ph_session_destroy(c.session);
  return status;
}

static ph_status compare_device(const request *r, const char *spec, ph_answers *answers, ph_compare_device *device) {
  comparer c = {.comparison = r->comparison, .device = device, .answers = answers, .error = r->error};
  ph_status status = open_session(&c, r->context, r->model, r->options, spec, NULL);
  if (status == PH_OK) {
    memcpy(device->name, c.session->device->limits.name, sizeof(device->name));
    status = compare_session(&c, spec, true);
  }
  for (uint32_t n = 0; status == PH_OK && n < device->node_count; n++)
    if (!c.nodes[n].pass) status = look_inside(r, spec, c.plan->net, &c.nodes[n]);
  ph_session_destroy(c.session);
  return status;
}

/* Makes the net's nodes those that were saved: what the other device did not take fused is written out here, too. */
static ph_status match_saved(comparer *c) {
  ph_net *net = c->plan->net;
  for (uint32_t n = 0; n < net->node_count;) {
    if (ph_saved_has_node(c->saved, net->nodes[n]))
      n++;
    else if (ph_has_steps(net->nodes[n]))
      PH_TRY(ph_write_out(net, n, c->error));
    else
      return ph_fail(c->error, PH_INVALID, "%s has no answer for node '%s' (%s): it was saved from another config",
                     c->saved->path, net->nodes[n]->path, net->nodes[n]->op->name);
  }
  c->placements = ph_arena_array(&net->arena, net->node_count, sizeof(*c->placements));
  if (c->placements == NULL) return ph_fail_memory(c->error);
  for (uint32_t n = 0; n < net->node_count; n++) {
    snprintf(c->placements[n].support.variant, sizeof(c->placements[n].support.variant), "saved");
    PH_TRY(ph_saved_stages(c->saved, net->nodes[n], c->placements[n].support.stage_type, c->error));
  }
  return PH_OK;
}

static ph_status compare_saved(const request *r, const char *path, ph_compare_device *device) {
  ph_saved saved;
  PH_TRY(ph_saved_open(path, &saved, r->error));
  comparer c = {.comparison = r->comparison,
                .device = device,
                .saved = &saved,
                .equal_nan = r->options->equal_nan,
                .error = r->error};
  ph_status status = open_session(&c, r->context, r->model, r->options, "reference", NULL);
  if (status == PH_OK) status = match_saved(&c);
  snprintf(device->name, sizeof(device->name), "saved answers");
  if (status == PH_OK) status = compare_session(&c, path, true);
  ph_session_destroy(c.session);
  ph_saved_close(&saved);
  return status;
}

static ph_status compare_all(const request *r) {
  const ph_compare_options *options = r->options;
  ph_answers answers = {0};
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < options->device_count && status == PH_OK; i++)
    status = compare_device(r, options->devices[i], options->save == NULL ? NULL : &answers,
                            &r->comparison->devices[r->comparison->count++]);
  for (uint32_t i = 0; i < options->load_count && status == PH_OK; i++)
    status = compare_saved(r, options->loads[i], &r->comparison->devices[r->comparison->count++]);
  if (status == PH_OK && options->save != NULL) status = ph_answers_write(&answers, options->save, r->error);
  ph_answers_free(&answers);
  return status;
}

ph_status ph_compare(ph_context *context, ph_model *model, const ph_compare_options *options, ph_comparison **out,
                     ph_error *error) {
  if (options->save != NULL && options->device_count != 1)
    return ph_fail(error, PH_INVALID, "the answers of one device can be saved, but %u are given",
                   options->device_count);
  ph_comparison *comparison = ph_new_array(1, sizeof(*comparison));
  if (comparison == NULL) return ph_fail_memory(error);
  comparison->devices = ph_arena_array(&comparison->arena, (size_t)options->device_count + options->load_count,
                                       sizeof(*comparison->devices));
  request r = {context, model, options, comparison, error};
  ph_status status = comparison->devices != NULL ? compare_all(&r) : ph_fail_memory(error);
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
