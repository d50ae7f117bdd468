/* Reading a graph: its nodes, and of op nodes the inputs, weights and outputs. */
#include <string.h>

#include "config/loader.h"

ph_status ph_graph_read(ph_loader *loader, ph_frame *frame, const ph_yaml *graph) {
  PH_TRY(ph_read_list(loader, graph, "graph"));
  frame->graph = graph;
  for (uint32_t i = 0; i < graph->count; i++) {
    ph_yaml *node = graph->items[i], *name_node;
    const char *name;
    PH_TRY(ph_read_map(loader, node, "a node"));
    PH_TRY(ph_require(loader, node, "a node", "name", &name_node));
    PH_TRY(ph_read_name(loader, name_node, "a node's name", &name));
    bool op = ph_yaml_find(node, "op") != NULL, block = ph_yaml_find(node, "block") != NULL;
    if (op == block)
      return ph_fail_at(loader->error, node->place, "node '%s' needs either 'op' or 'block'%s", name,
                        op ? ", not both" : "");
    PH_TRY(op ? ph_node_read(loader, frame, node, name) : ph_call_read(loader, frame, node, name));
  }
  return PH_OK;
}

/* ---- what an op node may say ---- */

static ph_status find_op(ph_loader *loader, const ph_yaml *node, const ph_op **out) {
  const ph_yaml *at = ph_yaml_get(node, "op");
  const char *text;
  PH_TRY(ph_read_text(loader, at, "op", &text));
  *out = ph_op_find(text);
  if (*out != NULL) return PH_OK;
  const char **names = ph_arena_array(&loader->scratch, ph_op_count, sizeof(*names));
  for (uint32_t i = 0; names != NULL && i < ph_op_count; i++) names[i] = ph_ops[i]->name;
  return ph_fail_at(loader->error, at->place, "there is no op '%s'%s", text,
                    ph_loader_hint(loader, text, names, ph_op_count));
}

static ph_status check_node_keys(ph_loader *loader, const ph_yaml *node, const ph_op *op, const char *name) {
  static const char *const common[] = {"name", "op", "inputs", "weights"};
  enum { COMMON = sizeof(common) / sizeof(common[0]) };
  const char **known = ph_arena_array(&loader->scratch, COMMON + op->attr_count, sizeof(*known));
  const char *what = ph_arena_text(&loader->scratch, "node '%s' (op %s)", name, op->name);
  if (known == NULL || what == NULL) return ph_fail_memory(loader->error);
  memcpy(known, common, sizeof(common));
  for (uint32_t i = 0; i < op->attr_count; i++) known[COMMON + i] = op->attrs[i].name;
  for (uint32_t i = 0; i < node->count; i++)
    if (ph_op_role_index(op, node->pairs[i].key) != PH_NONE && ph_op_attr_index(op, node->pairs[i].key) == PH_NONE &&
        strcmp(node->pairs[i].key, "weights") != 0)
      return ph_fail_at(loader->error, node->pairs[i].place, "'%s' is an input of op %s: write it inside inputs: {..}",
                        node->pairs[i].key, op->name);
  return ph_check_keys(loader, node, what, known, COMMON + op->attr_count);
}

/* ---- inputs ---- */

static uint32_t positional_count(const ph_op *op) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < op->role_count; i++) count += !(op->roles[i].flags & PH_ROLE_NAMED);
  return count;
}

static bool is_variadic(const ph_op *op, uint32_t role) {
  return (op->roles[role].flags & PH_ROLE_VARIADIC) != 0;
}

static ph_status use_value(ph_loader *loader, ph_frame *frame, const ph_yaml *node, uint32_t *out) {
  PH_TRY(ph_frame_value(loader, frame, node, out));
  loader->model->values[*out].used = true;
  return PH_OK;
}

static ph_status read_positional(ph_loader *loader, ph_frame *frame, const ph_yaml *list, const ph_op *op,
                                 uint32_t *inputs, uint32_t *input_count) {
  uint32_t most = positional_count(op), role = 0, more = 0; /* more: how many a variadic role has taken */
  for (uint32_t i = 0; i < list->count; i++) {
    while (role < op->role_count && (op->roles[role].flags & PH_ROLE_NAMED)) role++;
    if (role == op->role_count)
      return ph_fail_at(loader->error, list->items[i]->place, "op %s takes %u input%s by position, but %u are given%s",
                        op->name, most, most == 1 ? "" : "s", list->count,
                        most < op->role_count ? "; others go by name, inputs: {role: value}" : "");
    uint32_t slot = role + more;
    PH_TRY(use_value(loader, frame, list->items[i], &inputs[slot]));
    if (slot >= *input_count) *input_count = slot + 1;
    if (is_variadic(op, role))
      more++;
    else
      role++;
  }
  return PH_OK;
}

