/* attention: scores, weights and mix, a strip of rows at a time, so that Sq x Sk is never kept for all heads. */
#include <math.h>
#include <stdio.h>

#include "opencl/ops/attention.h"

enum { TILE = 4 };                      /* rows, as in attention.cl */
enum { STRIP_BYTES = 8 * 1024 * 1024 }; /* of scores: enough rows to keep a device busy */

/* ---- what the variants share ---- */

cl_attention cl_attention_of(const ph_graph *graph, const ph_node *node) {
  cl_attention a = {.q = ph_node_input(graph, node, CL_ATTENTION_Q),
                    .k = ph_node_input(graph, node, CL_ATTENTION_K),
                    .v = ph_node_input(graph, node, CL_ATTENTION_V),
                    .sinks = ph_node_input(graph, node, CL_ATTENTION_SINKS),
                    .y = ph_node_output(graph, node, 0),
                    .lse = ph_node_output(graph, node, 1)};
  a.batch = a.q->dims[0];
  a.heads = a.q->dims[1];
  a.queries = a.q->dims[2];
  a.keys = a.k->dims[2];
  a.scale = (float)ph_node_real(node, "scale", 1.0 / sqrt((double)a.q->dims[3]));
  a.cap = (float)ph_node_real(node, "softcap", 0.0);
  return a;
}

uint64_t cl_attention_shape(cl_plan_node *plan, const cl_attention *a) {
  int64_t shape[25] = {a->queries, a->keys, a->q->dims[3], a->v->dims[3], a->heads, a->heads / a->k->dims[1]};
  const ph_tensor_desc *const operands[] = {a->q, a->k, a->v, a->y};
  for (uint32_t i = 0; i < 4; i++) memcpy(shape + 6 + 4 * i, operands[i]->strides, 4 * sizeof(int64_t));
  if (a->lse != NULL) memcpy(shape + 22, a->lse->strides, 3 * sizeof(int64_t));
  return cl_plan_table(plan, shape, 25);
}

void cl_attention_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_rules_options(graph, node, CL_ATTENTION_RULES, out);
  cl_option_input(out, graph, node, CL_ATTENTION_SINKS, "SINKS");
  cl_option_output(out, graph, node, 1, "LSE");
}

void cl_arg_attention(cl_plan_node *plan, cl_launch *launch, const ph_graph *graph, const ph_node *node) {
  cl_attention a = cl_attention_of(graph, node);
  cl_rules rules = cl_rules_table(plan, graph, node, CL_ATTENTION_RULES, a.heads, a.queries, a.keys);
  for (uint32_t role = CL_ATTENTION_Q; role <= CL_ATTENTION_V; role++) cl_arg_input(launch, node, role);
  cl_arg_rules(launch, node, &rules);
  cl_arg_input(launch, node, CL_ATTENTION_SINKS);
  cl_arg_long(launch, a.sinks == NULL ? 0 : a.sinks->strides[0]);
  cl_arg_output(launch, node, 0);
  cl_arg_output(launch, node, 1);
  cl_arg_table(launch, cl_attention_shape(plan, &a));
}

void cl_attention_sizes(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_attention a = cl_attention_of(graph, node);
  ph_text_add(out, " -DHEAD_SIZE=%d -DVALUE_SIZE=%d", (int)a.q->dims[3], (int)a.v->dims[3]);
  if (a.cap > 0) ph_text_add(out, " -DSOFTCAP");
}

bool cl_attention_fits(const cl_attention *a, int64_t most_columns, char reason[192]) {
  const int64_t most_keys = INT32_MAX / 2;
  if (a->v->dims[3] == 0)
    snprintf(reason, 192, "v has no columns");
  else if (a->q->dims[3] > most_columns || a->v->dims[3] > most_columns)
    snprintf(reason, 192, "heads of more than %lld columns", (long long)most_columns);
  else if (a->keys > most_keys)
    snprintf(reason, 192, "more than %lld keys", (long long)most_keys);
  else
    return true;
  return false;
}

/* ---- split keys ---- */

enum { MOST_SPLITS = 64 }; /* as in attention_join.cl */

cl_split cl_attention_split(cl_plan_node *plan, const cl_attention *a, int64_t items, int64_t wanted,
                            int64_t least_keys) {
  cl_split split = {.count = (wanted + items - 1) / items};
  if (split.count > a->keys / least_keys) split.count = a->keys / least_keys;
  if (split.count > MOST_SPLITS) split.count = MOST_SPLITS;
  if (split.count < 1) split.count = 1;
  if (split.count > 1) {
    uint64_t rows = (uint64_t)(a->batch * a->heads * a->queries * split.count);
    split.workspace = cl_plan_workspace(plan, rows * (uint64_t)(a->v->dims[3] + 2) * sizeof(float));
  }
  return split;
}

void cl_arg_split(cl_launch *launch, const cl_split *split) {
  cl_arg_int(launch, (int32_t)split->count);
  if (split->count > 1)
    cl_arg_workspace(launch, split->workspace);
  else
    cl_arg_tensor(launch, PH_NONE);
}

