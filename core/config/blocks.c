/* Blocks: what they declare, and their calls, which are written out as if the block stood there, round by round. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/loader.h"

/* MAX_WRITTEN bounds what a short file with repeats and nested calls can grow into, in YAML nodes. */
enum { MAX_CALL_DEPTH = 32, MAX_WRITTEN = 250000 };

ph_status ph_blocks_read(ph_loader *loader, ph_yaml *node) {
  static const char *const known[] = {"inputs", "weights", "state", "graph", "outputs"};
  if (node == NULL) return PH_OK;
  PH_TRY(ph_read_map(loader, node, "blocks"));
  for (uint32_t i = 0; i < node->count; i++) {
    const ph_yaml_pair *pair = &node->pairs[i];
    const ph_yaml *block = pair->value;
    if (!ph_is_name(pair->key))
      return ph_fail_at(loader->error, pair->place,
                        "'%s' is no name: a block takes letters, digits and '_', no digit first", pair->key);
    PH_TRY(ph_read_map(loader, block, "a block"));
    const char *what = ph_arena_text(&loader->scratch, "block '%s'", pair->key);
    if (what == NULL) return ph_fail_memory(loader->error);
    PH_TRY(ph_check_keys(loader, block, what, known, 5));
    ph_yaml *part;
    PH_TRY(ph_require(loader, block, what, "inputs", &part));
    PH_TRY(ph_read_list(loader, part, "a block's inputs"));
    PH_TRY(ph_require(loader, block, what, "graph", &part));
    PH_TRY(ph_require(loader, block, what, "outputs", &part));
    if (part->kind == PH_YAML_SCALAR || part->count == 0)
      return ph_fail_at(loader->error, part->place,
                        "a block's outputs are a list of names or a mapping, and at least one");
  }
  loader->blocks = node;
  return PH_OK;
}

/* A call as it was read, before it is written out. */
typedef struct call {
  ph_yaml *source, *block;
  const char *name, *block_name;
  uint32_t *inputs; /* model values, by the block's inputs; change from round to round */
  uint32_t input_count;
  const char **outs;
  uint32_t *outputs; /* of the last round */
  uint32_t output_count;
  uint32_t *carried; /* by input: the output that feeds it in the next round, or PH_NONE */
  bool repeats, shared;
  int64_t rounds;
} call;

/* ---- reading the call ---- */

/* `frame` calls the block of `first` again, which it is called from itself. */
static ph_status fail_recursion(ph_loader *loader, const ph_frame *frame, const ph_frame *first, ph_place place) {
  const char *chain = first->block;
  for (const ph_frame *at = frame;; at = at->caller) {
    chain = ph_arena_text(&loader->scratch, "%s -> %s", at->block, chain);
    if (chain == NULL) return ph_fail_memory(loader->error);
    if (at == first) break;
  }
  return ph_fail_at(loader->error, place, "block '%s' calls itself: %s", first->block, chain);
}

static ph_status find_block(ph_loader *loader, const ph_frame *frame, call *c) {
  const ph_yaml *at = ph_yaml_get(c->source, "block");
  PH_TRY(ph_read_text(loader, at, "block", &c->block_name));
  c->block = loader->blocks != NULL ? ph_yaml_get(loader->blocks, c->block_name) : NULL;
  if (c->block == NULL) {
    uint32_t count = loader->blocks != NULL ? loader->blocks->count : 0;
    const char **names = ph_arena_array(&loader->scratch, count, sizeof(*names));
    for (uint32_t i = 0; names != NULL && i < count; i++) names[i] = loader->blocks->pairs[i].key;
    return ph_fail_at(loader->error, at->place, "there is no block '%s'%s", c->block_name,
                      ph_loader_hint(loader, c->block_name, names, count));
  }
  for (const ph_frame *outer = frame; outer != NULL && outer->block != NULL; outer = outer->caller)
    if (strcmp(outer->block, c->block_name) == 0) return fail_recursion(loader, frame, outer, at->place);
  if (frame->depth == MAX_CALL_DEPTH)
    return ph_fail_at(loader->error, at->place, "blocks call each other deeper than %d", MAX_CALL_DEPTH);
  c->block->used = true;
  return PH_OK;
}

static ph_status read_input(ph_loader *loader, ph_frame *frame, const ph_yaml *node, uint32_t *out) {
  PH_TRY(ph_frame_value(loader, frame, node, out));
  loader->model->values[*out].used = true;
  return PH_OK;
}

/* The block's inputs as text, for messages and suggestions; they are checked to be names. */
static ph_status input_names(ph_loader *loader, const ph_yaml *list, const char ***out) {
  *out = ph_arena_array(&loader->scratch, list->count, sizeof(**out));
  if (*out == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < list->count; i++) PH_TRY(ph_read_name(loader, list->items[i], "an input", &(*out)[i]));
  return PH_OK;
}

