/* scaled_scores, weighted_sum, attention: Vaswani et al. 2017, section 3.2.1, in NUMERICS' order.  attention works row
 * by row and keeps one row of scores. */
#include "oracle/ops.h"

/* Below this weight a value that is not finite may leave a trace or not (NUMERICS 2). */
#define LIGHT_WEIGHT 0x1p-100

static int64_t at4(const ph_view *view, int64_t b, int64_t h, int64_t s, int64_t d) {
  return b * view->strides[0] + h * view->strides[1] + s * view->strides[2] + d * view->strides[3];
}

/* Query heads come in groups that share one key head. */
static ph_status group_of(const ph_oracle_call *call, int64_t heads, int64_t shared, int64_t *group) {
  if (shared < 1 || heads % shared != 0)
    return ph_fail(call->error, PH_INVALID, "node '%s': %lld heads are no multiple of %lld", call->node->id,
                   (long long)heads, (long long)shared);
  *group = heads / shared;
  return PH_OK;
}

/* Reads one head [S, D]. */
static void read_head(const ph_view *view, int64_t b, int64_t h, double *out) {
  for (int64_t s = 0; s < view->dims[2]; s++)
    ph_view_run(view, at4(view, b, h, s, 0), view->strides[3], view->dims[3], out + s * view->dims[3]);
}

/* Reads one head [S, D] as [D, S]. */
static void read_head_turned(const ph_view *view, int64_t b, int64_t h, double *out) {
  for (int64_t d = 0; d < view->dims[3]; d++)
    ph_view_run(view, at4(view, b, h, 0, d), view->strides[2], view->dims[2], out + d * view->dims[2]);
}

ph_status ph_oracle_scaled_scores(const ph_oracle_call *call) {
  ph_view q = ph_call_input(call, 0), k = ph_call_input(call, 1);
  ph_oracle_output *y = ph_call_output(call, 0);
  double *accum = y->magnitude[PH_MAGNITUDE_ACCUM];
  int64_t keys = k.dims[2], depth = q.dims[3], group = 1;
  PH_TRY(group_of(call, q.dims[1], k.dims[1], &group));
  double scale = ph_call_real(call, "scale", 1 / sqrt((double)depth));
  double *query = ph_call_reals(call, depth), *head = ph_call_reals(call, keys * depth);
  if (query == NULL || head == NULL) return ph_fail_memory(call->error);
  int64_t to = 0;
  for (int64_t b = 0; b < q.dims[0]; b++)
    for (int64_t h = 0; h < q.dims[1]; h++) {
      read_head(&k, b, h / group, head);
      for (int64_t i = 0; i < q.dims[2]; i++) {
        ph_view_run(&q, at4(&q, b, h, i, 0), q.strides[3], depth, query);
        for (int64_t j = 0; j < keys; j++, to++) {
          ph_sum sum = ph_sum_products(query, head + j * depth, depth, accum != NULL);
          y->real[to] = scale * sum.value;
          if (accum != NULL) accum[to] = fabs(scale) * ((1 + sqrt((double)depth)) * sum.size + ph_sum_excess(&sum));
        }
      }
    }
  return PH_OK;
}

/* ---- weights times values ---- */

/* One query's weights and, for magnitudes, what the errors of its scores are. */
typedef struct weighing {
  int64_t keys, allowed; /* allowed: keys with a weight other than 0 */
  const double *p;
  const double *score_error, *dot_error, *builtin_error; /* per key; NULL in weighted_sum, whose weights are given */
  double excess;                                         /* of the softmax sum */
  bool any_answer;                                       /* a score left f32's range */
} weighing;

/* What a row of scores cannot tell apart in f32 stays open; all other magnitudes are NUMERICS' sums over the keys. */
static void weigh_magnitudes(const weighing *w, const double *v, double y, ph_oracle_output *out, int64_t to) {
  double score = 0, dot = 0, builtin = 0;
  bool light = false;
  ph_sum sum = {0};
  for (int64_t j = 0; j < w->keys; j++) {
    if (w->p[j] == 0) continue;
    ph_sum_add(&sum, w->p[j], v[j]);
    light = light || (!isfinite(v[j]) && w->p[j] < LIGHT_WEIGHT);
    if (w->score_error == NULL) continue;
    double effect = w->p[j] * fabs(v[j] - y);
    score += effect * w->score_error[j];
    dot += effect * w->dot_error[j];
    builtin += effect * w->builtin_error[j];
  }
  if (isfinite(y)) {
    out->magnitude[PH_MAGNITUDE_WEIGHT][to] = sum.size;
    out->magnitude[PH_MAGNITUDE_ACCUM][to] =
        sqrt((double)w->allowed) * sum.size + ph_sum_excess(&sum) + fabs(y) * w->excess;
    if (w->score_error != NULL) {
      out->magnitude[PH_MAGNITUDE_SCORE][to] = score;
      out->magnitude[PH_MAGNITUDE_BUILTIN][to] = builtin + PH_ULPS_DIV * fabs(y);
      out->magnitude[PH_MAGNITUDE_F32][to] = dot;
    }
  }
  if (light || w->any_answer) out->magnitude[PH_MAGNITUDE_F32][to] = INFINITY;
}

