/* ONNX Runtime's Attention and MultiHeadAttention.  Where a key is masked they add a finite number (-10000) to its
 * score, and where it lies in the future (unidirectional) they put that number in the score's place; so a row without
 * any allowed key is not zero there.  Both are written out as ops on the scores, never as our mask, which means -inf.
 */
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "conform/external_attention.h"

/* ---- what the masks of integers mean ---- */

/* B, S, P, T: samples, queries, past keys, all keys. */
typedef struct extents {
  int64_t batch, queries, past, keys;
} extents;

/* May query i of sample b look at key j?  `ints` are the mask's elements. */
typedef bool allows_function(const extents *e, const ph_tensor *mask, int64_t b, int64_t i, int64_t j);

static int64_t element(const ph_tensor *mask, int64_t index) {
  return ph_read_integer(mask->dtype, mask->data, (size_t)index);
}

static bool before_end(const extents *e, const ph_tensor *mask, int64_t b, int64_t i, int64_t j) {
  (void)e, (void)i;
  return j < element(mask, b);
}

static bool between(const extents *e, const ph_tensor *mask, int64_t b, int64_t i, int64_t j) {
  (void)i;
  return j < element(mask, b) && j >= element(mask, e->batch + b);
}

static bool by_key(const extents *e, const ph_tensor *mask, int64_t b, int64_t i, int64_t j) {
  (void)i;
  return element(mask, b * e->keys + j) > 0;
}

static bool by_pair(const extents *e, const ph_tensor *mask, int64_t b, int64_t i, int64_t j) {
  return element(mask, (b * e->queries + i) * e->keys + j) > 0;
}

/* A square over all positions there may ever be: [B, 1, max, max]. */
static bool by_position(const extents *e, const ph_tensor *mask, int64_t b, int64_t i, int64_t j) {
  int64_t most = mask->dims[3];
  return element(mask, (b * most + e->past + i) * most + j) > 0;
}

/* The rule of a kind of mask; NULL where it allows everything.  Fails where the mask has not the shape of its kind. */
static allows_function *rule_of(ph_external_map *map, const char *kind, const ph_external_tensor *mask,
                                const extents *e) {
  const struct {
    const char *kind;
    allows_function *allows;
    uint32_t rank;
    int64_t dims[3];
  } kinds[] = {{"MASK_1D_KEY_SEQ_LEN", before_end, 1, {e->batch}},
               {"MASK_1D_END_START", between, 1, {2 * e->batch}},
               {"MASK_2D_KEY_PADDING", by_key, 2, {e->batch, e->keys}},
               {"MASK_2D_DUMMY", NULL, 2, {e->batch, 1}},
               {"MASK_3D_ATTENTION", by_pair, 3, {e->batch, e->queries, e->keys}},
               {"MASK_4D_MEGATRON", by_position, 4, {e->batch, 1}}};
  enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
  bool none = strcmp(kind, "NONE") == 0;
  if (none != (mask == NULL))
    ph_map_fail(map, PH_INVALID, "mask_kind is %s, but the mask is %s", kind, none ? "there" : "absent");
  if (none || mask == NULL) return NULL;
  uint32_t k = 0;
  while (k < KINDS && strcmp(kinds[k].kind, kind) != 0) k++;
  if (k == KINDS) {
    ph_map_fail(map, PH_UNSUPPORTED, "mask_kind %s is not mapped", kind);
    return NULL;
  }
  bool fits = mask->rank == kinds[k].rank && (mask->dtype == PH_I32 || mask->dtype == PH_I64);
  for (uint32_t d = 0; fits && d < mask->rank && d < 3 && kinds[k].dims[d] > 0; d++)
    fits = mask->dims[d] == kinds[k].dims[d];
  if (fits && kinds[k].allows == by_position)
    fits = mask->dims[2] == mask->dims[3] && mask->dims[3] >= e->keys && mask->dims[2] >= e->past + e->queries;
  if (!fits) ph_map_fail(map, PH_INVALID, "%s has not the type and shape of a %s", mask->role, kind);
  return kinds[k].allows;
}

/* ---- the finite stand-ins, as inputs that the mapping computed ---- */

typedef struct stand_ins {
  const ph_tensor *mask; /* NULL: none */
  allows_function *allows;
  bool replace_future;
  double value;
} stand_ins;

static void fill(const stand_ins *s, const extents *e, ph_tensor *bias, ph_tensor *factor) {
  size_t at = 0;
  for (int64_t b = 0; b < e->batch; b++)
    for (int64_t i = 0; i < e->queries; i++)
      for (int64_t j = 0; j < e->keys; j++, at++) {
        bool future = s->replace_future && j > e->past + i;
        bool masked = s->allows != NULL && !s->allows(e, s->mask, b, i, j);
        ph_write_real(PH_F32, bias->data, at, (future ? s->value : 0) + (masked ? s->value : 0));
        if (factor != NULL) ph_write_real(PH_F32, factor->data, at, future ? 0 : 1);
      }
}

