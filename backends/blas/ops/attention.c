/* scaled_scores, weighted_sum, attention (Vaswani et al. 2017, section 3.2.1).  Query heads that share a key head lie
 * side by side, so their rows make one matrix: one product serves all of them, which matters most where each has one
 * row. */
#include <math.h>
#include <string.h>

#include "blas/device.h"
#include "blas/gemm.h"
#include "blas/mask_rule.h"
#include "blas/softmax_row.h"

/* What the three have in common: q, weights and outputs are [B, kv_heads, rows, ..], rows of all heads of a group. */
typedef struct grouping {
  int64_t batch, kv_heads, heads, queries, keys;
  int64_t group, rows; /* query heads per key head; group * queries */
} grouping;

static ph_status read_grouping(const blas_operand *q, const blas_operand *k, grouping *out, ph_error *error) {
  *out = (grouping){
      .batch = q->dims[0], .heads = q->dims[1], .queries = q->dims[2], .kv_heads = k->dims[1], .keys = k->dims[2]};
  if (out->kv_heads < 1 || out->heads % out->kv_heads != 0)
    return ph_fail(error, PH_UNSUPPORTED, "%lld query heads are no multiple of %lld key heads", (long long)out->heads,
                   (long long)out->kv_heads);
  out->group = out->heads / out->kv_heads;
  if (!ph_mul_i64(out->group, out->queries, &out->rows)) out->rows = INT64_MAX; /* refused with the product */
  return PH_OK;
}

static ph_status check_product(int64_t m, int64_t n, int64_t k, ph_error *error) {
  if (blas_gemm_fits(m, n, k)) return PH_OK;
  return ph_fail(error, PH_UNSUPPORTED, "a product of %lld x %lld x %lld: BLAS takes extents up to 2147483647",
                 (long long)m, (long long)n, (long long)k);
}

static float scale_of(const blas_planner *planner, int64_t depth) {
  return (float)ph_node_real(planner->source, "scale", 1 / sqrt((double)depth));
}

/* scores [rows, keys] = scale * q [rows, depth] * k^T.  By a factor of 0 BLAS reads nothing; NaN must go through. */
static void score(int64_t rows, int64_t keys, int64_t depth, float scale, const float *q, const float *k, float *scores,
                  int64_t stride) {
  blas_gemm(rows, keys, depth, scale != 0 ? scale : 1, (blas_matrix){q, depth, false}, (blas_matrix){k, depth, true},
            false, scores, stride);
  for (int64_t i = 0; scale == 0 && i < rows; i++)
    for (int64_t j = 0; j < keys; j++) scores[i * stride + j] *= 0;
}

static bool all_finite(const float *values, int64_t count) {
  uint32_t odd = 0; /* without a branch, so that the loop is vectorised */
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof(bits));
    odd |= (bits & 0x7F800000u) == 0x7F800000u;
  }
  return odd == 0;
}

/* y [rows, width] = weights [rows, keys] * v [keys, width], where a weight of exactly 0 skips its value (NUMERICS 2): a
 * product would make NaN of 0 * inf. */
static void weigh(int64_t rows, int64_t keys, int64_t width, const float *weights, int64_t stride, const float *v,
                  bool v_is_finite, float *y) {
  if (v_is_finite) {
    blas_gemm(rows, width, keys, 1, (blas_matrix){weights, stride, false}, (blas_matrix){v, width, false}, false, y,
              width);
    return;
  }
  for (int64_t i = 0; i < rows; i++, weights += stride, y += width) {
    memset(y, 0, (size_t)width * sizeof(float));
    for (int64_t j = 0; j < keys; j++)
      for (int64_t d = 0; weights[j] != 0 && d < width; d++) y[d] += weights[j] * v[j * width + d];
  }
}

/* ---- scaled_scores ---- */

typedef struct scores_node {
  grouping g;
  int64_t depth;
  float scale;
} scores_node;

static ph_status plan_scores(blas_planner *planner, ph_error *error) {
  const blas_operand *q = &planner->node->in[0], *k = &planner->node->in[1];
  scores_node *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  PH_TRY(read_grouping(q, k, &p->g, error));
  p->depth = q->dims[3];
  p->scale = scale_of(planner, p->depth);
  return check_product(p->g.rows, p->g.keys, p->depth, error);
}

