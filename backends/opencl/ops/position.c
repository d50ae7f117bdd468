/* positions, sinusoidal_position, rotary.  Frequencies are made here, in double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "opencl/ops/ops.h"

/* Puts the frequencies base^(-m / divisor), m < count, into the plan's table, as turns. */
static ph_status turns_table(cl_plan_node *plan, double base, double divisor, int64_t count, uint64_t *out,
                             ph_error *error) {
  int64_t *turns = calloc((size_t)count, sizeof(*turns));
  if (turns == NULL) return ph_fail_memory(error);
  for (int64_t m = 0; m < count; m++) turns[m] = cl_turns(pow(base, -(double)m / divisor));
  *out = cl_plan_table(plan, turns, (size_t)count);
  free(turns);
  return PH_OK;
}

/* ---- positions: like (only its shape counts), offset ---- */

static ph_status plan_positions(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *offset = ph_node_input(graph, node, 1), *y = ph_node_output(graph, node, 0);
  cl_launch *l = cl_launch_items(plan, "positions", y->dims[1], y->dims[0], 1);
  cl_arg_input(l, node, 1);
  cl_arg_output(l, node, 0);
  cl_arg_long(l, y->dims[0]);
  cl_arg_long(l, y->dims[1]);
  cl_arg_long(l, ph_node_int(node, "start", 0));
  cl_arg_long(l, cl_sample_stride(offset));
  cl_arg_long(l, y->strides[0]);
  cl_arg_long(l, y->strides[1]);
  return cl_plan_done(plan, error);
}

static void options_positions(const ph_graph *graph, const ph_node *node, ph_text *out) {
  ph_text_add(out, " -DPOSITIONS");
  cl_option_input(out, graph, node, 1, "OFFSET");
}

/* ---- sinusoidal_position ---- */

static double sinusoidal_divisor(const ph_node *node, int64_t half_size) {
  return (double)(ph_node_int(node, "endpoint", 0) != 0 ? half_size - 1 : half_size);
}

/* The sine of a small angle is the angle: its frequency must have enough digits as a 64-bit fraction. */
static bool can_sinusoidal(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  (void)limits, (void)graph;
  int64_t half_size = ph_node_int(node, "size", 0) / 2;
  double base = ph_node_real(node, "base", 10000.0);
  double lowest = pow(base, -(double)(half_size - 1) / sinusoidal_divisor(node, half_size));
  if (lowest >= ldexp(1.0, -40)) return true;
  snprintf(reason, 192, "base %g makes frequencies below 2^-40; a base of 1e12 at most is supported", base);
  return false;
}

static ph_status plan_sinusoidal_position(cl_plan_node *plan, const ph_graph *graph, const ph_node *node,
                                          ph_error *error) {
  const ph_tensor_desc *positions = ph_node_input(graph, node, 0), *y = ph_node_output(graph, node, 0);
  int64_t half_size = y->dims[y->rank - 1] / 2;
  uint64_t turns;
  PH_TRY(turns_table(plan, ph_node_real(node, "base", 10000.0), sinusoidal_divisor(node, half_size), half_size, &turns,
                     error));
  cl_axes axes = cl_axes_of((const ph_tensor_desc *const[]){positions, y}, 2, 0, positions->rank);
  int64_t count = cl_axes_count(&axes);
  cl_launch *l = cl_launch_items(plan, "sinusoidal", half_size, count, 1);
  cl_arg_input(l, node, 0);
  cl_arg_output(l, node, 0);
  cl_arg_axes(l, plan, &axes);
  cl_arg_table(l, turns);
  cl_arg_long(l, count);
  cl_arg_long(l, half_size);
  cl_arg_long(l, y->strides[y->rank - 1]);
  return cl_plan_done(plan, error);
}

static void options_pairs(const ph_node *node, ph_text *out) {
  if (ph_node_is(node, "pairs", "interleaved")) ph_text_add(out, " -DINTERLEAVED");
}

static void options_sinusoidal_position(const ph_graph *graph, const ph_node *node, ph_text *out) {
  (void)graph;
  ph_text_add(out, " -DSINUSOIDAL");
  options_pairs(node, out);
}

/* ---- rotary ---- */

enum { ROTARY_X, ROTARY_POSITIONS, ROTARY_OFFSET, ROTARY_COS, ROTARY_SIN };

