#include "conform/judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "conform/harness.h"

/* One node being judged. */
typedef struct trial {
  ph_judge *judge;
  uint32_t node;
  const ph_net_node *net_node;
  ph_lowered *lowered;        /* the node alone */
  const void **data;          /* by tensor, for the oracle */
  const void **inputs;        /* by storage, for the device */
  ph_oracle_output *expected; /* by output */
  ph_harness_result result;
  ph_tensor **got; /* by output */
  ph_error *error;
} trial;

static ph_status find_inputs(trial *t) {
  const ph_lowered *lowered = t->lowered;
  for (uint32_t i = 0; i < lowered->graph.tensor_count; i++) {
    const ph_storage *storage = &lowered->storages[lowered->tensor_storage[i]];
    if (storage->kind == PH_TENSOR_OUTPUT) continue;
    if (storage->kind == PH_TENSOR_CONSTANT) {
      t->data[i] = lowered->graph.tensors[i]->data;
      continue;
    }
    t->data[i] = t->inputs[lowered->tensor_storage[i]] = t->judge->values[storage->value]->data;
  }
  return PH_OK;
}

/* What the next nodes read: the oracle's values, rounded once. */
static ph_status store_expected(trial *t) {
  for (uint32_t i = 0; i < t->net_node->output_count; i++) {
    if (t->lowered->graph.nodes[0]->outputs[i] == PH_NONE) continue;
    uint32_t value = t->net_node->outputs[i];
    const ph_type *type = &t->judge->net->values[value].type;
    int64_t dims[PH_MAX_RANK];
    for (uint32_t k = 0; k < type->rank; k++) dims[k] = type->dims[k].value;
    ph_tensor *tensor;
    PH_TRY(ph_tensor_create(type->dtype, type->rank, dims, &tensor, t->error));
    for (int64_t k = 0; k < t->expected[i].count; k++) {
      if (ph_dtype_is_real(type->dtype))
        ph_write_real(type->dtype, tensor->data, (size_t)k, t->expected[i].real[k]);
      else
        ph_write_integer(type->dtype, tensor->data, (size_t)k, t->expected[i].integer[k]);
    }
    ph_tensor_release(t->judge->values[value]);
    t->judge->values[value] = tensor;
  }
  return PH_OK;
}

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
  const ph_oracle_output *expected = &t->expected[slot];
  bool exact = t->net_node->op->exact;
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
  for (uint32_t i = 0; i < t->net_node->output_count; i++)
    if (t->got[i] != NULL) judge_output(t, i, &judgement);
  return judgement;
}

static ph_status run_trial(trial *t) {
  ph_judge *j = t->judge;
  ph_net_node *node = (ph_net_node *)t->net_node;
  PH_TRY(ph_lower(j->net, &node, 1, PH_LOWER_APART, &t->lowered, t->error));
  t->data = ph_new_array(t->lowered->graph.tensor_count, sizeof(*t->data));
  t->inputs = ph_new_array(t->lowered->storage_count, sizeof(*t->inputs));
  t->expected = ph_new_array(node->output_count, sizeof(*t->expected));
  t->got = ph_new_array(node->output_count, sizeof(*t->got));
  if (t->data == NULL || t->inputs == NULL || t->expected == NULL || t->got == NULL) return ph_fail_memory(t->error);
  PH_TRY(find_inputs(t));
  PH_TRY(ph_oracle_node(&t->lowered->graph, 0, t->data, true, t->expected, t->error));
  PH_TRY(
      ph_harness_run(j->placements[t->node].device, j->programs, j->net, t->lowered, t->inputs, &t->result, t->error));
  for (uint32_t i = 0; i < node->output_count; i++) {
    uint32_t tensor = t->lowered->graph.nodes[0]->outputs[i];
    if (tensor != PH_NONE) t->got[i] = t->result.got[t->lowered->tensor_storage[tensor]];
  }
  ph_judgement judgement = judge(t);
  PH_TRY(store_expected(t));
  return j->after != NULL ? j->after(j->user, &judgement, t->expected, t->got, t->error) : PH_OK;
}

static void end_trial(trial *t) {
  if (t->expected != NULL) ph_oracle_outputs_free(t->expected, t->net_node->output_count);
  ph_harness_free(&t->result);
  ph_lowered_destroy(t->lowered);
  free(t->expected);
  free(t->got);
  free(t->data);
  free(t->inputs);
}

static void drop(ph_judge *j, uint32_t value) {
  if (j->keep_outputs && j->net->values[value].kept) return;
  ph_tensor_release(j->values[value]);
  j->values[value] = NULL;
}

ph_status ph_judge_run(ph_judge *j, ph_error *error) {
  uint32_t *reads = ph_new_array(j->net->value_count, sizeof(*reads));
  if (reads == NULL) return ph_fail_memory(error);
  ph_net_count_reads(j->net, reads);
  ph_status status = PH_OK;
  for (uint32_t n = 0; n < j->net->node_count && status == PH_OK; n++) {
    const ph_net_node *node = j->net->nodes[n];
    trial t = {.judge = j, .node = n, .net_node = node, .error = error};
    status = run_trial(&t);
    end_trial(&t);
    if (status != PH_OK && error != NULL) ph_error_prefix(error, "node '%s': ", node->path);
    for (uint32_t i = 0; i < node->input_count; i++)
      if (node->inputs[i] != PH_NONE && --reads[node->inputs[i]] == 0) drop(j, node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; i++)
      if (reads[node->outputs[i]] == 0) drop(j, node->outputs[i]);
  }
  free(reads);
  return status;
}
