/* relu: max(x, 0). */
#include <math.h>

#include "op.h"

void run_relu(const struct task *task) {
  const float *x = task->in[0].data;
  float *y = task->out[0].data;
  /* NaN stays NaN (docs/numerics.md); x > 0 alone would make it 0, and fmaxf(x, 0) too. */
  for (int64_t i = 0; i < task->out[0].count; i++) y[i] = x[i] > 0 || isnan(x[i]) ? x[i] : 0;
}