/* Strides of [B, H, S, D], [B, S, D] or [S, D] as batch, head, row, column; 0 where there is no such axis. */
static void row_strides(const ph_tensor_desc *x, int64_t out[4]) {
  out[0] = x->rank >= 3 ? x->strides[0] : 0;
  out[1] = x->rank == 4 ? x->strides[1] : 0;
  out[2] = x->strides[x->rank - 2];
  out[3] = x->strides[x->rank - 1];
}

/* Strides of [P, R/2] or [B, S, R/2] as batch, row, column. */
static void table_strides(const ph_tensor_desc *table, int64_t out[3]) {
  if (table == NULL) return;
  out[0] = table->rank == 3 ? table->strides[0] : 0;
  out[1] = table->strides[table->rank - 2];
  out[2] = table->strides[table->rank - 1];
}

static ph_status plan_rotary(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  const ph_tensor_desc *x = ph_node_input(graph, node, ROTARY_X), *y = ph_node_output(graph, node, 0);
  const ph_tensor_desc *positions = ph_node_input(graph, node, ROTARY_POSITIONS);
  const ph_tensor_desc *cosines = ph_node_input(graph, node, ROTARY_COS),
                       *sines = ph_node_input(graph, node, ROTARY_SIN);
  int64_t batches = x->rank >= 3 ? x->dims[0] : 1, heads = x->rank == 4 ? x->dims[1] : 1;
  int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
  int64_t pairs = ph_node_int(node, "rotary_dim", columns) / 2;

  int64_t strides[16] = {0};
  row_strides(x, strides);
  row_strides(y, strides + 4);
  if (positions != NULL) {
    strides[8] = positions->rank == 2 ? positions->strides[0] : 0;
    strides[9] = positions->strides[positions->rank - 1];
  }
  table_strides(cosines, strides + 10);
  table_strides(sines, strides + 13);
  uint64_t turns = 0;
  if (cosines == NULL)
    PH_TRY(turns_table(plan, ph_node_real(node, "base", 10000.0), (double)pairs, pairs, &turns, error));

  cl_launch *l = cl_launch_items(plan, "rotary", columns - pairs, rows, batches * heads);
  for (uint32_t role = ROTARY_X; role <= ROTARY_SIN; role++) cl_arg_input(l, node, role);
  cl_arg_output(l, node, 0);
  cl_arg_table(l, cl_plan_table(plan, strides, 16));
  cl_arg_table(l, turns);
  cl_arg_long(l, batches);
  cl_arg_long(l, heads);
  cl_arg_long(l, rows);
  cl_arg_long(l, pairs);
  cl_arg_long(l, columns);
  cl_arg_long(l, cosines == NULL ? 0 : cosines->dims[0]);
  cl_arg_long(l, cl_sample_stride(ph_node_input(graph, node, ROTARY_OFFSET)));
  return cl_plan_done(plan, error);
}

static void options_rotary(const ph_graph *graph, const ph_node *node, ph_text *out) {
  const ph_tensor_desc *cosines = ph_node_input(graph, node, ROTARY_COS);
  ph_text_add(out, " -DROTARY");
  options_pairs(node, out);
  cl_option_input(out, graph, node, ROTARY_POSITIONS, "POSITIONS");
  cl_option_input(out, graph, node, ROTARY_OFFSET, "OFFSET");
  if (cosines != NULL) ph_text_add(out, " -DHAS_TABLES -DCOS=IN3 -DSIN=IN4%s", cosines->rank == 3 ? " -DREADY" : "");
}

static const cl_variant positions_variants[] = {{.name = "plain",
                                                 .file = "position.cl",
                                                 .profiles = CL_PROFILE_ALL,
                                                 .options = options_positions,
                                                 .plan = plan_positions}};
static const cl_variant sinusoidal_position_variants[] = {{.name = "plain",
                                                           .file = "position.cl",
                                                           .profiles = CL_PROFILE_ALL,
                                                           .stages = {[PH_STAGE_WEIGHT] = PH_F32},
                                                           .can_run = can_sinusoidal,
                                                           .options = options_sinusoidal_position,
                                                           .plan = plan_sinusoidal_position}};
static const cl_variant rotary_variants[] = {{.name = "plain",
                                              .file = "position.cl",
                                              .profiles = CL_PROFILE_ALL,
                                              .stages = {[PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
                                              .options = options_rotary,
                                              .plan = plan_rotary}};
const cl_op cl_op_positions = CL_OP(positions), cl_op_sinusoidal_position = CL_OP(sinusoidal_position),
            cl_op_rotary = CL_OP(rotary);
