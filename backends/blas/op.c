/* The table of ops, and planning one node: what is the same for all of them. */
#include "blas/op.h"

#include <string.h>

#include "base/dtype.h"
#include "blas/device.h"

static const blas_op *const ops[] = {
    &blas_linear,       &blas_fused_linear,  &blas_matmul,      &blas_split_heads,
    &blas_concat_heads, &blas_scaled_scores, &blas_softcap,     &blas_mask,
    &blas_softmax,      &blas_hardmax,       &blas_log_softmax, &blas_weighted_sum,
    &blas_attention,    &blas_embedding,     &blas_positions,   &blas_sinusoidal_position,
    &blas_rotary,       &blas_layer_norm,    &blas_rms_norm,    &blas_add,
    &blas_sub,          &blas_mul,           &blas_div,         &blas_relu,
    &blas_gelu,         &blas_silu,          &blas_tanh,        &blas_sigmoid,
    &blas_erf,          &blas_exp,           &blas_concat,      &blas_split,
    &blas_slice,        &blas_gather,        &blas_transpose,   &blas_reshape,
    &blas_expand,       &blas_cast,          &blas_cache_write, &blas_mean,
    &blas_argmax,       &blas_l2_normalize,  &blas_one_hot,     &blas_cross_entropy,
    &blas_mse,          &blas_dropout,
};

const blas_op *blas_op_find(const char *name) {
  for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
    if (strcmp(ops[i]->name, name) == 0) return ops[i];
  return NULL;
}

void *blas_parameters(blas_planner *planner, size_t size) {
  planner->node->parameters = ph_arena_alloc(planner->arena, size);
  return planner->node->parameters;
}

/* ---- operands ---- */

/* Dense but for axes that repeat. */
static bool is_compact(const ph_tensor_desc *desc, bool may_repeat) {
  int64_t expected = 1;
  for (uint32_t i = desc->rank; i-- > 0;) {
    if (desc->dims[i] == 1 || (may_repeat && desc->strides[i] == 0)) continue;
    if (desc->strides[i] != expected && expected != 0) return false;
    expected *= desc->dims[i];
  }
  return true;
}

static ph_status read_operand(const blas_planner *planner, uint32_t tensor, bool may_repeat, blas_operand *out,
                              bool *out_needs_dense, ph_error *error) {
  *out = (blas_operand){.tensor = tensor, .count = 1};
  if (tensor == PH_NONE) {
    out->count = 0;
    return PH_OK;
  }
  const ph_tensor_desc *desc = planner->graph->tensors[tensor];
  out->dtype = desc->dtype;
  out->rank = desc->rank;
  if (desc->dtype == PH_F64)
    return ph_fail(error, PH_UNSUPPORTED, "tensor '%s' is f64, which blas does not take: cast it to f32", desc->name);
  int64_t bytes = (int64_t)ph_dtype_size(desc->dtype), whole = 1;
  bool fits = true, empty = false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    bool repeats = desc->dims[i] == 1 || (may_repeat && desc->strides[i] == 0);
    out->dims[i] = desc->dims[i];
    out->strides[i] = repeats ? 0 : desc->strides[i];
    empty = empty || desc->dims[i] == 0;
    fits = fits && (desc->dims[i] == 0 || ph_mul_i64(whole, desc->dims[i], &whole));
    if (!repeats && desc->dims[i] > 0) fits = fits && ph_mul_i64(out->count, desc->dims[i], &out->count);
  }
  fits = fits && ph_mul_i64(whole, (int64_t)sizeof(float), &whole) && ph_mul_i64(out->count, bytes, &bytes);
  if (empty) {
    out->count = 0;
    return PH_OK;
  }
  if (!fits || (uint64_t)bytes > planner->device->memory_bytes)
    return ph_fail(error, PH_UNSUPPORTED, "tensor '%s' is larger than the %llu bytes of this machine", desc->name,
                   (unsigned long long)planner->device->memory_bytes);
  if (is_compact(desc, may_repeat)) return PH_OK;
  *out_needs_dense = true;
  return ph_fail(error, PH_UNSUPPORTED, "tensor '%s' has strides that blas does not take here: it takes dense ones",
                 desc->name);
}

