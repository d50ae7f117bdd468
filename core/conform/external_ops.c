/* The operators beside attention: each a node of ours, or a few. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "conform/external_map.h"

/* ---- what several share ---- */

/* The only output, by whatever role. */
static void answer_only(ph_external_map *map, const char *value, ph_dtype dtype) {
  for (uint32_t i = 0; i < map->of->output_count; i++)
    if (map->of->outputs[i].present) {
      ph_map_answer(map, &map->of->outputs[i], map->of->outputs[i].role, value, dtype);
      return;
    }
}

/* The first input by position, whatever its role: X, input, data. */
static const ph_external_tensor *first_input(ph_external_map *map) {
  if (map->of->input_count > 0) return ph_map_need(map, map->of->inputs[0].role, 0, PH_MAX_RANK);
  return ph_map_need(map, "X", 0, PH_MAX_RANK);
}

static void map_unary(ph_external_map *map, const char *op) {
  const ph_external_tensor *x = first_input(map);
  answer_only(map, ph_map_node(map, "y", "%s, inputs: [%s]", op, ph_map_input(map, x)), x->dtype);
}

static void map_binary(ph_external_map *map, const char *op) {
  const ph_external_tensor *a = ph_map_need(map, "A", 0, PH_MAX_RANK);
  const char *left = ph_map_input(map, a), *right = ph_map_take(map, "B");
  answer_only(map, ph_map_node(map, "y", "%s, inputs: [%s, %s]", op, left, right), a->dtype);
}

static const char *shape_of(ph_external_map *map, const ph_external_tensor *tensor) {
  const char *text = "";
  for (uint32_t i = 0; i < tensor->rank; i++)
    text = ph_map_text(map, "%s%s%" PRId64, text, i == 0 ? "" : ", ", tensor->dims[i]);
  return text;
}

/* ---- element by element ---- */

static void map_add(ph_external_map *map) {
  map_binary(map, "add");
}
static void map_sub(ph_external_map *map) {
  map_binary(map, "sub");
}
static void map_mul(ph_external_map *map) {
  map_binary(map, "mul");
}
static void map_div(ph_external_map *map) {
  map_binary(map, "div");
}
static void map_erf(ph_external_map *map) {
  map_unary(map, "erf");
}
static void map_exp(ph_external_map *map) {
  map_unary(map, "exp");
}
static void map_relu(ph_external_map *map) {
  map_unary(map, "relu");
}
static void map_sigmoid(ph_external_map *map) {
  map_unary(map, "sigmoid");
}
static void map_tanh(ph_external_map *map) {
  map_unary(map, "tanh");
}

static void map_gelu(ph_external_map *map) {
  const ph_external_tensor *x = first_input(map);
  const char *form = strcmp(ph_map_choice(map, "approximate", "none"), "tanh") == 0 ? "tanh" : "erf";
  answer_only(map, ph_map_node(map, "y", "gelu, inputs: [%s], form: %s", ph_map_input(map, x), form), x->dtype);
}

/* x * sigmoid(alpha * x) */
static void map_swish(ph_external_map *map) {
  const ph_external_tensor *x = first_input(map);
  const char *name = ph_map_input(map, x);
  double alpha = ph_map_real(map, "alpha", 1);
  if (alpha == 1) {
    ph_map_node(map, "y", "silu, inputs: [%s]", name);
  } else {
    ph_map_node(map, "steep", "mul, inputs: [%s, %s]", name, ph_map_number(map, alpha));
    ph_map_node(map, "gate", "sigmoid, inputs: [steep]");
    ph_map_node(map, "y", "mul, inputs: [%s, gate]", name);
  }
  answer_only(map, "y", x->dtype);
}

