#include "conform/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "conform/harness.h"
#include "conform/reference_step.h"

/* One node being judged. */
typedef struct trial {
  ph_judge *judge;
  uint32_t node;
  ph_reference_step step;
  ph_lowered *strided;       /* the same node with operands that do not lie dense; NULL: they do */
  unsigned char **scattered; /* by storage of it: the inputs as they then lie */
  ph_support support;        /* as the node is handed to the device */
  ph_harness_result result;
  ph_tensor **got; /* by output */
  ph_error *error;
} trial;

/* Whether the bound would catch a wrong answer here: all zeros, 1 % off, every element its neighbour's. */
static bool could_fail(const ph_oracle_output *expected, const ph_dtype *stages, bool exact) {
  for (int64_t i = 0; i < expected->count; i++) {
    if (expected->real == NULL) return true;
    double bound = ph_tolerance(expected, i, stages, exact), value = expected->real[i];
    if (isinf(bound)) continue;
    if (isnan(value)) return true;
    double neighbour = expected->real[(i + 1) % expected->count];
    if (fabs(value) > bound || fabs(0.01 * value) > bound || (isfinite(neighbour) && fabs(value - neighbour) > bound))
      return true;
  }
  return false;
}

static double element_of(const ph_oracle_output *expected, int64_t index) {
  return expected->real != NULL ? expected->real[index] : (double)expected->integer[index];
}

static void judge_output(const trial *t, uint32_t slot, ph_judgement *out) {
  const ph_dtype *stages = t->support.stage_type;
  const ph_oracle_output *expected = &t->step.expected[slot];
  bool exact = t->step.node->op->exact;
  ph_verdict verdict = ph_verdict_of(expected, t->got[slot]->data, stages, exact);
  out->could_fail = out->could_fail || could_fail(expected, stages, exact);
  out->compared += verdict.compared;
  bool worse = out->element < 0 || (out->bad == 0 && verdict.bad > 0) ||
               ((out->bad > 0) == (verdict.bad > 0) && verdict.worst_ratio > out->ratio);
  out->bad += verdict.bad;
  out->pass = out->pass && verdict.pass;
  if (!worse || verdict.worst < 0) return;
  out->slot = slot;
  out->element = verdict.first_bad >= 0 ? verdict.first_bad : verdict.worst;
  out->expected = element_of(expected, out->element);
  out->got = ph_read_real(t->got[slot]->dtype, t->got[slot]->data, (size_t)out->element);
  out->bound = ph_tolerance(expected, out->element, stages, exact);
  out->ratio = verdict.worst_ratio;
}

static ph_judgement judge(const trial *t) {
  ph_judgement judgement = {
      .node = t->node, .same_bits = t->result.same_bits, .overrun = t->result.overrun != PH_NONE, .element = -1};
  judgement.pass = judgement.same_bits && !judgement.overrun;
  for (uint32_t i = 0; i < t->step.node->output_count; i++)
    if (t->got[i] != NULL) judge_output(t, i, &judgement);
  return judgement;
}

/* The elements of a dense tensor where ph_strided_layout() puts them; what lies between is NaN, and -1 in integers. */
static unsigned char *scatter(const ph_type *type, const void *dense, uint64_t bytes) {
  unsigned char *to = malloc(bytes);
  if (to == NULL) return NULL;
  memset(to, 0xFF, bytes);
  int64_t strides[PH_MAX_RANK], index[PH_MAX_RANK] = {0}, count = 0;
  size_t size = ph_dtype_size(type->dtype);
  ph_strided_layout(type, strides);
  (void)ph_type_count(type, &count); /* it fits: the tensor is there */
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 0;
    for (uint32_t k = 0; k < type->rank; k++) at += index[k] * strides[k];
    memcpy(to + (size_t)at * size, (const unsigned char *)dense + (size_t)i * size, size);
    for (uint32_t k = type->rank; k-- > 0 && ++index[k] == type->dims[k].value;) index[k] = 0;
  }
  return to;
}

static ph_status lower_strided(trial *t, ph_lower_mode mode, bool *out_refused) {
  ph_judge *j = t->judge;
  const ph_open_device *device = j->placements[t->node].device;
  ph_lowered_destroy(t->strided);
  t->strided = NULL;
  PH_TRY(ph_lower(j->net, &j->net->nodes[t->node], 1, mode, &t->strided, t->error));
  t->support = (ph_support){.struct_size = sizeof(t->support)};
  PH_TRY(device->backend->supports(device->device, &t->strided->graph, 0, &t->support, t->error));
  *out_refused = !t->support.supported;
  return PH_OK;
}

