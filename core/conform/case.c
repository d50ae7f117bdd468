#include "conform/case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "conform/judge.h"
#include "conform/whole.h"
#include "graph/op.h"

const char *ph_case_state_name(ph_case_state state) {
  static const char *const names[PH_CASE_STATE_COUNT] = {
      "pass", "fail", "unsupported", "unavailable", "expected-fail", "unexpected-pass", "untrusted"};
  return (unsigned)state < PH_CASE_STATE_COUNT ? names[state] : "unknown";
}

/* ---- states ---- */

static int gravity(ph_case_state state) {
  return state == PH_CASE_FAIL ? 3 : state == PH_CASE_UNAVAILABLE ? 2 : state == PH_CASE_UNSUPPORTED ? 1 : 0;
}

void ph_case_set(ph_case_result *result, ph_case_state state, const char *format, ...) {
  if (gravity(state) <= gravity(result->state)) return;
  result->state = state;
  va_list list;
  va_start(list, format);
  vsnprintf(result->reason, sizeof(result->reason), format, list);
  va_end(list);
}

void ph_case_set_failure(ph_case_result *result, ph_status status, const ph_error *error) {
  ph_case_state state = status == PH_UNSUPPORTED                                 ? PH_CASE_UNSUPPORTED
                        : status == PH_UNAVAILABLE || status == PH_OUT_OF_MEMORY ? PH_CASE_UNAVAILABLE
                                                                                 : PH_CASE_FAIL;
  result->status = status;
  ph_case_set(result, state, "%s", error->message);
}

/* ---- one case being judged ---- */

typedef struct judging {
  ph_case_run *run;
  const char *op; /* NULL: all nodes count */
  bool strided;
  ph_session *session;
  const ph_session_plan *plan;
  ph_case_result *result;
  ph_tensor **inputs, **values; /* by net value */
  ph_error *error;              /* of what ends the whole run */
} judging;

/* Whether the case is about this node: a composite is all that it was written out to. */
static bool concerns(const judging *j, const ph_net_node *node) {
  if (j->op == NULL) return true;
  const ph_op *op = ph_op_find(j->op);
  return op == NULL || op->composite || op == node->op;
}

static bool is_on_device(const judging *j, uint32_t node) {
  return j->plan->placements[node].device == j->run->device;
}

static void refuse(const judging *j, const char *path, const char *op, const char *reason) {
  snprintf(j->result->refused_op, sizeof(j->result->refused_op), "%s", op);
  ph_case_set(j->result, PH_CASE_UNSUPPORTED, "node '%s' (%s): %s", path, op,
              reason[0] != '\0' ? reason : "the device refuses it and does not say why");
}

/* Unsupported where the device refuses a node that counts, or where the op itself is nowhere left: then the device took
 * only its steps. */
static void check_placements(const judging *j) {
  const ph_net *net = j->plan->net;
  const ph_op *op = j->op != NULL ? ph_op_find(j->op) : NULL;
  bool found = op == NULL || op->composite;
  for (uint32_t n = 0; n < net->node_count; n++) {
    const ph_net_node *node = net->nodes[n];
    bool refused = j->plan->placements[n].device == NULL || (concerns(j, node) && !is_on_device(j, n));
    if (refused) refuse(j, node->path, node->op->name, j->plan->placements[n].reason);
    found = found || node->op == op;
  }
  if (!found) refuse(j, op->name, op->name, "the device refuses it, and would run it in its steps");
}

/* ---- what a judgement says ---- */

static const char *output_name(const ph_net *net, const ph_net_node *node, uint32_t slot) {
  return node->op->outputs != NULL ? node->op->outputs[slot].name
                                   : strrchr(net->values[node->outputs[slot]].path, '.') + 1;
}

static void describe_index(int64_t flat, const ph_type *type, char *out, size_t size) {
  int64_t index[PH_MAX_RANK];
  for (uint32_t i = type->rank; i-- > 0;) {
    index[i] = flat % type->dims[i].value;
    flat /= type->dims[i].value;
  }
  size_t length = 0;
  for (uint32_t i = 0; i < type->rank && length < size; i++)
    length += (size_t)snprintf(out + length, size - length, "%s%lld", i > 0 ? ", " : "", (long long)index[i]);
}