static void map_glu(ph_external_map *map) {
  const ph_external_tensor *x = first_input(map);
  uint32_t axis = ph_map_axis(map, x, ph_map_int(map, "axis", -1));
  int64_t half = x->dims[axis] / 2;
  ph_map_node(map, "halves", "split, inputs: [%s], axis: %u, into: {a: %" PRId64 ", b: %" PRId64 "}",
              ph_map_input(map, x), axis, half, half);
  ph_map_node(map, "gate", "sigmoid, inputs: [halves.b]");
  answer_only(map, ph_map_node(map, "y", "mul, inputs: [halves.a, gate]"), x->dtype);
}

/* ---- products ---- */

static void map_matmul(ph_external_map *map) {
  map_binary(map, "matmul");
}

static void map_linear(ph_external_map *map) {
  const ph_external_tensor *x = first_input(map);
  const char *name = ph_map_input(map, x), *weight = ph_map_take(map, "weight");
  const char *bias = ph_map_find(map, "bias") != NULL ? ph_map_text(map, ", %s", ph_map_take(map, "bias")) : "";
  answer_only(map, ph_map_node(map, "y", "linear, inputs: [%s, %s%s]", name, weight, bias), x->dtype);
}

static const char *scaled(ph_external_map *map, const char *value, double by, const char *name) {
  return by == 1 ? value : ph_map_node(map, name, "mul, inputs: [%s, %s]", value, ph_map_number(map, by));
}

/* alpha * A' * B' + beta * C */
static void map_gemm(ph_external_map *map) {
  const ph_external_tensor *a = ph_map_need(map, "A", 2, 2);
  const char *left = ph_map_input(map, a), *right = ph_map_take(map, "B");
  double alpha = ph_map_real(map, "alpha", 1), beta = ph_map_real(map, "beta", 1);
  const char *turn_a = ph_map_int(map, "transA", 0) != 0 ? ", transpose_a: true" : "";
  const char *turn_b = ph_map_int(map, "transB", 0) != 0 ? ", transpose_b: true" : "";
  const char *y = ph_map_node(map, "product", "matmul, inputs: [%s, %s]%s%s", left, right, turn_a, turn_b);
  y = scaled(map, y, alpha, "scaled");
  if (ph_map_find(map, "C") != NULL)
    y = ph_map_node(map, "y", "add, inputs: [%s, %s]", y, scaled(map, ph_map_take(map, "C"), beta, "addend"));
  answer_only(map, y, a->dtype);
}

/* A gemm whose addend is a gemm of the same A and B: A * B + (A * B + C). */
static void map_addmm(ph_external_map *map) {
  const ph_external_tensor *a = ph_map_need(map, "A", 2, 2);
  const char *left = ph_map_input(map, a), *right = ph_map_take(map, "B");
  ph_map_node(map, "product", "matmul, inputs: [%s, %s]", left, right);
  ph_map_node(map, "inner", "add, inputs: [product, %s]", ph_map_take(map, "C"));
  answer_only(map, ph_map_node(map, "y", "add, inputs: [product, inner]"), a->dtype);
}

/* ---- norms ---- */

static void map_norm(ph_external_map *map, const char *op, const char *scale_role) {
  const ph_external_tensor *x = first_input(map);
  int64_t axis = ph_map_int(map, "axis", -1);
  const char *eps = ph_map_real_attr(map, "epsilon", "eps");
  const char *name = ph_map_input(map, x), *scale = ph_map_take(map, scale_role);
  const char *bias = ph_map_find(map, "B") != NULL ? ph_map_text(map, ", %s", ph_map_take(map, "B")) : "";
  const ph_external_tensor *mean = ph_map_output(map, "Mean"), *inv_std = ph_map_output(map, "InvStdDev");
  if (ph_map_int(map, "stash_type", 1) != 1)
    ph_map_fail(map, PH_UNSUPPORTED, "a stash_type other than 1, float32, is not mapped");
  ph_map_node(map, "y", "%s, inputs: [%s, %s%s], axis: %" PRId64 "%s", op, name, scale, bias, axis, eps);
  ph_map_answer(map, ph_map_output(map, "Y"), "Y", "y", x->dtype);
  ph_map_answer(map, mean, "Mean", "y.mean", x->dtype);
  ph_map_answer(map, inv_std, "InvStdDev", "y.inv_std", x->dtype);
}

