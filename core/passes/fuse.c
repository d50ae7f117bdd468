#include "passes/fuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "passes/merge.h"
#include "passes/views.h"

enum { STEP_SCORES, STEP_CAP, STEP_MASK, STEP_SOFTMAX, STEP_SUM, STEP_COUNT };

/* The steps found so far, absent ones NULL. */
typedef struct group {
  ph_net_node *steps[STEP_COUNT];
} group;

typedef struct fuser {
  ph_net *net;
  uint32_t *reads;
  ph_error *error;
} fuser;

static bool is_op(const ph_net_node *node, const char *op) {
  return node != NULL && strcmp(node->op->name, op) == 0;
}

/* The node that makes a value as its first output, where it stands before `end`. */
static ph_net_node *maker(const ph_net *net, uint32_t value, uint32_t end) {
  for (uint32_t n = end; n-- > 0;)
    if (net->nodes[n]->outputs[0] == value) return net->nodes[n];
  return NULL;
}

/* Walks back from a weighted_sum.  Returns NULL when the group is whole, else why it stays as steps; *out_looks says
 * whether it looked like attention at all. */
static const char *find_group(const fuser *f, uint32_t end, ph_net_node *sum, group *out, bool *out_looks) {
  *out = (group){.steps = {[STEP_SUM] = sum}};
  *out_looks = false;
  uint32_t value = sum->inputs[0];
  ph_net_node *node = maker(f->net, value, end);
  if (!is_op(node, "softmax")) return "its weights come from no softmax";
  out->steps[STEP_SOFTMAX] = node;
  *out_looks = true;
  int next = STEP_MASK; /* what may still come, going back */
  for (;;) {
    const ph_net_value *seen = &f->net->values[value];
    if (seen->kept) return "the value between its steps is wanted";
    if (f->reads[value] > 1) return "a value between its steps is read elsewhere too";
    value = node->inputs[0];
    node = maker(f->net, value, end);
    if (is_op(node, "scaled_scores")) break;
    bool is_mask = is_op(node, "mask"), is_cap = is_op(node, "softcap");
    if (!is_mask && !is_cap) return "what comes before the softmax is no scaled_scores, softcap or mask";
    int step = is_mask ? STEP_MASK : STEP_CAP;
    if (step > next) return is_mask ? "a mask stands before softcap, or there are two" : "softcap stands twice";
    out->steps[step] = node;
    next = step - 1;
  }
  const ph_net_value *scores = &f->net->values[value];
  if (scores->kept) return "the value between its steps is wanted";
  if (f->reads[value] > 1) return "a value between its steps is read elsewhere too";
  out->steps[STEP_SCORES] = node;
  const ph_net_node *softmax = out->steps[STEP_SOFTMAX];
  uint32_t rank = scores->type.rank;
  if (ph_net_node_attr(softmax, "axis")->value.as.i64 != rank - 1) return "its softmax is not over the keys";
  const ph_type *k = &f->net->values[node->inputs[1]].type, *v = &f->net->values[sum->inputs[1]].type;
  if (rank == 4 && k->dims[1].value != v->dims[1].value) return "keys and values have different numbers of heads";
  return NULL;
}

static void copy_attr(ph_net_attr_value *attrs, uint32_t *count, const ph_net_node *step, const char *theirs,
                      const char *ours) {
  const ph_net_attr *attr = ph_net_node_attr(step, theirs);
  if (attr->present)
    attrs[(*count)++] = (ph_net_attr_value){.name = ours, .value = attr->value, .varies = attr->varies};
}