static void set_fail(const judging *j, const ph_judgement *judgement) {
  const ph_net *net = j->plan->net;
  const ph_net_node *node = net->nodes[judgement->node];
  const char *variant = j->plan->placements[judgement->node].support.variant;
  char head[256], index[160] = "";
  snprintf(head, sizeof(head), "node '%.96s' (%s, variant %s)", node->path, node->op->name, variant);
  if (judgement->overrun) {
    ph_case_set(j->result, PH_CASE_FAIL, "%s wrote outside its outputs", head);
  } else if (judgement->bad == 0) {
    ph_case_set(j->result, PH_CASE_FAIL, "%s gave other bits in a second run", head);
  } else {
    describe_index(judgement->element, &net->values[node->outputs[judgement->slot]].type, index, sizeof(index));
    ph_case_set(j->result, PH_CASE_FAIL,
                "%s: %s[%s] is %.9g, expected %.9g, bound %.3g, %.3g times the bound; %lld of %lld elements are wrong",
                head, output_name(net, node, judgement->slot), index, judgement->got, judgement->expected,
                judgement->bound, judgement->ratio, (long long)judgement->bad, (long long)judgement->compared);
  }
}

static bool is_empty(const judging *j, const ph_net_node *node) {
  for (uint32_t i = 0; i < node->output_count; i++) {
    int64_t count;
    bool wanted = j->plan->net->values[node->outputs[i]].kept || i == 0;
    if (wanted && ph_type_count(&j->plan->net->values[node->outputs[i]].type, &count) && count > 0) return false;
  }
  return true;
}

static ph_status note(void *user, const ph_judgement *judgement, const ph_oracle_output *expected,
                      ph_tensor *const *got, ph_error *error) {
  (void)expected;
  (void)got;
  const judging *j = user;
  const ph_net_node *node = j->plan->net->nodes[judgement->node];
  ph_case_result *result = j->result;
  if (!is_on_device(j, judgement->node)) return PH_OK;
  if (judgement->refused) {
    if (concerns(j, node))
      ph_case_set(result, PH_CASE_UNSUPPORTED, "node '%s' (%s): the device takes no inputs that do not lie dense",
                  node->path, node->op->name);
    return PH_OK;
  }
  PH_TRY(ph_tally_node(j->run->tally, result->name, node->op->name, judgement->could_fail, judgement->ratio, error));
  if (concerns(j, node)) {
    result->trusted = result->trusted || judgement->could_fail;
    result->empty = result->empty && is_empty(j, node);
  }
  if (!judgement->pass) set_fail(j, judgement);
  result->nodes++;
  result->compared += judgement->compared;
  result->bad += judgement->bad;
  if (result->worst_op[0] != '\0' && judgement->ratio <= result->ratio) return PH_OK;
  result->ratio = judgement->ratio;
  snprintf(result->worst_node, sizeof(result->worst_node), "%s", node->path);
  snprintf(result->worst_op, sizeof(result->worst_op), "%s", node->op->name);
  return PH_OK;
}

/* ---- the whole ---- */

/* A case about one op needs no look at the whole: it has one node that counts. */
static bool has_whole(const judging *j) {
  const ph_op *op = j->op != NULL ? ph_op_find(j->op) : NULL;
  return !j->strided && (op == NULL || op->composite);
}

static ph_status run_whole(const judging *j, ph_error *error) {
  ph_whole_result whole;
  PH_TRY(ph_whole_run(j->session, j->inputs, j->values, &whole, error));
  if (whole.pass) return PH_OK;
  ph_case_set(j->result, PH_CASE_FAIL,
              "run as a whole, output '%s' is %.3g away, and all bounds together allow %.3g, though every node agrees",
              j->session->outputs[whole.output].alias, whole.difference, whole.limit);
  return PH_OK;
}

