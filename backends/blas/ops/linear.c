/* linear, fused_linear and matmul. */
#include <string.h>

#include "blas/gemm.h"
#include "blas/op.h"

static ph_status check_sizes(int64_t m, int64_t n, int64_t k, ph_error *error) {
  if (blas_gemm_fits(m, n, k)) return PH_OK;
  return ph_fail(error, PH_UNSUPPORTED, "a product of %lld x %lld x %lld: BLAS takes extents up to 2147483647",
                 (long long)m, (long long)n, (long long)k);
}

/* ---- linear ---- */

typedef struct linear {
  int64_t rows, depth, width;
  bool in_out;
  const char *activation; /* an op's name, or "none"; of fused_linear, as are those below */
  bool tanh_form;
} linear;

static ph_status plan_linear(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0], *weight = &planner->node->in[1];
  linear *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  p->in_out = ph_node_is(planner->source, "layout", "in_out");
  p->rows = blas_product(x->dims, x->rank - 1);
  p->depth = x->dims[x->rank - 1];
  p->width = weight->dims[p->in_out ? 1 : 0];
  return check_sizes(p->rows, p->width, p->depth, error);
}

static void run_linear(const blas_call *call) {
  const linear *p = call->node->parameters;
  const float *bias = call->in[2];
  float *y = call->out[0];
  for (int64_t i = 0; bias != NULL && i < p->rows; i++)
    memcpy(y + i * p->width, bias, (size_t)p->width * sizeof(float));
  blas_matrix x = {.data = call->in[0], .stride = p->depth};
  blas_matrix weight = {.data = call->in[1], .stride = p->in_out ? p->width : p->depth, .transposed = !p->in_out};
  blas_gemm(p->rows, p->width, p->depth, 1, x, weight, bias != NULL, y, p->width);
}

const blas_op blas_linear = {.name = "linear",
                             .version = 1,
                             .computes = true,
                             .stages = {[PH_STAGE_ACCUM] = PH_F32},
                             .plan = plan_linear,
                             .run = run_linear};

/* ---- linear with what follows it ---- */

static ph_status plan_fused_linear(blas_planner *planner, ph_error *error) {
  static const char *const known[] = {"none", "relu", "gelu", "silu", "tanh", "sigmoid"};
  PH_TRY(plan_linear(planner, error));
  linear *p = planner->node->parameters;
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    if (ph_node_is(planner->source, "activation", known[i])) p->activation = known[i];
  p->tanh_form = ph_node_is(planner->source, "form", "tanh");
  return p->activation != NULL ? PH_OK : ph_fail(error, PH_UNSUPPORTED, "blas does not know this activation");
}

static void run_fused_linear(const blas_call *call) {
  const linear *p = call->node->parameters;
  int64_t count = call->node->out[0].count;
  const float *residual = call->in[3];
  float *y = call->out[0];
  run_linear(call);
  blas_activate(p->activation, p->tanh_form, y, count);
  for (int64_t i = 0; residual != NULL && i < count; i++) y[i] += residual[i];
}

const blas_op blas_fused_linear = {.name = "fused_linear",
                                   .version = 1,
                                   .computes = true,
                                   .stages = {[PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
                                   .plan = plan_fused_linear,
                                   .run = run_fused_linear};

/* ---- matmul ---- */

typedef struct matmul {
  uint32_t batch_axes;
  int64_t batch[PH_MAX_RANK];
  int64_t rows, columns, depth;
  bool transpose_a, transpose_b;
} matmul;

/* The matrix itself must not repeat; its strides are then those of a dense one.  In an empty one they mean nothing. */
static bool is_matrix(const blas_operand *operand) {
  if (operand->count == 0) return true;
  for (uint32_t i = operand->rank - 2; i < operand->rank; i++)
    if (operand->strides[i] == 0 && operand->dims[i] > 1) return false;
  return true;
}

static ph_status plan_matmul(blas_planner *planner, ph_error *error) {
  const blas_operand *a = &planner->node->in[0], *b = &planner->node->in[1];
  matmul *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  if (!is_matrix(a) || !is_matrix(b))
    return ph_fail(error, PH_UNSUPPORTED, "rows or columns that repeat: blas takes repeated batch axes only");
  p->transpose_a = ph_node_int(planner->source, "transpose_a", 0) != 0;
  p->transpose_b = ph_node_int(planner->source, "transpose_b", 0) != 0;
  const int64_t *last_a = a->dims + a->rank - 2, *last_b = b->dims + b->rank - 2;
  p->rows = last_a[p->transpose_a ? 1 : 0];
  p->depth = last_a[p->transpose_a ? 0 : 1];
  p->columns = last_b[p->transpose_b ? 0 : 1];
  p->batch_axes = a->rank - 2;
  bool b_is_shared = true;
  for (uint32_t i = 0; i < p->batch_axes; i++) {
    p->batch[i] = a->dims[i] == 1 ? b->dims[i] : a->dims[i];
    b_is_shared = b_is_shared && b->strides[i] == 0;
  }
  /* One b for all: the rows of all a make one product. */
  int64_t all_rows = blas_product(p->batch, p->batch_axes) * p->rows;
  if (b_is_shared && !p->transpose_a && a->count == all_rows * p->depth && blas_gemm_fits(all_rows, 0, 0)) {
    p->rows = all_rows;
    p->batch_axes = 0;
  }
  return check_sizes(p->rows, p->columns, p->depth, error);
}

static void run_matmul(const blas_call *call) {
  const matmul *p = call->node->parameters;
  const blas_operand *a = &call->node->in[0], *b = &call->node->in[1];
  float *y = call->out[0];
  int64_t index[PH_MAX_RANK] = {0};
  do {
    const float *matrix_a = call->in[0], *matrix_b = call->in[1];
    for (uint32_t i = 0; i < p->batch_axes && p->depth > 0; i++) {
      matrix_a += index[i] * a->strides[i];
      matrix_b += index[i] * b->strides[i];
    }
    blas_gemm(p->rows, p->columns, p->depth, 1,
              (blas_matrix){matrix_a, p->transpose_a ? p->rows : p->depth, p->transpose_a},
              (blas_matrix){matrix_b, p->transpose_b ? p->depth : p->columns, p->transpose_b}, false, y, p->columns);
    y += p->rows * p->columns;
  } while (blas_next(p->batch_axes, p->batch, index));
}

const blas_op blas_matmul = {.name = "matmul",
                             .version = 1,
                             .computes = true,
                             .repeats = true,
                             .stages = {[PH_STAGE_ACCUM] = PH_F32},
                             .plan = plan_matmul,
                             .run = run_matmul};
