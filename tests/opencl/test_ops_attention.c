/* The kernels of the attention family against the oracle, and against literals worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "node_case.h"

static const ph_dtype reals[] = {PH_F32, PH_F16, PH_BF16};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const double nan_ = NAN, inf_ = INFINITY;

/* ---- scaled_scores, weighted_sum ---- */

static void scores_case(ph_dtype q, ph_dtype k, case_layout layout, int64_t group, int64_t sq, int64_t sk, int64_t d,
                        double scale) {
  node_case *c =
      case_new("scaled_scores", "%s x %s, layout %d, group %lld, %lld x %lld x %lld, scale %g", ph_dtype_name(q),
               ph_dtype_name(k), layout, (long long)group, (long long)sq, (long long)sk, (long long)d, scale);
  case_input(c, q, layout, SHAPE(2, 2 * group, sq, d));
  case_input(c, k, layout, SHAPE(2, 2, sk, d));
  case_output(c, PH_F32, SHAPE(2, 2 * group, sq, sk));
  if (!isnan(scale)) case_real(c, "scale", scale);
  case_run(c);
}

static void sum_case(ph_dtype p, ph_dtype v, case_layout layout, int64_t group, int64_t sq, int64_t sk, int64_t d) {
  node_case *c = case_new("weighted_sum", "%s x %s, layout %d, group %lld, %lld x %lld x %lld", ph_dtype_name(p),
                          ph_dtype_name(v), layout, (long long)group, (long long)sq, (long long)sk, (long long)d);
  uint32_t weights = case_input(c, p, layout, SHAPE(2, 2 * group, sq, sk));
  uint32_t values = case_input(c, v, layout, SHAPE(2, 2, sk, d));
  for (int64_t i = 0; i < case_count(c, weights); i++) /* key 1 has no weight anywhere, and its values are no numbers */
    case_set(c, weights, i, i % sk == 1 ? 0 : (double)(i * 31 % 17) / 40);
  for (int64_t h = 0; h < 4 && sk > 1; h++)
    for (int64_t i = 0; i < d; i++) case_set(c, values, (h * sk + 1) * d + i, i % 2 == 0 ? nan_ : inf_);
  case_output(c, v, SHAPE(2, 2 * group, sq, d));
  case_run(c);
}

static void test_products(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1}, {5, 7, 3}, {4, 16, 8}, {9, 33, 21}, {1, 65, 64}, {3, 0, 2}};
  for (size_t i = 0; i < COUNT(shapes); i++)
    for (int layout = DENSE; layout <= TURNED; layout++)
      for (int64_t group = 1; group < 4; group += 2) {
        scores_case(PH_F32, PH_F32, layout, group, shapes[i][0], shapes[i][1], shapes[i][2], nan_);
        sum_case(PH_F32, PH_F32, layout, group, shapes[i][0], shapes[i][1], shapes[i][2]);
      }
  for (size_t a = 0; a < COUNT(reals); a++)
    for (size_t b = 0; b < COUNT(reals); b++) {
      scores_case(reals[a], reals[b], DENSE, 2, 5, 11, 19, nan_);
      sum_case(reals[a], reals[b], DENSE, 2, 5, 11, 19);
    }
  scores_case(PH_F32, PH_F32, DENSE, 2, 5, 11, 19, 0);
  scores_case(PH_F32, PH_F32, DENSE, 2, 5, 11, 19, -3.5);
}

/* ---- softmax and its kin ---- */

