/* ONNX's Attention (opsets 23 to 25) and FlexAttention: ATTENTION_SPEC of the suite says what they mean. */
#include "conform/external_attention.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"

/* ---- what all attentions share ---- */

ph_map_attention_values ph_map_attention_nodes(ph_external_map *map, const ph_map_attention *what) {
  ph_map_attention_values out = {0};
  const char *cap = what->softcap > 0 ? ph_map_number(map, what->softcap) : NULL;
  const char *bias = what->bias != NULL && what->stand_in != NULL
                         ? ph_map_node(map, "both_biases", "add, inputs: [%s, %s]", what->bias, what->stand_in)
                     : what->bias != NULL ? what->bias
                                          : what->stand_in;
  if (what->factor == NULL)
    out.fused = ph_map_node(map, "fused", "attention, inputs: {q: %s, k: %s, v: %s%s%s%s}%s%s%s%s", what->q, what->k,
                            what->v, bias != NULL ? ", mask: " : "", bias != NULL ? bias : "", what->mask_roles,
                            what->scale, cap != NULL ? ", softcap: " : "", cap != NULL ? cap : "", what->mask_attrs);
  out.scores = ph_map_node(map, "scores", "scaled_scores, inputs: [%s, %s]%s", what->q, what->k, what->scale);
  out.capped = cap != NULL ? ph_map_node(map, "capped", "softcap, inputs: [%s], cap: %s", out.scores, cap) : out.scores;
  out.masked = out.capped;
  if (what->bias != NULL) out.masked = ph_map_node(map, "biased", "add, inputs: [%s, %s]", out.masked, what->bias);
  if (what->factor != NULL) out.masked = ph_map_node(map, "left", "mul, inputs: [%s, %s]", out.masked, what->factor);
  if (what->stand_in != NULL)
    out.masked = ph_map_node(map, "filled", "add, inputs: [%s, %s]", out.masked, what->stand_in);
  if (what->mask_roles[0] != '\0' || what->mask_attrs[0] != '\0')
    out.masked =
        ph_map_node(map, "masked", "mask, inputs: {scores: %s%s}%s", out.masked, what->mask_roles, what->mask_attrs);
  out.weights = ph_map_node(map, "weights", "softmax, inputs: [%s]", out.masked);
  out.mixed = ph_map_node(map, "mixed", "weighted_sum, inputs: [%s, %s]", out.weights, what->v);
  ph_map_keep(map, "weights", out.weights);
  return out;
}

static const char *merged(ph_external_map *map, const char *value) {
  return ph_map_node(map, ph_map_text(map, "%s_merged", value), "concat_heads, inputs: [%s]", value);
}

void ph_map_attention_answer(ph_external_map *map, const ph_map_attention_values *values,
                             const ph_external_tensor *stored, bool merge, ph_dtype dtype) {
  if (stored == NULL) return;
  const char *steps = merge ? merged(map, values->mixed) : values->mixed;
  const char *fused = values->fused != NULL && merge ? merged(map, values->fused) : values->fused;
  if (fused != NULL) ph_map_answer(map, stored, stored->role, fused, dtype);
  ph_map_answer(map, stored, ph_map_text(map, "%s_in_steps", stored->role), steps, dtype);
}

const char *ph_map_heads(ph_external_map *map, const char *value, uint32_t rank, const char *name, int64_t heads) {
  if (rank == 4) return value;
  return ph_map_node(map, name, "split_heads, inputs: [%s], heads: %" PRId64, value, heads);
}

const char *ph_map_append(ph_external_map *map, const ph_external_tensor *past, const char *value, const char *name) {
  if (past == NULL) return value;
  return ph_map_node(map, name, "concat, inputs: [%s, %s], axis: 2", ph_map_input(map, past), value);
}

/* ---- Attention ---- */

/* The case's tensors and what follows from their shapes. */
typedef struct onnx_attention {
  const ph_external_tensor *q, *k, *v, *mask, *past_key, *past_value, *lengths;
  int64_t queries, past, keys; /* Sq, P, T */
} onnx_attention;

