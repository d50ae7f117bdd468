/* linear, fused_linear and matmul: sums of products. */
#include "oracle/ops.h"
#include "oracle/tolerance.h"

/* Each row of x [rows, depth] times one row of the weight, into column n of y [rows, width]. */
static void fill_column(ph_oracle_output *y, int64_t rows, int64_t width, int64_t n, int64_t depth, const double *x,
                        const double *weight, double bias) {
  double *accum = y->magnitude[PH_MAGNITUDE_ACCUM];
  for (int64_t m = 0; m < rows; m++) {
    ph_sum sum = ph_sum_products(x + m * depth, weight, depth, accum != NULL);
    y->real[m * width + n] = sum.value + bias;
    if (accum != NULL) accum[m * width + n] = (1 + sqrt((double)depth)) * sum.size + ph_sum_excess(&sum) + fabs(bias);
  }
}

ph_status ph_oracle_linear(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0), weight = ph_call_input(call, 1), bias = ph_call_input(call, 2);
  ph_oracle_output *y = ph_call_output(call, 0);
  bool in_out = ph_call_is(call, "layout", "in_out");
  int64_t depth = x.dims[x.rank - 1], rows = ph_product(x.rank - 1, x.dims), width = weight.dims[in_out ? 1 : 0];
  int64_t to_next = weight.strides[in_out ? 1 : 0], step = weight.strides[in_out ? 0 : 1];
  double *rows_of_x = ph_call_reals(call, x.count), *row = ph_call_reals(call, depth);
  if (rows_of_x == NULL || row == NULL) return ph_fail_memory(call->error);
  ph_view_read(&x, rows_of_x);
  for (int64_t n = 0; n < width; n++) {
    ph_view_run(&weight, n * to_next, step, depth, row);
    fill_column(y, rows, width, n, depth, rows_of_x, row, bias.present ? ph_view_real(&bias, n * bias.strides[0]) : 0);
  }
  return PH_OK;
}

/* The linear layer is off by up to `reach`, its own tolerance; the activation carries that on with its steepest slope
 * there (mean value theorem), and makes its own errors.  A residual without an activation may be added anywhere in the
 * sum. */
static void finish_element(const ph_activation *activation, double residual, bool linear, ph_oracle_output *y,
                           int64_t i) {
  double *accum = y->magnitude[PH_MAGNITUDE_ACCUM], sum = y->real[i];
  double reach = accum != NULL ? PH_TOLERANCE_C * PH_F32_ROUNDOFF * accum[i] : 0;
  ph_point point = ph_activation_at(activation, sum, reach);
  y->real[i] = point.value + residual;
  if (accum == NULL) return;
  if (!isfinite(sum)) { /* exact at infinity and NaN */
    accum[i] = 0;
    return;
  }
  accum[i] = point.slope * accum[i] + (linear ? fabs(residual) : 0);
  y->magnitude[PH_MAGNITUDE_WEIGHT][i] = point.weight;
  y->magnitude[PH_MAGNITUDE_BUILTIN][i] = point.builtin;
}

ph_status ph_oracle_fused_linear(const ph_oracle_call *call) {
  const ph_activation *activation;
  PH_TRY(ph_activation_find(call, &activation));
  PH_TRY(ph_oracle_linear(call));
  ph_view residual = ph_call_input(call, 3);
  ph_oracle_output *y = ph_call_output(call, 0);
  bool linear = ph_call_is(call, "activation", "none");
  int64_t index[PH_MAX_RANK] = {0};
  for (int64_t i = 0; i < y->count; i++) {
    double added = residual.present ? ph_view_real(&residual, ph_view_at(&residual, residual.rank, index)) : 0;
    finish_element(activation, added, linear, y, i);
    if (residual.present) ph_index_next(residual.rank, residual.dims, index);
  }
  return PH_OK;
}

/* One matrix of a batch as a view of rank 2, its axes swapped on demand. */
static ph_view matrix(const ph_view *batch, const int64_t *index, bool swap) {
  uint32_t outer = batch->rank - 2;
  ph_view view = {.present = true, .dtype = batch->dtype, .rank = 2};
  for (uint32_t i = 0; i < 2; i++) {
    view.dims[i] = batch->dims[outer + (swap ? 1 - i : i)];
    view.strides[i] = batch->strides[outer + (swap ? 1 - i : i)];
  }
  view.count = view.dims[0] * view.dims[1];
  int64_t at = 0;
  for (uint32_t i = 0; i < outer && view.count > 0; i++) at += index[i] * batch->strides[i];
  view.data = (const char *)batch->data + (size_t)at * ph_dtype_size(batch->dtype);
  return view;
}

ph_status ph_oracle_matmul(const ph_oracle_call *call) {
  ph_view a = ph_call_input(call, 0), b = ph_call_input(call, 1);
  ph_oracle_output y = *ph_call_output(call, 0);
  if (a.rank < 2 || b.rank != a.rank)
    return ph_fail(call->error, PH_INVALID, "node '%s': operands of matmul come with one rank, at least 2",
                   call->node->id);
  if (y.count == 0) return PH_OK;
  bool swap_a = ph_call_integer(call, "transpose_a", 0) != 0, swap_b = ph_call_integer(call, "transpose_b", 0) != 0;
  uint32_t outer = a.rank - 2;
  int64_t index[PH_MAX_RANK] = {0}, batch[PH_MAX_RANK];
  for (uint32_t i = 0; i < outer; i++) batch[i] = a.dims[i] == 1 ? b.dims[i] : a.dims[i];
  ph_view left = matrix(&a, index, swap_a), right = matrix(&b, index, !swap_b); /* right: [columns, depth] */
  int64_t rows = left.dims[0], depth = left.dims[1], columns = right.dims[0];
  double *rows_of_a = ph_call_reals(call, left.count), *columns_of_b = ph_call_reals(call, right.count);
  if (rows_of_a == NULL || columns_of_b == NULL) return ph_fail_memory(call->error);
  do {
    left = matrix(&a, index, swap_a);
    right = matrix(&b, index, !swap_b);
    ph_view_read(&left, rows_of_a);
    ph_view_read(&right, columns_of_b);
    for (int64_t n = 0; n < columns; n++)
      fill_column(&y, rows, columns, n, depth, rows_of_a, columns_of_b + n * depth, 0);
    y.real += rows * columns;
    if (y.magnitude[PH_MAGNITUDE_ACCUM] != NULL) y.magnitude[PH_MAGNITUDE_ACCUM] += rows * columns;
  } while (ph_index_next(outer, batch, index));
  return PH_OK;
}