/* Rows: ordinary; some -inf; all -inf; NaN; +inf; all equal; very negative; NaN between -inf. */
static void spoil_rows(node_case *c, uint32_t x, int64_t rows, int64_t count) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < count; i++) {
      int64_t at = r * count + i;
      switch (r % 9) {
      case 1:
        if (i % 3 == 0) case_set(c, x, at, -inf_);
        break;
      case 2:
        case_set(c, x, at, -inf_);
        break;
      case 3:
        if (i == 2 % count) case_set(c, x, at, nan_);
        break;
      case 4:
        if (i == 1 % count) case_set(c, x, at, inf_);
        break;
      case 5:
        case_set(c, x, at, 7);
        break;
      case 6:
        case_set(c, x, at, -60000 + (double)(i % 5));
        break;
      case 7:
        case_set(c, x, at, i == 0 ? nan_ : -inf_);
        break;
      case 8:
        case_set(c, x, at, (double)(i % 7) * 20);
        break;
      default:
        break;
      }
    }
}

static void softmax_case(const char *op, ph_dtype type, case_layout layout, int64_t axis, int64_t count, int sinks,
                         bool lse) {
  int64_t dims[] = {2, 3, 5, 0}, without[3];
  for (int64_t i = 3; i > axis; i--) dims[i] = dims[i - 1];
  dims[axis] = count;
  for (int64_t i = 0, to = 0; i < 4; i++)
    if (i != axis) without[to++] = dims[i];
  node_case *c = case_new(op, "%s, layout %d, axis %lld, %lld long, %s%s", ph_dtype_name(type), layout, (long long)axis,
                          (long long)count, sinks ? "sinks" : "", lse ? ", lse" : "");
  uint32_t x = case_input(c, type, layout, 4, dims);
  if (axis == 3) spoil_rows(c, x, 30, count);
  bool soft = strcmp(op, "softmax") == 0;
  if (soft && sinks) {
    uint32_t sink = case_input(c, type, GAPS, SHAPE(3));
    static const double values[][3] = {{0.5, 100, -100}, {-inf_, 2, 50000}, {nan_, inf_, 0}};
    for (int64_t i = 0; i < 3; i++) case_set(c, sink, i, values[sinks - 1][i]);
  } else if (soft) {
    case_absent(c);
  }
  case_output(c, type, 4, dims);
  if (soft && lse)
    case_output(c, type, 3, without);
  else if (soft)
    case_output_unwanted(c);
  case_integer(c, "axis", axis);
  case_run(c);
}

static void test_softmax(void **state) {
  (void)state;
  static const char *const ops[] = {"softmax", "log_softmax", "hardmax"};
  static const int64_t counts[] = {1, 2, 7, 64, 67, 500};
  for (size_t i = 0; i < COUNT(ops); i++) {
    for (int layout = DENSE; layout <= TURNED; layout++)
      for (int64_t axis = 0; axis < 4; axis++) softmax_case(ops[i], PH_F32, layout, axis, 11, 0, axis % 2 == 1);
    for (size_t n = 0; n < COUNT(counts); n++) softmax_case(ops[i], PH_F32, DENSE, 3, counts[n], 0, true);
    for (size_t t = 0; t < COUNT(reals); t++) softmax_case(ops[i], reals[t], GAPS, 3, 13, i == 0, true);
  }
  for (int sinks = 1; sinks < 4; sinks++) softmax_case("softmax", PH_F32, DENSE, 3, 11, sinks, true);
  softmax_case("softmax", PH_F32, DENSE, 3, 0, 1, true);

  node_case *c = case_new("softmax", "30000 equal keys");
  case_fill(c, case_input(c, PH_F32, DENSE, SHAPE(2, 30000)), 0.7f);
  case_absent(c);
  case_output(c, PH_F32, SHAPE(2, 30000));
  case_output(c, PH_F32, SHAPE(2));
  case_integer(c, "axis", 1);
  case_run(c);
}

/* ---- mask and attention: the rules of NUMERICS section 2 ---- */

/* What a case sets up; operands and attributes are added for either op. */
typedef struct rules {
  const char *title;
  ph_dtype mask, key_mask;   /* PH_DTYPE_NONE: absent */
  unsigned mask_repeats;     /* bit i: mask has extent 1 on axis i */
  bool ignore;               /* polarity */
  uint32_t lengths, offsets; /* 0 absent, 1 [1] (offset), 2 [B] */
  double offset[2];
  const char *align;
  bool causal, alibi, ring, window;
  int64_t sides[2];
} rules;