static onnx_attention read_tensors(ph_external_map *map) {
  onnx_attention a = {.q = ph_map_need(map, "Q", 3, 4),
                      .k = ph_map_need(map, "K", 3, 4),
                      .v = ph_map_need(map, "V", 3, 4),
                      .mask = ph_map_find(map, "attn_mask"),
                      .past_key = ph_map_find(map, "past_key"),
                      .past_value = ph_map_find(map, "past_value"),
                      .lengths = ph_map_find(map, "nonpad_kv_seqlen")};
  if (a.past_key != NULL) a.past = ph_map_need(map, "past_key", 4, 4)->dims[2];
  if (a.mask != NULL) a.mask = ph_map_need(map, "attn_mask", 1, 4);
  if (a.lengths != NULL) a.lengths = ph_map_need(map, "nonpad_kv_seqlen", 1, 1);
  a.queries = a.q->dims[a.q->rank == 4 ? 2 : 1];
  a.keys = a.past + a.k->dims[a.k->rank == 4 ? 2 : 1];
  if ((a.past_key == NULL) != (a.past_value == NULL))
    ph_map_fail(map, PH_INVALID, "past_key and past_value come together or not at all");
  if (a.past_key != NULL && a.lengths != NULL)
    ph_map_fail(map, PH_INVALID, "nonpad_kv_seqlen and past_key exclude each other");
  return a;
}

/* A last axis shorter than the keys: those without an entry are not allowed. */
static const char *padded_mask(ph_external_map *map, const onnx_attention *a) {
  const char *mask = ph_map_input(map, a->mask);
  uint32_t last = a->mask->rank - 1;
  if (a->mask->dims[last] >= a->keys) return mask;
  int64_t dims[PH_MAX_RANK];
  memcpy(dims, a->mask->dims, sizeof(dims));
  dims[last] = a->keys - dims[last];
  ph_tensor *rest = ph_map_new(map, a->mask->dtype, a->mask->rank, dims);
  for (size_t i = 0; rest != NULL && i < rest->count; i++)
    if (ph_dtype_is_real(rest->dtype)) ph_write_real(rest->dtype, rest->data, i, -(double)INFINITY);
  return ph_map_node(map, "whole_mask", "concat, inputs: [%s, %s], axis: -1", mask,
                     ph_map_computed(map, "mask_rest", rest));
}

/* Where query 0 stands: after the past, so that the last query sees the last valid key; at 0 without either (the first
 * query at the first key, not bottom_right).  ATTENTION_SPEC, 7. */
static const char *offset(ph_external_map *map, const onnx_attention *a) {
  if (a->past_key == NULL && a->lengths == NULL) return NULL;
  int64_t count = a->lengths != NULL ? a->lengths->dims[0] : 1;
  ph_tensor *tensor = ph_map_new(map, PH_I64, 1, &count);
  for (size_t i = 0; tensor != NULL && i < tensor->count; i++) {
    const ph_tensor *lengths = a->lengths != NULL ? a->lengths->data : NULL;
    ph_write_integer(PH_I64, tensor->data, i,
                     lengths != NULL ? ph_read_integer(lengths->dtype, lengths->data, i) - a->queries : a->past);
  }
  return ph_map_computed(map, "offset", tensor);
}

static void map_mask(ph_external_map *map, const onnx_attention *a, ph_map_attention *out) {
  bool causal = ph_map_int(map, "is_causal", 0) != 0;
  int64_t left = ph_map_int(map, "left_window_size", -1), right = ph_map_int(map, "right_window_size", -1);
  if (a->lengths != NULL && ph_dtype_is_real(a->lengths->dtype))
    ph_map_fail(map, PH_INVALID, "nonpad_kv_seqlen must hold integers");
  if (a->mask != NULL && a->mask->dtype != PH_BOOL && !ph_dtype_is_real(a->mask->dtype))
    ph_map_fail(map, PH_UNSUPPORTED, "an attn_mask of %s is not mapped: bool and float are", a->mask->type);
  if (map->status != PH_OK) return;
  const char *roles = "", *attrs = "", *first = NULL;
  if (a->mask != NULL) roles = ph_map_text(map, ", mask: %s", padded_mask(map, a));
  if (a->mask != NULL && a->mask->dtype == PH_BOOL) attrs = ", polarity: attend";
  if (a->lengths != NULL) roles = ph_map_text(map, "%s, lengths: %s", roles, ph_map_input(map, a->lengths));
  bool positions = causal || left >= 0 || right >= 0;
  if (positions) first = offset(map, a);
  if (first != NULL) roles = ph_map_text(map, "%s, offset: %s", roles, first);
  if (positions && first == NULL) attrs = ph_map_text(map, "%s, align: top_left", attrs);
  if (causal) attrs = ph_map_text(map, "%s, causal: true", attrs);
  if (left >= 0 || right >= 0) attrs = ph_map_text(map, "%s, window: [%" PRId64 ", %" PRId64 "]", attrs, left, right);
  out->mask_roles = roles;
  out->mask_attrs = attrs;
}

/* Scores of half types are f32 here, which every softmax_precision allows for: it is the least, not the most. */
static void check_precision(ph_external_map *map) {
  enum { FLOAT32 = 1, FLOAT16 = 10, BFLOAT16 = 16 };
  int64_t type = ph_map_int(map, "softmax_precision", FLOAT32);
  if (type != FLOAT32 && type != FLOAT16 && type != BFLOAT16)
    ph_map_fail(map, PH_UNSUPPORTED, "softmax_precision %" PRId64 " is not mapped: f32 and narrower are", type);
}

