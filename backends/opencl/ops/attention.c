/* attention: scores, weights and mix, a strip of rows at a time, so that Sq x Sk is never kept for all heads. */
#include <math.h>

#include "opencl/ops/ops.h"

enum { Q, K, V, RULES, SINKS = 7 };
enum { TILE = 4 };                      /* rows, as in attention.cl */
enum { STRIP_BYTES = 8 * 1024 * 1024 }; /* of scores: enough rows to keep a device busy */

typedef struct strip {
  uint64_t shape, workspace;
  int64_t head_first, heads, row_first, rows;
} strip;

static void arg_strip(cl_launch *l, const strip *s) {
  cl_arg_table(l, s->shape);
  cl_arg_long(l, s->head_first);
  cl_arg_long(l, s->heads);
  cl_arg_long(l, s->row_first);
  cl_arg_long(l, s->rows);
}

static void launch_strip(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, const cl_rules *rules,
                         const strip *s) {
  const ph_tensor_desc *q = ph_node_input(graph, node, Q), *k = ph_node_input(graph, node, K);
  const ph_tensor_desc *sinks = ph_node_input(graph, node, SINKS), *y = ph_node_output(graph, node, 0);
  int64_t tiles = (s->rows + TILE - 1) / TILE;
  if (k->dims[2] > 0) {
    cl_launch *l = cl_launch_items(plan, "attention_scores", (k->dims[2] + 3) / 4, tiles, s->heads);
    cl_arg_input(l, node, Q);
    cl_arg_input(l, node, K);
    cl_arg_rules(l, node, rules);
    cl_arg_workspace(l, s->workspace);
    arg_strip(l, s);
    cl_arg_float(l, (float)ph_node_real(node, "scale", 1.0 / sqrt((double)q->dims[3])));
    cl_arg_float(l, (float)ph_node_real(node, "softcap", 0.0));
  }
  cl_launch *l = cl_launch_items(plan, "attention_weights", s->rows, s->heads, 1);
  cl_arg_rules(l, node, rules);
  cl_arg_input(l, node, SINKS);
  cl_arg_long(l, sinks == NULL ? 0 : sinks->strides[0]);
  cl_arg_workspace(l, s->workspace);
  cl_arg_output(l, node, 1);
  arg_strip(l, s);

  if (y->dims[3] == 0) return; /* planned for lse alone */
  l = cl_launch_items(plan, "attention_mix", (y->dims[3] + 15) / 16, tiles, s->heads);
  cl_arg_rules(l, node, rules);
  cl_arg_input(l, node, V);
  cl_arg_workspace(l, s->workspace);
  cl_arg_output(l, node, 0);
  arg_strip(l, s);
}

static ph_status plan_attention(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *q = ph_node_input(graph, node, Q), *k = ph_node_input(graph, node, K);
  const ph_tensor_desc *v = ph_node_input(graph, node, V), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *lse = ph_node_output(graph, node, 1);
  int64_t heads = q->dims[1], queries = q->dims[2], keys = k->dims[2], all_heads = q->dims[0] * heads;
  cl_rules rules = cl_rules_table(plan, graph, node, RULES, heads, queries, keys);

  int64_t shape[25] = {queries, keys, q->dims[3], v->dims[3], heads, heads / k->dims[1]};
  const ph_tensor_desc *const operands[] = {q, k, v, y};
  for (uint32_t i = 0; i < 4; i++) memcpy(shape + 6 + 4 * i, operands[i]->strides, 4 * sizeof(int64_t));
  if (lse != NULL) memcpy(shape + 22, lse->strides, 3 * sizeof(int64_t));

  uint64_t most = cl_plan_limits(plan)->max_buffer;
  int64_t budget = most < STRIP_BYTES ? (int64_t)most : STRIP_BYTES;
  int64_t fitting = budget / (int64_t)sizeof(float) / (keys > 0 ? keys : 1); /* rows in a strip */
  /* Whole heads where at least one fits, else rows of one head. */
  int64_t strip_heads = fitting / queries > 1 ? fitting / queries : 1;
  int64_t strip_rows = fitting >= queries ? queries : fitting > TILE ? fitting / TILE * TILE : TILE;
  if (strip_heads > all_heads) strip_heads = all_heads;
  if (strip_rows > queries) strip_rows = queries;

  strip s = {.shape = cl_plan_table(plan, shape, 25)};
  int64_t scores = strip_heads * strip_rows * keys;
  s.workspace = cl_plan_workspace(plan, (uint64_t)(scores > 0 ? scores : 1) * sizeof(float));
  for (s.head_first = 0; s.head_first < all_heads; s.head_first += strip_heads)
    for (s.row_first = 0; s.row_first < queries; s.row_first += strip_rows) {
      s.heads = strip_heads < all_heads - s.head_first ? strip_heads : all_heads - s.head_first;
      s.rows = strip_rows < queries - s.row_first ? strip_rows : queries - s.row_first;
      launch_strip(plan, graph, node, &rules, &s);
    }
  return cl_plan_done(plan, error);
}

static void options_attention(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_rules_options(graph, node, RULES, out);
  cl_option_input(out, graph, node, SINKS, "SINKS");
  cl_option_output(out, graph, node, 1, "LSE");
}

static const cl_variant attention_variants[] = {
    {.name = "strips",
     .file = "attention_shape.cl attention.cl",
     .profiles = CL_PROFILE_ALL,
     .stages = {[PH_STAGE_SCORE] = PH_F32, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
     .options = options_attention,
     .plan = plan_attention}};
const cl_op cl_op_attention = CL_OP_TRIED(attention, cl_shrink_heads);
