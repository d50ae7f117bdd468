/* Ops that work element by element: add, sub, mul, div; relu, gelu, silu, tanh, sigmoid, erf, exp, softcap. */
#include "oracle/ops.h"

/* ---- two operands ---- */

typedef double real_function(double a, double b);
typedef uint64_t integer_function(uint64_t a, uint64_t b); /* unsigned: overflow wraps */

static double real_add(double a, double b) {
  return a + b;
}
static double real_sub(double a, double b) {
  return a - b;
}
static double real_mul(double a, double b) {
  return a * b;
}
static double real_div(double a, double b) {
  return a / b;
}
static uint64_t integer_add(uint64_t a, uint64_t b) {
  return a + b;
}
static uint64_t integer_sub(uint64_t a, uint64_t b) {
  return a - b;
}
static uint64_t integer_mul(uint64_t a, uint64_t b) {
  return a * b;
}

static ph_status binary(const ph_oracle_call *call, real_function *real, integer_function *integer, double ulps) {
  ph_view a = ph_call_input(call, 0), b = ph_call_input(call, 1);
  ph_oracle_output *y = ph_call_output(call, 0);
  const ph_tensor_desc *desc = ph_call_output_desc(call, 0);
  double *builtin = y->magnitude[PH_MAGNITUDE_BUILTIN];
  if (y->integer != NULL && integer == NULL)
    return ph_fail(call->error, PH_UNSUPPORTED, "node '%s': %s does not take integers", call->node->id, call->node->op);
  int64_t index[PH_MAX_RANK] = {0};
  for (int64_t i = 0; i < y->count; i++) {
    int64_t at_a = ph_view_at(&a, desc->rank, index), at_b = ph_view_at(&b, desc->rank, index);
    if (y->integer != NULL) {
      uint64_t value = integer((uint64_t)ph_view_integer(&a, at_a), (uint64_t)ph_view_integer(&b, at_b));
      y->integer[i] = y->dtype == PH_I32 ? (int32_t)value : (int64_t)value;
    } else {
      y->real[i] = real(ph_view_real(&a, at_a), ph_view_real(&b, at_b));
      if (builtin != NULL) builtin[i] = ulps * fabs(y->real[i]);
    }
    ph_index_next(desc->rank, desc->dims, index);
  }
  return PH_OK;
}

ph_status ph_oracle_add(const ph_oracle_call *call) {
  return binary(call, real_add, integer_add, 0);
}
ph_status ph_oracle_sub(const ph_oracle_call *call) {
  return binary(call, real_sub, integer_sub, 0);
}
ph_status ph_oracle_mul(const ph_oracle_call *call) {
  return binary(call, real_mul, integer_mul, 0);
}
ph_status ph_oracle_div(const ph_oracle_call *call) {
  return binary(call, real_div, NULL, PH_ULPS_DIV);
}

/* ---- one operand ---- */

typedef ph_point point;
typedef point unary_function(double x, double parameter);

static ph_status unary(const ph_oracle_call *call, unary_function *function, double parameter) {
  ph_view x = ph_call_input(call, 0);
  ph_oracle_output *y = ph_call_output(call, 0);
  ph_view_read(&x, y->real);
  for (int64_t i = 0; i < y->count; i++) {
    double at = y->real[i];
    point result = function(at, parameter);
    y->real[i] = result.value;
    if (y->magnitude[PH_MAGNITUDE_WEIGHT] == NULL || !isfinite(at))
      continue; /* at infinity and NaN the value is exact */
    y->magnitude[PH_MAGNITUDE_WEIGHT][i] = result.weight;
    y->magnitude[PH_MAGNITUDE_BUILTIN][i] = result.builtin;
  }
  return PH_OK;
}

static point relu(double x, double unused) {
  (void)unused;
  return (point){.value = isnan(x) || x > 0 ? x : 0, .slope = x > 0};
}

static point identity(double x, double unused) {
  (void)unused;
  return (point){.value = x, .slope = 1};
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* Hendrycks and Gimpel 2016, section 2.  erfc and the sigmoid keep the far left tail, where 1 + erf and 1 + tanh
 * cancel; from 16 on the tail is below any type's reach and the result is exactly 0 or x. */
static point gelu_erf(double x, double unused) {
  (void)unused;
  if (fabs(x) >= 16) return (point){.value = x > 0 ? x : 0, .slope = x > 0};
  double below = erfc(-x * M_SQRT1_2) / 2, value = x * below, density = exp(-x * x / 2) * M_2_SQRTPI * M_SQRT1_2 / 2;
  return (point){value, fabs(x) / 2 + fabs(value), PH_ULPS_ERF * fabs(x / 2 * erf(x * M_SQRT1_2)),
                 fabs(below + x * density)};
}

static point gelu_tanh(double x, double unused) {
  (void)unused;
  if (fabs(x) >= 16) return (point){.value = x > 0 ? x : 0, .slope = x > 0};
  double inner = M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x), s = sigmoid(2 * inner), value = x * s;
  double inner_slope = M_2_SQRTPI * M_SQRT1_2 * (1 + 3 * 0.044715 * x * x);
  return (point){value, fabs(x) / 2 + fabs(value), PH_ULPS_TANH * fabs(x / 2 * tanh(inner)),
                 fabs(s + x * s * (1 - s) * 2 * inner_slope)};
}

