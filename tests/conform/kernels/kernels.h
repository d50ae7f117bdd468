/* What the files of the test backend `kernels` share.  Its kernels are plain loops in f32, each right, or wrong in one
 * line (bugs.h).  They share nothing with the oracle, so that one mistake cannot hide in both. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <polyhead/node.h>

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "bugs.h"

/* How attention is computed. */
typedef enum kernel_way {
  KERNEL_PLAIN,       /* all scores of a row, their maximum, their weights, the sum of values */
  KERNEL_ONLINE,      /* one pass over the keys with a running maximum (Milakov and Gimelshein 2018) */
  KERNEL_HALF_WEIGHTS /* plain, but what a value is multiplied by is held in f16, and declared so; weighted_sum, too */
} kernel_way;

/* An operand or a result: dense, f32 for all real types, i64 for integers and bools. */
typedef struct kernel_array {
  bool present; /* false: left out, or not wanted; all else is 0 then */
  uint32_t rank;
  int64_t dims[PH_MAX_RANK], count;
  float *real;
  int64_t *integer;
} kernel_array;

enum { KERNEL_MAX_INPUTS = 8, KERNEL_MAX_OUTPUTS = 3, KERNEL_TILE = 16 };

/* One node being computed. */
typedef struct kernel_run {
  const ph_graph *graph;
  const ph_node *node;
  kernel_array inputs[KERNEL_MAX_INPUTS], outputs[KERNEL_MAX_OUTPUTS]; /* outputs: to be filled by the kernel */
  kernel_way way;
  kernel_bug bug;
  ph_arena scratch;
  ph_error *error;
} kernel_run;

/* A line of a kernel: as it is right, and as it is with this bug. */
#define KERNEL_LINE(run, bug_, right, wrong) ((run)->bug == (bug_) ? (wrong) : (right))

/* ---- node.c ---- */

/* Reads the operands and makes room for the results; `data` is where each tensor lies. */
PH_NODISCARD ph_status kernel_open(kernel_run *run, void *const *data);
/* Rounds the results to their types and writes them. */
void kernel_store(kernel_run *run, void *const *data);
/* True where the bug shows in the results: `right` has the same node's without it. */
bool kernel_bug_shows(const kernel_run *wrong, const kernel_run *right);
/* Bytes from a tensor's first element to its last; 0 where it has none. */
uint64_t kernel_tensor_bytes(const ph_tensor_desc *desc);

/* The element at [a, b, c, d] of an array of rank 4; an axis of extent 1 repeats. */
int64_t kernel_at(const kernel_array *array, int64_t a, int64_t b, int64_t c, int64_t d);
float *kernel_reals(kernel_run *run, int64_t count); /* scratch; NULL when out of memory */

/* ---- mask.c: who may look where ---- */

typedef struct kernel_mask_rule {
  kernel_run *run;
  const kernel_array *mask, *key_mask, *lengths, *offset;
  bool causal, ring, ignore, window;
  int64_t left, right, queries, keys, first; /* first: the position of query 0 where there is no offset */
  const float *slopes;                       /* per head; NULL without ALiBi */
} kernel_mask_rule;

/* mask, key_mask, lengths and offset are the inputs from `role` on. */
PH_NODISCARD ph_status kernel_mask_open(kernel_run *run, uint32_t role, int64_t heads, int64_t queries, int64_t keys,
                                        kernel_mask_rule *out);
/* *bias: what is added to the score of a key that is allowed. */
bool kernel_mask_allows(const kernel_mask_rule *rule, int64_t b, int64_t h, int64_t i, int64_t j, float *bias);

/* In place of -inf where the bug `finite_mask` asks for it. */
#define KERNEL_FINITE_MASK (-1e4f)

/* ---- softmax.c: rows ---- */

/* The rows of the first input along the attribute `axis`: `length` elements, `step` apart. */
typedef struct kernel_rows {
  const float *x;
  int64_t count, length, step;
} kernel_rows;

kernel_rows kernel_rows_of(const kernel_run *run);
int64_t kernel_row_start(const kernel_rows *rows, int64_t row);
float kernel_max_of(const float *x, int64_t count, int64_t step); /* -inf of nothing; NaN counts as the maximum */

/* From the maximum over the keys, the sum of exp(s - max) and the sink (-inf: none) to what exp(s - max) is multiplied
 * by; 0 for a row without anything.  *lse may be NULL. */
float kernel_softmax_factor(float max, float sum, float sink, float *lse);
/* What the bug `tail_padded` adds to the sum. */
float kernel_softmax_tail(kernel_run *run, int64_t count, float max);

/* ---- elementwise.c ---- */

float kernel_activation(const ph_node *node, float x); /* fused_linear's */

/* ---- the kernels ---- */

typedef ph_status kernel_function(kernel_run *run);
typedef struct kernel_row {
  const char *op;
  kernel_function *run;
  unsigned stages; /* 1u << PH_STAGE_*, each in f32 */
} kernel_row;

const kernel_row *kernel_find(const char *op); /* NULL if there is no kernel */

kernel_function kernel_linear, kernel_fused_linear, kernel_matmul;
kernel_function kernel_scaled_scores, kernel_weighted_sum, kernel_attention;
kernel_function kernel_mask, kernel_softmax, kernel_log_softmax, kernel_hardmax;
kernel_function kernel_layer_norm, kernel_rms_norm;
kernel_function kernel_mean, kernel_mse, kernel_l2_normalize, kernel_cross_entropy;
kernel_function kernel_add, kernel_sub, kernel_mul, kernel_div;
kernel_function kernel_relu, kernel_gelu, kernel_silu, kernel_tanh, kernel_sigmoid, kernel_erf, kernel_exp,
    kernel_softcap;
kernel_function kernel_rotary, kernel_sinusoidal_position;
kernel_function kernel_embedding, kernel_split_heads, kernel_concat_heads, kernel_cache_write;

/* ---- plan.c ---- */

ph_status kernel_program_create(ph_device *device, const ph_graph *graph, ph_program **out, ph_error *error);
void kernel_program_destroy(ph_program *program);
ph_status kernel_plan_create(ph_program *program, const ph_graph *graph, ph_plan **out, uint64_t *out_workspace_bytes,
                             ph_error *error);
void kernel_plan_destroy(ph_plan *plan);
ph_status kernel_execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                         const ph_binding *workspace, ph_node_time *times, ph_error *error);

struct ph_device {
  const ph_host *host;
  kernel_way way;
  bool f32_alone; /* 16-bit types are refused */
  kernel_bug bug;
};

struct ph_buffer {
  uint64_t bytes;
  unsigned char *memory;
};

#endif