static void run_scores(const blas_call *call) {
  const scores_node *p = call->node->parameters;
  const grouping *g = &p->g;
  const float *q = call->in[0], *k = call->in[1];
  float *y = call->out[0];
  for (int64_t i = 0; i < g->batch * g->kv_heads; i++) {
    score(g->rows, g->keys, p->depth, p->scale, q, k, y, g->keys);
    q += g->rows * p->depth;
    k += g->keys * p->depth;
    y += g->rows * g->keys;
  }
}

const blas_op blas_scaled_scores = {.name = "scaled_scores",
                                    .version = 1,
                                    .computes = true,
                                    .stages = {[PH_STAGE_ACCUM] = PH_F32},
                                    .plan = plan_scores,
                                    .run = run_scores};

/* ---- weighted_sum ---- */

typedef struct sum_node {
  grouping g;
  int64_t width;
} sum_node;

static ph_status plan_sum(blas_planner *planner, ph_error *error) {
  const blas_operand *weights = &planner->node->in[0], *v = &planner->node->in[1];
  sum_node *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  PH_TRY(read_grouping(weights, v, &p->g, error));
  p->width = v->dims[3];
  return check_product(p->g.rows, p->width, p->g.keys, error);
}

static void run_sum(const blas_call *call) {
  const sum_node *p = call->node->parameters;
  const grouping *g = &p->g;
  float *y = call->out[0];
  for (int64_t i = 0; i < g->batch * g->kv_heads; i++) {
    int64_t values = g->keys * p->width;
    const float *weights = (const float *)call->in[0] + (g->keys > 0 ? i * g->rows * g->keys : 0);
    const float *v = (const float *)call->in[1] + (g->keys > 0 ? i * values : 0);
    weigh(g->rows, g->keys, p->width, weights, g->keys, v, all_finite(v, values), y);
    y += g->rows * p->width;
  }
}