static void map_layer_norm(ph_external_map *map) {
  map_norm(map, "layer_norm", "Scale");
}
static void map_rms_norm(ph_external_map *map) {
  map_norm(map, "rms_norm", "scale");
}

/* ---- softmax ---- */

/* Before opset 13 it went over all axes from `axis` on, as if they were one. */
static void map_softmax_of(ph_external_map *map, const char *op) {
  const ph_external_tensor *x = first_input(map);
  bool flat = ph_map_int(map, "_coerce_2d", 0) != 0;
  uint32_t axis = ph_map_axis(map, x, ph_map_int(map, "axis", -1));
  const char *name = ph_map_input(map, x);
  if (!flat || axis + 1 >= x->rank) {
    ph_map_node(map, "y", "%s, inputs: [%s], axis: %u", op, name, axis);
  } else {
    size_t rows = 1, columns = 1;
    for (uint32_t i = 0; i < x->rank; i++)
      if (!ph_mul_size(i < axis ? rows : columns, (size_t)x->dims[i], i < axis ? &rows : &columns))
        ph_map_fail(map, PH_INVALID, "%s has more elements than can be counted", x->role);
    ph_map_node(map, "flat", "reshape, inputs: [%s], shape: [%zu, %zu]", name, rows, columns);
    ph_map_node(map, "rows", "%s, inputs: [flat]", op);
    ph_map_node(map, "y", "reshape, inputs: [rows], shape: [%s]", shape_of(map, x));
  }
  answer_only(map, "y", x->dtype);
}

static void map_softmax(ph_external_map *map) {
  map_softmax_of(map, "softmax");
}
static void map_log_softmax(ph_external_map *map) {
  map_softmax_of(map, "log_softmax");
}

static void map_softmax_masked(ph_external_map *map) {
  const ph_external_tensor *x = ph_map_need(map, "input", 2, 4);
  const char *name = ph_map_input(map, x), *allowed = ph_map_take(map, "allowed");
  if (ph_map_axis(map, x, ph_map_int(map, "axis", -1)) + 1 != x->rank)
    ph_map_fail(map, PH_UNSUPPORTED, "SoftmaxMasked over another axis than the last is not mapped");
  ph_map_node(map, "masked", "mask, inputs: [%s, %s], polarity: attend", name, allowed);
  answer_only(map, ph_map_node(map, "y", "softmax, inputs: [masked]"), x->dtype);
}

/* ---- positions, caches ---- */

static void map_rotary(ph_external_map *map) {
  const ph_external_tensor *x = ph_map_need(map, "X", 3, 4);
  int64_t width = ph_map_int(map, "rotary_embedding_dim", 0), heads = ph_map_int(map, "num_heads", 0);
  const char *pairs = ph_map_int(map, "interleaved", 0) != 0 ? "interleaved" : "half";
  const char *name = ph_map_input(map, x), *cosines = ph_map_take(map, "cos_cache"),
             *sines = ph_map_take(map, "sin_cache");
  const char *positions = ph_map_find(map, "position_ids") != NULL
                              ? ph_map_text(map, ", positions: %s", ph_map_take(map, "position_ids"))
                              : "";
  const char *part = width > 0 ? ph_map_text(map, ", rotary_dim: %" PRId64, width) : "";
  if (x->rank == 3) name = ph_map_node(map, "x", "split_heads, inputs: [%s], heads: %" PRId64, name, heads);
  const char *y = ph_map_node(map, "y", "rotary, inputs: {x: %s, cos: %s, sin: %s%s}, pairs: %s%s", name, cosines,
                              sines, positions, pairs, part);
  if (x->rank == 3) y = ph_map_node(map, "merged", "concat_heads, inputs: [y]");
  answer_only(map, y, x->dtype);
}

