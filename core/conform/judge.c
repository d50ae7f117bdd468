#include "conform/judge.h"

#include <math.h>
#include <stdlib.h>

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
  const ph_dtype *stages = t->judge->placements[t->node].support.stage_type;
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

/* Runs the node on its device, or takes what the file says; fills t->got, retained. */
static ph_status get_answers(trial *t) {
  ph_judge *j = t->judge;
  if (j->saved != NULL) return ph_saved_node(j->saved, j->net, t->step.node, t->got, t->error);
  const ph_lowered *lowered = t->step.lowered;
  PH_TRY(ph_harness_run(j->placements[t->node].device, j->programs, j->net, lowered, t->step.inputs, &t->result,
                        t->error));
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
  PH_TRY(get_answers(t));
  ph_judgement judgement = judge(t);
  PH_TRY(ph_reference_step_store(&t->step, NULL, 0, j->values, t->error));
  return j->after != NULL ? j->after(j->user, &judgement, t->step.expected, t->got, t->error) : PH_OK;
}

static void end_trial(trial *t) {
  for (uint32_t i = 0; t->got != NULL && i < t->step.node->output_count; i++) ph_tensor_release(t->got[i]);
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
    trial t = {.judge = j, .node = n, .result = {.same_bits = true, .overrun = PH_NONE}, .error = error};
    status = run_trial(&t);
    end_trial(&t);
    if (status != PH_OK) ph_error_prefix(error, "node '%s': ", j->net->nodes[n]->path);
    ph_reference_drop(j->net, j->net->nodes[n], reads, j->keep_outputs, j->values);
  }
  free(reads);
  return status;
}
