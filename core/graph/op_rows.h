/* Shared by the files that hold the rows of the op table (op_*.c): short forms for rows, and checks for shape rules. */
#ifndef POLYHEAD_GRAPH_OP_ROWS_H
#define POLYHEAD_GRAPH_OP_ROWS_H

#include "base/error.h"
#include "graph/net.h"
#include "graph/op.h"

#define PH_COUNT(array)   (uint32_t)(sizeof(array) / sizeof((array)[0]))
#define PH_ROLES(array)   .roles = (array), .role_count = PH_COUNT(array)
#define PH_ATTRS(array)   .attrs = (array), .attr_count = PH_COUNT(array)
#define PH_OUTPUTS(array) .outputs = (array), .output_count = PH_COUNT(array)

/* What may be declared for a stage: f32 or better; for the weights of attention f16, too (NUMERICS 3).  Weights in bf16
 * would hide faults: a score scaled 1 % wrong lies within the bound in 4 of 10 cases (docs/numerics.md). */
enum {
  PH_STAGE_FULL = (1u << PH_F32) | (1u << PH_F64),
  PH_STAGE_HALF = PH_STAGE_FULL | (1u << PH_F16)
};

extern const ph_op_output ph_single_output[1];

static inline ph_dim ph_dim_of(int64_t value) {
  return (ph_dim){.value = value};
}

/* The product, the sum and the difference of extents; a result that depends on a varying dim varies. */
PH_NODISCARD ph_status ph_infer_product(ph_infer *infer, ph_dim a, ph_dim b, ph_dim *out);
PH_NODISCARD ph_status ph_infer_sum(ph_infer *infer, ph_dim a, ph_dim b, ph_dim *out);

/* PH_INVALID unless the role's rank lies between the two. */
PH_NODISCARD ph_status ph_infer_rank(ph_infer *infer, const char *role, uint32_t least, uint32_t most,
                                     const char *expected);
/* PH_INVALID unless the role (where present) has exactly these dims; `expected` is how the table writes them. */
PH_NODISCARD ph_status ph_infer_dims(ph_infer *infer, const char *role, uint32_t rank, const ph_dim *dims,
                                     const char *expected);
/* offset, lengths: a vector of `batch` entries, or of one where `or_one`. */
PH_NODISCARD ph_status ph_infer_per_sample(ph_infer *infer, const char *role, int64_t batch, bool or_one);
/* The shape that a and b broadcast to, aligned at the right. */
PH_NODISCARD ph_status ph_infer_broadcast(ph_infer *infer, const ph_type *a, const ph_type *b, ph_type *out);
/* PH_INVALID unless `type` broadcasts to exactly `to`. */
PH_NODISCARD ph_status ph_infer_fits(ph_infer *infer, const char *role, const ph_type *type, const ph_type *to);

/* For FLOP counts: the type of a role, or of the first output; the number of its elements. */
const ph_type *ph_node_role_type(const ph_net *net, const ph_net_node *node, uint32_t role);
double ph_node_elements(const ph_net *net, const ph_net_node *node);

#endif
