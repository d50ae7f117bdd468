/* Products for GPUs without a library: work-groups that share tiles in local memory. */
#include <stdio.h>

#include "opencl/ops/product.h"

/* As in product_gpu.cl: a work-group of SIDE x SIDE items makes 4 SIDE x 4 SIDE elements, SIDE products deep at a time.
 */
enum { ITEM_SIDE = 4, LARGE_SIDE = 16, SMALL_SIDE = 8 };

static size_t local_bytes(size_t side) {
  return 2 * side * (ITEM_SIDE * side + 1) * sizeof(float);
}

static bool fits(const cl_limits *limits, size_t side) {
  return limits->max_work_group >= side * side && limits->local_memory >= local_bytes(side);
}

bool cl_tiled_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  cl_product p = cl_product_of(graph, node);
  if (!fits(limits, SMALL_SIDE)) {
    snprintf(reason, 192, "needs work-groups of %d and %zu bytes of local memory", SMALL_SIDE * SMALL_SIDE,
             local_bytes(SMALL_SIDE));
    return false;
  }
  if (p.rows < SMALL_SIDE || p.columns < SMALL_SIDE) {
    snprintf(reason, 192, "tiles would be mostly empty: at least %d rows and columns are needed", SMALL_SIDE);
    return false;
  }
  return true;
}

void cl_tiled_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_product_options(graph, node, out);
  ph_text_add(out, " -DTILED");
}

ph_status cl_tiled_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_product p = cl_product_of(graph, node);
  cl_axes_fold(&p.batch);
  /* The large tile reads memory half as often, but a product that it hardly covers leaves most of the device idle. */
  bool large =
      fits(cl_plan_limits(plan), LARGE_SIDE) && p.rows > ITEM_SIDE * SMALL_SIDE && p.columns > ITEM_SIDE * SMALL_SIDE;
  size_t side = large ? LARGE_SIDE : SMALL_SIDE, tile = ITEM_SIDE * side;
  const size_t local[3] = {side, side, 1};
  const size_t global[3] = {((size_t)p.columns + tile - 1) / tile * side, ((size_t)p.rows + tile - 1) / tile * side,
                            (size_t)cl_axes_count(&p.batch)};
  cl_launch *launch = cl_plan_launch(plan, large ? "tiled_16" : "tiled_8", 3, global, local, true);
  cl_arg_product(launch, plan, node, &p);
  return cl_plan_done(plan, error);
}
