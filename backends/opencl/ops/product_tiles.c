/* Products in tiles, one work-item a tile (kernels/product_tiles.cl): for CPUs. */
#include <inttypes.h>
#include <stdio.h>

#include "base/dtype.h"
#include "opencl/ops/product.h"

enum {
  MOST_SUMS = 24 * 1024, /* bytes of a group, which wait in local memory; a tile's at least */
  PACK_STEPS = 64,
  FEWEST_GROUPS = 32 /* a compute unit, so that all end at about the same time */
};

/* Vectors side by side in a tile and in a panel: as many as leave room in the registers, of which there are 32 where
 * they hold 16 floats, and may be 16 elsewhere. */
static int64_t panel_columns(const cl_limits *limits) {
  return limits->width == 16 ? 64 : 2 * (int64_t)limits->width;
}

static int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* The product of a node, with the axes of the batch over which b stays added to the rows where the others allow it: the
 * heads that share keys, the samples that share a matrix. */
static cl_product product_of(const ph_graph *graph, const ph_node *node) {
  cl_product p = cl_product_of(graph, node);
  cl_axes_fold(&p.batch);
  while (p.batch.rank > 0) {
    uint32_t inner = p.batch.rank - 1;
    int64_t residual = p.batch.operand_count > 3 ? p.batch.strides[3][inner] : 0;
    bool joins = p.batch.dims[inner] == 1 ||
                 (p.batch.strides[1][inner] == 0 && p.batch.strides[0][inner] == p.rows * p.a_row &&
                  p.batch.strides[2][inner] == p.rows * p.y_row && residual == p.rows * p.residual_row);
    if (!joins) break;
    p.rows *= p.batch.dims[inner];
    p.batch.rank--;
  }
  return p;
}

/* Rows of a tile.  Six need the fewest loads for a multiply-add; of few rows four waste less.  Every tile converts a b
 * that is not f32 anew, so there four are for what does not fit six, but four or twice four.  A class of lengths shares
 * its kernel. */
static int64_t tile_rows(const ph_graph *graph, const ph_node *node, bool one_row) {
  enum { FEW_ROWS = 32 };
  if (one_row) return 1;
  int64_t rows = product_of(graph, node).rows;
  bool converts = graph->tensors[node->inputs[1]]->dtype != PH_F32;
  return (converts ? rows <= 4 || rows == 7 || rows == 8 : rows < FEW_ROWS) ? 4 : 6;
}

static bool is_constant(const ph_graph *graph, const ph_node *node) {
  return graph->tensors[node->inputs[1]]->kind == PH_TENSOR_CONSTANT;
}

static bool lies_well(const cl_limits *limits, const cl_product *p) {
  return p->b_column == 1 && p->columns >= (int64_t)limits->width;
}

/* Rearranging a b that changes with every run costs about as much as a few rows of the product. */
static bool packing_pays(const cl_limits *limits, const cl_product *p) {
  enum { FEW_ROWS = 8, MANY_ROWS = 64, FAR_APART = 512 };
  return lies_well(limits, p) ? p->rows >= MANY_ROWS && p->b_depth > FAR_APART : p->rows >= FEW_ROWS;
}

static bool can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, bool in_place, bool one_row,
                    char reason[192]) {
  cl_product p = product_of(graph, node);
  int64_t local_bytes = tile_rows(graph, node, one_row) * panel_columns(limits) * (int64_t)sizeof(float);
  if (p.depth == 0)
    snprintf(reason, 192, "there is nothing to sum");
  else if (p.a_depth != 1 && p.depth > 1)
    snprintf(reason, 192, "needs a first operand that is dense along the sum");
  else if (one_row && p.rows > 1)
    snprintf(reason, 192, "is for one row; there are %" PRId64, p.rows);
  else if ((uint64_t)local_bytes > limits->local_memory)
    snprintf(reason, 192, "needs %" PRId64 " bytes of local memory; the device has %" PRIu64, local_bytes,
             limits->local_memory);
  else if (in_place && !lies_well(limits, &p))
    snprintf(reason, 192, "needs a second operand that is dense along its columns, %" PRIu32 " of them or more",
             limits->width);
  else if (!in_place && !is_constant(graph, node) && !packing_pays(limits, &p))
    snprintf(reason, 192, "the second operand is not constant, and to rearrange it does not pay for %" PRId64 " rows",
             p.rows);
  else
    return true;
  return false;
}

static void options(const ph_graph *graph, const ph_node *node, bool in_place, bool one_row, ph_text *out) {
  cl_product_options(graph, node, out);
  ph_text_add(out, " -DACTIVE_WIDE -DTILE_ROWS=%" PRId64 "%s", tile_rows(graph, node, one_row),
              in_place ? " -DIN_PLACE" : "");
}

/* Has b rearranged into panels, of which b's strides in the batch then speak: those that are not 0 count elements of
 * panels.  Gives what to launch, and the bytes. */
