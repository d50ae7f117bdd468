/* softmax and its kin, along any axis. */
#include "kernels.h"

float kernel_softmax_factor(float max, float sum, float sink, float *lse) {
  float top = sink > max ? sink : max; /* a maximum of NaN stays */
  float keep = expf(max - top), whole = sum * keep + expf(sink - top);
  if (top == -INFINITY) keep = whole = 0;
  if (lse != NULL) *lse = top == -INFINITY ? top : top + logf(whole);
  return top == -INFINITY ? 0 : keep / whole;
}

float kernel_softmax_tail(kernel_run *run, int64_t count, float max) {
  int64_t padded = (KERNEL_TILE - count % KERNEL_TILE) % KERNEL_TILE;
  return max == -INFINITY ? 0 : KERNEL_LINE(run, BUG_TAIL_PADDED, 0, (float)padded * expf(0 - max));
}

kernel_rows kernel_rows_of(const kernel_run *run) {
  const kernel_array *x = &run->inputs[0];
  int64_t axis = ph_node_int(run->node, "axis", x->rank - 1);
  kernel_rows r = {.x = x->real, .length = x->dims[axis], .count = 1, .step = 1};
  for (uint32_t i = 0; i < x->rank; i++) r.count *= i == axis ? 1 : x->dims[i];
  for (uint32_t i = (uint32_t)axis + 1; i < x->rank; i++) r.step *= x->dims[i];
  return r;
}

int64_t kernel_row_start(const kernel_rows *rows, int64_t row) {
  return row / rows->step * rows->length * rows->step + row % rows->step;
}

float kernel_max_of(const float *x, int64_t count, int64_t step) {
  float max = -INFINITY;
  for (int64_t i = 0; i < count; i++)
    if (x[i * step] > max || isnan(x[i * step])) max = x[i * step];
  return max;
}

ph_status kernel_softmax(kernel_run *run) {
  kernel_rows r = kernel_rows_of(run);
  const kernel_array *x = &run->inputs[0], *sinks = &run->inputs[1];
  float *row = kernel_reals(run, r.length);
  if (row == NULL) return ph_fail_memory(run->error);
  for (int64_t n = 0; n < r.count; n++) {
    int64_t start = kernel_row_start(&r, n);
    for (int64_t i = 0; i < r.length; i++) {
      row[i] = r.x[start + i * r.step];
      row[i] = KERNEL_LINE(run, BUG_DROPPED_KEY, row[i], i != r.length / 2 ? row[i] : -INFINITY);
      row[i] = KERNEL_LINE(run, BUG_LAST_KEY_MASKED, row[i], i != r.length - 1 ? row[i] : -INFINITY);
    }
    float max = kernel_max_of(row, r.length, 1), sum = 0;
    for (int64_t i = 0; i < r.length; i++) sum += row[i] == -INFINITY ? 0 : expf(row[i] - max);
    sum += kernel_softmax_tail(run, r.length, max);
    float sink = sinks->present ? sinks->real[n / x->dims[2] % x->dims[1]] : -INFINITY; /* x is [B, H, Sq, Sk] */
    float factor = kernel_softmax_factor(max, sum, sink, run->outputs[1].present ? &run->outputs[1].real[n] : NULL);
    for (int64_t i = 0; i < r.length; i++)
      run->outputs[0].real[start + i * r.step] = row[i] == -INFINITY ? 0 : expf(row[i] - max) * factor;
  }
  return PH_OK;
}

ph_status kernel_log_softmax(kernel_run *run) {
  kernel_rows r = kernel_rows_of(run);
  for (int64_t n = 0; n < r.count; n++) {
    const float *x = r.x + kernel_row_start(&r, n);
    float *y = run->outputs[0].real + kernel_row_start(&r, n);
    float max = kernel_max_of(x, r.length, r.step), sum = 0;
    for (int64_t i = 0; i < r.length; i++) sum += x[i * r.step] == -INFINITY ? 0 : expf(x[i * r.step] - max);
    for (int64_t i = 0; i < r.length; i++)
      y[i * r.step] = x[i * r.step] == -INFINITY ? -INFINITY : x[i * r.step] - max - logf(sum);
  }
  return PH_OK;
}

ph_status kernel_hardmax(kernel_run *run) {
  kernel_rows r = kernel_rows_of(run);
  for (int64_t n = 0; n < r.count; n++) {
    int64_t start = kernel_row_start(&r, n), best = -1;
    for (int64_t i = 0; i < r.length; i++) {
      float x = r.x[start + i * r.step], so_far = best < 0 ? -INFINITY : r.x[start + best * r.step];
      if (!isnan(so_far) && (x > so_far || isnan(x))) best = i;
      run->outputs[0].real[start + i * r.step] = 0;
    }
    if (best >= 0) run->outputs[0].real[start + best * r.step] = 1;
  }
  return PH_OK;
}
