/* attention on CPUs: a tile of queries per work-item, keys in one pass (attention_flash_cpu.cl). */
#include "opencl/ops/attention.h"

enum {
  MOST_COLUMNS = 1024, /* the tiles of a work-item are on its stack */
  NARROW = 256         /* keys in a window */
};

/* Queries that a tile has room for: few where there are few, so that lanes do not idle, and where a narrow window lets
 * each see a small part of what a tile of many touches.  A class of lengths shares its kernel. */
static int64_t most_queries(const ph_graph *graph, const ph_node *node) {
  int64_t queries = ph_node_input(graph, node, CL_ATTENTION_Q)->dims[2];
  const ph_attr *window = ph_node_attr(node, "window");
  if (window != NULL) {
    int64_t left = window->as.list.items[0], right = window->as.list.items[1];
    if (ph_node_int(node, "causal", 0) != 0) right = 0;
    if (left >= 0 && right >= 0 && left + right < NARROW && queries > 32) queries = 32;
  }
  return queries <= 16 ? 16 : queries <= 32 ? 32 : 64;
}

/* As attention_queries.cl has it. */
static int64_t tile_queries(const cl_limits *limits, int64_t most) {
  int64_t registers = limits->width == 16 ? 4 : 2, queries = registers * limits->width;
  return queries < most ? queries : most;
}

bool cl_flash_cpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  (void)limits;
  cl_attention a = cl_attention_of(graph, node);
  return cl_attention_fits(&a, MOST_COLUMNS, reason);
}

static bool needs_tile(const ph_tensor_desc *desc, bool f32_only) {
  return (f32_only && desc->dtype != PH_F32) || (desc->strides[3] != 1 && desc->dims[3] > 1);
}

void cl_attention_cpu_options(const ph_graph *graph, const ph_node *node, bool f32_only, ph_text *out) {
  cl_attention a = cl_attention_of(graph, node);
  cl_attention_options(graph, node, out);
  cl_attention_sizes(graph, node, out);
  if (needs_tile(a.k, f32_only)) ph_text_add(out, " -DK_TILE");
  if (needs_tile(a.v, f32_only)) ph_text_add(out, " -DV_TILE");
}

void cl_flash_cpu_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_attention_cpu_options(graph, node, true, out);
  ph_text_add(out, " -DMOST_QUERIES=%d", (int)most_queries(graph, node));
}

ph_status cl_flash_cpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_attention a = cl_attention_of(graph, node);
  int64_t tile = tile_queries(cl_plan_limits(plan), most_queries(graph, node)), tiles = (a.queries + tile - 1) / tile;
  const size_t global[3] = {(size_t)(a.batch * a.heads * tiles), 1, 1}, local[3] = {1, 1, 1};
  cl_launch *l = cl_plan_launch(plan, "attention_flash_cpu", 1, global, local, true);
  cl_arg_attention(plan, l, graph, node);
  cl_arg_long(l, tiles);
  cl_arg_float(l, a.scale);
  cl_arg_float(l, a.cap);
  return cl_plan_done(plan, error);
}