static cl_packing packing_of(const cl_limits *limits, cl_product *p, size_t element) {
  int64_t panel = panel_columns(limits), panels = divide_up(p->columns, panel), size = panels * panel * p->depth;
  cl_axes axes = {.operand_count = 2};
  int64_t target = size;
  for (uint32_t axis = p->batch.rank; axis-- > 0;)
    if (p->batch.strides[1][axis] != 0) {
      cl_axes_add(&axes, p->batch.dims[axis], (const int64_t[]){p->batch.strides[1][axis], target});
      p->batch.strides[1][axis] = target;
      target *= p->batch.dims[axis];
    }
  if (axes.rank == 0) cl_axes_add(&axes, 1, (const int64_t[]){0, 0});
  enum { FIELDS = 5 };
  cl_packing packing = {
      .kernel = "pack",
      .global = {(size_t)panels, (size_t)divide_up(p->depth, PACK_STEPS), (size_t)cl_axes_count(&axes)},
      .bytes = (uint64_t)target * element,
      .shape = {p->columns, p->depth, p->b_column, p->b_depth, axes.rank}};
  _Static_assert(FIELDS + 3 * CL_MAX_AXES <= CL_PACKING_SHAPE, "room for the axes");
  packing.shape_count = cl_axes_write(&axes, packing.shape, FIELDS);
  return packing;
}

/* The parameters for b's panels; where b is not constant, after a launch that makes them. */
static uint64_t pack_first(cl_plan_node *plan, const ph_node *node, const cl_packing *packing) {
  uint64_t at = cl_plan_workspace(plan, packing->bytes);
  cl_launch *l = cl_plan_launch(plan, packing->kernel, 3, packing->global, (const size_t[]){1, 1, 1}, true);
  cl_arg_input(l, node, 1);
  cl_arg_workspace(l, at);
  cl_arg_table(l, cl_plan_table(plan, packing->shape, packing->shape_count));
  return at;
}

static ph_status plan_tiles(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, bool in_place, bool one_row,
                            ph_error *error) {
  const cl_limits *limits = cl_plan_limits(plan);
  cl_product p = product_of(graph, node);
  int64_t panel = panel_columns(limits), tile_columns = panel, depth = p.depth;
  int64_t height = tile_rows(graph, node, one_row);
  uint64_t tile_bytes = (uint64_t)(height * tile_columns) * sizeof(float), workspace = 0;
  bool constant = is_constant(graph, node);
  cl_packing packing = {0};
  if (!in_place) {
    packing = packing_of(limits, &p, ph_dtype_size(graph->tensors[node->inputs[1]]->dtype));
    if (!constant) workspace = pack_first(plan, node, &packing);
  }
  cl_axes_fold(&p.batch);

  /* Tiles below each other share the columns of b that they pass over, unless some units would stand idle. */
  int64_t tiles = divide_up(p.rows, height), across = divide_up(p.columns, tile_columns);
  int64_t batches = cl_axes_count(&p.batch);
  int64_t group = tiles * across * batches / ((int64_t)limits->compute_units * FEWEST_GROUPS);
  uint64_t room = limits->local_memory < MOST_SUMS ? limits->local_memory : MOST_SUMS;
  if (group > (int64_t)(room / tile_bytes)) group = (int64_t)(room / tile_bytes);
  if (group < 1) group = 1;
  int64_t down = divide_up(tiles, group);
  group = divide_up(tiles, down);

  enum { FIELDS = 13 };
  int64_t shape[FIELDS + (1 + CL_MAX_OPERANDS) * CL_MAX_AXES] = {
      p.rows,  p.columns,  depth,          p.a_row,           depth * panel, p.b_depth,   p.bias_column,
      p.y_row, p.y_column, p.residual_row, p.residual_column, group,         p.batch.rank};
  size_t count = cl_axes_write(&p.batch, shape, FIELDS);
  const size_t global[3] = {(size_t)down, (size_t)across, (size_t)batches};
  cl_launch *l = cl_plan_launch(plan, "tiles", 3, global, (const size_t[]){1, 1, 1}, true);
  cl_arg_input(l, node, 0);
  if (in_place)
    cl_arg_input(l, node, 1);
  else if (constant)
    cl_arg_packed(l, node->inputs[1], &packing);
  else
    cl_arg_workspace(l, workspace);
  cl_arg_input(l, node, 2);
  cl_arg_input(l, node, 3);
  cl_arg_output(l, node, 0);
  cl_arg_table(l, cl_plan_table(plan, shape, count));
  cl_arg_float(l, p.scale);
  cl_arg_local(l, (size_t)group * tile_bytes);
  return cl_plan_done(plan, error);
}

#define TILES(where, rows)                                                                                             \
  bool cl_tiles_can_run_##where##_##rows(const cl_limits *limits, const ph_graph *graph, const ph_node *node,          \
                                         char reason[192]) {                                                           \
    return can_run(limits, graph, node, where, rows, reason);                                                          \
  }                                                                                                                    \
  void cl_tiles_options_##where##_##rows(const ph_graph *graph, const ph_node *node, ph_text *out) {                   \
    options(graph, node, where, rows, out);                                                                            \
  }                                                                                                                    \
  ph_status cl_tiles_plan_##where##_##rows(cl_plan_node *plan, const ph_graph *graph, const ph_node *node,             \
                                           ph_error *error) {                                                          \
    return plan_tiles(plan, graph, node, where, rows, error);                                                          \
  }
enum { packed = false, in_place = true, tile = false, row = true };
TILES(packed, row)
TILES(packed, tile)
TILES(in_place, row)
TILES(in_place, tile)
