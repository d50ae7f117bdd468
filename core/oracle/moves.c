/* Ops that move elements and change none: heads, concat, split, slice, transpose, reshape, expand, gather, embedding,
 * cache_write; and cast, which changes only the type. */
#include "oracle/ops.h"

/* Copies one element, as an integer where the output holds integers. */
static void copy(ph_oracle_output *y, int64_t to, const ph_view *x, int64_t at) {
  if (y->integer != NULL)
    y->integer[to] = ph_view_integer(x, at);
  else
    y->real[to] = ph_view_real(x, at);
}

/* y takes its elements from x at `at` + the index in y times `strides`. */
static void copy_strided(ph_oracle_output *y, uint32_t rank, const int64_t *dims, const ph_view *x, int64_t at,
                         const int64_t *strides) {
  int64_t index[PH_MAX_RANK] = {0};
  for (int64_t to = 0; to < y->count; to++) {
    int64_t from = at;
    for (uint32_t i = 0; i < rank; i++) from += index[i] * strides[i];
    copy(y, to, x, from);
    ph_index_next(rank, dims, index);
  }
}

/* ---- heads ---- */

/* [B, S, heads * D] to [B, heads, S, D] */
ph_status ph_oracle_split_heads(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  const ph_tensor_desc *desc = ph_call_output_desc(call, 0);
  int64_t strides[] = {x.strides[0], desc->dims[3] * x.strides[2], x.strides[1], x.strides[2]};
  copy_strided(ph_call_output(call, 0), 4, desc->dims, &x, 0, strides);
  return PH_OK;
}

/* [B, H, S, D] to [B, S, H * D] */
ph_status ph_oracle_concat_heads(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  int64_t dims[] = {x.dims[0], x.dims[2], x.dims[1], x.dims[3]};
  int64_t strides[] = {x.strides[0], x.strides[2], x.strides[1], x.strides[3]};
  copy_strided(ph_call_output(call, 0), 4, dims, &x, 0, strides);
  return PH_OK;
}

/* ---- the same elements under another index ---- */

ph_status ph_oracle_concat(const ph_oracle_call *call) {
  ph_oracle_output *y = ph_call_output(call, 0);
  const ph_tensor_desc *desc = ph_call_output_desc(call, 0);
  uint32_t axis = 0;
  PH_TRY(ph_call_axis(call, desc->rank, 0, &axis));
  int64_t start = 0;
  for (uint32_t role = 0; role < call->node->input_count; role++) {
    ph_view x = ph_call_input(call, role);
    int64_t index[PH_MAX_RANK] = {0};
    for (int64_t i = 0; i < x.count; i++) {
      int64_t to = 0;
      for (uint32_t d = 0; d < x.rank; d++) to = to * desc->dims[d] + index[d] + (d == axis ? start : 0);
      copy(y, to, &x, ph_view_at(&x, x.rank, index));
      ph_index_next(x.rank, x.dims, index);
    }
    start += x.dims[axis];
  }
  return PH_OK;
}

ph_status ph_oracle_split(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  uint32_t axis = 0, parts = 0;
  PH_TRY(ph_call_axis(call, x.rank, 0, &axis));
  const int64_t *into = ph_call_list(call, "into", &parts);
  if (into == NULL || parts != call->node->output_count)
    return ph_fail(call->error, PH_INVALID, "node '%s': into needs one extent for each output", call->node->id);
  int64_t start = 0;
  for (uint32_t part = 0; part < parts; start += into[part], part++) {
    ph_oracle_output *y = ph_call_output(call, part);
    if (y == NULL) continue;
    copy_strided(y, x.rank, ph_call_output_desc(call, part)->dims, &x, start * x.strides[axis], x.strides);
  }
  return PH_OK;
}

ph_status ph_oracle_slice(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  uint32_t axis = 0;
  PH_TRY(ph_call_axis(call, x.rank, 0, &axis));
  int64_t start = ph_call_integer(call, "start", 0);
  if (start < 0) start += x.dims[axis];
  copy_strided(ph_call_output(call, 0), x.rank, ph_call_output_desc(call, 0)->dims, &x, start * x.strides[axis],
               x.strides);
  return PH_OK;
}

ph_status ph_oracle_transpose(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  uint32_t count = 0;
  const int64_t *axes = ph_call_list(call, "axes", &count);
  if (axes == NULL || count != x.rank)
    return ph_fail(call->error, PH_INVALID, "node '%s': axes must name each axis of x once", call->node->id);
  int64_t strides[PH_MAX_RANK];
  for (uint32_t i = 0; i < count; i++) strides[i] = x.strides[axes[i]];
  copy_strided(ph_call_output(call, 0), x.rank, ph_call_output_desc(call, 0)->dims, &x, 0, strides);
  return PH_OK;
}

ph_status ph_oracle_reshape(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  copy_strided(ph_call_output(call, 0), x.rank, x.dims, &x, 0, x.strides);
  return PH_OK;
}

ph_status ph_oracle_expand(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  const ph_tensor_desc *desc = ph_call_output_desc(call, 0);
  int64_t strides[PH_MAX_RANK] = {0};
  for (uint32_t i = 0; i < x.rank; i++) strides[desc->rank - x.rank + i] = x.strides[i];
  copy_strided(ph_call_output(call, 0), desc->rank, desc->dims, &x, 0, strides);
  return PH_OK;
}