static ph_dtype score_dtype(ph_dtype dtype) {
  return dtype == PH_F16 ? PH_F32 : dtype;
}

static void answer_scores(ph_external_map *map, const ph_map_attention_values *values, ph_dtype dtype) {
  const char *const by_mode[] = {values->scores, values->capped, values->masked, values->weights};
  int64_t mode = ph_map_int(map, "qk_matmul_output_mode", 0);
  const ph_external_tensor *stored = ph_map_output(map, "qk_matmul_output");
  if (mode < 0 || mode > 3)
    ph_map_fail(map, PH_INVALID, "qk_matmul_output_mode is %" PRId64 ", but must be 0 to 3", mode);
  else if (stored != NULL)
    ph_map_answer(map, stored, stored->role, by_mode[mode], score_dtype(dtype));
}

/* Without a past the stored one is the key or value alone: a move of one. */
static void answer_present(ph_external_map *map, const char *role, const char *value, ph_dtype dtype) {
  const ph_external_tensor *stored = ph_map_output(map, role);
  if (stored == NULL) return;
  if (ph_map_find(map, "past_key") == NULL)
    value = ph_map_node(map, ph_map_text(map, "%s_alone", role), "concat, inputs: [%s], axis: 2", value);
  ph_map_answer(map, stored, role, value, dtype);
}

static void map_attention(ph_external_map *map) {
  onnx_attention a = read_tensors(map);
  int64_t q_heads = ph_map_int(map, "q_num_heads", 0), kv_heads = ph_map_int(map, "kv_num_heads", 0);
  if (map->status != PH_OK) return;
  ph_map_attention what = {.softcap = ph_map_real(map, "softcap", 0), .scale = ph_map_real_attr(map, "scale", "scale")};
  what.q = ph_map_heads(map, ph_map_input(map, a.q), a.q->rank, "q", q_heads);
  what.k = ph_map_heads(map, ph_map_input(map, a.k), a.k->rank, "k", kv_heads);
  what.v = ph_map_heads(map, ph_map_input(map, a.v), a.v->rank, "v", kv_heads);
  what.k = ph_map_append(map, a.past_key, what.k, "keys");
  what.v = ph_map_append(map, a.past_value, what.v, "values");
  check_precision(map);
  map_mask(map, &a, &what);
  if (map->status != PH_OK) return;
  ph_map_attention_values values = ph_map_attention_nodes(map, &what);
  ph_map_attention_answer(map, &values, ph_map_output(map, "Y"), a.q->rank == 3, a.v->dtype);
  answer_present(map, "present_key", what.k, a.k->dtype);
  answer_present(map, "present_value", what.v, a.v->dtype);
  answer_scores(map, &values, a.q->dtype);
}

/* ---- FlexAttention: no masks, but functions of the scores, which the cases name ---- */

static void map_flex_attention(ph_external_map *map) {
  const char *score_mod = ph_map_choice(map, "score_mod", ""), *prob_mod = ph_map_choice(map, "prob_mod", "");
  const ph_external_tensor *v = ph_map_need(map, "V", 4, 4);
  bool causal = strcmp(score_mod, "causal") == 0, add_half = strcmp(score_mod, "add_half") == 0;
  if (prob_mod[0] != '\0') ph_map_fail(map, PH_UNSUPPORTED, "prob_mod %s is not mapped", prob_mod);
  if (score_mod[0] != '\0' && !causal && !add_half)
    ph_map_fail(map, PH_UNSUPPORTED, "score_mod %s is not mapped", score_mod);
  check_precision(map);
  ph_map_attention what = {.q = ph_map_take(map, "Q"),
                           .k = ph_map_take(map, "K"),
                           .v = ph_map_take(map, "V"),
                           .scale = ph_map_real_attr(map, "scale", "scale"),
                           .mask_roles = "",
                           .mask_attrs = causal ? ", align: top_left, causal: true" : ""};
  if (add_half) {
    int64_t one = 1;
    ph_tensor *half = ph_map_new(map, PH_F32, 1, &one);
    if (half != NULL) ph_write_real(PH_F32, half->data, 0, 0.5);
    what.bias = ph_map_computed(map, "half", half);
  }
  if (map->status != PH_OK) return;
  ph_map_attention_values values = ph_map_attention_nodes(map, &what);
  ph_map_attention_answer(map, &values, ph_map_output(map, "Y"), false, v->dtype);
}

const ph_external_op ph_external_attention_ops[] = {
    {"Attention", map_attention}, {"FlexAttention", map_flex_attention}, {0}};
