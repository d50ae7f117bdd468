/* Moves: split_heads, concat_heads, transpose, reshape, expand, slice, split, concat.  All are one strided copy; what
 * differs is in which order either side is walked. */
#include "opencl/ops/ops.h"

/* One side of a copy: its axes in the order of the walk, and the element at which it starts. */
typedef struct side {
  cl_axes axes;
  int64_t start;
} side;

static side side_of(const ph_tensor_desc *tensor) {
  return (side){.axes = cl_axes_of(&tensor, 1, 0, tensor->rank)};
}

/* How many elements one after the other lie so on both sides, wherever a run of them begins. */
static int64_t run_length(const cl_axes *x, const cl_axes *y) {
  if (x->strides[0][x->rank - 1] != 1 || y->strides[0][y->rank - 1] != 1) return 1;
  int64_t a = x->dims[x->rank - 1], b = y->dims[y->rank - 1];
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static void copy(cl_plan_node *plan, uint32_t from, uint32_t to, side x, side y) {
  enum { PIECE = 1024, SHORTEST_RUN = 16 };
  int64_t count = cl_axes_count(&y.axes);
  if (count == 0) return;
  cl_axes_fold(&x.axes);
  cl_axes_fold(&y.axes);
  int64_t run = run_length(&x.axes, &y.axes);
  bool runs = cl_plan_limits(plan)->is_cpu && run >= SHORTEST_RUN;
  cl_launch *l = runs ? cl_launch_items(plan, "copy_runs", count / run, (run + PIECE - 1) / PIECE, 1)
                      : cl_launch_items(plan, "copy", count, 1, 1);
  cl_arg_tensor(l, from);
  cl_arg_tensor(l, to);
  cl_arg_axes(l, plan, &x.axes);
  cl_arg_long(l, x.start);
  cl_arg_axes(l, plan, &y.axes);
  cl_arg_long(l, y.start);
  cl_arg_long(l, runs ? count / run : count);
  if (runs) cl_arg_long(l, run);
}

static ph_status copy_all(cl_plan_node *plan, const ph_node *node, side x, side y, ph_error *error) {
  copy(plan, node->inputs[0], node->outputs[0], x, y);
  return cl_plan_done(plan, error);
}

/* [B, S, heads * D] seen as [B, heads, S, D]. */
static side heads_of(const ph_tensor_desc *merged, int64_t heads) {
  int64_t depth = merged->dims[2] / heads;
  side s = {.axes = {.operand_count = 1}};
  cl_axes_add(&s.axes, merged->dims[0], (const int64_t[]){merged->strides[0]});
  cl_axes_add(&s.axes, heads, (const int64_t[]){depth * merged->strides[2]});
  cl_axes_add(&s.axes, merged->dims[1], (const int64_t[]){merged->strides[1]});
  cl_axes_add(&s.axes, depth, (const int64_t[]){merged->strides[2]});
  return s;
}

static ph_status plan_split_heads(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *y = ph_node_output(graph, node, 0);
  return copy_all(plan, node, heads_of(ph_node_input(graph, node, 0), y->dims[1]), side_of(y), error);
}

static ph_status plan_concat_heads(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0);
  return copy_all(plan, node, side_of(x), heads_of(ph_node_output(graph, node, 0), x->dims[1]), error);
}

static ph_status plan_transpose(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0);
  const ph_attr *axes = ph_node_attr(node, "axes");
  side from = {.axes = {.operand_count = 1}};
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t axis = axes->as.list.items[i];
    cl_axes_add(&from.axes, x->dims[axis], &x->strides[axis]);
  }
  return copy_all(plan, node, from, side_of(ph_node_output(graph, node, 0)), error);
}

static ph_status plan_reshape(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  return copy_all(plan, node, side_of(ph_node_input(graph, node, 0)), side_of(ph_node_output(graph, node, 0)), error);
}

static ph_status plan_expand(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  uint32_t added = y->rank - x->rank;
  side from = {.axes = {.operand_count = 1}};
  for (uint32_t i = 0; i < y->rank; i++) {
    int64_t stride = i < added || x->dims[i - added] == 1 ? 0 : x->strides[i - added];
    cl_axes_add(&from.axes, y->dims[i], &stride);
  }
  return copy_all(plan, node, from, side_of(y), error);
}

/* A stretch of `part`'s extent along one axis of `whole`, from `start` on. */
static side stretch(const ph_tensor_desc *whole, const ph_tensor_desc *part, int64_t axis, int64_t start) {
  side s = {.axes = {.operand_count = 1}, .start = start * whole->strides[axis]};
  for (uint32_t i = 0; i < whole->rank; i++) cl_axes_add(&s.axes, part->dims[i], &whole->strides[i]);
  return s;
}

static ph_status plan_slice(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  side from = stretch(x, y, ph_node_int(node, "axis", 0), ph_node_int(node, "start", 0));
  return copy_all(plan, node, from, side_of(y), error);
}

static ph_status plan_split(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, 0);
  const ph_attr *into = ph_node_attr(node, "into");
  int64_t axis = ph_node_int(node, "axis", 0), start = 0;
  for (uint32_t i = 0; i < node->output_count; i++) {
    const ph_tensor_desc *y = ph_node_output(graph, node, i);
    if (y != NULL) copy(plan, node->inputs[0], node->outputs[i], stretch(x, y, axis, start), side_of(y));
    start += into->as.list.items[i];
  }
  return cl_plan_done(plan, error);
}

static ph_status plan_concat(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *y = ph_node_output(graph, node, 0);
  int64_t axis = ph_node_int(node, "axis", 0), start = 0;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const ph_tensor_desc *x = ph_node_input(graph, node, i);
    copy(plan, node->inputs[i], node->outputs[0], side_of(x), stretch(y, x, axis, start));
    start += x->dims[axis];
  }
  return cl_plan_done(plan, error);
}

#define MOVE(op)                                                                                                       \
  static const cl_variant op##_variants[] = {                                                                          \
      {.name = "plain", .file = "copy.cl", .profiles = CL_PROFILE_ALL, .plan = plan_##op}};                            \
  const cl_op cl_op_##op = CL_OP(op)

MOVE(split_heads);
MOVE(concat_heads);
MOVE(transpose);
MOVE(reshape);
MOVE(expand);
MOVE(slice);
MOVE(split);

static const cl_variant concat_variants[] = {
    {.name = "plain", .file = "copy.cl", .profiles = CL_PROFILE_ALL, .plan = plan_concat}};
const cl_op cl_op_concat = {
    .name = "concat", .version = 1, .variants = concat_variants, .variant_count = 1, .alike = true};