static const rules all_rules[] = {
    {.title = "nothing"},
    {.title = "causal, top_left", .causal = true, .align = "top_left"},
    {.title = "causal, bottom_right", .causal = true, .align = "bottom_right"},
    {.title = "causal, one offset", .causal = true, .offsets = 1, .offset = {3}},
    {.title = "causal, two offsets", .causal = true, .offsets = 2, .offset = {2, -2}},
    {.title = "causal, far offsets", .causal = true, .offsets = 2, .offset = {9e18, -9e18}},
    {.title = "window, far offsets", .window = true, .sides = {3, 2}, .offsets = 2, .offset = {9.2e18, -9.2e18}},
    {.title = "window left", .window = true, .sides = {2, -1}, .align = "top_left"},
    {.title = "window right", .window = true, .sides = {-1, 1}, .align = "bottom_right"},
    {.title = "window both, causal", .window = true, .sides = {3, 0}, .causal = true, .offsets = 2, .offset = {4, -3}},
    {.title = "window of itself", .window = true, .sides = {0, 0}, .align = "top_left"},
    {.title = "lengths", .lengths = 2},
    {.title = "lengths, causal", .lengths = 2, .causal = true, .align = "top_left"},
    {.title = "bool mask", .mask = PH_BOOL},
    {.title = "bool mask, ignore", .mask = PH_BOOL, .ignore = true, .mask_repeats = 3},
    {.title = "f32 mask", .mask = PH_F32},
    {.title = "f16 mask, rows repeat", .mask = PH_F16, .mask_repeats = 4},
    {.title = "bf16 mask, heads repeat, keys repeat", .mask = PH_BF16, .mask_repeats = 2 | 8},
    {.title = "bool key_mask", .key_mask = PH_BOOL},
    {.title = "f32 key_mask and bool mask", .key_mask = PH_F32, .mask = PH_BOOL, .mask_repeats = 1},
    {.title = "bool key_mask, ignore, and f32 mask",
     .key_mask = PH_BOOL,
     .ignore = true,
     .mask = PH_F32,
     .mask_repeats = 5},
    {.title = "alibi", .alibi = true, .align = "top_left"},
    {.title = "alibi, causal, offsets", .alibi = true, .causal = true, .offsets = 2, .offset = {5, -1}},
    {.title = "everything",
     .alibi = true,
     .causal = true,
     .offsets = 2,
     .offset = {5, 1},
     .lengths = 2,
     .mask = PH_F32,
     .key_mask = PH_BOOL,
     .window = true,
     .sides = {4, 3}},
    {.title = "ring, not full",
     .ring = true,
     .causal = true,
     .window = true,
     .sides = {4, 0},
     .offsets = 2,
     .offset = {0, 3}},
    {.title = "ring, wrapped",
     .ring = true,
     .causal = true,
     .window = true,
     .sides = {5, 0},
     .offsets = 2,
     .offset = {29, 1000001}},
    {.title = "ring, alibi, negative",
     .ring = true,
     .alibi = true,
     .window = true,
     .sides = {3, 2},
     .offsets = 2,
     .offset = {-3, 12}},
};