static ph_status read_by_name(ph_loader *loader, ph_frame *frame, const ph_yaml *map, const ph_op *op, uint32_t *inputs,
                              uint32_t *input_count) {
  const char **names = ph_arena_array(&loader->scratch, op->role_count, sizeof(*names));
  if (names == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < op->role_count; i++) names[i] = op->roles[i].name;
  for (uint32_t i = 0; i < map->count; i++) {
    const ph_yaml_pair *pair = &map->pairs[i];
    uint32_t role = ph_op_role_index(op, pair->key);
    if (role == PH_NONE)
      return ph_fail_at(loader->error, pair->place, "op %s has no input '%s'%s", op->name, pair->key,
                        ph_loader_hint(loader, pair->key, names, op->role_count));
    bool list = is_variadic(op, role) && pair->value->kind == PH_YAML_LIST;
    uint32_t count = list ? pair->value->count : 1;
    for (uint32_t k = 0; k < count; k++)
      PH_TRY(use_value(loader, frame, list ? pair->value->items[k] : pair->value, &inputs[role + k]));
    if (count > 0 && role + count > *input_count) *input_count = role + count;
  }
  return PH_OK;
}

/* Room for every role, and for all that a variadic one may take. */
static uint32_t input_room(const ph_op *op, const ph_yaml *inputs) {
  uint32_t room = op->role_count;
  if (inputs == NULL || op->role_count == 0 || !is_variadic(op, op->role_count - 1)) return room;
  const ph_yaml *list = inputs;
  if (inputs->kind == PH_YAML_MAP) list = ph_yaml_get(inputs, op->roles[op->role_count - 1].name);
  return list != NULL && list->kind == PH_YAML_LIST ? room + list->count : room;
}

static ph_status read_inputs(ph_loader *loader, ph_frame *frame, const ph_yaml *at, const ph_op *op, uint32_t **out,
                             uint32_t *out_count) {
  uint32_t room = input_room(op, at);
  uint32_t *inputs = ph_arena_array(loader->arena, room, sizeof(*inputs));
  if (inputs == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < room; i++) inputs[i] = PH_NONE;
  *out = inputs;
  *out_count = op->role_count;
  if (at == NULL) return PH_OK;
  if (at->kind == PH_YAML_LIST) return read_positional(loader, frame, at, op, inputs, out_count);
  if (at->kind == PH_YAML_MAP) return read_by_name(loader, frame, at, op, inputs, out_count);
  return ph_fail_at(loader->error, at->place, "inputs must be a list, [a, b], or a mapping, {role: value}, not %s",
                    ph_yaml_describe(at, &loader->scratch));
}

static ph_status check_roles(ph_loader *loader, const ph_yaml *node, const ph_op *op, const char *name,
                             const uint32_t *inputs) {
  for (uint32_t i = 0; i < op->role_count; i++)
    if (inputs[i] == PH_NONE && !(op->roles[i].flags & PH_ROLE_OPTIONAL))
      return ph_fail_at(loader->error, node->place, "node '%s': op %s needs the input '%s'%s%s", name, op->name,
                        op->roles[i].name, op->roles[i].doc != NULL ? ", " : "",
                        op->roles[i].doc != NULL ? op->roles[i].doc : "");
  return PH_OK;
}

/* ---- weights: PREFIX ---- */

static ph_status add_bias(ph_loader *loader, const char *path, const char *prefix, ph_yaml *node, uint32_t *input) {
  ph_pending_bias *bias =
      ph_arena_push(&loader->scratch, &loader->biases, &loader->bias_count, &loader->bias_capacity, sizeof(*bias));
  if (bias == NULL) return ph_fail_memory(loader->error);
  *bias = (ph_pending_bias){.input = input,
                            .path = ph_arena_text(loader->arena, "%s.bias", path),
                            .key = ph_arena_text(loader->arena, "%sbias", prefix),
                            .source = node};
  return bias->path != NULL && bias->key != NULL ? PH_OK : ph_fail_memory(loader->error);
}

