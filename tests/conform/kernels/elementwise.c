/* Functions of one or two operands, element by element; the host has repeated what broadcasts. */
#include "kernels.h"

#define BINARY(name, operator)                                                                                         \
  ph_status kernel_##name(kernel_run *run) {                                                                           \
    const float *a = run->inputs[0].real, *b = run->inputs[1].real;                                                    \
    for (int64_t i = 0; i < run->outputs[0].count; i++) run->outputs[0].real[i] = a[i] operator b[i];                  \
    return PH_OK;                                                                                                      \
  }
BINARY(add, +)
BINARY(sub, -)
BINARY(mul, *)
BINARY(div, /)

static ph_status map(kernel_run *run, float (*function)(float)) {
  for (int64_t i = 0; i < run->outputs[0].count; i++) run->outputs[0].real[i] = function(run->inputs[0].real[i]);
  return PH_OK;
}

static float relu(float x) {
  return x > 0 || isnan(x) ? x : 0;
}
/* exp(-|x|) never overflows, so that the far left tail stays. */
static float sigmoid(float x) {
  float e = expf(-fabsf(x));
  return (x < 0 ? e : 1) / (1 + e);
}
static float silu(float x) {
  return x == -INFINITY ? 0 : x * sigmoid(x);
}
static float gelu_erf(float x) {
  return fabsf(x) >= 16 ? relu(x) : 0.5f * x * (1 + erff(x * (float)M_SQRT1_2));
}
static float gelu_tanh(float x) {
  return fabsf(x) >= 16 ? relu(x) : 0.5f * x * (1 + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
}

ph_status kernel_relu(kernel_run *run) {
  return map(run, relu);
}
ph_status kernel_gelu(kernel_run *run) {
  return map(run, ph_node_is(run->node, "form", "tanh") ? gelu_tanh : gelu_erf);
}
ph_status kernel_silu(kernel_run *run) {
  return map(run, silu);
}
ph_status kernel_tanh(kernel_run *run) {
  return map(run, tanhf);
}
ph_status kernel_sigmoid(kernel_run *run) {
  return map(run, sigmoid);
}
ph_status kernel_erf(kernel_run *run) {
  return map(run, erff);
}
ph_status kernel_exp(kernel_run *run) {
  return map(run, expf);
}

ph_status kernel_softcap(kernel_run *run) {
  float cap = (float)ph_node_real(run->node, "cap", 1);
  for (int64_t i = 0; i < run->outputs[0].count; i++)
    run->outputs[0].real[i] = cap * tanhf(run->inputs[0].real[i] / cap);
  return PH_OK;
}

float kernel_activation(const ph_node *node, float x) {
  if (ph_node_is(node, "activation", "relu")) return relu(x);
  if (ph_node_is(node, "activation", "gelu")) return ph_node_is(node, "form", "tanh") ? gelu_tanh(x) : gelu_erf(x);
  if (ph_node_is(node, "activation", "silu")) return silu(x);
  if (ph_node_is(node, "activation", "tanh")) return tanhf(x);
  return ph_node_is(node, "activation", "sigmoid") ? sigmoid(x) : x;
}