static void add_stand_ins(ph_external_map *map, const char *mask_role, const extents *e, ph_map_attention *what) {
  const ph_external_tensor *mask = ph_map_find(map, mask_role);
  stand_ins s = {.mask = mask != NULL ? mask->data : NULL,
                 .allows = rule_of(map, ph_map_choice(map, "mask_kind", "NONE"), mask, e),
                 .replace_future = ph_map_int(map, "unidirectional", 0) != 0,
                 .value = ph_map_real(map, "mask_filter_value", -10000)};
  if (map->status != PH_OK || (s.allows == NULL && !s.replace_future)) return;
  const int64_t dims[] = {e->batch, 1, e->queries, e->keys};
  ph_tensor *bias = ph_map_new(map, PH_F32, 4, dims);
  ph_tensor *factor = s.replace_future ? ph_map_new(map, PH_F32, 4, dims) : NULL;
  if (map->status == PH_OK) fill(&s, e, bias, factor);
  what->stand_in = ph_map_computed(map, "stand_in", bias);
  if (s.replace_future) what->factor = ph_map_computed(map, "not_future", factor);
}

static const char *relative_bias(ph_external_map *map) {
  const ph_external_tensor *bias = ph_map_find(map, "relative_position_bias");
  return bias != NULL ? ph_map_input(map, bias) : NULL;
}

/* ---- OrtAttention: projections in one matrix, past and present in one tensor ---- */

