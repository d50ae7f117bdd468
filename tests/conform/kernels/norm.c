/* layer_norm and rms_norm over the axes from `axis` on. */
#include "kernels.h"

/* In two passes, so that a constant row has its element as the mean exactly. */
static float mean_of(const float *x, int64_t count) {
  float sum = 0, rest = 0, n = count > 0 ? (float)count : 1;
  for (int64_t i = 0; i < count; i++) sum += x[i];
  for (int64_t i = 0; i < count; i++) rest += x[i] - sum / n;
  return sum / n + rest / n;
}

static float variance_of(kernel_run *run, const float *x, int64_t count, float mean) {
  float sum = 0, squares = 0, n = count > 0 ? (float)count : 1;
  for (int64_t i = 0; i < count; i++) {
    sum += (x[i] - mean) * (x[i] - mean);
    squares += x[i] * x[i];
  }
  return KERNEL_LINE(run, BUG_VARIANCE_BY_SQUARES, sum / n, squares / n - mean * mean);
}

static ph_status norm(kernel_run *run, bool centred) {
  const kernel_array *x = &run->inputs[0], *gain = &run->inputs[1], *bias = &run->inputs[2];
  const kernel_array *y = &run->outputs[0], *mean = &run->outputs[1], *inv_std = &run->outputs[2];
  int64_t axis = ph_node_int(run->node, "axis", x->rank - 1), count = 1, rows = 1;
  for (uint32_t i = 0; i < x->rank; i++) *(i < axis ? &rows : &count) *= x->dims[i];
  float eps = (float)ph_node_real(run->node, "eps", 1e-5);
  for (int64_t r = 0; r < rows; r++) {
    const float *row = x->real + r * count;
    float m = centred ? mean_of(row, count) : 0;
    float inverse = 1 / sqrtf(variance_of(run, row, count, m) + KERNEL_LINE(run, BUG_EPS_DROPPED, eps, 0));
    for (int64_t i = 0; i < count && y->present; i++) {
      float deviation = row[i] - m, unit = centred && deviation == 0 ? 0 : deviation * inverse;
      float product = gain->present ? unit * gain->real[i] : unit;
      if (bias->present) product += KERNEL_LINE(run, BUG_BIAS_INDEX, bias->real[i], bias->real[r % count]);
      y->real[r * count + i] = product;
    }
    if (mean->present) mean->real[r] = m;
    if (inv_std->present) inv_std->real[r] = inverse;
  }
  return PH_OK;
}

ph_status kernel_layer_norm(kernel_run *run) {
  return norm(run, true);
}
ph_status kernel_rms_norm(kernel_run *run) {
  return norm(run, false);
}
