/* relu, gelu, silu, tanh, sigmoid, erf, exp, softcap: element by element. */
#include <math.h>
#include <string.h>

#include "blas/op.h"

#define SQRT_HALF        0.70710678118654752f
#define SQRT_TWO_OVER_PI 0.79788456080286536f

typedef struct unary {
  bool tanh_form; /* of gelu */
  float cap;      /* of softcap */
} unary;

static ph_status plan_unary(blas_planner *planner, ph_error *error) {
  unary *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  p->tanh_form = ph_node_is(planner->source, "form", "tanh");
  p->cap = (float)ph_node_real(planner->source, "cap", 1);
  return PH_OK;
}

static float relu(float x, const unary *p) {
  (void)p;
  return x > 0 || isnan(x) ? x : 0;
}

/* From 16 on the tail is below any type's reach, and infinity must not meet a 0 (NUMERICS 2).  erfc keeps the left
 * tail, where 1 + erf cancels. */
static float gelu(float x, const unary *p) {
  if (fabsf(x) >= 16) return x > 0 ? x : 0;
  if (!p->tanh_form) return 0.5f * x * erfcf(-x * SQRT_HALF);
  return 0.5f * x * (1 + tanhf(SQRT_TWO_OVER_PI * (x + 0.044715f * x * x * x)));
}

/* Far to the left exp(-x) overflows while the result, x * exp(x), is still a normal number. */
static float silu(float x, const unary *p) {
  (void)p;
  if (x < -80) return x == -INFINITY ? 0 : (float)(x * exp(x));
  return x / (1 + expf(-x));
}

static float sigmoid(float x, const unary *p) {
  (void)p;
  return 1 / (1 + expf(-x));
}

static float softcap(float x, const unary *p) {
  return p->cap * tanhf(x / p->cap);
}

static float tanh_of(float x, const unary *p) {
  (void)p;
  return tanhf(x);
}

static float erf_of(float x, const unary *p) {
  (void)p;
  return erff(x);
}

static float exp_of(float x, const unary *p) {
  (void)p;
  return expf(x);
}

/* stage_: PH_DTYPE_NONE where the op has no roundings but its own. */
#define UNARY(name_, function, stage_)                                                                                 \
  static void run_##name_(const blas_call *call) {                                                                     \
    const float *x = call->in[0];                                                                                      \
    float *y = call->out[0];                                                                                           \
    for (int64_t i = 0; i < call->node->out[0].count; i++) y[i] = function(x[i], call->node->parameters);              \
  }                                                                                                                    \
  const blas_op blas_##name_ = {.name = #name_,                                                                        \
                                .version = 1,                                                                          \
                                .computes = true,                                                                      \
                                .stages = {[PH_STAGE_WEIGHT] = stage_},                                                \
                                .plan = plan_unary,                                                                    \
                                .run = run_##name_}
UNARY(relu, relu, PH_DTYPE_NONE);
UNARY(gelu, gelu, PH_F32);
UNARY(silu, silu, PH_F32);
UNARY(tanh, tanh_of, PH_F32);
UNARY(sigmoid, sigmoid, PH_F32);
UNARY(erf, erf_of, PH_F32);
UNARY(exp, exp_of, PH_F32);
UNARY(softcap, softcap, PH_F32);

/* ---- what follows a linear layer ---- */

void blas_activate(const char *op, bool tanh_form, float *values, int64_t count) {
  static const struct {
    const char *op;
    float (*function)(float x, const unary *p);
  } rows[] = {{"relu", relu}, {"gelu", gelu}, {"silu", silu}, {"tanh", tanh_of}, {"sigmoid", sigmoid}};
  const unary p = {.tanh_form = tanh_form};
  for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
    for (int64_t i = 0; i < count && strcmp(rows[row].op, op) == 0; i++) values[i] = rows[row].function(values[i], &p);
}
