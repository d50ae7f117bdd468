/* Which token comes next: the likeliest, or one that is drawn. */
#ifndef POLYHEAD_CLI_SAMPLE_H
#define POLYHEAD_CLI_SAMPLE_H

#include <polyhead/tensor.h>

typedef struct cli_sampling {
  double temperature; /* 0: the likeliest token */
  uint64_t top_k;     /* 0: no limit */
  double top_p;       /* 1: no limit */
  uint64_t seed;
} cli_sampling;

/* The index, in the last row of `logits`, of the next token.  Of equal ones the first is the likeliest.  Else number
 * `draw` of the random numbers of the seed decides between the tokens that top_k and then top_p leave, with
 * probabilities softmax(logits / temperature).  PH_INVALID where the logits are no numbers that can be compared. */
PH_NODISCARD ph_status cli_sample(const cli_sampling *sampling, const ph_tensor *logits, uint64_t draw, int64_t *out,
                                  ph_error *error);

#endif