static uint32_t index_of(const char *const *names, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return i;
  return PH_NONE;
}

static ph_status read_inputs(ph_loader *loader, ph_frame *frame, call *c, const char *const *names) {
  const ph_yaml *at = ph_yaml_get(c->source, "inputs");
  ph_error *error = loader->error;
  uint32_t given = at == NULL || at->kind == PH_YAML_SCALAR ? 0 : at->count;
  if (at != NULL && at->kind == PH_YAML_SCALAR)
    return ph_fail_at(error, at->place, "inputs must be a list or a mapping, not %s",
                      ph_yaml_describe(at, &loader->scratch));
  if (given > c->input_count || (at != NULL && at->kind == PH_YAML_LIST && given < c->input_count))
    return ph_fail_at(error, at->place, "block '%s' takes %u input%s, but %u are given", c->block_name, c->input_count,
                      c->input_count == 1 ? "" : "s", given);
  for (uint32_t i = 0; i < c->input_count; i++) c->inputs[i] = PH_NONE;
  for (uint32_t i = 0; i < given; i++) {
    const ph_yaml *value = at->kind == PH_YAML_LIST ? at->items[i] : at->pairs[i].value;
    uint32_t slot = at->kind == PH_YAML_LIST ? i : index_of(names, c->input_count, at->pairs[i].key);
    if (slot == PH_NONE)
      return ph_fail_at(error, at->pairs[i].place, "block '%s' has no input '%s'%s", c->block_name, at->pairs[i].key,
                        ph_loader_hint(loader, at->pairs[i].key, names, c->input_count));
    PH_TRY(read_input(loader, frame, value, &c->inputs[slot]));
  }
  for (uint32_t i = 0; i < c->input_count; i++)
    if (c->inputs[i] == PH_NONE)
      return ph_fail_at(error, c->source->place, "node '%s': block '%s' needs the input '%s'", c->name, c->block_name,
                        names[i]);
  return PH_OK;
}

/* Which output feeds which input of the next round. */
static ph_status read_carry(ph_loader *loader, call *c, const char *const *names) {
  const ph_yaml *at = ph_yaml_get(c->source, "carry");
  c->carried = ph_arena_array(&loader->scratch, c->input_count, sizeof(*c->carried));
  if (c->carried == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < c->input_count; i++) c->carried[i] = PH_NONE;
  if (at == NULL) {
    if (c->input_count == 0)
      return ph_fail_at(loader->error, c->source->place, "block '%s' has no input that the next round could start from",
                        c->block_name);
    c->carried[0] = 0;
    return PH_OK;
  }
  PH_TRY(ph_read_map(loader, at, "carry"));
  for (uint32_t i = 0; i < at->count; i++) {
    const ph_yaml_pair *pair = &at->pairs[i];
    const char *output;
    uint32_t input = index_of(names, c->input_count, pair->key);
    if (input == PH_NONE)
      return ph_fail_at(loader->error, pair->place, "block '%s' has no input '%s'%s", c->block_name, pair->key,
                        ph_loader_hint(loader, pair->key, names, c->input_count));
    PH_TRY(ph_read_text(loader, pair->value, "an output", &output));
    c->carried[input] = index_of(c->outs, c->output_count, output);
    if (c->carried[input] == PH_NONE)
      return ph_fail_at(loader->error, pair->value->place, "block '%s' has no output '%s'%s", c->block_name, output,
                        ph_loader_hint(loader, output, c->outs, c->output_count));
  }
  return PH_OK;
}

static ph_status read_outs(ph_loader *loader, call *c) {
  const ph_yaml *at = ph_yaml_get(c->block, "outputs");
  c->output_count = at->count;
  c->outs = ph_arena_array(&loader->scratch, at->count, sizeof(*c->outs));
  c->outputs = ph_arena_array(loader->arena, at->count, sizeof(*c->outputs));
  if (c->outs == NULL || c->outputs == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < at->count; i++) {
    ph_place place = at->kind == PH_YAML_LIST ? at->items[i]->place : at->pairs[i].place;
    if (at->kind == PH_YAML_LIST)
      PH_TRY(ph_read_name(loader, at->items[i], "a block's output", &c->outs[i]));
    else
      c->outs[i] = at->pairs[i].key;
    if (!ph_is_name(c->outs[i]))
      return ph_fail_at(loader->error, place, "'%s' is no name: an output takes letters, digits and '_'", c->outs[i]);
    if (index_of(c->outs, i, c->outs[i]) != PH_NONE)
      return ph_fail_at(loader->error, place, "the output '%s' stands here twice", c->outs[i]);
  }
  return PH_OK;
}