/* Adds the attention node at the end of the net and moves it to where the weighted_sum stands. */
static ph_status replace(fuser *f, uint32_t at, const group *g) {
  static const char *const mask_attrs[] = {"causal", "align", "window", "alibi", "polarity", "ring"};
  ph_net *net = f->net;
  ph_net_node *scores = g->steps[STEP_SCORES], *cap = g->steps[STEP_CAP], *mask = g->steps[STEP_MASK];
  ph_net_node *softmax = g->steps[STEP_SOFTMAX], *sum = g->steps[STEP_SUM];
  uint32_t inputs[8] = {scores->inputs[0], scores->inputs[1], sum->inputs[1], PH_NONE,
                        PH_NONE,           PH_NONE,           PH_NONE,        softmax->inputs[1]};
  ph_net_attr_value attrs[8];
  uint32_t attr_count = 0, tail = net->node_count, first;
  copy_attr(attrs, &attr_count, scores, "scale", "scale");
  if (cap != NULL) copy_attr(attrs, &attr_count, cap, "cap", "softcap");
  if (mask != NULL) {
    memcpy(&inputs[3], &mask->inputs[1], 4 * sizeof(*inputs));
    for (uint32_t i = 0; i < 6; i++) copy_attr(attrs, &attr_count, mask, mask_attrs[i], mask_attrs[i]);
  }
  PH_TRY(ph_net_add_node(net, ph_op_find("attention"), sum->path, sum->place, inputs, 8, attrs, attr_count, NULL,
                         &first, f->error));
  ph_net_node *fused = net->nodes[tail];
  fused->outputs[0] = sum->outputs[0];
  fused->outputs[1] = softmax->outputs[1];
  fused->steps = ph_arena_array(&net->arena, STEP_COUNT, sizeof(*fused->steps));
  if (fused->steps == NULL) return ph_fail_memory(f->error);
  for (uint32_t i = 0; i < STEP_COUNT; i++)
    if (g->steps[i] != NULL) fused->steps[fused->step_count++] = g->steps[i];
  PH_TRY(ph_net_splice(net, at, tail, f->error));
  /* The other steps go; all of them stand before `at`. */
  uint32_t kept = 0;
  for (uint32_t n = 0; n < net->node_count; n++) {
    bool step = false;
    for (uint32_t i = 0; i < STEP_SUM; i++) step = step || net->nodes[n] == g->steps[i];
    if (!step) net->nodes[kept++] = net->nodes[n];
  }
  net->node_count = kept;
  return PH_OK;
}

ph_status ph_fuse_attention(ph_net *net, ph_error *error) {
  fuser f = {.net = net, .error = error, .reads = ph_new_array(net->value_count, sizeof(uint32_t))};
  if (f.reads == NULL) return ph_fail_memory(error);
  ph_net_count_reads(net, f.reads); /* values that fusion adds are never read */
  ph_status status = PH_OK;
  for (uint32_t n = 0; n < net->node_count && status == PH_OK; n++) {
    ph_net_node *sum = net->nodes[n];
    if (!is_op(sum, "weighted_sum")) continue;
    group g;
    bool looks;
    const char *reason = find_group(&f, n, sum, &g, &looks);
    if (reason != NULL) {
      if (looks) sum->note = reason;
      continue;
    }
    uint32_t before = net->node_count;
    status = replace(&f, n, &g);
    n -= before - net->node_count;
  }
  free(f.reads);
  return status;
}

/* The steps of a merged linear write their values themselves. */
static void drop_slices(ph_net *net, uint32_t wide) {
  uint32_t kept = 0;
  for (uint32_t n = 0; n < net->node_count; n++) {
    ph_net_node *node = net->nodes[n];
    if (node->input_count > 0 && node->inputs[0] == wide)
      ph_unview(net, node, NULL);
    else
      net->nodes[kept++] = node;
  }
  net->node_count = kept;
}

static ph_status unfuse(ph_net *net, uint32_t at, ph_error *error) {
  ph_net_node *fused = net->nodes[at];
  uint32_t tail = net->node_count;
  for (uint32_t i = 0; i < fused->step_count; i++) {
    ph_net_node **slot = ph_arena_push(&net->arena, &net->nodes, &net->node_count, &net->node_capacity, sizeof(*slot));
    if (slot == NULL) return ph_fail_memory(error);
    *slot = fused->steps[i];
  }
  PH_TRY(ph_net_splice(net, at, tail, error));
  if (ph_is_merged(fused)) drop_slices(net, fused->outputs[0]);
  return PH_OK;
}

bool ph_has_steps(const ph_net_node *node) {
  return node->step_count > 0 || node->op->expand != NULL;
}

ph_status ph_write_out(ph_net *net, uint32_t at, ph_error *error) {
  ph_net_node *node = net->nodes[at];
  if (node->step_count > 0) return unfuse(net, at, error);
  uint32_t tail = net->node_count, outputs[PH_MAX_RANK] = {0};
  PH_TRY(node->op->expand(net, node, outputs, error));
  for (uint32_t n = tail; n < net->node_count; n++)
    for (uint32_t i = 0; i < net->nodes[n]->output_count; i++)
      for (uint32_t slot = 0; slot < node->output_count; slot++)
        if (net->nodes[n]->outputs[i] == outputs[slot]) net->nodes[n]->outputs[i] = node->outputs[slot];
  return ph_net_splice(net, at, tail, error);
}
