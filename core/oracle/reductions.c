/* mean, argmax, l2_normalize, one_hot, the losses cross_entropy and mse, and dropout. */
#include "oracle/ops.h"

/* Element `at` of an output becomes sum / n, 0 where n is 0. */
static void put_mean(ph_oracle_output *y, int64_t at, const ph_sum *sum, int64_t n) {
  if (n == 0) return;
  double count = (double)n;
  y->real[at] = sum->value / count;
  if (y->magnitude[PH_MAGNITUDE_ACCUM] == NULL) return;
  y->magnitude[PH_MAGNITUDE_ACCUM][at] = ((1 + sqrt(count)) * sum->size + ph_sum_excess(sum)) / count;
  y->magnitude[PH_MAGNITUDE_BUILTIN][at] = PH_ULPS_DIV * fabs(y->real[at]);
}

/* What the mask leaves out is not looked at, so that NaN and Inf there leave no trace. */
ph_status ph_oracle_mean(const ph_oracle_call *call) {
  ph_rows r;
  PH_TRY(ph_rows_open(call, &r));
  ph_view mask = ph_call_input(call, 1);
  int64_t count = ph_rows_count(&r);
  for (int64_t number = 0; number < count; number++) {
    ph_rows_read(&r, number);
    int64_t at = ph_view_at(&mask, mask.rank, r.index), counted = 0; /* the index at the axis is 0 */
    ph_sum sum = {0};
    for (int64_t i = 0; i < r.length; i++) {
      if (mask.present && ph_view_integer(&mask, at + i * mask.strides[r.axis]) == 0) continue;
      ph_sum_add(&sum, r.row[i], 1);
      counted++;
    }
    put_mean(ph_call_output(call, 0), number, &sum, counted);
    ph_index_next(r.x.rank, r.dims, r.index);
  }
  return PH_OK;
}

/* The first maximum; NaN counts as the maximum; 0 in a row of -inf. */
ph_status ph_oracle_argmax(const ph_oracle_call *call) {
  ph_rows r;
  PH_TRY(ph_rows_open(call, &r));
  int64_t count = ph_rows_count(&r);
  for (int64_t number = 0; number < count; number++) {
    ph_rows_read(&r, number);
    int64_t best = 0;
    for (int64_t i = 1; i < r.length && !isnan(r.row[best]); i++)
      if (r.row[i] > r.row[best] || isnan(r.row[i])) best = i;
    ph_call_output(call, 0)->integer[number] = best;
    ph_index_next(r.x.rank, r.dims, r.index);
  }
  return PH_OK;
}

/* x / max(norm, eps); zeros stay zeros even for an eps of 0.  Squares are taken of x over its largest element, as a
 * kernel in f32 has to, so that none of them overflows or vanishes. */
ph_status ph_oracle_l2_normalize(const ph_oracle_call *call) {
  ph_rows r;
  PH_TRY(ph_rows_open(call, &r));
  ph_oracle_output *y = ph_call_output(call, 0);
  double eps = ph_call_real(call, "eps", 1e-12), root = 1 + sqrt((double)r.length);
  int64_t count = ph_rows_count(&r);
  for (int64_t number = 0; number < count; number++) {
    int64_t to = ph_rows_read(&r, number);
    double largest = 0;
    for (int64_t i = 0; i < r.length; i++) largest = fmax(largest, fabs(r.row[i]));
    double unit = largest > 0 && isfinite(largest) ? largest : 1;
    for (int64_t i = 0; i < r.length; i++) r.out[i] = r.row[i] / unit;
    ph_sum squares = ph_sum_products(r.out, r.out, r.length, true);
    double norm = unit * sqrt(squares.value);
    bool is_short = norm < eps;
    double divisor = is_short ? eps : norm;
    double excess = is_short || norm == 0 ? 0 : ph_sum_excess(&squares) / squares.value / 2;
    for (int64_t i = 0; i < r.length; i++, to += r.inner) {
      y->real[to] = divisor == 0 ? 0 : r.row[i] / divisor;
      if (y->magnitude[PH_MAGNITUDE_ACCUM] == NULL) continue;
      y->magnitude[PH_MAGNITUDE_ACCUM][to] = fabs(y->real[to]) * (root + excess);
      y->magnitude[PH_MAGNITUDE_BUILTIN][to] = fabs(y->real[to]) * (PH_ULPS_SQRT + PH_ULPS_DIV);
    }
    ph_index_next(r.x.rank, r.dims, r.index);
  }
  return PH_OK;
}