static void map_tensor_scatter(ph_external_map *map) {
  const ph_external_tensor *cache = ph_map_need(map, "past_cache", 2, PH_MAX_RANK);
  const char *mode = ph_map_choice(map, "mode", "linear");
  uint32_t axis = ph_map_axis(map, cache, ph_map_int(map, "axis", -2));
  const char *name = ph_map_input(map, cache), *update = ph_map_take(map, "update"), *offset;
  bool ring = strcmp(mode, "circular") == 0;
  if (!ring && strcmp(mode, "linear") != 0) ph_map_fail(map, PH_UNSUPPORTED, "mode %s is not mapped", mode);
  if (ph_map_find(map, "write_indices") != NULL) {
    offset = ph_map_take(map, "write_indices");
  } else { /* absent: from the start */
    int64_t one = 1;
    offset = ph_map_computed(map, "offset", ph_map_new(map, PH_I64, 1, &one));
  }
  answer_only(map,
              ph_map_node(map, "y", "cache_write, inputs: [%s, %s, %s], axis: %u, ring: %s", name, update, offset, axis,
                          ring ? "true" : "false"),
              cache->dtype);
}

/* ---- moves ---- */

static void map_concat(ph_external_map *map) {
  const ph_external_tensor *first = first_input(map);
  const char *names = "";
  for (uint32_t i = 0; i < map->of->input_count; i++)
    if (map->of->inputs[i].present)
      names = ph_map_text(map, "%s%s%s", names, i == 0 ? "" : ", ", ph_map_input(map, &map->of->inputs[i]));
  uint32_t axis = ph_map_axis(map, first, ph_map_int(map, "axis", 0));
  answer_only(map, ph_map_node(map, "y", "concat, inputs: [%s], axis: %u", names, axis), first->dtype);
}

static void map_gather(ph_external_map *map) {
  const ph_external_tensor *x = first_input(map);
  const char *name = ph_map_input(map, x), *indices = ph_map_take(map, "indices");
  uint32_t axis = ph_map_axis(map, x, ph_map_int(map, "axis", 0));
  answer_only(map, ph_map_node(map, "y", "gather, inputs: [%s, %s], axis: %u", name, indices, axis), x->dtype);
}

/* Without perm the axes are reversed. */
static void map_transpose(ph_external_map *map) {
  const ph_external_tensor *x = first_input(map);
  int64_t perm[PH_MAX_RANK];
  uint32_t count;
  const char *axes = "";
  if (!ph_map_ints(map, "perm", perm, PH_MAX_RANK, &count))
    for (count = 0; count < x->rank; count++) perm[count] = x->rank - 1 - count;
  for (uint32_t i = 0; i < count; i++) axes = ph_map_text(map, "%s%s%" PRId64, axes, i == 0 ? "" : ", ", perm[i]);
  answer_only(map, ph_map_node(map, "y", "transpose, inputs: [%s], axes: [%s]", ph_map_input(map, x), axes), x->dtype);
}

const ph_external_op ph_external_other_ops[] = {{"Add", map_add},
                                                {"Sub", map_sub},
                                                {"Mul", map_mul},
                                                {"Div", map_div},
                                                {"Erf", map_erf},
                                                {"Exp", map_exp},
                                                {"Relu", map_relu},
                                                {"Sigmoid", map_sigmoid},
                                                {"Tanh", map_tanh},
                                                {"Gelu", map_gelu},
                                                {"Swish", map_swish},
                                                {"GLU", map_glu},
                                                {"MatMul", map_matmul},
                                                {"Gemm", map_gemm},
                                                {"Linear", map_linear},
                                                {"Addmm", map_addmm},
                                                {"LayerNormalization", map_layer_norm},
                                                {"RMSNormalization", map_rms_norm},
                                                {"Softmax", map_softmax},
                                                {"LogSoftmax", map_log_softmax},
                                                {"SoftmaxMasked", map_softmax_masked},
                                                {"RotaryEmbedding", map_rotary},
                                                {"TensorScatter", map_tensor_scatter},
                                                {"Concat", map_concat},
                                                {"Gather", map_gather},
                                                {"Transpose", map_transpose},
                                                {0}};
