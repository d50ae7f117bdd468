/* Preparing a session: weights, shapes, passes, who runs what, and plans that are kept by their dims. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "config/weights.h"
#include "passes/dropout.h"
#include "passes/epilogue.h"
#include "passes/fuse.h"
#include "passes/merge.h"
#include "passes/states.h"
#include "passes/views.h"
#include "runtime/fold.h"
#include "runtime/session.h"

enum { MAX_PLANS = 16, ALIGNMENT = 64 };

/* Backends may count on constants being aligned (backend.h, ph_tensor_desc.data); a mapped file does not align them. */
static ph_status align_weights(ph_session *session, ph_tensor **resolved, ph_error *error) {
  for (uint32_t i = 0; i < session->model->weight_count; i++) {
    if (resolved[i] == session->weights[i]) continue;
    ph_tensor *aligned = NULL;
    for (uint32_t k = 0; k < i && aligned == NULL; k++) /* the same key stays one tensor */
      if (resolved[k] == resolved[i]) aligned = ph_tensor_retain(session->aligned[k]);
    if (aligned == NULL && (uintptr_t)resolved[i]->data % ALIGNMENT == 0) aligned = ph_tensor_retain(resolved[i]);
    if (aligned == NULL) {
      PH_TRY(ph_tensor_create(resolved[i]->dtype, resolved[i]->rank, resolved[i]->dims, &aligned, error));
      memcpy(aligned->data, resolved[i]->data, resolved[i]->bytes);
    }
    ph_tensor_release(session->weights[i]);
    ph_tensor_release(session->aligned[i]);
    session->weights[i] = ph_tensor_retain(resolved[i]);
    session->aligned[i] = aligned;
  }
  return PH_OK;
}

static ph_status resolve_weights(ph_session *session, const ph_dim *dims, ph_error *error) {
  uint32_t count = session->model->weight_count;
  ph_tensor **resolved = ph_new_array(count, sizeof(*resolved));
  if (resolved == NULL) return ph_fail_memory(error);
  pthread_mutex_lock(&session->model->lock);
  ph_status status = ph_weights_resolve(session->model, dims, resolved, error);
  pthread_mutex_unlock(&session->model->lock);
  if (status == PH_OK) status = align_weights(session, resolved, error);
  ph_tensors_release(resolved, count);
  return status;
}

static void warn(void *user, const char *text) {
  ph_context_log(user, PH_LOG_WARN, "%s", text);
}

/* The value of a path; NODE.weights and the like make a node that has steps give place to them. */
static ph_status find_wanted(ph_net *net, const char *path, uint32_t *out, ph_error *error) {
  *out = ph_net_value_find(net, path);
  const char *dot = strrchr(path, '.');
  for (uint32_t n = 0; *out == PH_NONE && dot != NULL && n < net->node_count; n++) {
    const char *owner = net->nodes[n]->path;
    size_t length = (size_t)(dot - path);
    if (!ph_has_steps(net->nodes[n]) || strncmp(owner, path, length) != 0 || owner[length] != '\0') continue;
    PH_TRY(ph_write_out(net, n, error));
    *out = ph_net_value_find(net, path);
    break;
  }
  return PH_OK;
}

