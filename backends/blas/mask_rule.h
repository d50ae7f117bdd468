/* Who may look where, and what is added to a score (NUMERICS section 2): what `mask` and `attention` share. */
#ifndef POLYHEAD_BLAS_MASK_RULE_H
#define POLYHEAD_BLAS_MASK_RULE_H

#include "blas/op.h"

/* What is known when a node is planned. */
typedef struct blas_mask_rule {
  uint32_t first_role; /* of mask, key_mask, lengths, offset */
  int64_t queries, keys;
  bool causal, ring, ignore;
  int64_t left, right;  /* of the window; -1: unbounded */
  int64_t shift;        /* of the first query where there is no offset */
  const double *slopes; /* of ALiBi, by head; NULL without it */
} blas_mask_rule;

PH_NODISCARD ph_status blas_mask_rule_read(blas_planner *planner, uint32_t first_role, int64_t heads, int64_t queries,
                                           int64_t keys, blas_mask_rule *out, ph_error *error);

/* Query `query` of head `head` in sample `sample`. */
typedef struct blas_mask_row {
  int64_t sample, head, query;
} blas_mask_row;

/* The keys from *first to before *last are those that positions and lengths allow; in a ring they may hold others. */
void blas_mask_span(const blas_mask_rule *rule, const blas_call *call, blas_mask_row row, int64_t *first,
                    int64_t *last);
/* Adds the biases to the scores of the keys from `first` to before `last`, which lie in the span, and makes those that
 * are not allowed -inf.  scores[0] is that of key `first`. */
void blas_mask_apply(const blas_mask_rule *rule, const blas_call *call, blas_mask_row row, int64_t first, int64_t last,
                     float *scores);

#endif
