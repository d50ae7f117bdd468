/* mean, argmax, l2_normalize, one_hot, the losses cross_entropy and mse, and dropout.  Sums are made in double: that
 * costs nothing beside reading them. */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "blas/op.h"

/* x is [outer, length, inner]. */
typedef struct lines {
  int64_t outer, length, inner;
  double eps;
} lines;

static ph_status plan_lines(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  lines *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  uint32_t axis = (uint32_t)ph_node_int(planner->source, "axis", x->rank - 1);
  *p = (lines){.outer = blas_product(x->dims, axis),
               .length = x->dims[axis],
               .inner = blas_product(x->dims + axis + 1, x->rank - axis - 1),
               .eps = ph_node_real(planner->source, "eps", 1e-12)};
  return PH_OK;
}

/* The first element of line number `line`; the others lie p->inner apart. */
static int64_t first_of(const lines *p, int64_t line) {
  return line / p->inner * p->length * p->inner + line % p->inner;
}

/* 0 where there is nothing to take the mean of. */
static float mean_of(double sum, int64_t count) {
  return count > 0 ? (float)(sum / (double)count) : 0;
}

static void run_mean(const blas_call *call) {
  const lines *p = call->node->parameters;
  const float *x = call->in[0];
  const uint8_t *mask = call->node->in_count > 1 ? call->in[1] : NULL; /* [outer, length] */
  float *y = call->out[0];
  for (int64_t line = 0; line < p->outer * p->inner; line++) {
    int64_t at = first_of(p, line), counted = 0;
    double sum = 0;
    for (int64_t i = 0; i < p->length; i++) {
      if (mask != NULL && mask[line / p->inner * p->length + i] == 0) continue;
      sum += x[at + i * p->inner];
      counted++;
    }
    y[line] = mean_of(sum, counted);
  }
}

/* The first maximum; NaN counts as the maximum; 0 in a line of -inf. */
static void run_argmax(const blas_call *call) {
  const lines *p = call->node->parameters;
  int64_t *y = call->out[0];
  for (int64_t line = 0; line < p->outer * p->inner; line++) {
    const float *x = (const float *)call->in[0] + first_of(p, line);
    int64_t best = 0;
    for (int64_t i = 1; i < p->length && !isnan(x[best * p->inner]); i++)
      if (x[i * p->inner] > x[best * p->inner] || isnan(x[i * p->inner])) best = i;
    y[line] = best;
  }
}

static void run_l2_normalize(const blas_call *call) {
  const lines *p = call->node->parameters;
  const float *x = call->in[0];
  float *y = call->out[0];
  for (int64_t line = 0; line < p->outer * p->inner; line++) {
    int64_t at = first_of(p, line);
    double sum = 0;
    for (int64_t i = 0; i < p->length; i++) sum += (double)x[at + i * p->inner] * x[at + i * p->inner];
    double norm = sqrt(sum), divisor = norm < p->eps ? p->eps : norm;
    for (int64_t i = 0; i < p->length; i++, at += p->inner) y[at] = divisor == 0 ? 0 : (float)(x[at] / divisor);
  }
}

/* An id that is outside, which only a computed one can be, gives zeros. */
static void run_one_hot(const blas_call *call) {
  const blas_operand *ids = &call->node->in[0];
  const int64_t *id = call->in[0];
  int64_t size = call->node->out[0].dims[ids->rank];
  float *y = call->out[0];
  memset(y, 0, (size_t)(ids->count * size) * sizeof(*y));
  for (int64_t i = 0; i < ids->count; i++)
    if (id[i] >= 0 && id[i] < size) y[i * size + id[i]] = 1;
}

/* -log_softmax at the target; a class of -inf cannot be, and a target outside the line gives NaN. */
static double loss_of(const lines *p, const float *x, int64_t target) {
  if (target < 0 || target >= p->length) return NAN;
  float max = -INFINITY, chosen = x[target * p->inner];
  double sum = 0;
  if (chosen == -INFINITY) return INFINITY;
  for (int64_t i = 0; i < p->length; i++)
    if (x[i * p->inner] > max || isnan(x[i * p->inner])) max = x[i * p->inner];
  for (int64_t i = 0; i < p->length; i++)
    if (x[i * p->inner] != -INFINITY) sum += expf(x[i * p->inner] - max);
  return log(sum) - ((double)chosen - max);
}

static void run_cross_entropy(const blas_call *call) {
  const lines *p = call->node->parameters;
  const int64_t *targets = call->in[1];
  int64_t count = p->outer * p->inner;
  double sum = 0;
  for (int64_t line = 0; line < count; line++)
    sum += p->length == 0 ? NAN : loss_of(p, (const float *)call->in[0] + first_of(p, line), targets[line]);
  *(float *)call->out[0] = mean_of(sum, count);
}

static void run_mse(const blas_call *call) {
  const float *x = call->in[0], *target = call->in[1];
  int64_t count = call->node->in[0].count;
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    double distance = (double)x[i] - target[i];
    sum += distance * distance;
  }
  *(float *)call->out[0] = mean_of(sum, count);
}

/* Dropout acts in training only. */
static void run_dropout(const blas_call *call) {
  const blas_operand *x = &call->node->in[0];
  memcpy(call->out[0], call->in[0], (size_t)x->count * ph_dtype_size(x->dtype));
}

const blas_op blas_mean = {.name = "mean",
                           .version = 1,
                           .computes = true,
                           .stages = {[PH_STAGE_ACCUM] = PH_F32},
                           .plan = plan_lines,
                           .run = run_mean};
const blas_op blas_argmax = {.name = "argmax", .version = 1, .computes = true, .plan = plan_lines, .run = run_argmax};
const blas_op blas_l2_normalize = {.name = "l2_normalize",
                                   .version = 1,
                                   .computes = true,
                                   .stages = {[PH_STAGE_ACCUM] = PH_F32},
                                   .plan = plan_lines,
                                   .run = run_l2_normalize};
const blas_op blas_one_hot = {.name = "one_hot", .version = 1, .run = run_one_hot};
const blas_op blas_cross_entropy = {.name = "cross_entropy",
                                    .version = 1,
                                    .computes = true,
                                    .stages = {[PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
                                    .plan = plan_lines,
                                    .run = run_cross_entropy};
const blas_op blas_mse = {
    .name = "mse", .version = 1, .computes = true, .stages = {[PH_STAGE_ACCUM] = PH_F32}, .run = run_mse};
const blas_op blas_dropout = {.name = "dropout", .version = 1, .run = run_dropout};