void cl_launch_join(cl_plan_node *plan, const ph_node *node, const cl_attention *a, const cl_split *split) {
  int64_t key_heads = a->k->dims[1];
  size_t across = cl_plan_limits(plan)->is_cpu ? 1 : 32; /* items that share the columns of a row */
  const size_t global[3] = {across, (size_t)(a->heads / key_heads * a->queries), (size_t)(a->batch * key_heads)};
  const size_t local[3] = {across, 1, 1};
  cl_launch *l = cl_plan_launch(plan, "attention_join", 3, global, local, false);
  cl_arg_input(l, node, CL_ATTENTION_SINKS);
  cl_arg_long(l, a->sinks == NULL ? 0 : a->sinks->strides[0]);
  cl_arg_output(l, node, 0);
  cl_arg_output(l, node, 1);
  cl_arg_table(l, cl_attention_shape(plan, a));
  cl_arg_split(l, split);
}

/* ---- strips ---- */

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
  cl_attention a = cl_attention_of(graph, node);
  int64_t tiles = (s->rows + TILE - 1) / TILE;
  if (a.keys > 0) {
    cl_launch *l = cl_launch_items(plan, "attention_scores", (a.keys + 3) / 4, tiles, s->heads);
    cl_arg_input(l, node, CL_ATTENTION_Q);
    cl_arg_input(l, node, CL_ATTENTION_K);
    cl_arg_rules(l, node, rules);
    cl_arg_workspace(l, s->workspace);
    arg_strip(l, s);
    cl_arg_float(l, a.scale);
    cl_arg_float(l, a.cap);
  }
  cl_launch *l = cl_launch_items(plan, "attention_weights", s->rows, s->heads, 1);
  cl_arg_rules(l, node, rules);
  cl_arg_input(l, node, CL_ATTENTION_SINKS);
  cl_arg_long(l, a.sinks == NULL ? 0 : a.sinks->strides[0]);
  cl_arg_workspace(l, s->workspace);
  cl_arg_output(l, node, 1);
  arg_strip(l, s);

  if (a.y->dims[3] == 0) return; /* planned for lse alone */
  l = cl_launch_items(plan, "attention_mix", (a.y->dims[3] + 15) / 16, tiles, s->heads);
  cl_arg_rules(l, node, rules);
  cl_arg_input(l, node, CL_ATTENTION_V);
  cl_arg_workspace(l, s->workspace);
  cl_arg_output(l, node, 0);
  arg_strip(l, s);
}

static ph_status plan_strips(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_attention a = cl_attention_of(graph, node);
  int64_t queries = a.queries, keys = a.keys, all_heads = a.batch * a.heads;
  cl_rules rules = cl_rules_table(plan, graph, node, CL_ATTENTION_RULES, a.heads, queries, keys);

  uint64_t most = cl_plan_limits(plan)->max_buffer;
  int64_t budget = most < STRIP_BYTES ? (int64_t)most : STRIP_BYTES;
  int64_t fitting = budget / (int64_t)sizeof(float) / (keys > 0 ? keys : 1); /* rows in a strip */
  /* Whole heads where at least one fits, else rows of one head. */
  int64_t strip_heads = fitting / queries > 1 ? fitting / queries : 1;
  int64_t strip_rows = fitting >= queries ? queries : fitting > TILE ? fitting / TILE * TILE : TILE;
  if (strip_heads > all_heads) strip_heads = all_heads;
  if (strip_rows > queries) strip_rows = queries;

  strip s = {.shape = cl_attention_shape(plan, &a)};
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

#define STAGES                                                                                                         \
  { [PH_STAGE_SCORE] = PH_F32, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32 }

static const cl_variant attention_variants[] = {
    {.name = "decode_cpu",
     .file = "vectors.cl attention_shape.cl attention_tile.cl attention_join.cl attention_decode_cpu.cl",
     .profiles = CL_PROFILE_CPU,
     .stages = STAGES,
     .can_run = cl_decode_cpu_can_run,
     .options = cl_decode_cpu_options,
     .plan = cl_decode_cpu_plan},
    {.name = "flash_cpu",
     .file = "vectors.cl attention_shape.cl attention_tile.cl attention_queries.cl attention_runs.cl attention_bias.cl "
             "attention_flash_cpu.cl",
     .profiles = CL_PROFILE_CPU,
     .stages = STAGES,
     .can_run = cl_flash_cpu_can_run,
     .options = cl_flash_cpu_options,
     .plan = cl_flash_cpu_plan},
    {.name = "decode_gpu",
     .file = "attention_shape.cl attention_join.cl attention_flash_gpu.cl",
     .profiles = CL_PROFILE_GPU,
     .stages = STAGES,
     .can_run = cl_decode_gpu_can_run,
     .options = cl_decode_gpu_options,
     .plan = cl_decode_gpu_plan},
    {.name = "flash_gpu",
     .file = "attention_shape.cl attention_join.cl attention_flash_gpu.cl",
     .profiles = CL_PROFILE_GPU,
     .stages = STAGES,
     .can_run = cl_flash_gpu_can_run,
     .options = cl_flash_gpu_options,
     .plan = cl_flash_gpu_plan},
    {.name = "strips",
     .file = "attention_shape.cl attention.cl",
     .profiles = CL_PROFILE_ALL,
     .stages = STAGES,
     .options = cl_attention_options,
     .plan = plan_strips}};
const cl_op cl_op_attention = CL_OP_TRIED(attention, cl_shrink_heads);
