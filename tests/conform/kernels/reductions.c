/* mean, the losses mse and cross_entropy, l2_normalize. */
#include "kernels.h"

ph_status kernel_mean(kernel_run *run) {
  kernel_rows r = kernel_rows_of(run);
  const kernel_array *mask = &run->inputs[1];
  for (int64_t n = 0; n < r.count; n++) {
    const float *x = r.x + kernel_row_start(&r, n);
    const int64_t *counts = mask->present ? mask->integer + n / r.step * r.length : NULL; /* it ends with the axis */
    int64_t counted = 0;
    float sum = 0;
    for (int64_t i = 0; i < r.length; i++) {
      if (counts != NULL && counts[i] == 0) continue;
      sum += x[i * r.step];
      counted++;
    }
    run->outputs[0].real[n] = counted == 0 ? 0 : sum / (float)counted;
  }
  return PH_OK;
}

ph_status kernel_mse(kernel_run *run) {
  const kernel_array *x = &run->inputs[0];
  float sum = 0;
  for (int64_t i = 0; i < x->count; i++) {
    float distance = x->real[i] - run->inputs[1].real[i];
    sum += distance * distance;
  }
  run->outputs[0].real[0] = x->count == 0 ? 0 : sum / (float)x->count;
  return PH_OK;
}

/* Squares are taken of x over its largest element, so that none leaves f32's range. */
ph_status kernel_l2_normalize(kernel_run *run) {
  kernel_rows r = kernel_rows_of(run);
  float eps = (float)ph_node_real(run->node, "eps", 1e-12);
  for (int64_t n = 0; n < r.count; n++) {
    const float *x = r.x + kernel_row_start(&r, n);
    float *y = run->outputs[0].real + kernel_row_start(&r, n), largest = 0, sum = 0;
    for (int64_t i = 0; i < r.length; i++) largest = fmaxf(largest, fabsf(x[i * r.step]));
    float unit = largest > 0 && isfinite(largest) ? largest : 1;
    for (int64_t i = 0; i < r.length; i++) sum += x[i * r.step] / unit * (x[i * r.step] / unit);
    float norm = sqrtf(sum); /* in units of `unit` */
    bool is_short = norm * unit < eps;
    for (int64_t i = 0; i < r.length; i++) {
      float value = x[i * r.step];
      y[i * r.step] = value == 0 && norm == 0 ? 0 : is_short ? value / eps : value / unit / norm;
    }
  }
  return PH_OK;
}

ph_status kernel_cross_entropy(kernel_run *run) {
  kernel_rows r = kernel_rows_of(run);
  float losses = 0;
  for (int64_t n = 0; n < r.count; n++) {
    const float *x = r.x + kernel_row_start(&r, n);
    int64_t target = run->inputs[1].integer[n];
    float chosen = target >= 0 && target < r.length ? x[target * r.step] : NAN, sum = 0;
    float max = kernel_max_of(x, r.length, r.step);
    for (int64_t i = 0; i < r.length; i++) sum += x[i * r.step] == -INFINITY ? 0 : expf(x[i * r.step] - max);
    losses += chosen == -INFINITY ? INFINITY : logf(sum) - (chosen - max);
  }
  run->outputs[0].real[0] = r.count == 0 ? 0 : losses / (float)r.count;
  return PH_OK;
}
