/* The table of ops that the OpenCL backend knows: one row per op. */
#include "opencl/ops/ops.h"

const cl_op *const cl_ops[] = {
    &cl_op_linear,       &cl_op_fused_linear,  &cl_op_matmul,      &cl_op_split_heads,
    &cl_op_concat_heads, &cl_op_scaled_scores, &cl_op_softcap,     &cl_op_mask,
    &cl_op_softmax,      &cl_op_hardmax,       &cl_op_log_softmax, &cl_op_weighted_sum,
    &cl_op_attention,    &cl_op_embedding,     &cl_op_positions,   &cl_op_sinusoidal_position,
    &cl_op_rotary,       &cl_op_layer_norm,    &cl_op_rms_norm,    &cl_op_add,
    &cl_op_sub,          &cl_op_mul,           &cl_op_div,         &cl_op_relu,
    &cl_op_gelu,         &cl_op_silu,          &cl_op_tanh,        &cl_op_sigmoid,
    &cl_op_erf,          &cl_op_exp,           &cl_op_concat,      &cl_op_split,
    &cl_op_slice,        &cl_op_gather,        &cl_op_transpose,   &cl_op_reshape,
    &cl_op_expand,       &cl_op_cast,          &cl_op_cache_write, &cl_op_mean,
    &cl_op_argmax,       &cl_op_l2_normalize,  &cl_op_one_hot,     &cl_op_cross_entropy,
    &cl_op_mse,          &cl_op_dropout,
};
const uint32_t cl_op_count = sizeof(cl_ops) / sizeof(cl_ops[0]);
