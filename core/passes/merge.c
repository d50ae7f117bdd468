#include "passes/merge.h"

#include <string.h>

#include "base/dtype.h"
#include "base/error.h"

enum { MOST = 8, WIDTH_BYTES = 128, LEAST_BYTES = 64 * 1024 };

typedef struct group {
  ph_net_node *members[MOST];
  uint32_t count;
  int64_t depth, columns; /* of the weights, together */
  bool in_out, has_bias;
  ph_dtype dtype, bias_dtype;
} group;

typedef struct merger {
  ph_net *net;
  ph_pool *pool;
  ph_merge_limits left;
  ph_error *error;
} merger;

static const ph_net_value *operand(const ph_net *net, const ph_net_node *node, uint32_t role) {
  return node->inputs[role] == PH_NONE ? NULL : &net->values[node->inputs[role]];
}

static bool is_in_out(const ph_net_node *linear) {
  return strcmp(ph_net_node_attr(linear, "layout")->value.as.string, "in_out") == 0;
}

static ph_dim columns_of(const ph_net *net, const ph_net_node *linear) {
  const ph_type *y = &net->values[linear->outputs[0]].type;
  return y->dims[y->rank - 1];
}

/* A linear that may be merged with others. */
static bool is_candidate(const ph_net *net, ph_net_node *node) {
  if (strcmp(node->op->name, "linear") != 0 || node->way != PH_NODE_RUNS) return false;
  const ph_net_value *weight = operand(net, node, 1), *bias = operand(net, node, 2);
  const ph_net_value *y = &net->values[node->outputs[0]];
  if (weight->kind != PH_TENSOR_CONSTANT || (bias != NULL && bias->kind != PH_TENSOR_CONSTANT)) return false;
  int64_t columns = columns_of(net, node).value;
  return columns > 0 && !y->kept && !ph_net_node_attr(node, "layout")->varies;
}

/* Whether it fits to the group so far.  Each begins at a multiple of WIDTH_BYTES, so that devices may be handed it. */
static bool joins(const ph_net *net, const group *g, ph_net_node *node) {
  const ph_net_value *weight = operand(net, node, 1), *bias = operand(net, node, 2);
  const ph_net_value *y = &net->values[node->outputs[0]];
  if (g->count == MOST || is_in_out(node) != g->in_out || weight->type.dtype != g->dtype) return false;
  if (bias != NULL && g->has_bias && bias->type.dtype != g->bias_dtype) return false;
  return columns_of(net, node).value * (int64_t)ph_dtype_size(y->type.dtype) % WIDTH_BYTES == 0;
}

static void add_member(const ph_net *net, group *g, ph_net_node *node) {
  const ph_net_value *bias = operand(net, node, 2);
  if (bias != NULL) g->bias_dtype = bias->type.dtype;
  g->has_bias = g->has_bias || bias != NULL;
  g->members[g->count++] = node;
  g->columns += columns_of(net, node).value;
}

/* The group that begins with node number `at`. */
static group find_group(const ph_net *net, uint32_t at) {
  ph_net_node *first = net->nodes[at];
  const ph_type *x = &operand(net, first, 0)->type;
  group g = {
      .depth = x->dims[x->rank - 1].value, .in_out = is_in_out(first), .dtype = operand(net, first, 1)->type.dtype};
  for (uint32_t n = at; n < net->node_count; n++) {
    ph_net_node *node = net->nodes[n];
    if (node->input_count > 0 && node->inputs[0] == first->inputs[0] && is_candidate(net, node) && joins(net, &g, node))
      add_member(net, &g, node);
  }
  return g;
}

static uint64_t weight_bytes(const group *g) {
  return (uint64_t)(g->depth * g->columns) * ph_dtype_size(g->dtype);
}

static uint64_t result_bytes(const ph_net *net, const group *g) {
  const ph_type *y = &net->values[g->members[0]->outputs[0]].type;
  uint64_t rows = 1;
  for (uint32_t i = 0; i + 1 < y->rank; i++) rows *= (uint64_t)y->dims[i].value;
  return rows * (uint64_t)g->columns * ph_dtype_size(y->dtype);
}

/* ---- the constants ---- */

/* Rows of `from` into `to`, whose rows are `width` bytes long, from byte `start` of each on. */
static void put_columns(const ph_tensor *from, ph_tensor *to, size_t rows, size_t width, size_t start) {
  size_t piece = from->bytes / rows;
  for (size_t row = 0; row < rows; row++)
    memcpy((char *)to->data + row * width + start, (const char *)from->data + row * piece, piece);
}

/* One tensor from that of role `role` of every member, the new ones side by side along the columns; zeros where a
 * member has none. */
static ph_status join_tensors(merger *m, const group *g, uint32_t role, ph_dtype dtype, uint32_t rank,
                              const int64_t *dims, size_t rows, const char *path, uint32_t *out) {
  ph_tensor *sources[MOST], *made;
  const char *key = role == 1 ? (g->in_out ? "merged weights in_out" : "merged weights out_in") : "merged biases";
  for (uint32_t i = 0; i < g->count; i++)
    sources[i] = g->members[i]->inputs[role] == PH_NONE ? NULL : operand(m->net, g->members[i], role)->tensor;
  ph_tensor *found = ph_pool_find(m->pool, key, sources, g->count);
  if (found != NULL) return ph_net_add_constant(m->net, path, found, out, m->error);
  PH_TRY(ph_tensor_create(dtype, rank, dims, &made, m->error));
  size_t start = 0, width = made->bytes / rows;
  for (uint32_t i = 0; i < g->count; i++) {
    size_t columns = (size_t)columns_of(m->net, g->members[i]).value * (width / (size_t)g->columns);
    if (sources[i] != NULL && sources[i]->bytes > 0) put_columns(sources[i], made, rows, width, start);
    start += columns;
  }
  ph_status status = ph_pool_add(m->pool, key, sources, g->count, made, m->error);
  if (status == PH_OK) status = ph_net_add_constant(m->net, path, made, out, m->error);
  ph_tensor_release(made);
  return status;
}

