/* softmax, log_softmax, hardmax: along any axis, row by row. */
#include <math.h>

#include "blas/op.h"
#include "blas/softmax_row.h"

typedef struct rows {
  int64_t outer, length, inner; /* x is [outer, length, inner] */
  int64_t heads, queries;       /* of rank 4, where there are sinks */
} rows;

static ph_status plan_rows(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  rows *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  uint32_t axis = (uint32_t)ph_node_int(planner->source, "axis", x->rank - 1);
  *p = (rows){.outer = blas_product(x->dims, axis),
              .length = x->dims[axis],
              .inner = blas_product(x->dims + axis + 1, x->rank - axis - 1)};
  if (x->rank == 4) {
    p->heads = x->dims[1];
    p->queries = x->dims[2];
  }
  planner->scratch_floats = (uint64_t)p->length;
  return PH_OK;
}

/* Row number `row` of x into the scratch; returns where its first element lies in y. */
static int64_t read_row(const blas_call *call, const rows *p, int64_t row) {
  int64_t at = row / p->inner * p->length * p->inner + row % p->inner;
  const float *x = call->in[0];
  for (int64_t i = 0; i < p->length; i++) call->scratch[i] = x[at + i * p->inner];
  return at;
}

static void run_softmax(const blas_call *call) {
  const rows *p = call->node->parameters;
  const float *sinks = call->node->in_count > 1 ? call->in[1] : NULL;
  float *y = call->out[0], *lse = call->node->out_count > 1 ? call->out[1] : NULL;
  for (int64_t row = 0; row < p->outer * p->inner; row++) {
    int64_t at = read_row(call, p, row);
    float sink = sinks != NULL ? sinks[row / p->queries % p->heads] : -INFINITY;
    double sum = blas_softmax_row(call->scratch, p->length, sink);
    for (int64_t i = 0; y != NULL && i < p->length; i++) y[at + i * p->inner] = call->scratch[i];
    if (lse != NULL) lse[row] = (float)sum;
  }
}

/* The log of softmax's result, so -inf where that is 0, in an empty row too.  The row's lse is not used: where it is
 * large it has lost the digits that x - max keeps. */
static void run_log_softmax(const blas_call *call) {
  const rows *p = call->node->parameters;
  float *y = call->out[0];
  for (int64_t row = 0; row < p->outer * p->inner; row++) {
    int64_t at = read_row(call, p, row);
    float max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < p->length; i++)
      if (call->scratch[i] > max || isnan(call->scratch[i])) max = call->scratch[i];
    for (int64_t i = 0; i < p->length; i++)
      if (call->scratch[i] != -INFINITY) sum += expf(call->scratch[i] - max);
    float log_sum = (float)log(sum);
    for (int64_t i = 0; i < p->length; i++)
      y[at + i * p->inner] = call->scratch[i] == -INFINITY ? -INFINITY : call->scratch[i] - max - log_sum;
  }
}

/* 1 at the first maximum; NaN counts as the maximum, a row of -inf has none. */
static void run_hardmax(const blas_call *call) {
  const rows *p = call->node->parameters;
  float *y = call->out[0];
  for (int64_t row = 0; row < p->outer * p->inner; row++) {
    int64_t at = read_row(call, p, row), best = -1;
    float max = -INFINITY;
    for (int64_t i = 0; i < p->length && !isnan(max); i++)
      if (call->scratch[i] > max || isnan(call->scratch[i])) {
        best = i;
        max = call->scratch[i];
      }
    for (int64_t i = 0; i < p->length; i++) y[at + i * p->inner] = i == best ? 1 : 0;
  }
}

const blas_op blas_softmax = {.name = "softmax",
                              .version = 1,
                              .computes = true,
                              .stages = {[PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
                              .plan = plan_rows,
                              .run = run_softmax};
const blas_op blas_log_softmax = {.name = "log_softmax",
                                  .version = 1,
                                  .computes = true,
                                  .stages = {[PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
                                  .plan = plan_rows,
                                  .run = run_log_softmax};
const blas_op blas_hardmax = {.name = "hardmax", .version = 1, .computes = true, .plan = plan_rows, .run = run_hardmax};
