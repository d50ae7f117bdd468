/* add, sub, mul, div: two operands, either of which may repeat along axes. */
#include <string.h>

#include "base/dtype.h"
#include "blas/op.h"

/* Strides in elements; 0 repeats. */
typedef void binary_run(const void *a, int64_t step_a, const void *b, int64_t step_b, int64_t count, void *y);

/* Integers are added as unsigned ones: overflow wraps. */
#define RUN(name, type, operator)                                                                                      \
  static void name(const void *a, int64_t step_a, const void *b, int64_t step_b, int64_t count, void *y) {             \
    const type *from_a = a, *from_b = b;                                                                               \
    type *to = y;                                                                                                      \
    for (int64_t i = 0; i < count; i++) to[i] = from_a[i * step_a] operator from_b[i * step_b];                        \
  }
RUN(add_f32, float, +)
RUN(sub_f32, float, -)
RUN(mul_f32, float, *)
RUN(div_f32, float, /)
RUN(add_i32, uint32_t, +)
RUN(sub_i32, uint32_t, -)
RUN(mul_i32, uint32_t, *)
RUN(add_i64, uint64_t, +)
RUN(sub_i64, uint64_t, -)
RUN(mul_i64, uint64_t, *)

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

static ph_status plan_binary(blas_planner *planner, binary_run *f32, binary_run *i32, binary_run *i64,
                             ph_error *error) {
  const blas_operand *a = &planner->node->in[0], *b = &planner->node->in[1], *y = &planner->node->out[0];
  binary_run *run = y->dtype == PH_I32 ? i32 : y->dtype == PH_I64 ? i64 : ph_dtype_is_real(y->dtype) ? f32 : NULL;
  if (run == NULL)
    return ph_fail(error, PH_UNSUPPORTED, "%s of %s: blas takes f32, f16 and bf16 there%s", planner->source->op,
                   ph_dtype_name(y->dtype), i32 != NULL ? ", i32 and i64" : "");
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
  size_t size = y->dtype == PH_I64 ? sizeof(int64_t) : sizeof(float); /* of what the loops see */
  int64_t index[PH_MAX_RANK] = {0};
  char *to = call->out[0];
  do {
    const char *from_a = call->in[0], *from_b = call->in[1];
    for (uint32_t i = 0; i < p->outer; i++) {
      from_a += (size_t)(index[i] * a->strides[i]) * size;
      from_b += (size_t)(index[i] * b->strides[i]) * size;
    }
    p->run(from_a, p->step_a, from_b, p->step_b, p->length, to);
    to += (size_t)p->length * size;
  } while (blas_next(p->outer, y->dims, index));
}

#define BINARY(name_, ...)                                                                                             \
  static ph_status plan_##name_(blas_planner *planner, ph_error *error) {                                              \
    return plan_binary(planner, __VA_ARGS__, error);                                                                   \
  }                                                                                                                    \
  const blas_op blas_##name_ = {                                                                                       \
      .name = #name_, .version = 1, .computes = true, .repeats = true, .plan = plan_##name_, .run = run_binary}
BINARY(add, add_f32, add_i32, add_i64);
BINARY(sub, sub_f32, sub_i32, sub_i64);
BINARY(mul, mul_f32, mul_i32, mul_i64);
BINARY(div, div_f32, NULL, NULL);