/* Weights [out, in] lie one after the other; those [in, out] side by side. */
static ph_status join_weights(merger *m, const group *g, const char *path, uint32_t *out) {
  const int64_t dims[2] = {g->in_out ? g->depth : g->columns, g->in_out ? g->columns : g->depth};
  if (g->in_out) return join_tensors(m, g, 1, g->dtype, 2, dims, (size_t)g->depth, path, out);
  return join_tensors(m, g, 1, g->dtype, 2, dims, 1, path, out);
}

/* ---- rewriting ---- */

static const char *last_name(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot == NULL ? path : dot + 1;
}

/* "h.3.q+k+v" */
static const char *merged_path(merger *m, const group *g) {
  const char *path = g->members[0]->path;
  for (uint32_t i = 1; i < g->count && path != NULL; i++)
    path = ph_arena_text(&m->net->arena, "%s+%s", path, last_name(g->members[i]->path));
  return path;
}

/* The member's value as a slice of the wide one. */
static ph_status add_slice(merger *m, ph_net_node *member, uint32_t wide, int64_t start) {
  ph_net *net = m->net;
  const ph_type *type = &net->values[wide].type;
  ph_net_attr_value attrs[3] = {
      {.name = "axis", .value = {.kind = PH_ATTR_I64, .as.i64 = type->rank - 1}},
      {.name = "start", .value = {.kind = PH_ATTR_I64, .as.i64 = start}},
      {.name = "stop", .value = {.kind = PH_ATTR_I64, .as.i64 = start + columns_of(net, member).value}}};
  uint32_t unused, at = net->node_count;
  PH_TRY(ph_net_add_node(net, ph_op_find("slice"), member->path, member->place, &wide, 1, attrs, 3, NULL, &unused,
                         m->error));
  net->nodes[at]->outputs[0] = member->outputs[0];
  return PH_OK;
}

/* Puts the merged node and its slices where the first member, number `at`, stands; the others go. */
static ph_status replace(merger *m, uint32_t at, const group *g) {
  ph_net *net = m->net;
  const char *path = merged_path(m, g);
  if (path == NULL) return ph_fail_memory(m->error);
  const char *weight_path = ph_arena_text(&net->arena, "%s.weight", path);
  const char *bias_path = ph_arena_text(&net->arena, "%s.bias", path);
  if (weight_path == NULL || bias_path == NULL) return ph_fail_memory(m->error);
  uint32_t inputs[] = {g->members[0]->inputs[0], PH_NONE, PH_NONE}, wide, tail = net->node_count;
  PH_TRY(join_weights(m, g, weight_path, &inputs[1]));
  if (g->has_bias) PH_TRY(join_tensors(m, g, 2, g->bias_dtype, 1, &g->columns, 1, bias_path, &inputs[2]));
  ph_net_attr_value layout = {.name = "layout", .value = ph_net_node_attr(g->members[0], "layout")->value};
  PH_TRY(ph_net_add_node(net, ph_op_find("linear"), path, g->members[0]->place, inputs, 3, &layout, 1, NULL, &wide,
                         m->error));
  ph_net_node *merged = net->nodes[tail];
  merged->steps = ph_arena_array(&net->arena, g->count, sizeof(*merged->steps));
  if (merged->steps == NULL) return ph_fail_memory(m->error);
  int64_t start = 0;
  for (uint32_t i = 0; i < g->count; i++) {
    merged->steps[merged->step_count++] = g->members[i];
    PH_TRY(add_slice(m, g->members[i], wide, start));
    start += columns_of(net, g->members[i]).value;
  }
  PH_TRY(ph_net_splice(net, at, tail, m->error));
  uint32_t kept = 0;
  for (uint32_t n = 0; n < net->node_count; n++) {
    bool member = false;
    for (uint32_t i = 0; i < g->count; i++) member = member || net->nodes[n] == g->members[i];
    if (!member) net->nodes[kept++] = net->nodes[n];
  }
  net->node_count = kept;
  return PH_OK;
}

ph_status ph_merge_projections(ph_net *net, ph_pool *pool, const ph_merge_limits *limits, ph_error *error) {
  merger m = {.net = net, .pool = pool, .left = *limits, .error = error};
  for (uint32_t n = 0; n < net->node_count; n++) {
    if (!is_candidate(net, net->nodes[n])) continue;
    group g = find_group(net, n);
    if (g.count < 2 || g.members[0] != net->nodes[n] || weight_bytes(&g) < LEAST_BYTES) continue;
    if (weight_bytes(&g) > m.left.weight_bytes || weight_bytes(&g) > m.left.tensor_bytes ||
        result_bytes(net, &g) > m.left.tensor_bytes) {
      net->nodes[n]->note = "it and its neighbours stay apart: merged they would be too large for the device";
      continue;
    }
    m.left.weight_bytes -= weight_bytes(&g);
    PH_TRY(replace(&m, n, &g));
    n += g.count; /* the slices */
  }
  return PH_OK;
}

bool ph_is_merged(const ph_net_node *node) {
  return node->step_count > 1 && node->steps[node->step_count - 1]->outputs[0] != node->outputs[0];
}