/* Marks what is wanted; a path that the model does not have is an error that names the nearest. */
static ph_status mark_outputs(ph_session *session, ph_net *net, uint32_t *out, ph_error *error) {
  for (uint32_t i = 0; i < session->output_count; i++) {
    const char *path = session->outputs[i].path;
    PH_TRY(find_wanted(net, path, &out[i], error));
    if (out[i] != PH_NONE && net->values[out[i]].kind == PH_TENSOR_STATE)
      return ph_fail(error, PH_INVALID, "%s: '%s' is a state, which lives on the device: ask for the value it becomes",
                     session->model->file, path);
    if (out[i] != PH_NONE) {
      net->values[out[i]].kept = true;
      continue;
    }
    const char **names = ph_new_array(net->value_count, sizeof(*names));
    if (names == NULL) return ph_fail_memory(error);
    for (uint32_t k = 0; k < net->value_count; k++) names[k] = net->values[k].path;
    const char *nearest = ph_nearest(path, names, net->value_count);
    ph_status status = ph_fail(error, PH_INVALID, "%s: there is no value '%s'%s%s%s; `polyhead check` lists the values",
                               session->model->file, path, nearest == NULL ? "" : "; did you mean '",
                               nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'");
    free(names);
    return status;
  }
  return PH_OK;
}

static ph_status refuse(const ph_session *session, const ph_session_plan *plan, uint32_t node, ph_error *error) {
  const ph_net_node *n = plan->net->nodes[node];
  return ph_fail(error, PH_UNSUPPORTED, "node '%s' (%s): %s does not run it: %s%s", n->path, n->op->name,
                 session->device->entry->spec, plan->placements[node].reason,
                 session->reference == NULL && strcmp(session->device->entry->backend, "reference") != 0
                     ? "; --fallback reference would run it on the reference"
                     : "");
}

/* Whether node number `n` may follow in a run on this device. */
static bool goes_on(const ph_session_plan *plan, uint32_t n, const ph_open_device *device) {
  return plan->net->nodes[n]->way != PH_NODE_RUNS || plan->placements[n].device == device;
}

/* Cuts the nodes into maximal runs on one device, all held or none, and prepares each. */
static ph_status make_segments(ph_session *session, ph_session_plan *plan, uint32_t held, ph_error *error) {
  ph_net *net = plan->net;
  plan->segments = ph_new_array(net->node_count, sizeof(*plan->segments));
  plan->segment_first = ph_new_array(net->node_count, sizeof(*plan->segment_first));
  if (plan->segments == NULL || plan->segment_first == NULL) return ph_fail_memory(error);
  for (uint32_t first = 0, end; first < net->node_count; first = end) {
    const ph_open_device *device = plan->placements[first].device;
    bool runs = net->nodes[first]->way == PH_NODE_RUNS;
    for (end = first + 1; runs && end < net->node_count && end != held && goes_on(plan, end, device);) end++;
    if (!runs) continue;
    ph_lowered *lowered;
    PH_TRY(ph_lower(net, net->nodes + first, end - first, PH_LOWER_RUN, &lowered, error));
    plan->segment_first[plan->segment_count] = first;
    PH_TRY(ph_segment_create(device, session->programs, net, lowered, &plan->segments[plan->segment_count], error));
    plan->segment_count++;
    if (first < held) plan->held_segments++;
  }
  return PH_OK;
}

/* Writes attention out and wants its weights. */
static ph_status keep_attention(ph_net *net, ph_error *error) {
  for (uint32_t n = 0; n < net->node_count; n++)
    if (strcmp(net->nodes[n]->op->name, "attention") == 0) PH_TRY(ph_write_out(net, n, error));
  for (uint32_t n = 0; n < net->node_count; n++)
    if (strcmp(net->nodes[n]->op->name, "softmax") == 0 || strcmp(net->nodes[n]->op->name, "hardmax") == 0)
      net->values[net->nodes[n]->outputs[0]].kept = true;
  return PH_OK;
}

static void note_dropout(ph_context *context, const ph_net *net) {
  for (uint32_t n = 0; n < net->node_count; n++) {
    const ph_net_node *node = net->nodes[n];
    if (strcmp(node->op->name, "dropout") == 0)
      ph_context_log(context, PH_LOG_INFO,
                     "%s:%u:%u: node '%s': dropout acts in training only; nothing is dropped here", node->place.file,
                     node->place.line, node->place.column, node->path);
  }
}

/* The passes, in the order in which one prepares the next. */
static ph_status rewrite(ph_session *session, ph_session_plan *plan, ph_notes *notes, ph_error *error) {
  const ph_device_info *device = &session->device->limits;
  const ph_merge_limits limits = {.tensor_bytes = device->max_buffer_bytes, .weight_bytes = device->memory_bytes / 4};
  ph_skip_dropout(plan->net);
  if (session->attention) PH_TRY(keep_attention(plan->net, error));
  PH_TRY(ph_states_place(plan->net, notes, error));
  if (!session->unfolded) PH_TRY(ph_fold_constants(plan->net, &session->pool, error));
  PH_TRY(ph_fuse_attention(plan->net, error));
  PH_TRY(ph_fuse_epilogues(plan->net, error));
  PH_TRY(ph_merge_projections(plan->net, &session->pool, &limits, error));
  return ph_view_moves(plan->net, error);
}

static ph_status build_plan(ph_session *session, ph_session_plan *plan, ph_error *error) {
  ph_notes notes = {warn, session->context};
  PH_TRY(resolve_weights(session, plan->dims, error));
  ph_weights_check_layouts(session->model, session->weights, &notes);
  PH_TRY(ph_bind(session->model, plan->dims, session->aligned, &notes, &plan->net, error));
  plan->output_values = ph_new_array(session->output_count, sizeof(*plan->output_values));
  if (plan->output_values == NULL) return ph_fail_memory(error);
  PH_TRY(mark_outputs(session, plan->net, plan->output_values, error));
  note_dropout(session->context, plan->net);
  PH_TRY(rewrite(session, plan, &notes, error));
  PH_TRY(ph_place_nodes(plan->net, session->device, session->reference, &plan->placements, error));
  uint32_t held;
  PH_TRY(ph_hold_first(plan->net, plan->placements, &held, error));
  plan->value_count = plan->net->value_count;
  plan->values = ph_new_array(plan->value_count, sizeof(*plan->values));
  plan->contents = ph_new_array(plan->value_count, sizeof(*plan->contents));
  plan->changed = ph_new_array(plan->value_count, sizeof(*plan->changed));
  plan->times = ph_new_array(plan->net->node_count, sizeof(*plan->times));
  plan->reports = ph_new_array(plan->net->node_count, sizeof(*plan->reports));
  if (plan->values == NULL || plan->contents == NULL || plan->changed == NULL || plan->times == NULL ||
      plan->reports == NULL)
    return ph_fail_memory(error);
  for (uint32_t i = 0; i < plan->net->node_count; i++)
    plan->refused = plan->refused || plan->placements[i].device == NULL;
  return plan->refused ? PH_OK : make_segments(session, plan, held, error);
}

static bool same_dims(const ph_session *session, const ph_dim *a, const ph_dim *b) {
  for (uint32_t i = 0; i < session->model->dim_count; i++)
    if (a[i].value != b[i].value) return false;
  return true;
}

/* The plan that was used last comes first; the one that was not used for longest goes when there are too many. */
static void use_plan(ph_session *session, ph_session_plan *plan) {
  ph_session_plan **link = &session->plans;
  while (*link != plan) link = &(*link)->next;
  *link = plan->next;
  plan->next = session->plans;
  session->plans = plan;
}

static void keep_plan(ph_session *session, ph_session_plan *plan) {
  plan->next = session->plans;
  session->plans = plan;
  ph_session_plan *last = plan;
  for (uint32_t count = 1; last->next != NULL; count++) {
    if (count == MAX_PLANS) {
      ph_session_plan_destroy(last->next);
      last->next = NULL;
      break;
    }
    last = last->next;
  }
}

/* The plan for the dims at hand, made where there is none. */
static ph_status find_plan(ph_session *session, ph_session_plan **out, ph_error *error) {
  ph_dim *dims = ph_new_array(session->model->dim_count, sizeof(*dims));
  if (dims == NULL) return ph_fail_memory(error);
  ph_status status = ph_bind_dims(session->model, (const ph_tensor *const *)session->inputs, dims, error);
  ph_session_plan *plan = session->plans;
  while (status == PH_OK && plan != NULL && !same_dims(session, plan->dims, dims)) plan = plan->next;
  if (status != PH_OK || plan != NULL) {
    free(dims);
    if (status == PH_OK) use_plan(session, plan);
    *out = plan;
    return status;
  }
  plan = ph_new_array(1, sizeof(*plan));
  if (plan == NULL) {
    free(dims);
    return ph_fail_memory(error);
  }
  plan->dims = dims;
  status = build_plan(session, plan, error);
  if (status != PH_OK) {
    ph_session_plan_destroy(plan);
    return status;
  }
  keep_plan(session, plan);
  *out = plan;
  return PH_OK;
}

ph_status ph_session_prepare(ph_session *session, bool report_refused, ph_error *error) {
  ph_session_plan *plan = session->current;
  if (plan == NULL || session->moved) {
    PH_TRY(find_plan(session, &plan, error));
    if (session->current != NULL && session->current != plan) ph_session_plan_rest(session->current);
    session->current = plan;
    session->moved = false;
  }
  for (uint32_t i = 0; plan->refused && !report_refused && i < plan->net->node_count; i++)
    if (plan->placements[i].device == NULL) return refuse(session, plan, i, error);
  return PH_OK;
}
