/* layer_norm and rms_norm.  Rows are summed in double: that costs nothing beside reading them, and a constant row then
 * has its element as the mean exactly, so that it gives exactly the bias (NUMERICS 2). */
#include <math.h>

#include "blas/op.h"

typedef struct norm {
  int64_t rows, count;
  double eps;
} norm;

static ph_status plan_norm(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  norm *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  uint32_t axis = (uint32_t)ph_node_int(planner->source, "axis", x->rank - 1);
  p->rows = blas_product(x->dims, axis);
  p->count = blas_product(x->dims + axis, x->rank - axis);
  p->eps = ph_node_real(planner->source, "eps", 1e-5);
  return PH_OK;
}

/* As the distance from the first element; an infinite one would hide the others. */
static double mean_of(const float *x, int64_t count) {
  if (count == 0) return 0;
  double origin = isfinite(x[0]) ? x[0] : 0, sum = 0;
  for (int64_t i = 0; i < count; i++) sum += x[i] - origin;
  return origin + sum / (double)count;
}

/* Subtracts before it squares: E[x^2] - E[x]^2 loses everything where the mean is large. */
static double sigma_of(const float *x, int64_t count, double mean, double eps) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (x[i] - mean) * (x[i] - mean);
  return sqrt(sum / (double)(count > 0 ? count : 1) + eps);
}

static void run_norm(const blas_call *call, bool centred, const float *bias, float *mean_out, float *inverse_out) {
  const norm *p = call->node->parameters;
  const float *x = call->in[0], *weight = call->in[1];
  float *y = call->out[0];
  for (int64_t row = 0; row < p->rows; row++, x += p->count) {
    double mean = centred ? mean_of(x, p->count) : 0, sigma = sigma_of(x, p->count, mean, p->eps);
    for (int64_t i = 0; y != NULL && i < p->count; i++) {
      double deviation = x[i] - mean;
      double unit = centred && deviation == 0 ? 0 : deviation / sigma; /* eps may be 0 */
      *y++ = (float)(unit * (weight != NULL ? weight[i] : 1) + (bias != NULL ? bias[i] : 0));
    }
    if (mean_out != NULL) mean_out[row] = (float)mean;
    if (inverse_out != NULL) inverse_out[row] = (float)(1 / sigma);
  }
}

static void run_layer_norm(const blas_call *call) {
  bool has_statistics = call->node->out_count == 3;
  run_norm(call, true, call->in[2], has_statistics ? call->out[1] : NULL, has_statistics ? call->out[2] : NULL);
}

static void run_rms_norm(const blas_call *call) {
  run_norm(call, false, NULL, NULL, NULL);
}

const blas_op blas_layer_norm = {.name = "layer_norm",
                                 .version = 1,
                                 .computes = true,
                                 .stages = {[PH_STAGE_ACCUM] = PH_F32},
                                 .plan = plan_norm,
                                 .run = run_layer_norm};
const blas_op blas_rms_norm = {.name = "rms_norm",
                               .version = 1,
                               .computes = true,
                               .stages = {[PH_STAGE_ACCUM] = PH_F32},
                               .plan = plan_norm,
                               .run = run_rms_norm};
