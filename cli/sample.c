/* Sampling: greedy, temperature, top-k, and top-p (Holtzman et al. 2020). */
#include "sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

typedef struct candidate {
  double logit;
  int64_t index;
} candidate;

static int by_likelihood(const void *left, const void *right) {
  const candidate *a = left, *b = right;
  if (a->logit != b->logit) return a->logit > b->logit ? -1 : 1;
  return a->index < b->index ? -1 : 1;
}

/* From the likeliest on; those that are kept are the first *count. */
static int64_t draw_one(const cli_sampling *sampling, candidate *candidates, size_t count, uint64_t draw) {
  double largest = candidates[0].logit, sum = 0, kept = 0;
  if (sampling->top_k > 0 && sampling->top_k < count) count = (size_t)sampling->top_k;
  for (size_t i = 0; i < count; i++) {
    candidates[i].logit = exp((candidates[i].logit - largest) / sampling->temperature); /* its weight from now on */
    sum += candidates[i].logit;
  }
  size_t last = 0;
  for (; last < count; last++) {
    kept += candidates[last].logit;
    if (kept >= sampling->top_p * sum) break;
  }
  double place = ph_random_unit(ph_random_key(sampling->seed, "sample"), draw) * kept;
  size_t i = 0;
  for (; i < last && i + 1 < count && place >= candidates[i].logit; i++) place -= candidates[i].logit;
  return candidates[i].index;
}

ph_status cli_sample(const cli_sampling *sampling, const ph_tensor *logits, uint64_t draw, int64_t *out,
                     ph_error *error) {
  size_t count = logits->rank > 0 ? (size_t)logits->dims[logits->rank - 1] : 0, first = logits->count - count;
  if (logits->count < count || count == 0) return ph_fail(error, PH_INVALID, "there are no logits");
  candidate *candidates = ph_new_array(count, sizeof(*candidates));
  if (candidates == NULL) return ph_fail_memory(error);
  bool numbers = true;
  size_t best = 0;
  for (size_t i = 0; i < count; i++) {
    candidates[i] = (candidate){ph_read_real(logits->dtype, logits->data, first + i), (int64_t)i};
    numbers = numbers && !isnan(candidates[i].logit) && candidates[i].logit != INFINITY;
    if (candidates[i].logit > candidates[best].logit) best = i;
  }
  numbers = numbers && isfinite(candidates[best].logit);
  if (numbers && sampling->temperature == 0) {
    *out = (int64_t)best;
  } else if (numbers) {
    qsort(candidates, count, sizeof(*candidates), by_likelihood);
    *out = draw_one(sampling, candidates, count, draw);
  }
  free(candidates);
  return numbers ? PH_OK : ph_fail(error, PH_INVALID, "the logits hold NaN or infinity: no token can be chosen");
}