static ph_status judge_nodes(judging *j, ph_error *error) {
  PH_TRY(ph_whole_inputs(j->session, j->inputs, error));
  for (uint32_t i = 0; i < j->plan->net->value_count; i++)
    j->values[i] = j->inputs[i] == NULL ? NULL : ph_tensor_retain(j->inputs[i]);
  ph_judge judge = {.net = j->plan->net,
                    .placements = j->plan->placements,
                    .programs = j->session->programs,
                    .values = j->values,
                    .strided = j->strided,
                    .keep_outputs = true,
                    .after = note,
                    .user = j};
  return ph_judge_run(&judge, error);
}

/* A yes that a later call takes back is a fault of the backend, whatever that call says (backend.h). */
static void set_broken_promise(const judging *j, ph_status status, const ph_error *error) {
  if (status == PH_UNAVAILABLE || status == PH_OUT_OF_MEMORY || status == PH_INVALID) { /* invalid: the case itself */
    ph_case_set_failure(j->result, status, error);
    return;
  }
  j->result->status = status;
  ph_case_set(j->result, PH_CASE_FAIL, "the device takes it, but: %s", error->message);
}

static ph_status judge_plan(judging *j) {
  ph_case_result *result = j->result;
  ph_error local = PH_ERROR_INIT;
  bool trusted = result->trusted;
  result->trusted = false;
  ph_status status = judge_nodes(j, &local);
  if (status == PH_OK && result->state == PH_CASE_PASS && has_whole(j)) status = run_whole(j, &local);
  if (status != PH_OK) set_broken_promise(j, status, &local);
  if (status == PH_OK && j->op != NULL && has_whole(j))
    PH_TRY(ph_tally_node(j->run->tally, result->name, j->op, result->trusted, result->ratio, j->error));
  result->trusted = result->trusted || trusted;
  return PH_OK;
}

ph_status ph_case_session(ph_case_run *run, const char *op, ph_model *model, ph_case_result *result, ph_session **out,
                          ph_error *error) {
  (void)error;
  ph_error local = PH_ERROR_INIT;
  ph_session_options options = {.struct_size = sizeof(options), .unfolded = true};
  *out = NULL;
  ph_open_device *reference = op != NULL && run->reference != run->device ? run->reference : NULL;
  ph_status status = ph_session_create_on(run->context, model, &options, run->device, reference, out, &local);
  if (status != PH_OK) ph_case_set_failure(result, status, &local);
  return PH_OK;
}

static ph_status judge(ph_case_run *run, const char *op, bool strided, ph_session *session, ph_case_result *result,
                       ph_error *error) {
  judging j = {.run = run, .op = op, .strided = strided, .session = session, .result = result, .error = error};
  ph_error local = PH_ERROR_INIT;
  ph_status status = ph_session_prepare(session, true, &local);
  if (status != PH_OK) {
    set_broken_promise(&j, status, &local);
    return PH_OK;
  }
  j.plan = session->current;
  check_placements(&j);
  if (result->state != PH_CASE_PASS) return PH_OK;
  if (result->nodes == 0) result->empty = true;
  uint32_t count = j.plan->net->value_count;
  j.inputs = ph_new_array(count, sizeof(*j.inputs));
  j.values = ph_new_array(count, sizeof(*j.values));
  status = j.inputs != NULL && j.values != NULL ? judge_plan(&j) : ph_fail_memory(error);
  for (uint32_t i = 0; i < count; i++) {
    if (j.inputs != NULL) ph_tensor_release(j.inputs[i]);
    if (j.values != NULL) ph_tensor_release(j.values[i]);
  }
  free(j.inputs);
  free(j.values);
  return status;
}

ph_status ph_case_judge(ph_case_run *run, const char *op, ph_session *session, ph_case_result *result,
                        ph_error *error) {
  return judge(run, op, false, session, result, error);
}

ph_status ph_case_judge_strided(ph_case_run *run, const char *op, ph_session *session, ph_case_result *result,
                                ph_error *error) {
  return judge(run, op, true, session, result, error);
}