static void add_rules(node_case *c, const rules *r, int64_t heads, int64_t queries, int64_t keys) {
  if (r->mask != PH_DTYPE_NONE) {
    const int64_t full[] = {2, heads, queries, keys};
    int64_t dims[4];
    for (uint32_t i = 0; i < 4; i++) dims[i] = (r->mask_repeats >> i & 1u) != 0 ? 1 : full[i];
    uint32_t mask = case_input(c, r->mask, GAPS, 4, dims);
    if (r->mask != PH_BOOL)
      for (int64_t i = 0; i < case_count(c, mask); i += 3) case_set(c, mask, i, i % 2 == 0 ? -inf_ : -10000);
  } else {
    case_absent(c);
  }
  if (r->key_mask != PH_DTYPE_NONE) {
    uint32_t mask = case_input(c, r->key_mask, GAPS, SHAPE(2, 1, 1, keys));
    if (r->key_mask != PH_BOOL)
      for (int64_t i = 0; i < case_count(c, mask); i += 3) case_set(c, mask, i, -inf_);
  } else {
    case_absent(c);
  }
  if (r->lengths > 0) {
    uint32_t lengths = case_input(c, PH_I64, GAPS, SHAPE(2));
    case_set(c, lengths, 0, (double)(keys > 3 ? keys - 3 : keys));
    case_set(c, lengths, 1, keys > 1 ? 2 : 0);
  } else {
    case_absent(c);
  }
  if (r->offsets > 0) {
    uint32_t offset = case_input(c, PH_I64, GAPS, SHAPE(r->offsets));
    for (uint32_t i = 0; i < r->offsets; i++) case_set(c, offset, i, r->offset[i]);
  } else {
    case_absent(c);
  }
  case_integer(c, "causal", r->causal);
  if (r->align != NULL) case_text(c, "align", r->align);
  if (r->window) case_list(c, "window", 2, r->sides);
  case_integer(c, "alibi", r->alibi);
  if (r->mask == PH_BOOL || r->key_mask == PH_BOOL) case_text(c, "polarity", r->ignore ? "ignore" : "attend");
  case_integer(c, "ring", r->ring);
}

static void test_mask(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(all_rules); i++) {
    static const int64_t sizes[][2] = {{5, 11}, {4, 13}, {1, 9}};
    for (size_t s = 0; s < COUNT(sizes); s++) {
      int64_t queries = sizes[s][0], keys = sizes[s][1];
      ph_dtype type = reals[(i + s) % 3 == 0 ? i % 3 : 0];
      node_case *c = case_new("mask", "%s, %s, %lld x %lld", all_rules[i].title, ph_dtype_name(type),
                              (long long)queries, (long long)keys);
      uint32_t x = case_input(c, type, s == 0 ? DENSE : GAPS, SHAPE(2, 3, queries, keys));
      for (int64_t at = 5; at < case_count(c, x); at += 7) case_set(c, x, at, at % 2 == 0 ? nan_ : -inf_);
      add_rules(c, &all_rules[i], 3, queries, keys);
      case_output(c, type, SHAPE(2, 3, queries, keys));
      case_run(c);
    }
  }
}

typedef struct sizes {
  int64_t heads, kv_heads, queries, keys, depth, value_depth;
} sizes;

/* sinks: 0 absent, 1 some numbers, 2 one of them NaN. */
static node_case *attention_case(const rules *r, const sizes *s, ph_dtype q, ph_dtype k, ph_dtype v, case_layout layout,
                                 int sinks, bool lse) {
  node_case *c = case_new("attention", "%s, %s %s %s, layout %d, %lld/%lld heads, %lld x %lld, %lld/%lld%s", r->title,
                          ph_dtype_name(q), ph_dtype_name(k), ph_dtype_name(v), layout, (long long)s->heads,
                          (long long)s->kv_heads, (long long)s->queries, (long long)s->keys, (long long)s->depth,
                          (long long)s->value_depth, sinks ? ", sinks" : "");
  case_input(c, q, layout, SHAPE(2, s->heads, s->queries, s->depth));
  case_input(c, k, layout, SHAPE(2, s->kv_heads, s->keys, s->depth));
  case_input(c, v, layout, SHAPE(2, s->kv_heads, s->keys, s->value_depth));
  add_rules(c, r, s->heads, s->queries, s->keys);
  if (sinks > 0) {
    uint32_t sink = case_input(c, PH_F32, GAPS, SHAPE(s->heads));
    case_set(c, sink, 0, sinks == 2 ? nan_ : 100);
  } else {
    case_absent(c);
  }
  case_output(c, v, SHAPE(2, s->heads, s->queries, s->value_depth));
  if (lse)
    case_output(c, PH_F32, SHAPE(2, s->heads, s->queries));
  else
    case_output_unwanted(c);
  return c;
}

