/* add: a + b.  Both come with the dims of y; where one repeats along an axis, its stride there is 0. */
#include "op.h"

/* Where the element lies that has place `index` in row-major order. */
static int64_t place(const struct operand *operand, int64_t index) {
  int64_t at = 0;
  for (uint32_t axis = operand->rank; axis-- > 0;) {
    at += index % operand->dims[axis] * operand->strides[axis];
    index /= operand->dims[axis];
  }
  return at;
}

void run_add(const struct task *task) {
  const struct operand *a = &task->in[0], *b = &task->in[1], *y = &task->out[0]; /* outputs are always dense */
  for (int64_t i = 0; i < y->count; i++) y->data[i] = a->data[place(a, i)] + b->data[place(b, i)];
}
