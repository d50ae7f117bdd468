/* The op table itself: one line per op, in the order of the reference. */
#include "graph/op.h"

#define PH_OP_TABLE(row)                                                                                               \
  row(linear) row(fused_linear) row(matmul) row(split_heads) row(concat_heads) row(scaled_scores) row(softcap)         \
      row(mask) row(softmax) row(hardmax) row(log_softmax) row(weighted_sum) row(attention) row(multi_head_attention)  \
          row(embedding) row(positions) row(sinusoidal_position) row(rotary) row(layer_norm) row(rms_norm) row(add)    \
              row(sub) row(mul) row(div) row(relu) row(gelu) row(silu) row(tanh) row(sigmoid) row(erf) row(exp)        \
                  row(concat) row(split) row(slice) row(gather) row(transpose) row(reshape) row(expand) row(cast)      \
                      row(cache_write) row(mean) row(argmax) row(l2_normalize) row(one_hot) row(cross_entropy)         \
                          row(mse) row(dropout)

#define DECLARE(name) extern const ph_op ph_op_##name;
PH_OP_TABLE(DECLARE)

#define ENTRY(name) &ph_op_##name,
const ph_op *const ph_ops[] = {PH_OP_TABLE(ENTRY)};
const uint32_t ph_op_count = sizeof(ph_ops) / sizeof(ph_ops[0]);