/* Always with sinks and lse, as every set of operands is a build of its own; half types of masks are left to test_mask.
 */
static void test_attention_rules(void **state) {
  (void)state;
  static const sizes some[] = {{6, 2, 5, 11, 8, 8}, {3, 3, 9, 17, 5, 13}, {2, 1, 1, 12, 16, 3}};
  for (size_t i = 0; i < COUNT(all_rules); i++)
    for (size_t s = 0; s < COUNT(some); s++)
      if (all_rules[i].mask != PH_F16 && all_rules[i].mask != PH_BF16)
        case_run(attention_case(&all_rules[i], &some[s], PH_F32, PH_F32, PH_F32, s == 1 ? GAPS : DENSE, 1, true));
}

static void test_attention_shapes(void **state) {
  (void)state;
  static const rules none = {.title = "nothing"}, causal = {.title = "causal", .causal = true, .align = "bottom_right"};
  static const sizes some[] = {{1, 1, 1, 1, 1, 1},     {1, 1, 3, 1, 3, 2}, {2, 2, 16, 128, 64, 64},
                               {5, 1, 7, 257, 72, 80}, {7, 7, 4, 4, 4, 4}, {1, 1, 67, 131, 33, 31},
                               {40, 2, 1, 33, 8, 8},   {1, 1, 2, 0, 3, 3}, {1, 1, 5, 1100, 8, 8}};
  for (size_t s = 0; s < COUNT(some); s++) {
    case_run(attention_case(&none, &some[s], PH_F32, PH_F32, PH_F32, DENSE, 0, true));
    case_run(attention_case(&causal, &some[s], PH_F32, PH_F32, PH_F32, TURNED, 0, false));
  }
  static const sizes typical = {4, 2, 9, 21, 16, 19};
  for (size_t t = 0; t < COUNT(reals); t++)
    for (int layout = DENSE; layout <= TURNED; layout++)
      case_run(attention_case(&causal, &typical, reals[t], reals[t], reals[t], layout, 1, true));
  case_run(attention_case(&causal, &typical, PH_F32, PH_F16, PH_BF16, DENSE, 0, true));
  case_run(attention_case(&causal, &typical, PH_BF16, PH_F32, PH_F16, DENSE, 2, true));

  node_case *c =
      attention_case(&causal, &typical, PH_F32, PH_F32, PH_F32, DENSE, 0, true); /* capped, and a scale of 0 */
  case_scale(c, c->inputs[0], 50, 0);
  case_real(c, "softcap", 20);
  case_real(c, "scale", 0.7);
  case_run(c);
  c = attention_case(&causal, &typical, PH_F32, PH_F32, PH_F32, DENSE, 0, true);
  case_real(c, "scale", 0);
  case_run(c);
}

/* NaN and infinities behind masks leave no trace; before them they spoil their row alone. */
static void test_attention_classes(void **state) {
  (void)state;
  static const rules lengths = {.title = "no numbers behind lengths", .lengths = 2},
                     none = {.title = "no numbers in view"};
  static const sizes s = {2, 1, 6, 19, 8, 9};
  node_case *c = attention_case(&lengths, &s, PH_F32, PH_F32, PH_F32, DENSE, 0, true);
  for (int64_t key = 0; key < s.keys; key++)
    for (int64_t b = 0; b < 2; b++) {
      if (key < (b == 0 ? s.keys - 3 : 2)) continue;
      for (int64_t d = 0; d < 8; d++) case_set(c, c->inputs[1], (b * s.keys + key) * 8 + d, d % 2 == 0 ? nan_ : inf_);
      for (int64_t d = 0; d < 9; d++) case_set(c, c->inputs[2], (b * s.keys + key) * 9 + d, d % 2 == 0 ? -inf_ : nan_);
    }
  case_run_keep(c);
  for (int64_t i = 0; i < 2 * 2 * 6 * 9; i++) assert_true(isfinite(case_got(c, 0, i)));
  case_free(c);

  c = attention_case(&none, &s, PH_F32, PH_F32, PH_F32, DENSE, 0, true);
  case_set(c, c->inputs[0], 3, nan_);
  case_set(c, c->inputs[0], 8 * 6 + 5, inf_);
  case_set(c, c->inputs[2], 9 * 4 + 2, inf_);
  case_set(c, c->inputs[2], 9 * 5 + 3, nan_);
  case_run(c);
}

