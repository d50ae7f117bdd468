#include "bugs.h"

#include <stddef.h>
#include <string.h>

#define NUMERIC true
#define PLAIN   false

const kernel_bug_row kernel_bugs[BUG_COUNT] = {
    [BUG_DROPPED_KEY] = {"dropped_key", "attention softmax weighted_sum", "allowed", "allowed && j != keys / 2",
                         NUMERIC},
    [BUG_LAST_KEY_MASKED] = {"last_key_masked", "attention softmax weighted_sum", "allowed", "allowed && j != keys - 1",
                             NUMERIC},
    [BUG_SCALE_ONE_PERCENT] = {"scale_one_percent", "attention scaled_scores", "dot * scale", "dot * scale * 1.01f",
                               NUMERIC},
    [BUG_CAUSAL_SHIFTED] = {"causal_shifted", "attention mask", "key <= position", "key <= position + 1", NUMERIC},
    [BUG_HEADS_SWAPPED] = {"heads_swapped", "attention scaled_scores weighted_sum split_heads concat_heads",
                           "y of head h", "y of head h ^ 1; in split_heads and concat_heads x[d * H + h]", NUMERIC},
    [BUG_WRONG_GROUP] = {"wrong_group", "attention scaled_scores weighted_sum", "k of head h / group",
                         "k of head h % shared", NUMERIC},
    [BUG_TAIL_PADDED] = {"tail_padded", "attention softmax", "sum of exp(s - max)",
                         "the same, plus exp(0 - max) for each place from keys up to a multiple of 16", NUMERIC},
    [BUG_SOFTCAP_AFTER_MASK] = {"softcap_after_mask", "attention", "cap(s) + bias, or -inf", "cap(s + bias, or -inf)",
                                NUMERIC},
    [BUG_FINITE_MASK] = {"finite_mask", "attention mask", "-inf where not allowed", "-10000 where not allowed",
                         NUMERIC},
    [BUG_NAN_THROUGH_MASK] = {"nan_through_mask", "attention weighted_sum mask",
                              "p == 0 ? 0 : p * v; in mask allowed ? s + bias : -inf",
                              "p * v; in mask s + (allowed ? bias : -inf)", PLAIN},
    [BUG_ALL_ZEROS] = {"all_zeros", "", "y = value", "y = 0", NUMERIC},
    [BUG_STALE_OUTPUT] = {"stale_output", "", "y = value", "nothing is written", PLAIN},
    [BUG_BIAS_INDEX] = {"bias_index", "linear fused_linear layer_norm", "bias[column]", "bias[row % columns]", NUMERIC},
    [BUG_EPS_DROPPED] = {"eps_dropped", "layer_norm rms_norm", "sqrt(variance + eps)", "sqrt(variance)", NUMERIC},
    [BUG_VARIANCE_BY_SQUARES] = {"variance_by_squares", "layer_norm", "mean of (x - m)^2", "mean of x^2, minus m^2",
                                 NUMERIC},
    [BUG_TRANSPOSED_SQUARE_WEIGHT] = {"transposed_square_weight", "linear fused_linear matmul", "w[n][k]",
                                      "w[k][n] where w is square", NUMERIC},
    [BUG_RESIDUAL_FIRST] = {"residual_first", "fused_linear", "f(sum) + residual", "f(sum + residual)", NUMERIC},
    [BUG_WRITE_PAST_END] = {"write_past_end", "", "i < count", "i <= count", PLAIN},
    [BUG_SUPPORTS_THEN_FAILS] = {"supports_then_fails", "", "a plan", "unsupported, after supports() said yes", PLAIN},
};

kernel_bug kernel_bug_named(const char *name) {
  for (int bug = BUG_NONE + 1; bug < BUG_COUNT; bug++)
    if (strcmp(kernel_bugs[bug].name, name) == 0) return (kernel_bug)bug;
  return BUG_NONE;
}

bool kernel_bug_concerns(kernel_bug bug, const char *op) {
  const char *ops = bug != BUG_NONE ? kernel_bugs[bug].ops : "";
  size_t length = strlen(op);
  bool found = ops[0] == '\0';
  for (const char *word = ops; *word != '\0'; word += strspn(word, " ")) {
    size_t end = strcspn(word, " ");
    found = found || (end == length && memcmp(word, op, length) == 0);
    word += end;
  }
  return found;
}