static point silu(double x, double unused) {
  (void)unused;
  if (x == -INFINITY) return (point){0};
  double s = sigmoid(x), value = x * s, slope = fabs(s * (1 + x * (1 - s)));
  return (point){value, fabs(x) * slope + fabs(value), (PH_ULPS_EXP + PH_ULPS_DIV) * fabs(value), slope};
}

static point tanh_at(double x, double unused) {
  (void)unused;
  double t = tanh(x);
  return (point){t, fabs(x * (1 - t * t)) + fabs(t), PH_ULPS_TANH * fabs(t), 1 - t * t};
}

static point sigmoid_at(double x, double unused) {
  (void)unused;
  double s = sigmoid(x);
  return (point){s, fabs(x * s * (1 - s)) + s, (PH_ULPS_EXP + PH_ULPS_DIV) * s, s * (1 - s)};
}

static point erf_at(double x, double unused) {
  (void)unused;
  double value = erf(x);
  double slope = M_2_SQRTPI * exp(-x * x);
  return (point){value, fabs(x) * slope + fabs(value), PH_ULPS_ERF * fabs(value), slope};
}

static point exp_at(double x, double unused) {
  (void)unused;
  double value = exp(x);
  if (isinf(value)) return (point){.value = value};
  return (point){value, fabs(x) * value + value, PH_ULPS_EXP * value, value};
}

/* cap * tanh(x / cap); the division's error is one of x. */
static point softcap(double x, double cap) {
  double t = tanh(x / cap), slope = 1 - t * t, moved = fabs(x) * slope;
  return (point){cap * t, moved + fabs(cap * t), PH_ULPS_TANH * fabs(cap * t) + PH_ULPS_DIV * moved, slope};
}

ph_status ph_oracle_relu(const ph_oracle_call *call) {
  return unary(call, relu, 0);
}
ph_status ph_oracle_gelu(const ph_oracle_call *call) {
  return unary(call, ph_call_is(call, "form", "tanh") ? gelu_tanh : gelu_erf, 0);
}
ph_status ph_oracle_silu(const ph_oracle_call *call) {
  return unary(call, silu, 0);
}
ph_status ph_oracle_tanh(const ph_oracle_call *call) {
  return unary(call, tanh_at, 0);
}
ph_status ph_oracle_sigmoid(const ph_oracle_call *call) {
  return unary(call, sigmoid_at, 0);
}
ph_status ph_oracle_erf(const ph_oracle_call *call) {
  return unary(call, erf_at, 0);
}
ph_status ph_oracle_exp(const ph_oracle_call *call) {
  return unary(call, exp_at, 0);
}
ph_status ph_oracle_softcap(const ph_oracle_call *call) {
  return unary(call, softcap, ph_call_real(call, "cap", 1));
}

/* ---- what may follow a linear layer ---- */

/* `steepest`: no slope is larger; `bend`: nor is any second derivative.  Both rounded up. */
struct ph_activation {
  const char *name, *form;
  unary_function *function;
  double steepest, bend;
};

static const ph_activation activations[] = {
    {"none", NULL, identity, 1, 0},           {"relu", NULL, relu, 1, 0},     {"gelu", "erf", gelu_erf, 1.13, 0.8},
    {"gelu", "tanh", gelu_tanh, 1.13, 0.8},   {"silu", NULL, silu, 1.1, 0.5}, {"tanh", NULL, tanh_at, 1, 0.77},
    {"sigmoid", NULL, sigmoid_at, 0.25, 0.1},
};

ph_status ph_activation_find(const ph_oracle_call *call, const ph_activation **out) {
  for (size_t i = 0; i < sizeof(activations) / sizeof(activations[0]); i++) {
    const ph_activation *row = &activations[i];
    bool same = ph_call_is(call, "activation", row->name) && (row->form == NULL || ph_call_is(call, "form", row->form));
    if (!same) continue;
    *out = row;
    return PH_OK;
  }
  return ph_fail(call->error, PH_UNSUPPORTED, "node '%s': this activation is not known here", call->node->id);
}

ph_point ph_activation_at(const ph_activation *row, double x, double reach) {
  point result = row->function(x, 0);
  if (row->function == relu)
    result.slope = x > -reach;
  else
    result.slope = fmin(row->steepest, result.slope + row->bend * reach);
  return result;
}