/* ---- picked by index ---- */

/* An index outside gives NaN, and 0 where there is no NaN; the host refuses those that come from outside. */
static void spoil(ph_oracle_output *y, int64_t to) {
  if (y->real != NULL) y->real[to] = (double)NAN;
}

/* y [outer, indices, inner] from x [outer, axis, inner], whatever their ranks. */
static void pick(ph_oracle_output *y, const ph_view *x, uint32_t axis, const ph_view *indices, bool from_end) {
  int64_t outer = ph_product(axis, x->dims), extent = x->dims[axis];
  int64_t inner = ph_product(x->rank - axis - 1, x->dims + axis + 1);
  int64_t before[PH_MAX_RANK] = {0}, to = 0;
  for (int64_t o = 0; o < outer; o++) {
    int64_t index[PH_MAX_RANK] = {0};
    for (int64_t i = 0; i < indices->count; i++) {
      int64_t picked = ph_view_integer(indices, ph_view_at(indices, indices->rank, index));
      if (from_end && picked < 0) picked = ph_add_clamped(picked, extent);
      int64_t at[PH_MAX_RANK] = {0};
      for (uint32_t d = 0; d < axis; d++) at[d] = before[d];
      at[axis] = picked;
      for (int64_t n = 0; n < inner; n++, to++) {
        if (picked >= 0 && picked < extent)
          copy(y, to, x, ph_view_at(x, x->rank, at));
        else
          spoil(y, to);
        ph_index_next(x->rank - axis - 1, x->dims + axis + 1, at + axis + 1);
      }
      ph_index_next(indices->rank, indices->dims, index);
    }
    ph_index_next(axis, x->dims, before);
  }
}

ph_status ph_oracle_gather(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0), indices = ph_call_input(call, 1);
  uint32_t axis = 0;
  PH_TRY(ph_call_axis(call, x.rank, 0, &axis));
  pick(ph_call_output(call, 0), &x, axis, &indices, true);
  return PH_OK;
}

ph_status ph_oracle_embedding(const ph_oracle_call *call) {
  ph_view ids = ph_call_input(call, 0), weight = ph_call_input(call, 1);
  pick(ph_call_output(call, 0), &weight, 0, &ids, false);
  return PH_OK;
}

/* Row s of x goes to slot offset + s, in a ring modulo the slots; rows of x that would miss the cache are dropped. */
ph_status ph_oracle_cache_write(const ph_oracle_call *call) {
  ph_view cache = ph_call_input(call, 0), x = ph_call_input(call, 1), offset = ph_call_input(call, 2);
  ph_oracle_output *y = ph_call_output(call, 0);
  uint32_t axis = 0;
  PH_TRY(ph_call_axis(call, cache.rank, 2, &axis));
  bool ring = ph_call_integer(call, "ring", 0) != 0;
  int64_t slots = cache.dims[axis];
  copy_strided(y, cache.rank, cache.dims, &cache, 0, cache.strides);
  int64_t index[PH_MAX_RANK] = {0};
  for (int64_t i = 0; i < x.count; i++) {
    int64_t slot = ph_add_clamped(ph_view_per_sample(&offset, index[0], 0), index[axis]);
    if (ring && slot >= 0) slot %= slots;
    if (slot >= 0 && slot < slots) {
      int64_t to = 0;
      for (uint32_t d = 0; d < cache.rank; d++) to = to * cache.dims[d] + (d == axis ? slot : index[d]);
      copy(y, to, &x, ph_view_at(&x, x.rank, index));
    }
    ph_index_next(x.rank, x.dims, index);
  }
  return PH_OK;
}

/* ---- cast ---- */

/* Towards zero, and kept within the type; NaN gives 0 (as OpenCL's convert_..._sat does). */
static int64_t to_integer(double value, ph_dtype dtype) {
  if (dtype == PH_BOOL) return value != 0;
  if (isnan(value)) return 0;
  double low = dtype == PH_I32 ? (double)INT32_MIN : -0x1p63, high = dtype == PH_I32 ? (double)INT32_MAX : 0x1p63;
  if (value <= low) return dtype == PH_I32 ? INT32_MIN : INT64_MIN;
  if (value >= high) return dtype == PH_I32 ? INT32_MAX : INT64_MAX;
  return (int64_t)value;
}

static int64_t narrow(int64_t value, ph_dtype dtype) {
  return dtype == PH_BOOL ? value != 0 : dtype == PH_I32 ? (int32_t)value : value;
}

ph_status ph_oracle_cast(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  ph_oracle_output *y = ph_call_output(call, 0);
  int64_t index[PH_MAX_RANK] = {0};
  for (int64_t i = 0; i < y->count; i++) {
    int64_t at = ph_view_at(&x, x.rank, index);
    if (y->integer == NULL)
      y->real[i] = ph_view_real(&x, at);
    else if (ph_dtype_is_real(x.dtype))
      y->integer[i] = to_integer(ph_view_real(&x, at), y->dtype);
    else
      y->integer[i] = narrow(ph_view_integer(&x, at), y->dtype);
    ph_index_next(x.rank, x.dims, index);
  }
  return PH_OK;
}