static ph_status read_repeat(ph_loader *loader, const ph_frame *frame, call *c) {
  const ph_yaml *repeat = ph_yaml_get(c->source, "repeat"), *shared = ph_yaml_get(c->source, "shared");
  const ph_yaml_pair *carry = ph_yaml_find(c->source, "carry");
  c->repeats = repeat != NULL;
  c->rounds = 1;
  if (shared != NULL) PH_TRY(ph_read_boolean(loader, shared, "shared", &c->shared));
  if (!c->repeats && (carry != NULL || shared != NULL))
    return ph_fail_at(loader->error, carry != NULL ? carry->place : shared->place,
                      "'%s' means something only beside 'repeat'", carry != NULL ? "carry" : "shared");
  if (!c->repeats) return PH_OK;
  const ph_expr *expr;
  PH_TRY(ph_read_expr(loader, frame, repeat, "repeat", &expr));
  PH_TRY(ph_dims_evaluate(loader, expr, repeat->place, &c->rounds));
  ph_dims_fix(loader, expr);
  if (c->rounds < 1)
    return ph_fail_at(loader->error, repeat->place, "repeat is %" PRId64 "; it must be at least 1", c->rounds);
  return PH_OK;
}

/* ---- writing it out ---- */

static ph_status add_inputs(ph_loader *loader, ph_frame *inner, const call *c, const char *const *names) {
  const ph_yaml *list = ph_yaml_get(c->block, "inputs");
  for (uint32_t i = 0; i < c->input_count; i++) {
    ph_entry entry = {.name = names[i], .place = list->items[i]->place, .value = c->inputs[i]};
    PH_TRY(ph_frame_add(loader, inner, entry));
    PH_TRY(ph_model_add_alias(loader, ph_arena_text(loader->arena, "%s%s", inner->path, names[i]), c->inputs[i]));
  }
  return PH_OK;
}

static ph_status take_outputs(ph_loader *loader, ph_frame *inner, call *c) {
  const ph_yaml *at = ph_yaml_get(c->block, "outputs");
  for (uint32_t i = 0; i < at->count; i++) {
    const ph_yaml *value = at->kind == PH_YAML_LIST ? at->items[i] : at->pairs[i].value;
    PH_TRY(ph_frame_value(loader, inner, value, &c->outputs[i]));
    loader->exported[c->outputs[i]] = true;
    const ph_entry *same = ph_frame_find(inner, c->outs[i]);
    if (same == NULL)
      PH_TRY(ph_model_add_alias(loader, ph_arena_text(loader->arena, "%s%s", inner->path, c->outs[i]), c->outputs[i]));
    else if (same->value != c->outputs[i])
      return ph_fail_at(loader->error, at->pairs[i].place,
                        "the output '%s' is another value than the block's own '%s' of line %u", c->outs[i], c->outs[i],
                        same->place.line);
  }
  return PH_OK;
}

static ph_status write_out(ph_loader *loader, ph_frame *inner, call *c, const char *const *names) {
  const ph_yaml *weights = ph_yaml_get(c->block, "weights");
  PH_TRY(add_inputs(loader, inner, c, names));
  if (weights != NULL) PH_TRY(ph_weights_read(loader, inner, weights));
  PH_TRY(ph_states_read(loader, inner, ph_yaml_get(c->block, "state")));
  PH_TRY(ph_graph_read(loader, inner, ph_yaml_get(c->block, "graph")));
  PH_TRY(ph_states_settle(loader, inner, ph_yaml_get(c->block, "state")));
  return take_outputs(loader, inner, c);
}

/* Errors inside a block say where it was called; of a deep chain the innermost calls. */
static ph_status name_call(ph_loader *loader, const call *c, ph_status status) {
  enum { MOST = 3 };
  if (status == PH_OK || loader->named_calls == MOST) return status;
  loader->named_calls++;
  size_t used = strlen(loader->error->message);
  snprintf(loader->error->message + used, sizeof(loader->error->message) - used, " (in block '%s', called at line %u)",
           c->block_name, c->source->place.line);
  return status;
}

