/* softmax, log_softmax, hardmax.  A row of which nothing is allowed (all -inf) gives zeros, not 0/0 (NUMERICS 2). */
#include "oracle/ops.h"

/* With the true maximum subtracted nothing overflows, and the largest term is 1 (Milakov and Gimelshein 2018, section
 * 2). */
ph_softmax_row ph_softmax_of(const double *x, int64_t count, double sink, double *p) {
  ph_softmax_row row = {.max = sink};
  for (int64_t i = 0; i < count; i++) {
    if (x[i] == -INFINITY) continue;
    row.allowed++;
    if (x[i] > row.max || isnan(x[i])) row.max = x[i]; /* once NaN it stays: no comparison with NaN is true */
  }
  row.sum = sink == -INFINITY ? 0 : exp(sink - row.max);
  float serial = (float)row.sum;
  for (int64_t i = 0; i < count; i++) {
    p[i] = x[i] == -INFINITY ? 0 : exp(x[i] - row.max);
    row.sum += p[i];
    serial += (float)p[i];
  }
  for (int64_t i = 0; i < count; i++)
    if (x[i] != -INFINITY) p[i] /= row.sum;
  row.lse = row.max == -INFINITY ? -INFINITY : row.max + log(row.sum);
  row.excess = row.sum > 0 ? fabs(serial / row.sum - 1) / PH_F32_ROUNDOFF : 0;
  return row;
}

/* Magnitudes of the log of a sum: `slope` is the effect of the terms' relative errors. */
static void log_magnitudes(ph_oracle_output *out, int64_t at, double slope, const ph_softmax_row *row) {
  if (out->magnitude[PH_MAGNITUDE_WEIGHT] == NULL) return;
  out->magnitude[PH_MAGNITUDE_WEIGHT][at] = 1 + slope;
  out->magnitude[PH_MAGNITUDE_ACCUM][at] = sqrt((double)row->allowed) + row->excess;
  out->magnitude[PH_MAGNITUDE_BUILTIN][at] = PH_ULPS_EXP + PH_ULPS_LOG * fabs(log(row->sum));
}

ph_status ph_oracle_softmax(const ph_oracle_call *call) {
  ph_rows r;
  PH_TRY(ph_rows_open(call, &r));
  ph_view sinks = ph_call_input(call, 1);
  ph_oracle_output *y = ph_call_output(call, 0), *lse = ph_call_output(call, 1);
  int64_t count = ph_rows_count(&r);
  for (int64_t number = 0; number < count; number++) {
    int64_t to = ph_rows_read(&r, number);
    double sink =
        sinks.present ? ph_view_real(&sinks, r.index[1] * sinks.strides[0]) : -INFINITY; /* x is [B, H, Sq, Sk] */
    ph_softmax_row row = ph_softmax_of(r.row, r.length, sink, r.out);
    double spread = 0; /* sum of p * |x - max| */
    for (int64_t i = 0; i < r.length; i++) {
      double p = r.out[i], distance = p == 0 ? 0 : fabs(r.row[i] - row.max);
      spread += p * distance;
      if (y == NULL) continue;
      y->real[to + i * r.inner] = p;
      if (y->magnitude[PH_MAGNITUDE_WEIGHT] == NULL) continue;
      y->magnitude[PH_MAGNITUDE_WEIGHT][to + i * r.inner] = p * (1 + distance);
      y->magnitude[PH_MAGNITUDE_ACCUM][to + i * r.inner] = p * (sqrt((double)row.allowed) + row.excess);
      y->magnitude[PH_MAGNITUDE_BUILTIN][to + i * r.inner] = p * (PH_ULPS_EXP + PH_ULPS_DIV);
    }
    if (lse != NULL) {
      lse->real[number] = row.lse;
      log_magnitudes(lse, number, spread, &row);
    }
    ph_index_next(r.x.rank, r.dims, r.index);
  }
  return PH_OK;
}

/* The log of softmax's result, so -inf where that is 0, in an empty row too. */
ph_status ph_oracle_log_softmax(const ph_oracle_call *call) {
  ph_rows r;
  PH_TRY(ph_rows_open(call, &r));
  ph_oracle_output *y = ph_call_output(call, 0);
  int64_t count = ph_rows_count(&r);
  for (int64_t number = 0; number < count; number++) {
    int64_t to = ph_rows_read(&r, number);
    ph_softmax_row row = ph_softmax_of(r.row, r.length, -INFINITY, r.out);
    for (int64_t i = 0; i < r.length; i++) {
      double below = r.row[i] == -INFINITY ? -INFINITY : r.row[i] - row.max;
      y->real[to + i * r.inner] = r.row[i] == -INFINITY ? -INFINITY : below - log(row.sum);
      log_magnitudes(y, to + i * r.inner, fabs(below), &row);
    }
    ph_index_next(r.x.rank, r.dims, r.index);
  }
  return PH_OK;
}

/* 1 at the first maximum; NaN counts as the maximum, a row of -inf has none. */
ph_status ph_oracle_hardmax(const ph_oracle_call *call) {
  ph_rows r;
  PH_TRY(ph_rows_open(call, &r));
  ph_oracle_output *y = ph_call_output(call, 0);
  int64_t count = ph_rows_count(&r);
  for (int64_t number = 0; number < count; number++) {
    int64_t to = ph_rows_read(&r, number), best = -1;
    double max = -INFINITY;
    for (int64_t i = 0; i < r.length && !isnan(max); i++)
      if (r.row[i] > max || isnan(r.row[i])) {
        best = i;
        max = r.row[i];
      }
    if (best >= 0) y->real[to + best * r.inner] = 1;
    ph_index_next(r.x.rank, r.dims, r.index);
  }
  return PH_OK;
}