/* More scores than a strip holds: rows of a head in several strips, and several heads in one.  (Mesa's llvmpipe ends
 * all loops of a work-item after 65,535 rounds, so that rows cannot be much longer.) */
static void test_attention_strips(void **state) {
  (void)state;
  static const rules causal = {.title = "strips", .causal = true, .align = "top_left"};
  static const sizes long_rows = {1, 1, 65, 40000, 1, 2}, many_heads = {64, 32, 300, 100, 2, 2};
  case_run(attention_case(&causal, &many_heads, PH_F32, PH_F32, PH_F32, DENSE, 0, true));
  static const rules none = {.title = "strips"};
  case_run(attention_case(&none, &long_rows, PH_F32, PH_F32, PH_F32, DENSE, 0, true));
}

/* Values that were computed by hand, from faults that users of other engines met. */
static void test_literals(void **state) {
  (void)state;
  static const rules far = {.title = "logits of -131072"};
  static const sizes two = {1, 1, 1, 2, 1, 1};
  node_case *c = attention_case(&far, &two, PH_F32, PH_F32, PH_F32, DENSE, 0, true);
  case_real(c, "scale", 1);
  case_fill(c, c->inputs[0], -65536);
  case_fill(c, c->inputs[1], 2);
  for (int64_t b = 0; b < 2; b++) {
    case_set(c, c->inputs[2], 2 * b, 1);
    case_set(c, c->inputs[2], 2 * b + 1, 3);
  }
  case_run_keep(c);
  assert_true(case_got(c, 0, 0) == 2.0 && case_got(c, 1, 0) == (double)(-131072.0f + 0.69314718f));
  case_free(c);

  static const rules right = {.title = "causal, bottom_right", .causal = true, .align = "bottom_right"};
  static const sizes uneven = {1, 1, 2, 5, 1, 1};
  c = attention_case(&right, &uneven, PH_F32, PH_F32, PH_F32, DENSE, 0, false);
  case_fill(c, c->inputs[0], 0);
  case_fill(c, c->inputs[1], 0);
  for (int64_t i = 0; i < 10; i++) case_set(c, c->inputs[2], i, (double)(i % 5) + 1);
  case_run_keep(c);
  assert_true(fabs(case_got(c, 0, 0) - 2.5) < 1e-6 && fabs(case_got(c, 0, 1) - 3.0) < 1e-6);
  case_free(c);

  static const rules half = {.title = "f16 logits of -1.28e6"};
  static const sizes wide = {1, 1, 1, 2, 64, 1};
  c = attention_case(&half, &wide, PH_F16, PH_F16, PH_F16, DENSE, 0, false);
  case_real(c, "scale", 0.125);
  case_fill(c, c->inputs[0], 400);
  case_fill(c, c->inputs[1], -400);
  case_set(c, c->inputs[2], 0, 1);
  case_set(c, c->inputs[2], 1, 3);
  case_run_keep(c);
  assert_true(case_got(c, 0, 0) == 2.0);
  case_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_mask),
      cmocka_unit_test(test_attention_rules),
      cmocka_unit_test(test_attention_shapes),
      cmocka_unit_test(test_attention_classes),
      cmocka_unit_test(test_attention_strips),
      cmocka_unit_test(test_literals),
  };
  if (!case_devices_open()) return 77; /* skipped */
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  case_devices_close();
  return failed;
}