static ph_status read_operands(blas_planner *planner, bool *out_needs_dense, ph_error *error) {
  blas_node *node = planner->node;
  const ph_node *source = planner->source;
  node->in_count = source->input_count;
  node->out_count = source->output_count;
  node->in = ph_arena_array(planner->arena, node->in_count, sizeof(*node->in));
  node->out = ph_arena_array(planner->arena, node->out_count, sizeof(*node->out));
  node->in_copy = ph_arena_array(planner->arena, node->in_count, sizeof(*node->in_copy));
  node->out_copy = ph_arena_array(planner->arena, node->out_count, sizeof(*node->out_copy));
  if (node->in == NULL || node->out == NULL || node->in_copy == NULL || node->out_copy == NULL)
    return ph_fail_memory(error);
  for (uint32_t i = 0; i < node->in_count; i++)
    PH_TRY(read_operand(planner, source->inputs[i], node->op->repeats, &node->in[i], out_needs_dense, error));
  for (uint32_t i = 0; i < node->out_count; i++)
    PH_TRY(read_operand(planner, source->outputs[i], false, &node->out[i], out_needs_dense, error));
  return PH_OK;
}

/* ---- the workspace of a node: its converted operands, then the op's scratch ---- */

static bool reserve(uint64_t *end, uint64_t floats, uint64_t *out_at) {
  uint64_t bytes;
  *out_at = *end;
  if (__builtin_mul_overflow(floats, (uint64_t)sizeof(float), &bytes) ||
      __builtin_add_overflow(bytes, (uint64_t)(BLAS_ALIGNMENT - 1), &bytes))
    return false;
  return !__builtin_add_overflow(*end, bytes / BLAS_ALIGNMENT * BLAS_ALIGNMENT, end);
}

/* Constants are converted once, by the program. */
static bool needs_copy(const blas_planner *planner, const blas_operand *operand) {
  return planner->node->op->computes && blas_present(operand) && blas_is_half(operand->dtype) && operand->count > 0 &&
         planner->graph->tensors[operand->tensor]->kind != PH_TENSOR_CONSTANT;
}

static ph_status lay_out(blas_planner *planner, ph_error *error) {
  blas_node *node = planner->node;
  uint64_t end = 0;
  bool fits = true;
  for (uint32_t i = 0; i < node->in_count; i++) {
    node->in_copy[i] = BLAS_NO_COPY;
    if (needs_copy(planner, &node->in[i])) fits = fits && reserve(&end, (uint64_t)node->in[i].count, &node->in_copy[i]);
  }
  for (uint32_t i = 0; i < node->out_count; i++) {
    node->out_copy[i] = BLAS_NO_COPY;
    if (needs_copy(planner, &node->out[i]))
      fits = fits && reserve(&end, (uint64_t)node->out[i].count, &node->out_copy[i]);
  }
  fits = fits && reserve(&end, planner->scratch_floats, &node->scratch);
  node->workspace = end;
  if (fits && end <= planner->device->memory_bytes) return PH_OK;
  return ph_fail(error, PH_UNSUPPORTED, "its scratch is larger than the %llu bytes of this machine",
                 (unsigned long long)planner->device->memory_bytes);
}

ph_status blas_plan_node(const ph_device *device, const ph_graph *graph, uint32_t index, ph_arena *arena,
                         blas_node *out, bool *out_needs_dense, ph_error *error) {
  const ph_node *source = graph->nodes[index];
  *out = (blas_node){.op = blas_op_find(source->op)};
  *out_needs_dense = false;
  if (out->op == NULL)
    return ph_fail(error, PH_UNSUPPORTED, "blas has no %s; --fallback reference runs it there", source->op);
  if (source->op_version > out->op->version)
    return ph_fail(error, PH_UNSUPPORTED, "blas knows %s up to version %u, not %u", source->op, out->op->version,
                   source->op_version);
  blas_planner planner = {.device = device, .graph = graph, .source = source, .node = out, .arena = arena};
  PH_TRY(read_operands(&planner, out_needs_dense, error));
  if (out->op->plan != NULL) PH_TRY(out->op->plan(&planner, error));
  PH_TRY(lay_out(&planner, error));
  int64_t elements = 0;
  for (uint32_t i = 0; i < out->out_count; i++) elements |= out->out[i].count;
  if (elements == 0) out->op = NULL;
  return PH_OK;
}