/* past[0] is keys, past[1] values: [2, B, N, P, D]. */
static void append_past(ph_external_map *map, const ph_external_tensor *past, ph_map_attention *what) {
  if (past == NULL) return;
  const int64_t *d = past->dims;
  const char *shape = ph_map_text(map, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", d[1], d[2], d[3], d[4]);
  const char *halves =
      ph_map_node(map, "halves", "split, inputs: [%s], axis: 0, into: {keys: 1, values: 1}", ph_map_input(map, past));
  const char *keys = ph_map_node(map, "past_keys", "reshape, inputs: [%s.keys], shape: %s", halves, shape);
  const char *values = ph_map_node(map, "past_values", "reshape, inputs: [%s.values], shape: %s", halves, shape);
  what->k = ph_map_node(map, "keys", "concat, inputs: [%s, %s], axis: 2", keys, what->k);
  what->v = ph_map_node(map, "values", "concat, inputs: [%s, %s], axis: 2", values, what->v);
}

static void answer_present(ph_external_map *map, const ph_map_attention *what, const extents *e, int64_t heads,
                           int64_t width) {
  const ph_external_tensor *stored = ph_map_output(map, "present");
  if (stored == NULL) return;
  const char *shape = ph_map_text(map, "[1, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", e->batch, heads,
                                  e->keys, width / heads);
  const char *keys = ph_map_node(map, "present_keys", "reshape, inputs: [%s], shape: %s", what->k, shape);
  const char *values = ph_map_node(map, "present_values", "reshape, inputs: [%s], shape: %s", what->v, shape);
  const char *both = ph_map_node(map, "both", "concat, inputs: [%s, %s], axis: 0", keys, values);
  ph_map_answer(map, stored, stored->role, both, PH_F32);
}

static void map_ort_attention(ph_external_map *map) {
  const ph_external_tensor *input = ph_map_need(map, "input", 3, 3), *past = ph_map_find(map, "past");
  if (past != NULL) past = ph_map_need(map, "past", 5, 5);
  int64_t heads = ph_map_int(map, "num_heads", 0), sizes[3] = {0};
  uint32_t size_count = 0;
  if (!ph_map_ints(map, "qkv_hidden_sizes", sizes, 3, &size_count) || size_count != 3)
    ph_map_fail(map, PH_UNSUPPORTED, "without qkv_hidden_sizes, three of them, it is not mapped");
  if (heads < 1) ph_map_fail(map, PH_INVALID, "num_heads must be there and at least 1");
  if (ph_map_int(map, "do_rotary", 0) != 0) ph_map_fail(map, PH_UNSUPPORTED, "do_rotary is not mapped");
  const char *x = ph_map_input(map, input), *weight = ph_map_take(map, "weight");
  const char *bias = ph_map_find(map, "bias") != NULL ? ph_map_text(map, ", %s", ph_map_take(map, "bias")) : "";
  if (map->status != PH_OK) return;
  ph_map_node(map, "projected", "linear, inputs: [%s, %s%s], layout: in_out", x, weight, bias);
  ph_map_node(map, "parts",
              "split, inputs: [projected], axis: 2, into: {q: %" PRId64 ", k: %" PRId64 ", v: %" PRId64 "}", sizes[0],
              sizes[1], sizes[2]);
  ph_map_attention what = {.q = ph_map_heads(map, "parts.q", 3, "q", heads),
                           .k = ph_map_heads(map, "parts.k", 3, "k", heads),
                           .v = ph_map_heads(map, "parts.v", 3, "v", heads),
                           .scale = ph_map_real_attr(map, "scale", "scale"),
                           .bias = relative_bias(map),
                           .mask_roles = "",
                           .mask_attrs = ""};
  extents e = {.batch = input->dims[0], .queries = input->dims[1], .past = past != NULL ? past->dims[3] : 0};
  e.keys = e.past + e.queries;
  append_past(map, past, &what);
  add_stand_ins(map, "mask_index", &e, &what);
  if (map->status != PH_OK) return;
  ph_map_attention_values values = ph_map_attention_nodes(map, &what);
  ph_map_attention_answer(map, &values, ph_map_output(map, "output"), true, PH_F32);
  answer_present(map, &what, &e, heads, sizes[1]);
}

/* ---- OrtMultiHeadAttention: q, k and v come projected, their bias does not ---- */

static void add_biases(ph_external_map *map, const char *const names[3], const int64_t sizes[3],
                       const char *values[3]) {
  if (ph_map_find(map, "bias") == NULL) return;
  ph_map_node(map, "biases", "split, inputs: [%s], axis: 0, into: {q: %" PRId64 ", k: %" PRId64 ", v: %" PRId64 "}",
              ph_map_take(map, "bias"), sizes[0], sizes[1], sizes[2]);
  for (int i = 0; i < 3; i++)
    values[i] =
        ph_map_node(map, ph_map_text(map, "%s_biased", names[i]), "add, inputs: [%s, biases.%s]", values[i], names[i]);
}

static void map_ort_multi_head(ph_external_map *map) {
  static const char *const roles[] = {"query", "key", "value"}, *const names[] = {"q", "k", "v"};
  const ph_external_tensor *past_key = ph_map_find(map, "past_key"), *past_value = ph_map_find(map, "past_value");
  if (past_key != NULL) past_key = ph_map_need(map, "past_key", 4, 4);
  int64_t heads = ph_map_int(map, "num_heads", 0), sizes[3];
  if (ph_map_int(map, "past_is_whole_kv", 0) != 0) ph_map_fail(map, PH_UNSUPPORTED, "past_is_whole_kv is not mapped");
  if ((past_key == NULL) != (past_value == NULL))
    ph_map_fail(map, PH_INVALID, "past_key and past_value come together or not at all");
  const char *values[3], *split[3];
  for (int i = 0; i < 3; i++) {
    const ph_external_tensor *tensor = ph_map_need(map, roles[i], 3, 3);
    sizes[i] = tensor->dims[2];
    values[i] = ph_map_input(map, tensor);
  }
  add_biases(map, names, sizes, values);
  for (int i = 0; i < 3; i++) split[i] = ph_map_heads(map, values[i], 3, names[i], heads);
  ph_map_attention what = {.q = split[0],
                           .k = ph_map_append(map, past_key, split[1], "keys"),
                           .v = ph_map_append(map, past_value, split[2], "values"),
                           .scale = ph_map_real_attr(map, "scale", "scale"),
                           .bias = relative_bias(map),
                           .mask_roles = "",
                           .mask_attrs = ""};
  if (map->status != PH_OK) return;
  const ph_external_tensor *query = ph_map_need(map, "query", 3, 3), *key = ph_map_need(map, "key", 3, 3);
  extents e = {.batch = query->dims[0], .queries = query->dims[1], .past = past_key != NULL ? past_key->dims[2] : 0};
  e.keys = e.past + key->dims[1];
  add_stand_ins(map, "key_padding_mask", &e, &what);
  if (map->status != PH_OK) return;
  ph_map_attention_values attention = ph_map_attention_nodes(map, &what);
  ph_map_attention_answer(map, &attention, ph_map_output(map, "output"), true, PH_F32);
  ph_map_answer(map, ph_map_output(map, "present_key"), "present_key", what.k, PH_F32);
  ph_map_answer(map, ph_map_output(map, "present_value"), "present_value", what.v, PH_F32);
}

const ph_external_op ph_external_ort_ops[] = {
    {"OrtAttention", map_ort_attention}, {"OrtMultiHeadAttention", map_ort_multi_head}, {0}};
