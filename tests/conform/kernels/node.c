/* Operands from their types and strides to dense arrays of f32, and results back. */
#include <float.h>

#include "base/dtype.h"
#include "kernels.h"

/* Where element number `index` in row-major order lies, in elements. */
static size_t place_of(const ph_tensor_desc *desc, int64_t index) {
  int64_t place = 0;
  for (uint32_t axis = desc->rank; axis-- > 0;) {
    place += index % desc->dims[axis] * desc->strides[axis];
    index /= desc->dims[axis];
  }
  return (size_t)place;
}

uint64_t kernel_tensor_bytes(const ph_tensor_desc *desc) {
  int64_t count = ph_desc_count(desc);
  return count > 0 ? (place_of(desc, count - 1) + 1) * ph_dtype_size(desc->dtype) : 0;
}

static bool open_array(kernel_run *run, const ph_tensor_desc *desc, kernel_array *out) {
  out->present = desc != NULL;
  if (desc == NULL) return true;
  out->rank = desc->rank;
  out->count = ph_desc_count(desc);
  for (uint32_t i = 0; i < desc->rank; i++) out->dims[i] = desc->dims[i];
  if (ph_dtype_is_real(desc->dtype))
    out->real = ph_arena_array(&run->scratch, (size_t)out->count, sizeof(*out->real));
  else
    out->integer = ph_arena_array(&run->scratch, (size_t)out->count, sizeof(*out->integer));
  return out->real != NULL || out->integer != NULL;
}

static void read_array(const ph_tensor_desc *desc, const void *data, kernel_array *to) {
  for (int64_t i = 0; i < to->count; i++)
    if (to->real != NULL)
      to->real[i] = (float)ph_read_real(desc->dtype, data, place_of(desc, i));
    else
      to->integer[i] = ph_read_integer(desc->dtype, data, place_of(desc, i));
}

ph_status kernel_open(kernel_run *run, void *const *data) {
  const ph_node *node = run->node;
  for (uint32_t role = 0; role < node->input_count; role++) {
    const ph_tensor_desc *desc = ph_node_input(run->graph, node, role);
    if (!open_array(run, desc, &run->inputs[role])) return ph_fail_memory(run->error);
    if (desc != NULL) read_array(desc, data[node->inputs[role]], &run->inputs[role]);
  }
  for (uint32_t slot = 0; slot < node->output_count; slot++)
    if (!open_array(run, ph_node_output(run->graph, node, slot), &run->outputs[slot]))
      return ph_fail_memory(run->error);
  return PH_OK;
}

static void store_array(kernel_run *run, ph_dtype dtype, const kernel_array *from, void *data) {
  if (from->count == 0 || KERNEL_LINE(run, BUG_STALE_OUTPUT, false, true)) return;
  int64_t end = KERNEL_LINE(run, BUG_WRITE_PAST_END, from->count, from->count + 1);
  for (int64_t i = 0; i < end; i++) ph_write_real(dtype, data, (size_t)i, from->real[i % from->count]);
}

void kernel_store(kernel_run *run, void *const *data) {
  for (uint32_t slot = 0; slot < run->node->output_count; slot++) {
    const ph_tensor_desc *desc = ph_node_output(run->graph, run->node, slot);
    if (desc != NULL) store_array(run, desc->dtype, &run->outputs[slot], data[run->node->outputs[slot]]);
  }
}

int64_t kernel_at(const kernel_array *array, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t index[] = {a, b, c, d};
  int64_t at = 0;
  for (uint32_t axis = 0; axis < 4; axis++) at = at * array->dims[axis] + (array->dims[axis] > 1 ? index[axis] : 0);
  return at;
}

float *kernel_reals(kernel_run *run, int64_t count) {
  return ph_arena_array(&run->scratch, (size_t)count, sizeof(float));
}

/* ---- does a bug show? ---- */

/* In the class (NaN, infinity) of a result, or by more than a thousandth of the largest one beside it. */
static bool shows_in(const kernel_array *wrong, const kernel_array *right) {
  float largest = 0;
  for (int64_t i = 0; i < right->count; i++)
    if (isfinite(right->real[i])) largest = fmaxf(largest, fabsf(right->real[i]));
  for (int64_t i = 0; i < right->count; i++) {
    float a = wrong->real[i], b = right->real[i];
    if (a == b || (isnan(a) && isnan(b))) continue;
    if (!isfinite(a) || !isfinite(b) || fabsf(a - b) > fmaxf(1e-3f * largest, FLT_MIN)) return true;
  }
  return false;
}

/* The bugs that lie in storing alone change every result there is. */
static bool is_in_store(kernel_bug bug) {
  return bug == BUG_STALE_OUTPUT || bug == BUG_WRITE_PAST_END;
}

bool kernel_bug_shows(const kernel_run *wrong, const kernel_run *right) {
  bool shows = false;
  for (uint32_t slot = 0; slot < wrong->node->output_count; slot++)
    shows = shows || (is_in_store(wrong->bug) ? right->outputs[slot].count > 0
                                              : shows_in(&wrong->outputs[slot], &right->outputs[slot]));
  return shows;
}
