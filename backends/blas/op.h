/* What an op of this backend is: one function that plans a node and one that runs it.  Around them the plan converts
 * storage: an op that computes sees f32 arrays only. */
#ifndef POLYHEAD_BLAS_OP_H
#define POLYHEAD_BLAS_OP_H

#include <polyhead/backend.h>
#include <polyhead/node.h>

#include "base/error.h"
#include "base/memory.h"

/* A tensor as a node sees it. */
typedef struct blas_operand {
  uint32_t tensor; /* PH_NONE: absent, and all else is 0 */
  ph_dtype dtype;  /* as it is stored */
  uint32_t rank;
  int64_t dims[PH_MAX_RANK];
  int64_t strides[PH_MAX_RANK]; /* in elements; 0 where the axis repeats or has the extent 1 */
  int64_t count;                /* elements in memory: repeated ones once */
} blas_operand;

typedef struct blas_node {
  const struct blas_op *op; /* NULL: no output has an element, so there is nothing to do */
  uint32_t in_count, out_count;
  blas_operand *in, *out; /* by role, by slot */
  uint64_t *in_copy,
      *out_copy;               /* the byte of the workspace where an operand lies as f32; BLAS_NO_COPY: used as it is */
  uint64_t scratch, workspace; /* bytes: where the scratch begins, where it ends */
  void *parameters;            /* of the op; in the arena of the plan */
} blas_node;
#define BLAS_NO_COPY UINT64_MAX

/* A node being planned. */
typedef struct blas_planner {
  const ph_device *device;
  const ph_graph *graph; /* with all dims concrete */
  const ph_node *source;
  blas_node *node;
  ph_arena *arena;
  uint64_t scratch_floats; /* to be set by the op: how many it needs */
} blas_planner;

/* A node being run. */
typedef struct blas_call {
  const blas_node *node;
  void *const *in, *const *out; /* by role, by slot; NULL where absent or empty */
  float *scratch;
} blas_call;

typedef struct blas_op {
  const char *name;
  uint32_t version;
  bool computes; /* f16 and bf16 operands are handed over as f32 */
  bool repeats;  /* inputs may have repeated axes (stride 0) */
  ph_dtype stages[PH_STAGE_MAX];
  /* Looks the node over and reads its attributes; PH_UNSUPPORTED with the reason where it cannot be run.  supports()
   * is this same function.  NULL: any node can be run and there is nothing to note. */
  ph_status (*plan)(blas_planner *planner, ph_error *error);
  void (*run)(const blas_call *call); /* at least one output has elements */
} blas_op;

extern const blas_op blas_linear, blas_fused_linear, blas_matmul;
extern const blas_op blas_scaled_scores, blas_weighted_sum, blas_attention, blas_mask;
extern const blas_op blas_softmax, blas_log_softmax, blas_hardmax;
extern const blas_op blas_layer_norm, blas_rms_norm;
extern const blas_op blas_add, blas_sub, blas_mul, blas_div;
extern const blas_op blas_relu, blas_gelu, blas_silu, blas_tanh, blas_sigmoid, blas_erf, blas_exp, blas_softcap;
extern const blas_op blas_positions, blas_sinusoidal_position, blas_rotary;
extern const blas_op blas_embedding, blas_gather, blas_cache_write;
extern const blas_op blas_mean, blas_argmax, blas_l2_normalize, blas_one_hot, blas_cross_entropy, blas_mse,
    blas_dropout;
extern const blas_op blas_split_heads, blas_concat_heads, blas_concat, blas_split, blas_slice, blas_transpose,
    blas_reshape, blas_expand, blas_cast;

const blas_op *blas_op_find(const char *name); /* NULL if unknown */

/* unary.c: the op with this name, element by element in place; `tanh_form` is gelu's. */
void blas_activate(const char *op, bool tanh_form, float *values, int64_t count);

/* Memory for the op's parameters, zeroed, in node->parameters; NULL when out of memory. */
void *blas_parameters(blas_planner *planner, size_t size);

/* Plans node number `index` of a graph with concrete dims.  PH_UNSUPPORTED with a reason, and *out_needs_dense where
 * only the strides are in the way. */
PH_NODISCARD ph_status blas_plan_node(const ph_device *device, const ph_graph *graph, uint32_t index, ph_arena *arena,
                                      blas_node *out, bool *out_needs_dense, ph_error *error);

/* ---- small things that ops share ---- */

static inline bool blas_present(const blas_operand *operand) {
  return operand->tensor != PH_NONE;
}
static inline bool blas_is_half(ph_dtype dtype) {
  return dtype == PH_F16 || dtype == PH_BF16;
}
static inline int64_t blas_product(const int64_t *dims, uint32_t count) {
  int64_t product = 1;
  for (uint32_t i = 0; i < count; i++) product *= dims[i];
  return product;
}
/* The next index in row-major order; false after the last. */
static inline bool blas_next(uint32_t rank, const int64_t *dims, int64_t *index) {
  for (uint32_t i = rank; i-- > 0;) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}
/* Offsets and positions may be any number: sums are kept within 64 bits. */
static inline int64_t blas_add_clamped(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}
static inline int64_t blas_sub_clamped(int64_t a, int64_t b) {
  int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}
/* An operand [1] or [B] such as offset; `absent` where it is not given. */
static inline int64_t blas_per_sample(const blas_operand *operand, const int64_t *data, int64_t sample,
                                      int64_t absent) {
  return blas_present(operand) ? data[sample * operand->strides[0]] : absent;
}

#endif
