/* positions, sinusoidal_position (Vaswani et al. 2017, section 3.5), rotary (Su et al. 2021, section 3.2.2).  Angles
 * are made in double: at position 100,000 an f32 would be off by its whole last three digits. */
#include <math.h>
#include <string.h>

#include "blas/op.h"

/* ---- positions ---- */

static ph_status plan_positions(blas_planner *planner, ph_error *error) {
  int64_t *start = blas_parameters(planner, sizeof(*start));
  if (start == NULL) return ph_fail_memory(error);
  *start = ph_node_int(planner->source, "start", 0);
  return PH_OK;
}

static void run_positions(const blas_call *call) {
  const int64_t *start = call->node->parameters, *dims = call->node->out[0].dims;
  int64_t *y = call->out[0];
  for (int64_t b = 0; b < dims[0]; b++) {
    int64_t offset = call->node->in_count > 1 ? blas_per_sample(&call->node->in[1], call->in[1], b, 0) : 0;
    for (int64_t i = 0; i < dims[1]; i++) *y++ = blas_add_clamped(blas_add_clamped(*start, offset), i);
  }
}

const blas_op blas_positions = {.name = "positions", .version = 1, .plan = plan_positions, .run = run_positions};

/* ---- frequencies ---- */

/* base^(-m / divisor) for m from 0 to before `count`. */
static double *frequencies(blas_planner *planner, int64_t count, double divisor) {
  double base = ph_node_real(planner->source, "base", 10000);
  double *table = ph_arena_array(planner->arena, (size_t)count, sizeof(*table));
  for (int64_t m = 0; table != NULL && m < count; m++) table[m] = m == 0 ? 1 : pow(base, -(double)m / divisor);
  return table;
}

/* ---- sinusoidal_position ---- */

typedef struct sinusoidal {
  int64_t half;
  bool interleaved;
  double *frequencies;
} sinusoidal;

static ph_status plan_sinusoidal(blas_planner *planner, ph_error *error) {
  sinusoidal *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  const blas_operand *y = &planner->node->out[0];
  p->half = y->dims[y->rank - 1] / 2;
  p->interleaved = ph_node_is(planner->source, "pairs", "interleaved");
  bool endpoint = ph_node_int(planner->source, "endpoint", 0) != 0;
  p->frequencies = frequencies(planner, p->half, (double)(endpoint ? p->half - 1 : p->half));
  return p->frequencies != NULL ? PH_OK : ph_fail_memory(error);
}

static void run_sinusoidal(const blas_call *call) {
  const sinusoidal *p = call->node->parameters;
  const int64_t *positions = call->in[0];
  float *y = call->out[0];
  for (int64_t row = 0; row < call->node->in[0].count; row++, y += 2 * p->half)
    for (int64_t m = 0; m < p->half; m++) {
      double angle = (double)positions[row] * p->frequencies[m];
      y[p->interleaved ? 2 * m : m] = (float)sin(angle);
      y[p->interleaved ? 2 * m + 1 : p->half + m] = (float)cos(angle);
    }
}

const blas_op blas_sinusoidal_position = {.name = "sinusoidal_position",
                                          .version = 1,
                                          .computes = true,
                                          .stages = {[PH_STAGE_WEIGHT] = PH_F32},
                                          .plan = plan_sinusoidal,
                                          .run = run_sinusoidal};

/* ---- rotary ---- */

enum { X, POSITIONS, OFFSET, COS, SIN };

typedef struct rotary {
  int64_t batch, heads, rows, depth, pairs;
  bool interleaved;
  double *frequencies;
} rotary;

static ph_status plan_rotary(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[X];
  rotary *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  *p = (rotary){.batch = x->rank >= 3 ? x->dims[0] : 1,
                .heads = x->rank == 4 ? x->dims[1] : 1,
                .rows = x->dims[x->rank - 2],
                .depth = x->dims[x->rank - 1],
                .interleaved = ph_node_is(planner->source, "pairs", "interleaved")};
  p->pairs = ph_node_int(planner->source, "rotary_dim", p->depth) / 2;
  p->frequencies = frequencies(planner, p->pairs, (double)p->pairs);
  planner->scratch_floats = 2 * (uint64_t)p->pairs;
  return p->frequencies != NULL ? PH_OK : ph_fail_memory(error);
}

static int64_t position_of(const blas_call *call, int64_t sample, int64_t row) {
  const blas_operand *positions = &call->node->in[POSITIONS];
  const int64_t *given = call->in[POSITIONS];
  if (!blas_present(positions))
    return blas_add_clamped(blas_per_sample(&call->node->in[OFFSET], call->in[OFFSET], sample, 0), row);
  if (positions->rank == 1) return given[row * positions->strides[0]];
  return given[sample * positions->strides[0] + row * positions->strides[1]];
}

/* Cosine and sine of each pair of a row, side by side in `out`. */
static void turns_of(const blas_call *call, int64_t sample, int64_t row, float *out) {
  const rotary *p = call->node->parameters;
  const blas_operand *table = &call->node->in[COS];
  const float *cosines = call->in[COS], *sines = call->in[SIN];
  int64_t position = !blas_present(table) || table->rank == 2 ? position_of(call, sample, row) : 0;
  bool outside = blas_present(table) && table->rank == 2 && (position < 0 || position >= table->dims[0]);
  int64_t first = !blas_present(table) || outside ? 0
                  : table->rank == 2              ? position * p->pairs
                                                  : (sample * p->rows + row) * p->pairs;
  for (int64_t m = 0; m < p->pairs; m++) {
    double angle = (double)position * p->frequencies[m];
    out[2 * m] = outside ? NAN : blas_present(table) ? cosines[first + m] : (float)cos(angle);
    out[2 * m + 1] = outside ? NAN : blas_present(table) ? sines[first + m] : (float)sin(angle);
  }
}

static void turn_row(const rotary *p, const float *turns, const float *x, float *y) {
  int64_t step = p->interleaved ? 2 : 1, apart = p->interleaved ? 1 : p->pairs;
  for (int64_t m = 0; m < p->pairs; m++) {
    float c = turns[2 * m], s = turns[2 * m + 1], x1 = x[m * step], x2 = x[m * step + apart];
    y[m * step] = x1 * c - x2 * s;
    y[m * step + apart] = x1 * s + x2 * c;
  }
  int64_t turned = 2 * p->pairs;
  memcpy(y + turned, x + turned, (size_t)(p->depth - turned) * sizeof(float));
}

static void run_rotary(const blas_call *call) {
  const rotary *p = call->node->parameters;
  for (int64_t b = 0; b < p->batch; b++)
    for (int64_t row = 0; row < p->rows; row++) {
      turns_of(call, b, row, call->scratch);
      for (int64_t h = 0; h < p->heads; h++) {
        int64_t at = ((b * p->heads + h) * p->rows + row) * p->depth;
        turn_row(p, call->scratch, (const float *)call->in[X] + at, (float *)call->out[0] + at);
      }
    }
}

const blas_op blas_rotary = {.name = "rotary",
                             .version = 1,
                             .computes = true,
                             .stages = {[PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
                             .plan = plan_rotary,
                             .run = run_rotary};