/* The node with inputs that do not lie dense, and a result that does not where the device takes that, too;
 * *out_refused: it does not take it so. */
static ph_status lie_strided(trial *t, bool *out_refused) {
  ph_judge *j = t->judge;
  PH_TRY(lower_strided(t, PH_LOWER_SPREAD, out_refused));
  if (*out_refused) PH_TRY(lower_strided(t, PH_LOWER_STRIDED, out_refused));
  t->scattered = ph_new_array(t->strided->storage_count, sizeof(*t->scattered));
  if (t->scattered == NULL) return ph_fail_memory(t->error);
  for (uint32_t s = 0; s < t->strided->storage_count && !*out_refused; s++) {
    const ph_storage *storage = &t->strided->storages[s];
    if (storage->kind != PH_TENSOR_INPUT || storage->bytes == 0) continue;
    const ph_type *type = &j->net->values[storage->value].type;
    t->scattered[s] = scatter(type, j->values[storage->value]->data, storage->bytes);
    if (t->scattered[s] == NULL) return ph_fail_memory(t->error);
  }
  return PH_OK;
}

/* Runs the node on its device, or takes what the file says; fills t->got, retained. */
static ph_status get_answers(trial *t, bool *out_refused) {
  ph_judge *j = t->judge;
  *out_refused = false;
  if (j->saved != NULL) return ph_saved_node(j->saved, j->net, t->step.node, t->got, t->error);
  if (j->strided) PH_TRY(lie_strided(t, out_refused));
  if (*out_refused) return PH_OK;
  const ph_lowered *lowered = j->strided ? t->strided : t->step.lowered;
  const void *const *inputs = j->strided ? (const void *const *)t->scattered : t->step.inputs;
  PH_TRY(ph_harness_run(j->placements[t->node].device, j->programs, j->net, lowered, inputs, &t->result, t->error));
  for (uint32_t i = 0; i < t->step.node->output_count; i++) {
    uint32_t tensor = lowered->graph.nodes[0]->outputs[i];
    if (tensor != PH_NONE) t->got[i] = ph_tensor_retain(t->result.got[lowered->tensor_storage[tensor]]);
  }
  return PH_OK;
}

static ph_status run_trial(trial *t) {
  ph_judge *j = t->judge;
  PH_TRY(ph_reference_step_run(&t->step, j->net, j->net->nodes[t->node], j->values, t->error));
  t->got = ph_new_array(t->step.node->output_count, sizeof(*t->got));
  if (t->got == NULL) return ph_fail_memory(t->error);
  bool refused;
  PH_TRY(get_answers(t, &refused));
  ph_judgement judgement = judge(t);
  judgement.refused = refused;
  PH_TRY(ph_reference_step_store(&t->step, NULL, 0, j->values, t->error));
  return j->after != NULL ? j->after(j->user, &judgement, t->step.expected, t->got, t->error) : PH_OK;
}

static void end_trial(trial *t) {
  for (uint32_t i = 0; t->got != NULL && i < t->step.node->output_count; i++) ph_tensor_release(t->got[i]);
  for (uint32_t s = 0; t->scattered != NULL && s < t->strided->storage_count; s++) free(t->scattered[s]);
  free(t->scattered);
  ph_lowered_destroy(t->strided);
  ph_harness_free(&t->result);
  ph_reference_step_end(&t->step);
  free(t->got);
}

ph_status ph_judge_run(ph_judge *j, ph_error *error) {
  uint32_t *reads = ph_new_array(j->net->value_count, sizeof(*reads));
  if (reads == NULL) return ph_fail_memory(error);
  ph_net_count_reads(j->net, reads);
  ph_status status = PH_OK;
  for (uint32_t n = 0; n < j->net->node_count && status == PH_OK; n++) {
    trial t = {.judge = j,
               .node = n,
               .support = j->placements[n].support,
               .result = {.same_bits = true, .overrun = PH_NONE},
               .error = error};
    status = run_trial(&t);
    end_trial(&t);
    if (status != PH_OK) ph_error_prefix(error, "node '%s': ", j->net->nodes[n]->path);
    ph_reference_drop(j->net, j->net->nodes[n], reads, j->keep_outputs, j->values);
  }
  free(reads);
  return status;
}