const blas_op blas_weighted_sum = {.name = "weighted_sum",
                                   .version = 1,
                                   .computes = true,
                                   .stages = {[PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
                                   .plan = plan_sum,
                                   .run = run_sum};

/* ---- attention: a block of rows at a time, over the keys that the block may see ---- */

/* Scores of a block fit a cache of the second level; below 16 rows a product is too thin to be fast. */
enum { BLOCK_FLOATS = 1 << 18, LEAST_ROWS = 16, MOST_ROWS = 256 };

typedef struct attention {
  grouping g;
  int64_t depth, width, block;
  float scale, softcap; /* softcap 0: none */
  blas_mask_rule rule;
} attention;

static int64_t block_rows(const ph_device *device, const grouping *g) {
  int64_t rows = g->keys > 0 ? BLOCK_FLOATS / g->keys : MOST_ROWS;
  if (rows < LEAST_ROWS) rows = LEAST_ROWS;
  if (rows > MOST_ROWS) rows = MOST_ROWS;
  if (device->rows > 0) rows = device->rows;
  return rows < g->rows ? rows : g->rows;
}

static ph_status plan_attention(blas_planner *planner, ph_error *error) {
  const blas_operand *q = &planner->node->in[0], *k = &planner->node->in[1], *v = &planner->node->in[2];
  attention *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  PH_TRY(read_grouping(q, k, &p->g, error));
  p->depth = q->dims[3];
  p->width = v->dims[3];
  PH_TRY(check_product(p->g.rows, p->g.keys, p->depth, error));
  PH_TRY(check_product(p->g.rows, p->width, p->g.keys, error));
  p->scale = scale_of(planner, p->depth);
  p->softcap = (float)ph_node_real(planner->source, "softcap", 0);
  p->block = block_rows(planner->device, &p->g);
  planner->scratch_floats = p->g.keys > 0 ? (uint64_t)(p->block * p->g.keys) : 1;
  return blas_mask_rule_read(planner, 3, p->g.heads, p->g.queries, p->g.keys, &p->rule, error);
}

/* One sample and key head of a run. */
typedef struct head_run {
  const blas_call *call;
  const attention *p;
  int64_t sample, kv_head;
  const float *q, *k, *v;
  bool v_is_finite;
  float *y, *lse; /* NULL where not wanted */
} head_run;

static blas_mask_row mask_row(const head_run *run, int64_t row) {
  const grouping *g = &run->p->g;
  return (blas_mask_row){
      .sample = run->sample, .head = run->kv_head * g->group + row / g->queries, .query = row % g->queries};
}

/* Scores of the keys [first, last) become weights. */
static void weights_of_row(const head_run *run, int64_t row, int64_t first, int64_t last, float *scores) {
  const attention *p = run->p;
  blas_mask_row place = mask_row(run, row);
  int64_t from, to;
  blas_mask_span(&p->rule, run->call, place, &from, &to);
  if (from == to) from = to = first;
  for (int64_t j = from; p->softcap > 0 && j < to; j++)
    scores[j - first] = p->softcap * tanhf(scores[j - first] / p->softcap);
  blas_mask_apply(&p->rule, run->call, place, from, to, scores + (from - first));
  const float *sinks = run->call->in[7];
  double lse = blas_softmax_row(scores + (from - first), to - from, sinks != NULL ? sinks[place.head] : -INFINITY);
  if (run->lse != NULL) run->lse[row] = (float)lse;
  memset(scores, 0, (size_t)(from - first) * sizeof(float));
  memset(scores + (to - first), 0, (size_t)(last - to) * sizeof(float));
}

static void run_block(const head_run *run, int64_t row, int64_t rows) {
  const attention *p = run->p;
  int64_t first = p->g.keys, last = 0;
  for (int64_t i = row; i < row + rows; i++) {
    int64_t from, to;
    blas_mask_span(&p->rule, run->call, mask_row(run, i), &from, &to);
    if (from == to) continue;
    if (from < first) first = from;
    if (to > last) last = to;
  }
  if (last < first) first = last = 0;
  int64_t keys = last - first;
  float *scores = run->call->scratch;
  if (keys > 0) score(rows, keys, p->depth, p->scale, run->q + row * p->depth, run->k + first * p->depth, scores, keys);
  for (int64_t i = 0; i < rows; i++) weights_of_row(run, row + i, first, last, scores + i * keys);
  if (run->y == NULL) return;
  const float *v = run->v != NULL ? run->v + first * p->width : NULL;
  bool finite = run->v_is_finite || all_finite(v, keys * p->width); /* an unused slot may hold anything */
  weigh(rows, keys, p->width, scores, keys, v, finite, run->y + row * p->width);
}

static void run_attention(const blas_call *call) {
  const attention *p = call->node->parameters;
  const grouping *g = &p->g;
  float *y = call->out[0], *lse = call->node->out_count > 1 ? call->out[1] : NULL;
  for (int64_t i = 0; i < g->batch * g->kv_heads; i++) {
    head_run run = {.call = call,
                    .p = p,
                    .sample = i / g->kv_heads,
                    .kv_head = i % g->kv_heads,
                    .q = (const float *)call->in[0] + i * g->rows * p->depth,
                    .k = call->in[1],
                    .v = call->in[2],
                    .v_is_finite = true,
                    .y = y != NULL ? y + i * g->rows * p->width : NULL,
                    .lse = lse != NULL ? lse + i * g->rows : NULL};
    if (run.k != NULL) run.k += i * g->keys * p->depth;
    if (run.v != NULL) {
      run.v += i * g->keys * p->width;
      run.v_is_finite = all_finite(run.v, g->keys * p->width);
    }
    for (int64_t row = 0; row < g->rows; row += p->block)
      run_block(&run, row, p->block < g->rows - row ? p->block : g->rows - row);
  }
}

const blas_op blas_attention = {
    .name = "attention",
    .version = 1,
    .computes = true,
    .stages = {[PH_STAGE_SCORE] = PH_F32, [PH_STAGE_WEIGHT] = PH_F32, [PH_STAGE_ACCUM] = PH_F32},
    .plan = plan_attention,
    .run = run_attention};