/* y[d] = sum of p[j] * v[d][j]; a weight of exactly 0 skips its value, whatever that is. */
static void weigh(weighing *w, int64_t width, const double *v, ph_oracle_output *out, int64_t to) {
  w->allowed = 0;
  for (int64_t j = 0; j < w->keys; j++) w->allowed += w->p[j] != 0;
  for (int64_t d = 0; d < width; d++, v += w->keys, to++) {
    double y = 0;
    for (int64_t j = 0; j < w->keys; j++)
      if (w->p[j] != 0) y += w->p[j] * v[j];
    out->real[to] = y;
    if (out->magnitude[PH_MAGNITUDE_WEIGHT] != NULL) weigh_magnitudes(w, v, y, out, to);
  }
}

ph_status ph_oracle_weighted_sum(const ph_oracle_call *call) {
  ph_view weights = ph_call_input(call, 0), v = ph_call_input(call, 1);
  ph_oracle_output *y = ph_call_output(call, 0);
  int64_t keys = weights.dims[3], width = v.dims[3], group = 1;
  PH_TRY(group_of(call, weights.dims[1], v.dims[1], &group));
  double *p = ph_call_reals(call, keys), *head = ph_call_reals(call, keys * width);
  if (p == NULL || head == NULL) return ph_fail_memory(call->error);
  weighing w = {.keys = keys, .p = p};
  int64_t to = 0;
  for (int64_t b = 0; b < weights.dims[0]; b++)
    for (int64_t h = 0; h < weights.dims[1]; h++) {
      read_head_turned(&v, b, h / group, head);
      for (int64_t i = 0; i < weights.dims[2]; i++, to += width) {
        ph_view_run(&weights, at4(&weights, b, h, i, 0), weights.strides[3], keys, p);
        weigh(&w, width, head, y, to);
      }
    }
  return PH_OK;
}

/* ---- attention ---- */

typedef struct attention {
  int64_t keys, depth;
  double scale, softcap; /* softcap 0: none */
  ph_mask_rule rule;
  double *query, *scores, *p, *score_error, *dot_error, *builtin_error;
  signed char *overflow; /* per key: 1 or -1 where the score is infinite in f32 though finite here */
} attention;

static int overflow_in_f32(double x) {
  return isfinite(x) && isinf((float)x) ? (x > 0 ? 1 : -1) : 0;
}

/* One score and the magnitudes of its errors, in the order of NUMERICS 2.  Errors made before the softcap are damped by
 * its slope, 1 - tanh^2; those made after it are not. */
static void score_of(attention *a, const double *k, int64_t j, double bias, double bias_size, bool magnitudes) {
  ph_sum sum = ph_sum_products(a->query, k + j * a->depth, a->depth, magnitudes);
  double raw = a->scale * sum.value, capped = raw, damping = 1, tanh_error = 0;
  if (a->softcap > 0) {
    double t = tanh(raw / a->softcap);
    capped = a->softcap * t;
    damping = 1 - t * t;
    tanh_error = PH_ULPS_TANH * fabs(capped) + (damping > 0 ? PH_ULPS_DIV * damping * fabs(raw) : 0);
  }
  double score = a->scores[j] = capped + bias;
  int first = a->softcap > 0 ? 0 : overflow_in_f32(raw); /* a softcap takes infinity to the cap, as it should */
  a->overflow[j] = (signed char)(first != 0 ? first : overflow_in_f32(score));
  if (!magnitudes) return;
  a->score_error[j] = fabs(capped) + bias_size + fabs(score);
  a->dot_error[j] = 0;
  if (damping > 0) {
    a->score_error[j] += damping * fabs(raw);
    a->dot_error[j] = damping * fabs(a->scale) * (sqrt((double)a->depth) * sum.size + ph_sum_excess(&sum));
  }
  a->builtin_error[j] = PH_ULPS_EXP + tanh_error;
}

/* The scores of query i, -inf where it may not look. */
static void score_row(attention *a, const double *k, int64_t b, int64_t h, int64_t i, bool magnitudes) {
  for (int64_t j = 0; j < a->keys; j++) {
    double bias, size;
    a->overflow[j] = 0;
    a->scores[j] = -INFINITY;
    if (ph_mask_rule_allows(&a->rule, b, h, i, j, &bias, &size)) score_of(a, k, j, bias, size, magnitudes);
  }
}

