/* linear, fused_linear and matmul: plain serial sums of products. */
#include "kernels.h"

/* y [rows, columns] = x [rows, depth] times w, whose element (column, depth) is w[column * across + depth * down]. */
typedef struct product {
  const float *x, *w, *bias; /* bias may be NULL */
  int64_t rows, columns, depth, x_row, x_step, across, down;
} product;

static void multiply(kernel_run *run, const product *p, float *y) {
  bool square = p->columns == p->depth;
  for (int64_t m = 0; m < p->rows; m++)
    for (int64_t n = 0; n < p->columns; n++) {
      float sum = 0;
      for (int64_t d = 0; d < p->depth; d++) {
        float right = p->w[n * p->across + d * p->down];
        float w =
            square ? KERNEL_LINE(run, BUG_TRANSPOSED_SQUARE_WEIGHT, right, p->w[d * p->across + n * p->down]) : right;
        sum += p->x[m * p->x_row + d * p->x_step] * w;
      }
      if (p->bias != NULL) sum += KERNEL_LINE(run, BUG_BIAS_INDEX, p->bias[n], p->bias[m % p->columns]);
      y[m * p->columns + n] = sum;
    }
}

ph_status kernel_linear(kernel_run *run) {
  const kernel_array *x = &run->inputs[0], *w = &run->inputs[1], *bias = &run->inputs[2];
  bool in_out = ph_node_is(run->node, "layout", "in_out");
  int64_t depth = x->dims[x->rank - 1], columns = w->dims[in_out ? 1 : 0];
  product p = {.x = x->real,
               .w = w->real,
               .bias = bias->present ? bias->real : NULL,
               .rows = columns > 0 ? run->outputs[0].count / columns : 0,
               .columns = columns,
               .depth = depth,
               .x_row = depth,
               .x_step = 1,
               .across = in_out ? 1 : depth,
               .down = in_out ? columns : 1};
  multiply(run, &p, run->outputs[0].real);
  return PH_OK;
}

ph_status kernel_fused_linear(kernel_run *run) {
  float *y = run->outputs[0].real;
  const kernel_array *residual = &run->inputs[3];
  PH_TRY(kernel_linear(run));
  for (int64_t i = 0; i < run->outputs[0].count; i++) {
    float added = residual->present ? residual->real[i] : 0;
    y[i] = KERNEL_LINE(run, BUG_RESIDUAL_FIRST, kernel_activation(run->node, y[i]) + added,
                       kernel_activation(run->node, y[i] + added));
  }
  return PH_OK;
}

ph_status kernel_matmul(kernel_run *run) {
  const kernel_array *a = &run->inputs[0], *b = &run->inputs[1], *y = &run->outputs[0];
  bool turned_a = ph_node_int(run->node, "transpose_a", 0) != 0, turned_b = ph_node_int(run->node, "transpose_b", 0);
  uint32_t rank = y->rank;
  int64_t rows = y->dims[rank - 2], columns = y->dims[rank - 1], depth = a->dims[turned_a ? rank - 2 : rank - 1];
  product p = {.rows = rows,
               .columns = columns,
               .depth = depth,
               .x_row = turned_a ? 1 : depth,
               .x_step = turned_a ? rows : 1,
               .across = turned_b ? depth : 1,
               .down = turned_b ? 1 : columns};
  int64_t batches = rows * columns > 0 ? y->count / (rows * columns) : 0;
  for (int64_t batch = 0; batch < batches; batch++) {
    p.x = a->real + batch * rows * depth;
    p.w = b->real + batch * depth * columns;
    multiply(run, &p, y->real + batch * rows * columns);
  }
  return PH_OK;
}
