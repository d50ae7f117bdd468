/* Ops that move elements: embedding, heads, cache_write. */
#include "kernels.h"

ph_status kernel_embedding(kernel_run *run) {
  const kernel_array *ids = &run->inputs[0], *table = &run->inputs[1];
  int64_t width = table->dims[1];
  for (int64_t row = 0; row < ids->count; row++) {
    int64_t id = ids->integer[row];
    bool inside = id >= 0 && id < table->dims[0];
    for (int64_t n = 0; n < width; n++)
      run->outputs[0].real[row * width + n] = inside ? table->real[id * width + n] : NAN;
  }
  return PH_OK;
}

/* Copies between [B, S, heads * D] and [B, heads, S, D]. */
static ph_status move_heads(kernel_run *run, const kernel_array *apart, bool split) {
  const float *x = run->inputs[0].real;
  float *y = run->outputs[0].real;
  int64_t heads = apart->dims[1], rows = apart->dims[2], depth = apart->dims[3];
  for (int64_t b = 0; b < apart->dims[0]; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t s = 0; s < rows; s++)
        for (int64_t d = 0; d < depth; d++) {
          int64_t at = ((b * heads + h) * rows + s) * depth + d, merged = (b * rows + s) * heads * depth;
          int64_t inside = KERNEL_LINE(run, BUG_HEADS_SWAPPED, h * depth + d, d * heads + h);
          y[split ? at : merged + inside] = x[split ? merged + inside : at];
        }
  return PH_OK;
}

ph_status kernel_split_heads(kernel_run *run) {
  return move_heads(run, &run->outputs[0], true);
}
ph_status kernel_concat_heads(kernel_run *run) {
  return move_heads(run, &run->inputs[0], false);
}

ph_status kernel_cache_write(kernel_run *run) {
  const kernel_array *cache = &run->inputs[0], *x = &run->inputs[1], *offset = &run->inputs[2];
  float *y = run->outputs[0].real;
  int64_t axis = ph_node_int(run->node, "axis", 2), slots = cache->dims[axis], rows = x->dims[axis], inner = 1;
  for (uint32_t i = (uint32_t)axis + 1; i < cache->rank; i++) inner *= cache->dims[i];
  bool ring = ph_node_int(run->node, "ring", 0) != 0;
  for (int64_t i = 0; i < cache->count; i++) y[i] = cache->real[i];
  for (int64_t i = 0; i < x->count; i++) {
    int64_t outer = i / inner / rows, b = i / (x->count / x->dims[0]);
    int64_t slot = offset->integer[offset->count > 1 ? b : 0] + i / inner % rows;
    if (ring && slot >= 0) slot %= slots;
    if (slot >= 0 && slot < slots) y[(outer * slots + slot) * inner + i % inner] = x->real[i];
  }
  return PH_OK;
}
