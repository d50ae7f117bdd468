/* attention on CPUs where queries are few: reads the cache once (attention_decode_cpu.cl). */
#include <stdio.h>

#include "opencl/ops/attention.h"

enum {
  MOST_QUERIES = 8,   /* from 9 on attention_flash_cpu, which shares keys among queries, is faster */
  MOST_ROWS = 32,     /* of one work-item: query heads of a key head times queries */
  ITEMS_PER_UNIT = 8, /* so that cores end together */
  LEAST_KEYS_A_SPLIT = 256
};

bool cl_decode_cpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  int64_t queries = ph_node_input(graph, node, CL_ATTENTION_Q)->dims[2];
  if (queries <= MOST_QUERIES) return cl_flash_cpu_can_run(limits, graph, node, reason);
  snprintf(reason, 192, "made for at most %d queries", MOST_QUERIES);
  return false;
}

/* Query heads and queries that share a key head. */
static int64_t rows_of(const cl_attention *a) {
  return a->heads / a->k->dims[1] * a->queries;
}

void cl_decode_cpu_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_attention a = cl_attention_of(graph, node);
  cl_attention_cpu_options(graph, node, false, out);
  bool one = rows_of(&a) == 1;
  ph_text_add(out, " -DROWS=%d -DMOST_ROWS=%d", one ? 1 : 4, one ? 1 : MOST_ROWS);
}

ph_status cl_decode_cpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_attention a = cl_attention_of(graph, node);
  int64_t row_blocks = (rows_of(&a) + MOST_ROWS - 1) / MOST_ROWS, key_heads = a.batch * a.k->dims[1];
  cl_split split =
      cl_attention_split(plan, &a, key_heads * row_blocks,
                         (int64_t)ITEMS_PER_UNIT * cl_plan_limits(plan)->compute_units, LEAST_KEYS_A_SPLIT);
  const size_t global[3] = {(size_t)split.count, (size_t)row_blocks, (size_t)key_heads}, local[3] = {1, 1, 1};
  cl_launch *l = cl_plan_launch(plan, "attention_decode_cpu", 3, global, local, true);
  cl_arg_attention(plan, l, graph, node);
  cl_arg_float(l, a.scale);
  cl_arg_float(l, a.cap);
  cl_arg_split(l, &split);
  if (split.count > 1) cl_launch_join(plan, node, &a, &split);
  return cl_plan_done(plan, error);
}