/* An id outside 0 .. size - 1, which only a computed one can be, gives zeros. */
ph_status ph_oracle_one_hot(const ph_oracle_call *call) {
  ph_view ids = ph_call_input(call, 0);
  ph_oracle_output *y = ph_call_output(call, 0);
  int64_t size = ph_call_integer(call, "size", 1), index[PH_MAX_RANK] = {0};
  for (int64_t i = 0; i < ids.count; i++) {
    int64_t id = ph_view_integer(&ids, ph_view_at(&ids, ids.rank, index));
    if (id >= 0 && id < size) y->real[i * size + id] = 1;
    ph_index_next(ids.rank, ids.dims, index);
  }
  return PH_OK;
}

/* The mean of -log_softmax at the targets.  A computed target outside the axis gives NaN. */
ph_status ph_oracle_cross_entropy(const ph_oracle_call *call) {
  ph_rows r;
  PH_TRY(ph_rows_open(call, &r));
  ph_view targets = ph_call_input(call, 1);
  ph_oracle_output *y = ph_call_output(call, 0);
  int64_t count = ph_rows_count(&r);
  double weight = 0, accum = 0, builtin = 0;
  ph_sum losses = {0};
  for (int64_t number = 0; number < count; number++) {
    ph_rows_read(&r, number);
    int64_t at = 0;
    for (uint32_t i = 0; i < targets.rank; i++) at += r.index[i < r.axis ? i : i + 1] * targets.strides[i];
    int64_t target = ph_view_integer(&targets, at);
    double chosen = target >= 0 && target < r.length ? r.row[target] : NAN;
    ph_softmax_row row = ph_softmax_of(r.row, r.length, -INFINITY, r.out);
    double below = chosen - row.max;
    ph_sum_add(&losses, chosen == -INFINITY ? INFINITY : log(row.sum) - below, 1);
    weight += 1 + fabs(below);
    accum += sqrt((double)row.allowed) + row.excess;
    builtin += PH_ULPS_EXP + PH_ULPS_LOG * fabs(log(row.sum));
    ph_index_next(r.x.rank, r.dims, r.index);
  }
  put_mean(y, 0, &losses, count);
  if (y->magnitude[PH_MAGNITUDE_ACCUM] == NULL || count == 0) return PH_OK;
  y->magnitude[PH_MAGNITUDE_WEIGHT][0] = weight / (double)count;
  y->magnitude[PH_MAGNITUDE_ACCUM][0] += accum / (double)count;
  y->magnitude[PH_MAGNITUDE_BUILTIN][0] += builtin / (double)count;
  return PH_OK;
}

ph_status ph_oracle_mse(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0), target = ph_call_input(call, 1);
  int64_t index[PH_MAX_RANK] = {0};
  ph_sum squares = {0};
  for (int64_t i = 0; i < x.count; i++) {
    double distance =
        ph_view_real(&x, ph_view_at(&x, x.rank, index)) - ph_view_real(&target, ph_view_at(&target, x.rank, index));
    ph_sum_add(&squares, distance, distance);
    ph_index_next(x.rank, x.dims, index);
  }
  put_mean(ph_call_output(call, 0), 0, &squares, x.count);
  return PH_OK;
}

/* Identity: dropout acts in training only (Srivastava et al. 2014, section 4). */
ph_status ph_oracle_dropout(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  ph_view_read(&x, ph_call_output(call, 0)->real);
  return PH_OK;
}
