/* layer_norm (Ba et al. 2016, section 3) and rms_norm (Zhang and Sennrich 2019, section 4). */
#include "oracle/ops.h"

typedef struct norm_row {
  double mean, sigma;
  double mean_size; /* mean of |x|, which is what an error of the mean hangs on; 0 where it is not taken */
  double mean_excess, sigma_excess; /* of the serial sums: absolute, and relative to sigma; in f32's roundoff */
} norm_row;

/* The mean is taken as the distance from the first element, so that a constant row has its element as the mean exactly
 * and its deviations are exactly 0; an infinite first element would hide the others. */
static void take_mean(const double *x, int64_t count, norm_row *row) {
  double origin = count > 0 && isfinite(x[0]) ? x[0] : 0;
  double sum = 0;
  ph_sum plain = {0};
  for (int64_t i = 0; i < count; i++) {
    sum += x[i] - origin;
    ph_sum_add(&plain, x[i], 1);
  }
  if (count == 0) return;
  row->mean = origin + sum / (double)count;
  row->mean_size = plain.size / (double)count;
  row->mean_excess = ph_sum_excess(&plain) / (double)count;
}

/* Subtracts before it squares: E[x^2] - E[x]^2 loses everything where the mean is large. */
static void take_sigma(const double *x, int64_t count, double eps, norm_row *row) {
  ph_sum squares = {0};
  for (int64_t i = 0; i < count; i++) ph_sum_add(&squares, x[i] - row->mean, x[i] - row->mean);
  double n = count > 0 ? (double)count : 1, variance = squares.value / n + eps;
  row->sigma = sqrt(variance);
  row->sigma_excess = variance > 0 ? ph_sum_excess(&squares) / n / variance / 2 : 0;
}

static ph_status norm(const ph_oracle_call *call, bool centred) {
  ph_view x = ph_call_input(call, 0), weight = ph_call_input(call, 1), bias = ph_call_input(call, 2);
  ph_oracle_output *y = ph_call_output(call, 0), *mean = ph_call_output(call, 1), *inv_std = ph_call_output(call, 2);
  uint32_t axis = 0;
  PH_TRY(ph_call_axis(call, x.rank, x.rank - 1, &axis));
  int64_t rows = ph_product(axis, x.dims), count = ph_product(x.rank - axis, x.dims + axis);
  double eps = ph_call_real(call, "eps", 1e-5), root = 1 + sqrt((double)count);
  double *values = ph_call_reals(call, x.count), *gains = ph_call_reals(call, count),
         *biases = ph_call_reals(call, count);
  if (values == NULL || gains == NULL || biases == NULL) return ph_fail_memory(call->error);
  ph_view_read(&x, values);
  for (int64_t i = 0; i < count && !weight.present; i++) gains[i] = 1;
  if (weight.present) ph_view_read(&weight, gains);
  if (bias.present) ph_view_read(&bias, biases);

  for (int64_t r = 0; r < rows; r++, values += count) {
    norm_row row = {0};
    if (centred) take_mean(values, count, &row);
    take_sigma(values, count, eps, &row);
    for (int64_t i = 0; y != NULL && i < count; i++) {
      int64_t to = r * count + i;
      double deviation = values[i] - row.mean;
      double unit = centred && deviation == 0 ? 0 : deviation / row.sigma; /* exactly the bias, even for eps 0 */
      y->real[to] = unit * gains[i] + biases[i];
      if (y->magnitude[PH_MAGNITUDE_ACCUM] == NULL) continue;
      y->magnitude[PH_MAGNITUDE_ACCUM][to] =
          fabs(gains[i]) * ((root * (fabs(values[i]) + row.mean_size) + row.mean_excess) / row.sigma +
                            fabs(unit) * row.sigma_excess) +
          fabs(biases[i]);
      y->magnitude[PH_MAGNITUDE_BUILTIN][to] = fabs(unit * gains[i]) * (PH_ULPS_SQRT + PH_ULPS_DIV);
    }
    if (mean != NULL) {
      mean->real[r] = row.mean;
      if (mean->magnitude[PH_MAGNITUDE_ACCUM] != NULL) {
        mean->magnitude[PH_MAGNITUDE_ACCUM][r] = root * row.mean_size + row.mean_excess;
        mean->magnitude[PH_MAGNITUDE_BUILTIN][r] = PH_ULPS_DIV * fabs(row.mean);
      }
    }
    if (inv_std != NULL) {
      double inverse = 1 / row.sigma, lean = fabs(row.mean) / row.sigma;
      inv_std->real[r] = inverse;
      if (inv_std->magnitude[PH_MAGNITUDE_ACCUM] != NULL) {
        inv_std->magnitude[PH_MAGNITUDE_ACCUM][r] = inverse * (root * (1 + lean * lean) / 2 + row.sigma_excess);
        inv_std->magnitude[PH_MAGNITUDE_BUILTIN][r] = inverse * (PH_ULPS_SQRT + PH_ULPS_DIV);
      }
    }
  }
  return PH_OK;
}

ph_status ph_oracle_layer_norm(const ph_oracle_call *call) {
  return norm(call, true);
}
ph_status ph_oracle_rms_norm(const ph_oracle_call *call) {
  return norm(call, false);
}
