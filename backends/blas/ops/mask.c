/* mask: scores plus biases, -inf where a query may not look. */
#include <math.h>
#include <string.h>

#include "blas/mask_rule.h"

static ph_status plan_mask(blas_planner *planner, ph_error *error) {
  const int64_t *dims = planner->node->in[0].dims; /* [B, H, Sq, Sk] */
  blas_mask_rule *rule = blas_parameters(planner, sizeof(*rule));
  if (rule == NULL) return ph_fail_memory(error);
  return blas_mask_rule_read(planner, 1, dims[1], dims[2], dims[3], rule, error);
}

static void run_mask(const blas_call *call) {
  const blas_mask_rule *rule = call->node->parameters;
  const int64_t *dims = call->node->in[0].dims;
  const float *scores = call->in[0];
  float *y = call->out[0];
  int64_t index[3] = {0};
  do {
    blas_mask_row row = {index[0], index[1], index[2]};
    int64_t first, last;
    blas_mask_span(rule, call, row, &first, &last);
    for (int64_t j = 0; j < first; j++) y[j] = -INFINITY;
    for (int64_t j = first; j < last; j++) y[j] = scores[j];
    for (int64_t j = last; j < rule->keys; j++) y[j] = -INFINITY;
    blas_mask_apply(rule, call, row, first, last, y + first);
    scores += rule->keys;
    y += rule->keys;
  } while (blas_next(3, dims, index));
}

const blas_op blas_mask = {.name = "mask",
                           .version = 1,
                           .computes = true,
                           .stages = {[PH_STAGE_ACCUM] = PH_F32},
                           .plan = plan_mask,
                           .run = run_mask};
