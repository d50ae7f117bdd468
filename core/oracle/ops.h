/* What the oracle's files share: a node being computed, its operands as views, and the rules that several ops follow.
 */
#ifndef POLYHEAD_ORACLE_OPS_H
#define POLYHEAD_ORACLE_OPS_H

#include <math.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "oracle/oracle.h"

#define PH_F32_ROUNDOFF 0x1p-24

/* How far off OpenCL's built-in functions may be, in units in the last place (OpenCL 1.2, section 7.4). */
enum { PH_ULPS_EXP = 3, PH_ULPS_LOG = 3, PH_ULPS_SIN = 4, PH_ULPS_TANH = 5, PH_ULPS_ERF = 16, PH_ULPS_SQRT = 3 };
#define PH_ULPS_DIV 2.5

/* ---- one node ---- */

typedef struct ph_oracle_call {
  const ph_graph *graph;
  const ph_node *node;
  const void *const *data;
  ph_oracle_output *outputs;
  ph_arena *scratch; /* freed after the call */
  ph_error *error;
} ph_oracle_call;

/* An operand.  Extents of 1 have stride 0, so that an index may run along an axis that repeats. */
typedef struct ph_view {
  bool present; /* false: an optional role left out; all else is 0 then */
  ph_dtype dtype;
  uint32_t rank;
  int64_t count; /* elements */
  int64_t dims[PH_MAX_RANK], strides[PH_MAX_RANK];
  const void *data;
} ph_view;

ph_view ph_call_input(const ph_oracle_call *call, uint32_t role);
/* NULL where nobody wants the output. */
ph_oracle_output *ph_call_output(const ph_oracle_call *call, uint32_t index);
const ph_tensor_desc *ph_call_output_desc(const ph_oracle_call *call, uint32_t index);
/* Scratch memory, zeroed; NULL when out of memory. */
double *ph_call_reals(const ph_oracle_call *call, int64_t count);

/* Attributes; `absent` is what an attribute without a value gives. */
int64_t ph_call_integer(const ph_oracle_call *call, const char *name, int64_t absent);
double ph_call_real(const ph_oracle_call *call, const char *name, double absent);
bool ph_call_is(const ph_oracle_call *call, const char *name, const char *choice);
const int64_t *ph_call_list(const ph_oracle_call *call, const char *name, uint32_t *count); /* NULL if absent */
/* The attribute `axis` of an op on a tensor of `rank`, `absent` where it has none; PH_INVALID outside the rank. */
PH_NODISCARD ph_status ph_call_axis(const ph_oracle_call *call, uint32_t rank, uint32_t absent, uint32_t *out);

/* ---- views ---- */

static inline double ph_view_real(const ph_view *view, int64_t at) {
  return view->dtype == PH_F32 ? ((const float *)view->data)[at] : ph_read_real(view->dtype, view->data, (size_t)at);
}
static inline int64_t ph_view_integer(const ph_view *view, int64_t at) {
  return ph_read_integer(view->dtype, view->data, (size_t)at);
}
/* The offset of the element at `index`; `rank` may exceed the view's, which is then aligned at the right. */
int64_t ph_view_at(const ph_view *view, uint32_t rank, const int64_t *index);
/* Reads `count` elements from offset `at` on, `step` apart. */
void ph_view_run(const ph_view *view, int64_t at, int64_t step, int64_t count, double *out);
/* Reads all elements in row-major order. */
void ph_view_read(const ph_view *view, double *out);
/* An operand [1] or [B] such as lengths and offset; `absent` where it is not given. */
int64_t ph_view_per_sample(const ph_view *view, int64_t sample, int64_t absent);

/* The next index in row-major order; false after the last. */
bool ph_index_next(uint32_t rank, const int64_t *dims, int64_t *index);
int64_t ph_product(uint32_t count, const int64_t *dims);
/* a + b and a - b, kept within 64 bits: offsets may be any number. */
int64_t ph_add_clamped(int64_t a, int64_t b);
int64_t ph_subtract_clamped(int64_t a, int64_t b);

/* ---- sums ---- */

/* A sum of products in double, the sum of their sizes, and the same sum as a plain serial loop in f32 makes it. */
typedef struct ph_sum {
  double value, size;
  float serial;
} ph_sum;

static inline void ph_sum_add(ph_sum *sum, double a, double b) {
  sum->value += a * b;
  sum->size += fabs(a * b);
  sum->serial += (float)a * (float)b;
}
/* The products of two rows; the value alone unless `all` is asked for. */
ph_sum ph_sum_products(const double *a, const double *b, int64_t count, bool all);
/* How much the serial sum is off, in units of f32's roundoff: what sqrt(n) misses in sums of one sign (NUMERICS 3). */
static inline double ph_sum_excess(const ph_sum *sum) {
  return fabs(sum->serial - sum->value) / PH_F32_ROUNDOFF;
}

