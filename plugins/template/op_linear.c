/* linear: x [.., in] times weight [out, in] (layout out_in) or [in, out] (layout in_out), plus bias [out]. */
#include <stdlib.h>

#include "op.h"

void read_linear(const ph_node *node, struct settings *out) {
  out->in_out = ph_node_is(node, "layout", "in_out");
}

/* The inner loop of run_linear() runs along a row of [in, out].  A constant weight that lies the other way is turned
 * once, here, and not in every run.  A weight may also be an input; then there is nothing to be packed. */
float *pack_linear(const ph_graph *graph, const ph_node *node, bool *out_of_memory) {
  const ph_tensor_desc *weight = ph_node_input(graph, node, 1);
  if (weight->kind != PH_TENSOR_CONSTANT || ph_node_is(node, "layout", "in_out")) return NULL;
  int64_t width = weight->dims[0], depth = weight->dims[1]; /* dims of constants never vary */
  if (width == 0 || depth == 0) return NULL;
  float *packed = malloc((size_t)width * (size_t)depth * sizeof(float));
  *out_of_memory = packed == NULL;
  for (int64_t n = 0; packed != NULL && n < width; n++)
    for (int64_t k = 0; k < depth; k++) packed[k * width + n] = ((const float *)weight->data)[n * depth + k];
  return packed;
}

void run_linear(const struct task *task) {
  const struct operand *x = &task->in[0], *weight = &task->in[1], *bias = &task->in[2], *y = &task->out[0];
  int64_t depth = x->dims[x->rank - 1], width = y->dims[y->rank - 1], rows = y->count / width;
  bool in_out = task->settings.in_out || task->packed != NULL;
  const float *w = task->packed != NULL ? task->packed : weight->data;
  int64_t step_in = in_out ? width : 1, step_out = in_out ? 1 : depth; /* in elements of w */
  for (int64_t row = 0; row < rows; row++) {
    const float *from = x->data + row * depth;
    float *to = y->data + row * width;
    for (int64_t n = 0; n < width; n++) to[n] = bias->data != NULL ? bias->data[n] : 0;
    for (int64_t k = 0; k < depth; k++)
      for (int64_t n = 0; n < width; n++) to[n] += from[k] * w[k * step_in + n * step_out];
  }
}
