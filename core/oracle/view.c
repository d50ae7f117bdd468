/* Operands, attributes and indices of a node, as the oracle's ops like them. */
#include <string.h>

#include "oracle/ops.h"

/* ---- the node ---- */

ph_view ph_call_input(const ph_oracle_call *call, uint32_t role) {
  ph_view view = {0};
  if (role >= call->node->input_count || call->node->inputs[role] == PH_NONE) return view;
  uint32_t tensor = call->node->inputs[role];
  const ph_tensor_desc *desc = call->graph->tensors[tensor];
  view.present = true;
  view.dtype = desc->dtype;
  view.rank = desc->rank;
  view.count = ph_product(desc->rank, desc->dims);
  for (uint32_t i = 0; i < desc->rank; i++) {
    view.dims[i] = desc->dims[i];
    view.strides[i] = desc->dims[i] == 1 ? 0 : desc->strides[i];
  }
  view.data = call->data[tensor];
  return view;
}

ph_oracle_output *ph_call_output(const ph_oracle_call *call, uint32_t index) {
  return ph_call_output_desc(call, index) != NULL ? &call->outputs[index] : NULL;
}

const ph_tensor_desc *ph_call_output_desc(const ph_oracle_call *call, uint32_t index) {
  if (index >= call->node->output_count || call->node->outputs[index] == PH_NONE) return NULL;
  return call->graph->tensors[call->node->outputs[index]];
}

double *ph_call_reals(const ph_oracle_call *call, int64_t count) {
  return ph_arena_array(call->scratch, (size_t)count, sizeof(double));
}

/* ---- attributes ---- */

static const ph_attr *attribute(const ph_oracle_call *call, const char *name) {
  for (uint32_t i = 0; i < call->node->attr_count; i++)
    if (strcmp(call->node->attrs[i].name, name) == 0) return &call->node->attrs[i];
  return NULL;
}

int64_t ph_call_integer(const ph_oracle_call *call, const char *name, int64_t absent) {
  const ph_attr *attr = attribute(call, name);
  return attr != NULL && attr->kind == PH_ATTR_I64 ? attr->as.i64 : absent;
}

double ph_call_real(const ph_oracle_call *call, const char *name, double absent) {
  const ph_attr *attr = attribute(call, name);
  return attr != NULL && attr->kind == PH_ATTR_F64 ? attr->as.f64 : absent;
}

bool ph_call_is(const ph_oracle_call *call, const char *name, const char *choice) {
  const ph_attr *attr = attribute(call, name);
  return attr != NULL && attr->kind == PH_ATTR_STRING && strcmp(attr->as.string, choice) == 0;
}

const int64_t *ph_call_list(const ph_oracle_call *call, const char *name, uint32_t *count) {
  const ph_attr *attr = attribute(call, name);
  if (attr == NULL || attr->kind != PH_ATTR_I64_LIST) return NULL;
  *count = attr->as.list.count;
  return attr->as.list.items;
}

ph_status ph_call_axis(const ph_oracle_call *call, uint32_t rank, uint32_t absent, uint32_t *out) {
  int64_t axis = ph_call_integer(call, "axis", absent);
  if (axis < 0 || axis >= rank)
    return ph_fail(call->error, PH_INVALID, "node '%s': axis %lld is outside a rank of %u", call->node->id,
                   (long long)axis, rank);
  *out = (uint32_t)axis;
  return PH_OK;
}

/* ---- views ---- */

int64_t ph_view_at(const ph_view *view, uint32_t rank, const int64_t *index) {
  int64_t at = 0;
  for (uint32_t i = 0; i < view->rank; i++) at += index[rank - view->rank + i] * view->strides[i];
  return at;
}

void ph_view_run(const ph_view *view, int64_t at, int64_t step, int64_t count, double *out) {
  for (int64_t i = 0; i < count; i++) out[i] = ph_view_real(view, at + i * step);
}

void ph_view_read(const ph_view *view, double *out) {
  if (view->count == 0) return;
  uint32_t outer = view->rank > 0 ? view->rank - 1 : 0;
  int64_t length = view->rank > 0 ? view->dims[outer] : 1, step = view->rank > 0 ? view->strides[outer] : 0;
  int64_t index[PH_MAX_RANK] = {0};
  do {
    ph_view_run(view, ph_view_at(view, view->rank, index), step, length, out);
    out += length;
  } while (ph_index_next(outer, view->dims, index));
}

int64_t ph_view_per_sample(const ph_view *view, int64_t sample, int64_t absent) {
  return view->present ? ph_view_integer(view, sample * view->strides[0]) : absent;
}

/* ---- indices ---- */

bool ph_index_next(uint32_t rank, const int64_t *dims, int64_t *index) {
  for (uint32_t i = rank; i-- > 0;) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t ph_product(uint32_t count, const int64_t *dims) {
  int64_t product = 1;
  for (uint32_t i = 0; i < count; i++) product *= dims[i];
  return product;
}

int64_t ph_add_clamped(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

int64_t ph_subtract_clamped(int64_t a, int64_t b) {
  int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

/* ---- rows ---- */

ph_status ph_rows_open(const ph_oracle_call *call, ph_rows *out) {
  *out = (ph_rows){.x = ph_call_input(call, 0)};
  PH_TRY(ph_call_axis(call, out->x.rank, out->x.rank - 1, &out->axis));
  out->length = out->x.dims[out->axis];
  out->inner = ph_product(out->x.rank - out->axis - 1, out->x.dims + out->axis + 1);
  for (uint32_t i = 0; i < out->x.rank; i++) out->dims[i] = i == out->axis ? 1 : out->x.dims[i];
  out->row = ph_call_reals(call, out->length);
  out->out = ph_call_reals(call, out->length);
  return out->row != NULL && out->out != NULL ? PH_OK : ph_fail_memory(call->error);
}

int64_t ph_rows_count(const ph_rows *rows) {
  return ph_product(rows->x.rank, rows->dims);
}

int64_t ph_rows_read(ph_rows *rows, int64_t number) {
  int64_t at = ph_view_at(&rows->x, rows->x.rank, rows->index);
  ph_view_run(&rows->x, at, rows->x.strides[rows->axis], rows->length, rows->row);
  return number / rows->inner * rows->length * rows->inner + number % rows->inner;
}

/* ---- sums ---- */

ph_sum ph_sum_products(const double *a, const double *b, int64_t count, bool all) {
  ph_sum sum = {0};
  for (int64_t i = 0; i < count && all; i++) ph_sum_add(&sum, a[i], b[i]);
  double lanes[4] = {0}; /* so that additions need not wait for one another */
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int64_t lane = 0; lane < 4; lane++) lanes[lane] += a[i + lane] * b[i + lane];
  for (; i < count; i++) lanes[0] += a[i] * b[i];
  sum.value = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  return sum;
}
