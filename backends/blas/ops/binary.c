/* add, sub, mul, div: two operands, either of which may repeat along axes. */
#include <string.h>

#include "base/dtype.h"
#include "blas/op.h"

typedef void binary_run(const float *a, int64_t step_a, const float *b, int64_t step_b, int64_t count, float *y);

#define RUN(name, expression)                                                                                          \
  static void name(const float *a, int64_t step_a, const float *b, int64_t step_b, int64_t count, float *y) {          \
    for (int64_t i = 0; i < count; i++, a += step_a, b += step_b) y[i] = expression;                                   \
  }
RUN(run_add, *a + *b)
RUN(run_sub, *a - *b)
RUN(run_mul, *a **b)
RUN(run_div, *a / *b)

typedef struct binary {
  binary_run *run;
  uint32_t outer; /* axes before those that both operands walk in one step */
  int64_t length; /* of that walk */
  int64_t step_a, step_b;
} binary;

/* True where axis `axis` goes on where the walk over the later ones, `length` elements of `step`, ends. */
static bool continues(const blas_operand *operand, uint32_t axis, int64_t length, int64_t step) {
  return operand->dims[axis] == 1 || operand->strides[axis] == length * step;
}

static ph_status plan_binary(blas_planner *planner, binary_run *run, ph_error *error) {
  const blas_operand *a = &planner->node->in[0], *b = &planner->node->in[1], *y = &planner->node->out[0];
  if (!ph_dtype_is_real(y->dtype))
    return ph_fail(error, PH_UNSUPPORTED, "%s of %s: blas computes with f32, f16 and bf16; cast before it",
                   planner->source->op, ph_dtype_name(y->dtype));
  binary *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  *p = (binary){.run = run, .outer = y->rank, .length = 1};
  if (y->rank == 0) return PH_OK;
  p->outer--;
  p->length = y->dims[p->outer];
  p->step_a = a->strides[p->outer];
  p->step_b = b->strides[p->outer];
  while (p->outer > 0 && continues(a, p->outer - 1, p->length, p->step_a) &&
         continues(b, p->outer - 1, p->length, p->step_b))
    p->length *= y->dims[--p->outer];
  return PH_OK;
}

static void run_binary(const blas_call *call) {
  const binary *p = call->node->parameters;
  const blas_operand *a = &call->node->in[0], *b = &call->node->in[1], *y = &call->node->out[0];
  int64_t index[PH_MAX_RANK] = {0};
  float *to = call->out[0];
  do {
    const float *from_a = call->in[0], *from_b = call->in[1];
    for (uint32_t i = 0; i < p->outer; i++) {
      from_a += index[i] * a->strides[i];
      from_b += index[i] * b->strides[i];
    }
    p->run(from_a, p->step_a, from_b, p->step_b, p->length, to);
    to += p->length;
  } while (blas_next(p->outer, y->dims, index));
}

#define BINARY(name_)                                                                                                  \
  static ph_status plan_##name_(blas_planner *planner, ph_error *error) {                                              \
    return plan_binary(planner, run_##name_, error);                                                                   \
  }                                                                                                                    \
  const blas_op blas_##name_ = {                                                                                       \
      .name = #name_, .version = 1, .computes = true, .repeats = true, .plan = plan_##name_, .run = run_binary}
BINARY(add);
BINARY(sub);
BINARY(mul);
BINARY(div);
