/* scaled_scores, weighted_sum, attention, in the order of NUMERICS section 2. */
#include "base/half.h"
#include "kernels.h"

/* The head that the result of head h is written to. */
static int64_t written_head(kernel_run *run, int64_t h, int64_t heads) {
  return KERNEL_LINE(run, BUG_HEADS_SWAPPED, h, (h ^ 1) < heads ? h ^ 1 : h);
}

/* The key head that query head h shares with its group. */
static int64_t shared_head(kernel_run *run, int64_t h, int64_t heads, int64_t shared) {
  return KERNEL_LINE(run, BUG_WRONG_GROUP, h / (heads / shared), h % shared);
}

static float dot_of(const float *a, const float *b, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

static float scaled(kernel_run *run, float dot, float scale) {
  return KERNEL_LINE(run, BUG_SCALE_ONE_PERCENT, dot * scale, dot * scale * 1.01f);
}

static float scale_of(const kernel_run *run) {
  return (float)ph_node_real(run->node, "scale", 1 / sqrt((double)run->inputs[0].dims[3]));
}

ph_status kernel_scaled_scores(kernel_run *run) {
  const kernel_array *q = &run->inputs[0], *k = &run->inputs[1], *y = &run->outputs[0];
  int64_t heads = q->dims[1], depth = q->dims[3];
  float scale = scale_of(run);
  for (int64_t b = 0; b < y->dims[0]; b++)
    for (int64_t h = 0; h < heads; h++) {
      int64_t shared = shared_head(run, h, heads, k->dims[1]), to = written_head(run, h, heads);
      for (int64_t i = 0; i < y->dims[2]; i++)
        for (int64_t j = 0; j < y->dims[3]; j++)
          y->real[kernel_at(y, b, to, i, j)] = scaled(
              run, dot_of(&q->real[kernel_at(q, b, h, i, 0)], &k->real[kernel_at(k, b, shared, j, 0)], depth), scale);
    }
  return PH_OK;
}

/* sum += p * v over one head's values [keys, width].  A weight that is 0 in f16 alone keeps the class of a value that
 * is not finite. */
static void add_values(kernel_run *run, const float *p, const float *v, int64_t keys, int64_t width, float *sum) {
  for (int64_t j = 0; j < keys; j++) {
    float held = run->way == KERNEL_HALF_WEIGHTS ? (float)ph_f16_to_double(ph_double_to_f16(p[j])) : p[j];
    for (int64_t d = 0; d < width; d++) {
      float value = v[j * width + d], product = (isfinite(value) ? held : p[j]) * value;
      sum[d] += KERNEL_LINE(run, BUG_NAN_THROUGH_MASK, p[j] == 0 ? 0 : product, product);
    }
  }
}

ph_status kernel_weighted_sum(kernel_run *run) {
  const kernel_array *weights = &run->inputs[0], *v = &run->inputs[1], *y = &run->outputs[0];
  int64_t heads = weights->dims[1], keys = weights->dims[3], width = v->dims[3];
  float *p = kernel_reals(run, keys);
  if (p == NULL) return ph_fail_memory(run->error);
  for (int64_t b = 0; b < y->dims[0]; b++)
    for (int64_t h = 0; h < heads; h++) {
      int64_t shared = shared_head(run, h, heads, v->dims[1]), to = written_head(run, h, heads);
      for (int64_t i = 0; i < y->dims[2]; i++) {
        for (int64_t j = 0; j < keys; j++) {
          p[j] = weights->real[kernel_at(weights, b, h, i, j)];
          p[j] = KERNEL_LINE(run, BUG_DROPPED_KEY, p[j], j != keys / 2 ? p[j] : 0);
          p[j] = KERNEL_LINE(run, BUG_LAST_KEY_MASKED, p[j], j != keys - 1 ? p[j] : 0);
        }
        add_values(run, p, &v->real[kernel_at(v, b, shared, 0, 0)], keys, width, &y->real[kernel_at(y, b, to, i, 0)]);
      }
    }
  return PH_OK;
}

/* ---- attention ---- */

typedef struct attention {
  kernel_run *run;
  const kernel_array *q, *k, *v;
  kernel_mask_rule rule;
  int64_t keys, depth, width;
  float scale, cap; /* cap 0: no softcap */
  float *p;         /* per key */
} attention;

/* One query of one head in one sample. */
typedef struct query {
  int64_t b, h, i, shared;
  float sink;
} query;

static float capped(const attention *a, float score) {
  return a->cap > 0 ? a->cap * tanhf(score / a->cap) : score;
}

/* The score of key j; -inf where the query may not look at it. */
static float score_of(attention *a, const query *at, int64_t j) {
  kernel_run *run = a->run;
  float bias, score = 0, forbidden = KERNEL_LINE(run, BUG_FINITE_MASK, -INFINITY, KERNEL_FINITE_MASK);
  bool allowed = kernel_mask_allows(&a->rule, at->b, at->h, at->i, j, &bias);
  allowed = KERNEL_LINE(run, BUG_DROPPED_KEY, allowed, allowed && j != a->keys / 2);
  allowed = KERNEL_LINE(run, BUG_LAST_KEY_MASKED, allowed, allowed && j != a->keys - 1);
  if (allowed)
    score = scaled(run,
                   dot_of(&a->q->real[kernel_at(a->q, at->b, at->h, at->i, 0)],
                          &a->k->real[kernel_at(a->k, at->b, at->shared, j, 0)], a->depth),
                   a->scale);
  return KERNEL_LINE(run, BUG_SOFTCAP_AFTER_MASK, allowed ? capped(a, score) + bias : forbidden,
                     capped(a, allowed ? score + bias : forbidden));
}

static void attend_plain(attention *a, const query *at, float *y, float *lse) {
  float max = -INFINITY, sum = 0;
  for (int64_t j = 0; j < a->keys; j++) {
    a->p[j] = score_of(a, at, j);
    if (a->p[j] > max || isnan(a->p[j])) max = a->p[j];
  }
  for (int64_t j = 0; j < a->keys; j++) sum += a->p[j] = a->p[j] == -INFINITY ? 0 : expf(a->p[j] - max);
  sum += kernel_softmax_tail(a->run, a->keys, max);
  float factor = kernel_softmax_factor(max, sum, at->sink, lse);
  add_values(a->run, a->p, &a->v->real[kernel_at(a->v, at->b, at->shared, 0, 0)], a->keys, a->width, y);
  for (int64_t d = 0; d < a->width; d++) y[d] *= factor;
}

static void attend_online(attention *a, const query *at, float *y, float *lse) {
  float max = -INFINITY, sum = 0;
  for (int64_t j = 0; j < a->keys; j++) {
    float score = score_of(a, at, j), before = max;
    if (score == -INFINITY) continue;
    if (score > max || isnan(score)) max = score;
    float keep = expf(before - max), p = expf(score - max);
    const float *v = &a->v->real[kernel_at(a->v, at->b, at->shared, j, 0)];
    sum = sum * keep + p;
    for (int64_t d = 0; d < a->width; d++) y[d] = y[d] * keep + (p == 0 ? 0 : p * v[d]);
  }
  float factor = kernel_softmax_factor(max, sum, at->sink, lse);
  for (int64_t d = 0; d < a->width; d++) y[d] *= factor;
}

ph_status kernel_attention(kernel_run *run) {
  const kernel_array *q = &run->inputs[0], *k = &run->inputs[1], *v = &run->inputs[2], *sinks = &run->inputs[7];
  const kernel_array *y = &run->outputs[0], *lse = &run->outputs[1];
  int64_t heads = q->dims[1], queries = q->dims[2];
  attention a = {.run = run,
                 .q = q,
                 .k = k,
                 .v = v,
                 .keys = k->dims[2],
                 .depth = q->dims[3],
                 .width = v->dims[3],
                 .scale = scale_of(run),
                 .cap = (float)ph_node_real(run->node, "softcap", 0),
                 .p = kernel_reals(run, k->dims[2])};
  if (a.p == NULL) return ph_fail_memory(run->error);
  PH_TRY(kernel_mask_open(run, 3, heads, queries, a.keys, &a.rule));
  float *row = kernel_reals(run, a.width);
  if (row == NULL) return ph_fail_memory(run->error);
  for (int64_t b = 0; b < q->dims[0]; b++)
    for (int64_t h = 0; h < heads; h++) {
      int64_t to = (b * heads + written_head(run, h, heads)) * queries;
      query at = {.b = b, .h = h, .shared = shared_head(run, h, heads, k->dims[1])};
      at.sink = sinks->present ? sinks->real[h] : -INFINITY;
      for (at.i = 0; at.i < queries; at.i++, to++) {
        float *to_y = y->present ? &y->real[to * a.width] : row;
        (run->way == KERNEL_ONLINE ? attend_online : attend_plain)(&a, &at, to_y, lse->present ? &lse->real[to] : NULL);
      }
    }
  return PH_OK;
}