/* In f32 a score that overflows upwards makes the row NaN, and one that overflows downwards is not allowed, which
 * matters only where the key has a weight in double. */
static bool row_overflows(const attention *a) {
  for (int64_t j = 0; j < a->keys; j++)
    if (a->overflow[j] > 0 || (a->overflow[j] < 0 && a->p[j] != 0)) return true;
  return false;
}

static void lse_magnitudes(const attention *a, const ph_softmax_row *row, bool any_answer, ph_oracle_output *lse,
                           int64_t to) {
  double score = 0, dot = 0, spread = 0, builtin = 0;
  for (int64_t j = 0; j < a->keys; j++) {
    if (a->p[j] == 0) continue;
    score += a->p[j] * a->score_error[j];
    dot += a->p[j] * a->dot_error[j];
    spread += a->p[j] * fabs(a->scores[j] - row->max);
    builtin += a->p[j] * a->builtin_error[j];
  }
  if (isfinite(row->lse)) {
    lse->magnitude[PH_MAGNITUDE_SCORE][to] = score;
    lse->magnitude[PH_MAGNITUDE_WEIGHT][to] = 1 + spread;
    lse->magnitude[PH_MAGNITUDE_ACCUM][to] = sqrt((double)row->allowed) + row->excess;
    lse->magnitude[PH_MAGNITUDE_F32][to] = dot;
    lse->magnitude[PH_MAGNITUDE_BUILTIN][to] = builtin + PH_ULPS_LOG * fabs(log(row->sum));
  }
  if (any_answer) lse->magnitude[PH_MAGNITUDE_F32][to] = INFINITY;
}

ph_status ph_oracle_attention(const ph_oracle_call *call) {
  ph_view q = ph_call_input(call, 0), k = ph_call_input(call, 1), v = ph_call_input(call, 2);
  ph_view sinks = ph_call_input(call, 7);
  ph_oracle_output *y = ph_call_output(call, 0), *lse = ph_call_output(call, 1);
  bool y_magnitudes = y != NULL && y->magnitude[PH_MAGNITUDE_F32] != NULL;
  bool lse_wanted = lse != NULL && lse->magnitude[PH_MAGNITUDE_F32] != NULL;
  int64_t width = v.dims[3], group = 1;
  PH_TRY(group_of(call, q.dims[1], k.dims[1], &group));
  attention a = {.keys = k.dims[2], .depth = q.dims[3], .softcap = ph_call_real(call, "softcap", 0)};
  a.scale = ph_call_real(call, "scale", 1 / sqrt((double)a.depth));
  PH_TRY(ph_mask_rule_open(call, 3, q.dims[1], q.dims[2], a.keys, &a.rule));
  a.query = ph_call_reals(call, a.depth);
  double **rows[] = {&a.scores, &a.p, &a.score_error, &a.dot_error, &a.builtin_error};
  for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    *rows[i] = ph_call_reals(call, a.keys);
    if (*rows[i] == NULL) return ph_fail_memory(call->error);
  }
  a.overflow = ph_arena_array(call->scratch, (size_t)a.keys, 1);
  double *key_head = ph_call_reals(call, a.keys * a.depth), *value_head = ph_call_reals(call, a.keys * width);
  if (a.query == NULL || a.overflow == NULL || key_head == NULL || value_head == NULL)
    return ph_fail_memory(call->error);

  weighing w = {.keys = a.keys,
                .p = a.p,
                .score_error = a.score_error,
                .dot_error = a.dot_error,
                .builtin_error = a.builtin_error};
  int64_t to = 0;
  for (int64_t b = 0; b < q.dims[0]; b++)
    for (int64_t h = 0; h < q.dims[1]; h++) {
      read_head(&k, b, h / group, key_head);
      read_head_turned(&v, b, h / group, value_head);
      double sink = sinks.present ? ph_view_real(&sinks, h * sinks.strides[0]) : -INFINITY;
      for (int64_t i = 0; i < q.dims[2]; i++, to++) {
        ph_view_run(&q, at4(&q, b, h, i, 0), q.strides[3], a.depth, a.query);
        score_row(&a, key_head, b, h, i, y_magnitudes || lse_wanted);
        ph_softmax_row row = ph_softmax_of(a.scores, a.keys, sink, a.p);
        w.excess = row.excess;
        w.any_answer = row_overflows(&a);
        if (y != NULL) weigh(&w, width, value_head, y, to * width);
        if (lse == NULL) continue;
        lse->real[to] = row.lse;
        if (lse_wanted) lse_magnitudes(&a, &row, w.any_answer, lse, to);
      }
    }
  return PH_OK;
}
