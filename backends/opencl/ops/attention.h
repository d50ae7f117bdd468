/* What the variants of attention share. */
#ifndef POLYHEAD_OPENCL_OPS_ATTENTION_H
#define POLYHEAD_OPENCL_OPS_ATTENTION_H

#include "opencl/ops/ops.h"

enum { CL_ATTENTION_Q, CL_ATTENTION_K, CL_ATTENTION_V, CL_ATTENTION_RULES, CL_ATTENTION_SINKS = 7 };

/* A node, looked at. */
typedef struct cl_attention {
  const ph_tensor_desc *q, *k, *v, *sinks, *y, *lse; /* sinks and lse may be NULL */
  int64_t batch, heads, queries, keys;
  float scale, cap; /* cap 0: none */
} cl_attention;

cl_attention cl_attention_of(const ph_graph *graph, const ph_node *node);
/* Extents and strides, in the order of attention_shape.cl. */
uint64_t cl_attention_shape(cl_plan_node *plan, const cl_attention *a);
/* Which rules, sinks and lse are there. */
void cl_attention_options(const ph_graph *graph, const ph_node *node, ph_text *out);
/* The parameters of a kernel that does it all: q, k, v, rules, sinks and their stride, y, lse, shape. */
void cl_arg_attention(cl_plan_node *plan, cl_launch *launch, const ph_graph *graph, const ph_node *node);

/* Sizes of heads, and whether there is a softcap. */
void cl_attention_sizes(const ph_graph *graph, const ph_node *node, ph_text *out);
/* Has it columns, at most so many, and keys that an int can count? */
bool cl_attention_fits(const cl_attention *a, int64_t most_columns, char reason[192]);

/* Keys split among work-items (attention_join.cl); count 1: not at all. */
typedef struct cl_split {
  int64_t count;
  uint64_t workspace;
} cl_split;

/* Splits until `items` become `wanted`, in pieces of at least `least_keys`. */
cl_split cl_attention_split(cl_plan_node *plan, const cl_attention *a, int64_t items, int64_t wanted,
                            int64_t least_keys);
void cl_arg_split(cl_launch *launch, const cl_split *split);
void cl_launch_join(cl_plan_node *plan, const ph_node *node, const cl_attention *a, const cl_split *split);

/* attention_flash_cpu.c */
bool cl_flash_cpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]);
void cl_flash_cpu_options(const ph_graph *graph, const ph_node *node, ph_text *out);
PH_NODISCARD ph_status cl_flash_cpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node,
                                         ph_error *error);
/* Sizes of heads, softcap, and which of k and v cannot be read as they lie: those with gaps and, where the kernel reads
 * f32_only, those of other types. */
void cl_attention_cpu_options(const ph_graph *graph, const ph_node *node, bool f32_only, ph_text *out);

/* attention_decode_cpu.c */
bool cl_decode_cpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]);
void cl_decode_cpu_options(const ph_graph *graph, const ph_node *node, ph_text *out);
PH_NODISCARD ph_status cl_decode_cpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node,
                                          ph_error *error);

/* attention_flash_gpu.c */
bool cl_flash_gpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]);
void cl_flash_gpu_options(const ph_graph *graph, const ph_node *node, ph_text *out);
PH_NODISCARD ph_status cl_flash_gpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node,
                                         ph_error *error);
bool cl_decode_gpu_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]);
void cl_decode_gpu_options(const ph_graph *graph, const ph_node *node, ph_text *out);
PH_NODISCARD ph_status cl_decode_gpu_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node,
                                          ph_error *error);

#endif
