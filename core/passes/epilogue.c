#include "passes/epilogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { LINEAR, BIAS, ACTIVATION, RESIDUAL, STEP_COUNT };

/* A linear and what was found behind it; absent steps are NULL. */
typedef struct chain {
  ph_net_node *steps[STEP_COUNT];
  uint32_t last;           /* which step */
  uint32_t at;             /* where it stands in the net */
  uint32_t bias, residual; /* net values */
} chain;

typedef struct fuser {
  ph_net *net;
  uint32_t *reads;
  ph_error *error;
} fuser;

static bool is_activation(const ph_net_node *node) {
  static const char *const names[] = {"relu", "gelu", "silu", "tanh", "sigmoid"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (strcmp(node->op->name, names[i]) == 0) return true;
  return false;
}

static bool is_add(const ph_net_node *node) {
  return strcmp(node->op->name, "add") == 0;
}

/* The first node behind number `from` that reads the value; node_count if there is none. */
static uint32_t first_reader(const ph_net *net, uint32_t value, uint32_t from) {
  for (uint32_t n = from + 1; n < net->node_count; n++)
    for (uint32_t i = 0; i < net->nodes[n]->input_count; i++)
      if (net->nodes[n]->inputs[i] == value) return n;
  return net->node_count;
}

static bool same_type(const ph_type *a, const ph_type *b) {
  bool same = a->dtype == b->dtype && a->rank == b->rank;
  for (uint32_t i = 0; same && i < a->rank; i++) same = a->dims[i].value == b->dims[i].value;
  return same;
}

/* Takes an add in, as bias or as residual; else says why not. */
static const char *take_add(const ph_net *net, chain *c, ph_net_node *add, uint32_t value) {
  uint32_t other = add->inputs[add->inputs[0] == value ? 1 : 0];
  const ph_net_value *y = &net->values[value], *added = &net->values[other];
  int64_t columns = y->type.dims[y->type.rank - 1].value;
  bool vector = added->type.rank == 1 && added->type.dims[0].value == columns && added->kind == PH_TENSOR_CONSTANT;
  if (vector && c->last == LINEAR && c->bias == PH_NONE) {
    c->bias = other;
    c->steps[c->last = BIAS] = add;
    return NULL;
  }
  if (!same_type(&added->type, &y->type)) {
    if (!vector)
      return "what it adds to a linear has another shape: a residual has the same, a bias is a constant [out]";
    return c->last == ACTIVATION ? "a bias stands behind the activation" : "the linear has a bias already";
  }
  c->residual = other;
  c->steps[c->last = RESIDUAL] = add;
  return NULL;
}

/* Takes in the reader of what the chain gives so far, if it can; false at the end of the chain. */
static bool extend(const fuser *f, chain *c) {
  uint32_t value = c->steps[c->last]->outputs[0], at = first_reader(f->net, value, c->at);
  if (at == f->net->node_count) return false;
  ph_net_node *reader = f->net->nodes[at];
  const char *reason = NULL;
  if (!is_add(reader) && !is_activation(reader)) return false;
  if (f->net->values[value].kept)
    reason = "the value before it is wanted, so the linear stays apart";
  else if (f->reads[value] > 1)
    reason = "the value before it is read elsewhere too, so the linear stays apart";
  else if (is_add(reader))
    reason = take_add(f->net, c, reader, value);
  else if (c->last == ACTIVATION)
    reason = "an activation stands before it already";
  else
    c->steps[c->last = ACTIVATION] = reader;
  if (reason != NULL) reader->note = reason;
  c->at = at;
  return reason == NULL && c->last != RESIDUAL;
}

static ph_net_attr_value copy_attr(const ph_net_node *step, const char *name) {
  const ph_net_attr *attr = ph_net_node_attr(step, name);
  return (ph_net_attr_value){.name = name, .value = attr->value, .varies = attr->varies};
}

/* Adds the fused node at the end of the net and moves it to where the last step stands. */
static ph_status replace(fuser *f, const chain *c, uint32_t last_at) {
  ph_net *net = f->net;
  ph_net_node *linear = c->steps[LINEAR], *activation = c->steps[ACTIVATION], *last = c->steps[c->last];
  bool plain = c->last == BIAS;
  const uint32_t inputs[] = {linear->inputs[0], linear->inputs[1], c->bias, c->residual};
  ph_net_attr_value attrs[3] = {copy_attr(linear, "layout")};
  uint32_t attr_count = 1, tail = net->node_count, first;
  if (activation != NULL)
    attrs[attr_count++] =
        (ph_net_attr_value){.name = "activation", .value = {.kind = PH_ATTR_STRING, .as.string = activation->op->name}};
  if (activation != NULL && strcmp(activation->op->name, "gelu") == 0)
    attrs[attr_count++] = copy_attr(activation, "form");
  PH_TRY(ph_net_add_node(net, ph_op_find(plain ? "linear" : "fused_linear"), last->path, last->place, inputs,
                         plain ? 3 : 4, attrs, attr_count, NULL, &first, f->error));
  ph_net_node *fused = net->nodes[tail];
  fused->outputs[0] = last->outputs[0];
  fused->steps = ph_arena_array(&net->arena, STEP_COUNT, sizeof(*fused->steps));
  if (fused->steps == NULL) return ph_fail_memory(f->error);
  for (uint32_t i = 0; i < STEP_COUNT; i++)
    if (c->steps[i] != NULL) fused->steps[fused->step_count++] = c->steps[i];
  PH_TRY(ph_net_splice(net, last_at, tail, f->error));
  uint32_t kept = 0; /* the other steps go; all of them stand before the last */
  for (uint32_t n = 0; n < net->node_count; n++) {
    bool step = false;
    for (uint32_t i = 0; i < STEP_COUNT; i++) step = step || net->nodes[n] == c->steps[i];
    if (!step) net->nodes[kept++] = net->nodes[n];
  }
  net->node_count = kept;
  return PH_OK;
}

ph_status ph_fuse_epilogues(ph_net *net, ph_error *error) {
  fuser f = {.net = net, .error = error, .reads = ph_new_array(net->value_count, sizeof(uint32_t))};
  if (f.reads == NULL) return ph_fail_memory(error);
  ph_net_count_reads(net, f.reads); /* values that fusion adds are never read */
  ph_status status = PH_OK;
  for (uint32_t n = 0; n < net->node_count && status == PH_OK; n++) {
    ph_net_node *linear = net->nodes[n];
    if (strcmp(linear->op->name, "linear") != 0) continue;
    chain c = {.steps = {[LINEAR] = linear}, .last = LINEAR, .at = n, .bias = linear->inputs[2], .residual = PH_NONE};
    uint32_t last_at = n;
    for (bool more = true; more;) {
      uint32_t before = c.last;
      more = extend(&f, &c);
      if (c.last != before) last_at = c.at;
    }
    if (c.last == LINEAR) continue;
    status = replace(&f, &c, last_at);
    n--; /* another node stands here now */
  }
  free(f.reads);
  return status;
}
