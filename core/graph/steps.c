/* Attention written out in NUMERICS' order: scores, softcap, mask, softmax, weighted sum.  And a linear layer with what
 * follows it. */
#include "graph/steps.h"

#include <string.h>

#include "base/error.h"

/* A node that is being written out: where its parts come from. */
typedef struct steps {
  ph_net *net;
  const ph_net_node *node;
  ph_error *error;
} steps;

static uint32_t role(const steps *s, const char *name) {
  uint32_t index = ph_op_role_index(s->node->op, name);
  return index == PH_NONE ? PH_NONE : s->node->inputs[index];
}

static bool is_set(const steps *s, const char *name) {
  const ph_net_attr *attr = ph_net_node_attr(s->node, name);
  return attr->present && (attr->value.kind != PH_ATTR_I64 || attr->value.as.i64 != 0);
}

/* Adds the step NODE.<name>, or the node itself where `name` is NULL, with the attributes of the node that are named in
 * `attrs` as "theirs" or "theirs=ours". */
static ph_status step(const steps *s, const char *op, const char *name, const uint32_t *inputs, uint32_t input_count,
                      const char *const *attrs, uint32_t *out) {
  ph_net_attr_value values[8];
  uint32_t count = 0;
  for (; attrs != NULL && *attrs != NULL; attrs++) {
    const char *equals = strchr(*attrs, '=');
    const ph_net_attr *attr = ph_net_node_attr(s->node, equals != NULL ? equals + 1 : *attrs);
    if (!attr->present) continue;
    const char *theirs = equals == NULL ? *attrs : ph_arena_copy(&s->net->arena, *attrs, (size_t)(equals - *attrs));
    if (theirs == NULL) return ph_fail_memory(s->error);
    values[count++] = (ph_net_attr_value){.name = theirs, .value = attr->value, .varies = attr->varies};
  }
  const char *path = name == NULL ? s->node->path : ph_arena_text(&s->net->arena, "%s.%s", s->node->path, name);
  if (path == NULL) return ph_fail_memory(s->error);
  return ph_net_add_node(s->net, ph_op_find(op), path, s->node->place, inputs, input_count, values, count, NULL, out,
                         s->error);
}

/* From q, k and v in heads to their mixture under NODE.<mixed>, or the node's own path where that is NULL. */
static ph_status attention_steps(const steps *s, uint32_t q, uint32_t k, uint32_t v, const char *mixed, uint32_t *out,
                                 uint32_t *out_lse) {
  uint32_t scores, weights;
  PH_TRY(step(s, "scaled_scores", "scores", (uint32_t[]){q, k}, 2, (const char *[]){"scale", NULL}, &scores));
  if (ph_net_node_attr(s->node, "softcap")->present)
    PH_TRY(step(s, "softcap", "capped", &scores, 1, (const char *[]){"cap=softcap", NULL}, &scores));
  uint32_t masked[] = {scores, role(s, "mask"), role(s, "key_mask"), role(s, "lengths"), role(s, "offset")};
  if (masked[1] != PH_NONE || masked[2] != PH_NONE || masked[3] != PH_NONE || is_set(s, "causal") ||
      is_set(s, "alibi") || is_set(s, "window"))
    PH_TRY(step(s, "mask", "masked", masked, 5,
                (const char *[]){"causal", "align", "window", "alibi", "polarity", "ring", NULL}, &scores));
  PH_TRY(step(s, "softmax", "weights", (uint32_t[]){scores, role(s, "sinks")}, 2, NULL, &weights));
  if (out_lse != NULL) *out_lse = weights + 1;
  return step(s, "weighted_sum", mixed, (uint32_t[]){weights, v}, 2, NULL, out);
}

ph_status ph_expand_attention(ph_net *net, const ph_net_node *node, uint32_t *outputs, ph_error *error) {
  steps s = {net, node, error};
  return attention_steps(&s, role(&s, "q"), role(&s, "k"), role(&s, "v"), NULL, &outputs[0], &outputs[1]);
}

/* A projection and its split into heads: NODE.q and NODE.q_heads, say. */
static ph_status project(const steps *s, uint32_t x, const char *weight, const char *bias, const char *name,
                         const char *heads_name, const char *heads, uint32_t *out) {
  const char *heads_attr[] = {heads, NULL};
  PH_TRY(step(s, "linear", name, (uint32_t[]){x, role(s, weight), role(s, bias)}, 3, NULL, out));
  return step(s, "split_heads", heads_name, out, 1, heads_attr, out);
}

ph_status ph_expand_multi_head_attention(ph_net *net, const ph_net_node *node, uint32_t *outputs, ph_error *error) {
  steps s = {net, node, error};
  uint32_t x = role(&s, "x"), memory = role(&s, "memory"), q, k, v, mixed, merged;
  if (memory == PH_NONE) memory = x;
  const char *kv_heads = ph_net_node_attr(node, "kv_heads")->present ? "heads=kv_heads" : "heads";
  PH_TRY(project(&s, x, "w_q", "b_q", "q", "q_heads", "heads", &q));
  PH_TRY(project(&s, memory, "w_k", "b_k", "k", "k_heads", kv_heads, &k));
  PH_TRY(project(&s, memory, "w_v", "b_v", "v", "v_heads", kv_heads, &v));
  PH_TRY(attention_steps(&s, q, k, v, "mixed", &mixed, NULL));
  PH_TRY(step(&s, "concat_heads", "merged", &mixed, 1, NULL, &merged));
  return step(&s, "linear", NULL, (uint32_t[]){merged, role(&s, "w_o"), role(&s, "b_o")}, 3, NULL, &outputs[0]);
}

ph_status ph_expand_fused_linear(ph_net *net, const ph_net_node *node, uint32_t *outputs, ph_error *error) {
  steps s = {net, node, error};
  const char *activation = ph_net_node_attr(node, "activation")->value.as.string;
  bool active = strcmp(activation, "none") != 0;
  uint32_t residual = role(&s, "residual"), y;
  const uint32_t operands[] = {role(&s, "x"), role(&s, "weight"), role(&s, "bias")};
  PH_TRY(step(&s, "linear", active || residual != PH_NONE ? "product" : NULL, operands, 3,
              (const char *[]){"layout", NULL}, &y));
  if (active) {
    const char *const form[] = {strcmp(activation, "gelu") == 0 ? "form" : NULL, NULL};
    PH_TRY(step(&s, activation, residual != PH_NONE ? "active" : NULL, &y, 1, form, &y));
  }
  if (residual != PH_NONE) PH_TRY(step(&s, "add", NULL, (uint32_t[]){y, residual}, 2, NULL, &y));
  outputs[0] = y;
  return PH_OK;
}