/* ---- rows: the lines along one axis ---- */

/* Every row along the attribute `axis` (absent: the last one) of input 0, whatever its place. */
typedef struct ph_rows {
  ph_view x;
  uint32_t axis;
  int64_t length, inner;                         /* elements of a row; their distance in an output of x's dims */
  int64_t dims[PH_MAX_RANK], index[PH_MAX_RANK]; /* of x with the axis as 1; of the row at hand, moved on by the user */
  double *row, *out;                             /* room for a row each */
} ph_rows;

PH_NODISCARD ph_status ph_rows_open(const ph_oracle_call *call, ph_rows *out);
int64_t ph_rows_count(const ph_rows *rows);
/* Reads row number `number`, at rows->index, into rows->row; its element i has the place returned + i * rows->inner in
 * an output of x's dims. */
int64_t ph_rows_read(ph_rows *rows, int64_t number);

/* ---- rules that several ops follow ---- */

/* One row of softmax. */
typedef struct ph_softmax_row {
  double max, sum; /* of what is not -inf, the sink included */
  double lse;      /* -inf for an empty row, or the sink */
  double excess;   /* of the serial sum, relative to it, in units of f32's roundoff */
  int64_t allowed; /* elements that are not -inf */
} ph_softmax_row;

/* p[i] = exp(x[i]) / (sum of exp(x) + exp(sink)); a sink of -inf is none.  What is -inf gets 0 whatever the rest is. */
ph_softmax_row ph_softmax_of(const double *x, int64_t count, double sink, double *p);

/* Who may look where (NUMERICS 2): the operands and attributes that mask and attention share. */
typedef struct ph_mask_rule {
  ph_view mask, key_mask, lengths, offset;
  bool causal, window, ring, ignore;
  int64_t left, right; /* of the window; -1: unbounded */
  int64_t shift;       /* of the first query where there is no offset */
  int64_t queries, keys;
  const double *slopes; /* per head; NULL without ALiBi */
} ph_mask_rule;

/* The roles mask, key_mask, lengths and offset are those from `first_role` on. */
PH_NODISCARD ph_status ph_mask_rule_open(const ph_oracle_call *call, uint32_t first_role, int64_t heads,
                                         int64_t queries, int64_t keys, ph_mask_rule *out);
/* May query i of head h in sample b look at key j?  If so, *bias is what is added to the score, *size the sum of the
 * sizes of its parts. */
bool ph_mask_rule_allows(const ph_mask_rule *rule, int64_t b, int64_t h, int64_t i, int64_t j, double *bias,
                         double *size);

/* A function's value at x, and for finite x the effect of errors: `weight` of relative ones in x and in the value,
 * `builtin` of the built-in functions that a kernel calls, in their units in the last place; |f'(x)|. */
typedef struct ph_point {
  double value, weight, builtin, slope;
} ph_point;

/* What a linear layer goes through, by the attributes `activation` and `form`. */
typedef struct ph_activation ph_activation;
PH_NODISCARD ph_status ph_activation_find(const ph_oracle_call *call, const ph_activation **out);
/* `slope` is the largest |f'| where x may be when it is off by `reach`. */
ph_point ph_activation_at(const ph_activation *activation, double x, double reach);

/* ---- the ops ---- */

typedef ph_status ph_oracle_function(const ph_oracle_call *call);

ph_oracle_function ph_oracle_linear, ph_oracle_fused_linear, ph_oracle_matmul;
ph_oracle_function ph_oracle_scaled_scores, ph_oracle_weighted_sum, ph_oracle_attention;
ph_oracle_function ph_oracle_mask, ph_oracle_softmax, ph_oracle_hardmax, ph_oracle_log_softmax;
ph_oracle_function ph_oracle_layer_norm, ph_oracle_rms_norm;
ph_oracle_function ph_oracle_add, ph_oracle_sub, ph_oracle_mul, ph_oracle_div;
ph_oracle_function ph_oracle_relu, ph_oracle_gelu, ph_oracle_silu, ph_oracle_tanh, ph_oracle_sigmoid, ph_oracle_erf,
    ph_oracle_exp, ph_oracle_softcap;
ph_oracle_function ph_oracle_positions, ph_oracle_sinusoidal_position, ph_oracle_rotary;
ph_oracle_function ph_oracle_embedding, ph_oracle_gather, ph_oracle_cache_write;
ph_oracle_function ph_oracle_mean, ph_oracle_argmax, ph_oracle_l2_normalize, ph_oracle_one_hot, ph_oracle_dropout;
ph_oracle_function ph_oracle_cross_entropy, ph_oracle_mse;
ph_oracle_function ph_oracle_split_heads, ph_oracle_concat_heads, ph_oracle_concat, ph_oracle_split, ph_oracle_slice,
    ph_oracle_transpose, ph_oracle_reshape, ph_oracle_expand, ph_oracle_cast;

#endif