static ph_status read_round(ph_loader *loader, ph_frame *frame, call *c, const char *const *names, int64_t round) {
  const ph_yaml *weights = ph_yaml_get(c->source, "weights");
  const int64_t *seen = c->repeats ? &round : frame->round; /* by the call's own prefix */
  ph_frame inner = {.caller = frame,
                    .block = c->block_name,
                    .depth = frame->depth + 1,
                    .call_place = c->source->place,
                    .key_prefix = frame->key_prefix,
                    .round = c->repeats ? &round : NULL};
  inner.path = c->repeats ? ph_arena_text(loader->arena, "%s%s.%" PRId64 ".", frame->path, c->name, round)
                          : ph_arena_text(loader->arena, "%s%s.", frame->path, c->name);
  inner.first_path =
      c->repeats ? ph_arena_text(loader->arena, "%s%s.%" PRId64 ".", frame->first_path, c->name, c->shared ? 0 : round)
                 : ph_arena_text(loader->arena, "%s%s.", frame->first_path, c->name);
  if (weights != NULL) {
    const char *prefix;
    PH_TRY(ph_read_text(loader, weights, "weights", &prefix));
    PH_TRY(ph_key_expand(loader, seen, prefix, weights->place, &prefix, &inner.round_in_prefix));
    inner.key_prefix = ph_arena_text(loader->arena, "%s%s", frame->key_prefix, prefix);
  }
  if (!c->repeats) inner.round_in_prefix = inner.round_in_prefix || frame->round_in_prefix;
  if (inner.path == NULL || inner.first_path == NULL || inner.key_prefix == NULL) return ph_fail_memory(loader->error);
  loader->written += c->block->size;
  if (loader->written > MAX_WRITTEN)
    return ph_fail_at(loader->error, c->source->place,
                      "the blocks grow to more than %d entries when they are written out; repeat less", MAX_WRITTEN);
  return name_call(loader, c, write_out(loader, &inner, c, names));
}

static ph_status read_rounds(ph_loader *loader, ph_frame *frame, call *c, const char *const *names) {
  uint32_t plain_keys = loader->plain_keys;
  for (int64_t round = 0; round < c->rounds; round++) {
    PH_TRY(read_round(loader, frame, c, names, round));
    if (c->repeats && !c->shared && loader->plain_keys > plain_keys) {
      const ph_yaml *weights = ph_yaml_get(c->source, "weights");
      return ph_fail_at(loader->error, weights != NULL ? weights->place : c->source->place,
                        "every round of '%s' would read the same weights: put {i} into the prefix, as in "
                        "\"layers.{i}.\", or say shared: true",
                        c->name);
    }
    if (round + 1 == c->rounds) break;
    uint32_t *next = ph_arena_array(&loader->scratch, c->input_count, sizeof(*next));
    if (next == NULL) return ph_fail_memory(loader->error);
    for (uint32_t i = 0; i < c->input_count; i++) {
      next[i] = c->carried[i] != PH_NONE ? c->outputs[c->carried[i]] : c->inputs[i];
      loader->model->values[next[i]].used = true;
    }
    c->inputs = next;
  }
  /* What does not change with an inner round may still change with the outer one. */
  if (frame->round_in_prefix) loader->plain_keys = plain_keys;
  return PH_OK;
}

static ph_status publish(ph_loader *loader, ph_frame *frame, const call *c) {
  const char *path = ph_arena_text(loader->arena, "%s%s", frame->path, c->name);
  PH_TRY(ph_model_add_alias(loader, path, c->outputs[0]));
  for (uint32_t i = 0; c->repeats && i < c->output_count; i++)
    PH_TRY(ph_model_add_alias(loader, ph_arena_text(loader->arena, "%s.%s", path, c->outs[i]), c->outputs[i]));
  ph_call_record *record =
      ph_arena_push(&loader->scratch, &loader->calls, &loader->call_count, &loader->call_capacity, sizeof(*record));
  if (record == NULL) return ph_fail_memory(loader->error);
  *record = (ph_call_record){c->source, path, c->block_name, c->outputs, c->output_count};
  ph_entry entry = {.name = c->name,
                    .place = c->source->place,
                    .value = c->outputs[0],
                    .out_count = c->output_count,
                    .outs = c->outs,
                    .out_values = c->outputs};
  return ph_frame_add(loader, frame, entry);
}

ph_status ph_call_read(ph_loader *loader, ph_frame *frame, ph_yaml *node, const char *name) {
  static const char *const known[] = {"name", "block", "inputs", "weights", "repeat", "carry", "shared"};
  call c = {.source = node, .name = name};
  PH_TRY(find_block(loader, frame, &c));
  const char *what = ph_arena_text(&loader->scratch, "node '%s' (block %s)", name, c.block_name);
  if (what == NULL) return ph_fail_memory(loader->error);
  PH_TRY(ph_check_keys(loader, node, what, known, 7));
  const ph_yaml *inputs = ph_yaml_get(c.block, "inputs");
  const char **names;
  c.input_count = inputs->count;
  c.inputs = ph_arena_array(&loader->scratch, inputs->count, sizeof(*c.inputs));
  if (c.inputs == NULL) return ph_fail_memory(loader->error);
  PH_TRY(name_call(loader, &c, input_names(loader, inputs, &names)));
  PH_TRY(name_call(loader, &c, read_outs(loader, &c)));
  PH_TRY(read_inputs(loader, frame, &c, names));
  PH_TRY(read_repeat(loader, frame, &c));
  if (c.repeats) PH_TRY(read_carry(loader, &c, names));
  PH_TRY(read_rounds(loader, frame, &c, names));
  return publish(loader, frame, &c);
}
