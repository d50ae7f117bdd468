/* What the ops share: the axes of their operands folded together, launches over many small items, and the rules of
 * masking. */
#ifndef POLYHEAD_OPENCL_OPS_H
#define POLYHEAD_OPENCL_OPS_H

#include "opencl/op.h"

enum { CL_MAX_OPERANDS = 4, CL_MAX_AXES = PH_MAX_RANK + 1 };

/* Axes that several operands walk together.  offset_of() in common.cl reads what cl_axes_write() writes. */
typedef struct cl_axes {
  uint32_t rank, operand_count;
  int64_t dims[CL_MAX_AXES];
  int64_t strides[CL_MAX_OPERANDS][CL_MAX_AXES];
} cl_axes;

/* Appends an axis; `strides` has one entry per operand. */
void cl_axes_add(cl_axes *axes, int64_t extent, const int64_t *strides);
/* Axes first .. end - 1 of tensors that have these dims there, one operand each; NULL entries get strides of 0. */
cl_axes cl_axes_of(const ph_tensor_desc *const *tensors, uint32_t count, uint32_t first, uint32_t end);
/* Drops axes of extent 1, joins neighbours that every operand walks as one, and leaves a rank of at least 1. */
void cl_axes_fold(cl_axes *axes);
int64_t cl_axes_count(const cl_axes *axes); /* elements */
/* Extents, then the strides of each operand, from to[at] on; gives where they end. */
size_t cl_axes_write(const cl_axes *axes, int64_t *to, size_t at);
/* Folds, and puts extents and strides into the plan's table; *out_rank is what kernels need beside it. */
uint64_t cl_axes_table(cl_plan_node *plan, cl_axes *axes, int32_t *out_rank);

/* cl_plan_launch() with a local size that the host chooses. */
cl_launch *cl_launch_items(cl_plan_node *plan, const char *kernel, int64_t x, int64_t y, int64_t z);
/* The tensor in role or output slot `index`, which may be absent. */
void cl_arg_input(cl_launch *launch, const ph_node *node, uint32_t role);
void cl_arg_output(cl_launch *launch, const ph_node *node, uint32_t slot);
/* Two parameters of type `__global T *, ulong`, then the rank: a list of axes. */
void cl_arg_axes(cl_launch *launch, cl_plan_node *plan, cl_axes *axes);

/* Adds " -DHAS_<name>" where the input is there. */
void cl_option_input(ph_text *out, const ph_graph *graph, const ph_node *node, uint32_t role, const char *name);
void cl_option_output(ph_text *out, const ph_graph *graph, const ph_node *node, uint32_t slot, const char *name);

/* Adds " -DACTIVATION=<a function of common.cl>" for fused_linear's attributes; nothing for `none`. */
void cl_option_activation(ph_text *out, const ph_node *node);

/* The stride of an input [1] or [B] per sample: 0 where it is [1] or absent. */
int64_t cl_sample_stride(const ph_tensor_desc *desc);

/* ---- rules.c: masks, positions, windows (RULE_PARAMETERS in common.cl) ---- */

/* Where an op keeps mask, key_mask, lengths and offset: four roles in this order, from `first` on. */
void cl_rules_options(const ph_graph *graph, const ph_node *node, uint32_t first, ph_text *out);
/* The tables of a node, put into the plan once. */
typedef struct cl_rules {
  uint64_t rules, slopes;
  uint32_t first;
} cl_rules;
cl_rules cl_rules_table(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, uint32_t first, int64_t heads,
                        int64_t queries, int64_t keys);
void cl_arg_rules(cl_launch *launch, const ph_node *node, const cl_rules *rules);

/* ---- angles ---- */

/* Radians per position as turns per position times 2^64, modulo 2^64 (turn_of() in position.cl). */
int64_t cl_turns(double radians);

/* ---- shrink.c: cl_op.shrink for products of two matrices, and for what works on heads ---- */

bool cl_shrink_product(int64_t most, const ph_node *node, ph_tensor_desc *const *inputs, ph_tensor_desc *const *outputs,
                       int64_t *out_index);
bool cl_shrink_heads(int64_t most, const ph_node *node, ph_tensor_desc *const *inputs, ph_tensor_desc *const *outputs,
                     int64_t *out_index);

/* ---- the rows of table.c ---- */

#define CL_OP(name_) CL_OP_TRIED(name_, NULL)
/* With cl_op.shrink. */
#define CL_OP_TRIED(name_, shrink_)                                                                                    \
  {                                                                                                                    \
    .name = #name_, .version = 1, .variants = name_##_variants,                                                        \
    .variant_count = sizeof(name_##_variants) / sizeof(name_##_variants[0]), .shrink = shrink_                         \
  }

extern const cl_op cl_op_linear, cl_op_fused_linear, cl_op_matmul, cl_op_scaled_scores,
    cl_op_weighted_sum;                                        /* product.c */
extern const cl_op cl_op_add, cl_op_sub, cl_op_mul, cl_op_div; /* elementwise.c */
extern const cl_op cl_op_relu, cl_op_gelu, cl_op_silu, cl_op_tanh, cl_op_sigmoid, cl_op_erf, cl_op_exp;
extern const cl_op cl_op_softcap, cl_op_cast;
extern const cl_op cl_op_split_heads, cl_op_concat_heads, cl_op_transpose, cl_op_reshape; /* move.c */
extern const cl_op cl_op_expand, cl_op_slice, cl_op_split, cl_op_concat;
extern const cl_op cl_op_embedding, cl_op_gather;                               /* gather.c */
extern const cl_op cl_op_positions, cl_op_sinusoidal_position, cl_op_rotary;    /* position.c */
extern const cl_op cl_op_layer_norm, cl_op_rms_norm;                            /* norm.c */
extern const cl_op cl_op_softmax, cl_op_log_softmax, cl_op_hardmax;             /* softmax.c */
extern const cl_op cl_op_mask;                                                  /* mask.c */
extern const cl_op cl_op_attention;                                             /* attention.c */
extern const cl_op cl_op_cache_write;                                           /* cache_write.c */
extern const cl_op cl_op_mean, cl_op_argmax, cl_op_l2_normalize, cl_op_one_hot; /* reduce.c */
extern const cl_op cl_op_cross_entropy, cl_op_mse, cl_op_dropout;

#endif