static ph_status read_prefix(ph_loader *loader, const ph_frame *frame, ph_yaml *node, const ph_op *op, const char *path,
                             uint32_t *inputs) {
  const ph_yaml *at = ph_yaml_get(node, "weights");
  if (at == NULL) return PH_OK;
  const char *text;
  bool has_round;
  PH_TRY(ph_read_text(loader, at, "weights", &text));
  uint32_t weight = ph_op_role_index(op, "weight"), bias = ph_op_role_index(op, "bias");
  if (weight == PH_NONE)
    return ph_fail_at(loader->error, at->place, "op %s has no input 'weight' that a prefix could fill", op->name);
  if (inputs[weight] != PH_NONE)
    return ph_fail_at(loader->error, at->place, "the input 'weight' is given twice: by 'inputs' and by 'weights'");
  PH_TRY(ph_key_expand(loader, frame->round, text, at->place, &text, &has_round));
  if (!has_round && !frame->round_in_prefix) loader->plain_keys++;
  const char *prefix = ph_arena_text(loader->arena, "%s%s", frame->key_prefix, text);
  if (prefix == NULL) return ph_fail_memory(loader->error);
  PH_TRY(ph_weight_add_plain(loader, ph_arena_text(loader->arena, "%s.weight", path),
                             ph_arena_text(loader->arena, "%sweight", prefix), node, &inputs[weight]));
  loader->model->values[inputs[weight]].used = true;
  return bias != PH_NONE && inputs[bias] == PH_NONE ? add_bias(loader, path, prefix, node, &inputs[bias]) : PH_OK;
}

/* ---- the node ---- */

static ph_status add_node(ph_loader *loader, ph_model_node node, ph_yaml *source) {
  ph_model *model = loader->model;
  ph_model_node *slot =
      ph_arena_push(loader->arena, &model->nodes, &model->node_count, &model->node_capacity, sizeof(*slot));
  ph_yaml **source_slot = ph_arena_push(&loader->scratch, &loader->node_sources, &loader->node_source_count,
                                        &loader->node_source_capacity, sizeof(*source_slot));
  if (slot == NULL || source_slot == NULL) return ph_fail_memory(loader->error);
  *slot = node;
  *source_slot = source;
  return PH_OK;
}

/* The names of the outputs: the table's, or those of the attribute of type EXTENTS. */
static ph_status output_names(ph_loader *loader, const ph_model_node *node, const char *const **out,
                              uint32_t *out_count) {
  if (node->op->outputs != NULL) {
    const char **names = ph_arena_array(&loader->scratch, node->op->output_count, sizeof(*names));
    if (names == NULL) return ph_fail_memory(loader->error);
    for (uint32_t i = 0; i < node->op->output_count; i++) names[i] = node->op->outputs[i].name;
    *out = names;
    *out_count = node->op->output_count;
    return PH_OK;
  }
  for (uint32_t i = 0; i < node->attr_count; i++) {
    if (node->op->attrs[node->attrs[i].row].type != PH_ATTR_TYPE_EXTENTS) continue;
    *out = node->attrs[i].names;
    *out_count = node->attrs[i].count;
    return PH_OK;
  }
  return ph_fail(loader->error, PH_INTERNAL, "op %s names no outputs", node->op->name);
}

static ph_status add_outputs(ph_loader *loader, ph_frame *frame, ph_model_node *node, const char *name) {
  ph_model *model = loader->model;
  ph_entry entry = {.name = name, .place = node->place, .value = PH_NONE};
  PH_TRY(output_names(loader, node, &entry.outs, &entry.out_count));
  uint32_t *values = ph_arena_array(&loader->scratch, entry.out_count, sizeof(*values));
  if (values == NULL) return ph_fail_memory(loader->error);
  node->first_output = model->value_count;
  node->output_count = entry.out_count;
  bool first_is_node = node->op->outputs != NULL;
  for (uint32_t i = 0; i < entry.out_count; i++) {
    ph_model_value value = {
        .path = node->path, .place = node->place, .kind = PH_VALUE_NODE, .index = model->node_count, .slot = i};
    if (i > 0 || !first_is_node) value.path = ph_arena_text(loader->arena, "%s.%s", node->path, entry.outs[i]);
    if (value.path == NULL) return ph_fail_memory(loader->error);
    PH_TRY(ph_model_add_value(loader, value, &values[i]));
  }
  entry.out_values = values;
  if (first_is_node) entry.value = values[0];
  return ph_frame_add(loader, frame, entry);
}

ph_status ph_node_read(ph_loader *loader, ph_frame *frame, ph_yaml *source, const char *name) {
  ph_model_node node = {.place = source->place, .call_place = frame->call_place};
  uint32_t *inputs;
  PH_TRY(find_op(loader, source, &node.op));
  PH_TRY(check_node_keys(loader, source, node.op, name));
  node.path = ph_arena_text(loader->arena, "%s%s", frame->path, name);
  if (node.path == NULL) return ph_fail_memory(loader->error);
  PH_TRY(read_inputs(loader, frame, ph_yaml_get(source, "inputs"), node.op, &inputs, &node.input_count));
  PH_TRY(read_prefix(loader, frame, source, node.op, node.path, inputs));
  PH_TRY(check_roles(loader, source, node.op, name, inputs));
  node.inputs = inputs;
  PH_TRY(ph_attrs_read(loader, frame, source, &node));
  PH_TRY(add_outputs(loader, frame, &node, name));
  return add_node(loader, node, source);
}
