/* y = f(x), element by element.  FUNCTION names f; `parameter` is softcap's cap. */

#define RELU(x)      ((x) > 0.0f || isnan(x) ? (x) : 0.0f)
#define TANH(x)      tanh_of(x)
#define SIGMOID(x)   sigmoid(x)
#define SILU(x)      silu(x)
#define GELU_ERF(x)  gelu_erf(x)
#define GELU_TANH(x) gelu_tanh(x)
#define ERF(x)       erf(x)
#define EXP(x)       exp(x)
#define SOFTCAP(x)   (parameter * tanh_of((x) / parameter))

/* 1 / (1 + e^-x) without overflow on either side. */
static float sigmoid(float x) {
  float e = exp(-fabs(x));
  return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
}

/* x sigmoid(x); -inf gives 0.  Below -80 e^x may be a denormal, which devices may flush, though x e^x is none yet:
 * there the factor is applied in two halves. */
static float silu(float x) {
  float half_power = exp(0.5f * fmax(x, -1000.0f));
  float far = fmax(x, -1000.0f) * half_power * half_power;
  return x < -80.0f ? far : x * sigmoid(x);
}

/* x Phi(x).  With erfc instead of 1 + erf nothing cancels for negative x.  From 16 on the result is exactly x or 0. */
static float gelu_erf(float x) {
  float y = 0.5f * x * erfc(-x * 0.70710678f);
  return x >= 16.0f ? x : x <= -16.0f ? 0.0f : y;
}

/* x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), written as x sigmoid(2 u). */
static float gelu_tanh(float x) {
  float y = x * sigmoid(1.5957691f * (x + 0.044715f * x * x * x));
  return x >= 16.0f ? x : x <= -16.0f ? 0.0f : y;
}

__kernel void unary(__global const TYPE(IN0) * x, ulong x_first, __global TYPE(OUT0) * y, ulong y_first,
                    __global const long *axes, ulong axes_first, int rank, ulong count, float parameter) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  axes += axes_first;
  float value = LOAD(IN0, x, x_first + offset_of(axes, rank, 0, i));
  STORE(OUT0, FUNCTION(value), y, y_first + offset_of(axes, rank, 1, i));
}
