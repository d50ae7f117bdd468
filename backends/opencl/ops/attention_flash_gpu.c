/* attention on GPUs: tiles of queries and of keys in local memory (attention_flash_gpu.cl). */
#include <stdio.h>

#include "opencl/ops/attention.h"

enum {
  ITEMS = 64,       /* of a work-group, as in attention_flash_gpu.cl */
  PROMPT_ROWS = 32, /* of a tile */
  DECODE_ROWS = 8,
  MOST_QUERIES = 8,    /* for which the small tile is taken */
  MOST_COLUMNS = 256,  /* of v: sums are kept in registers */
  GROUPS_PER_UNIT = 4, /* wanted, before keys are split */
  LEAST_KEYS_A_SPLIT = 128
};

static uint64_t local_bytes(int64_t rows, int64_t columns) {
  return (uint64_t)(rows * (columns + 1) + (32 + rows) * 33 + 6 * rows) * sizeof(float);
}

static bool can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, int64_t rows,
                    char reason[192]) {
  cl_attention a = cl_attention_of(graph, node);
  if (!cl_attention_fits(&a, MOST_COLUMNS, reason)) return false;
  if (limits->max_work_group < ITEMS)
    snprintf(reason, 192, "work-groups of %d items", ITEMS);
  else if (limits->local_memory < local_bytes(rows, a.q->dims[3]))
    snprintf(reason, 192, "%llu bytes of local memory", (unsigned long long)local_bytes(rows, a.q->dims[3]));
  else
    return true;
  return false;
}

bool cl_flash_gpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  return can_run(limits, graph, node, PROMPT_ROWS, reason);
}

bool cl_decode_gpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  if (ph_node_input(graph, node, CL_ATTENTION_Q)->dims[2] <= MOST_QUERIES)
    return can_run(limits, graph, node, DECODE_ROWS, reason);
  snprintf(reason, 192, "made for at most %d queries", MOST_QUERIES);
  return false;
}

static void options(const ph_graph *graph, const ph_node *node, int64_t rows, ph_text *out) {
  cl_attention_options(graph, node, out);
  cl_attention_sizes(graph, node, out);
  ph_text_add(out, " -DROWS=%d", (int)rows);
}

void cl_flash_gpu_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  options(graph, node, PROMPT_ROWS, out);
}

void cl_decode_gpu_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  options(graph, node, DECODE_ROWS, out);
}

static ph_status plan_tiles(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, int64_t tile_rows,
                            int64_t most_groups, ph_error *error) {
  cl_attention a = cl_attention_of(graph, node);
  int64_t rows = a.heads / a.k->dims[1] * a.queries, key_heads = a.batch * a.k->dims[1];
  int64_t tiles = (rows + tile_rows - 1) / tile_rows;
  cl_split split = cl_attention_split(plan, &a, key_heads * tiles, most_groups, LEAST_KEYS_A_SPLIT);
  const size_t global[3] = {(size_t)(key_heads * tiles * split.count * ITEMS), 1, 1}, local[3] = {ITEMS, 1, 1};
  cl_launch *l = cl_plan_launch(plan, "attention_flash_gpu", 1, global, local, true);
  cl_arg_attention(plan, l, graph, node);
  cl_arg_float(l, a.scale);
  cl_arg_float(l, a.cap);
  cl_arg_long(l, tiles);
  cl_arg_split(l, &split);
  if (split.count > 1) cl_launch_join(plan, node, &a, &split);
  return cl_plan_done(plan, error);
}

ph_status cl_flash_gpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  return plan_tiles(plan, graph, node, PROMPT_ROWS, 1, error);
}

ph_status cl_decode_gpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  return plan_tiles(plan, graph, node, DECODE_ROWS, (int64_t)GROUPS_PER_UNIT * cl_plan_limits(plan)->compute_units,
                    error);
}
