/* The config of a case: templates, options and values put together and written as text. */
#include "conform/suite.h"

#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/random.h"
#include "graph/op.h"

/* One case being put together. */
typedef struct maker {
  const ph_suite *suite;
  const ph_family *family;
  const uint32_t *choices;
  const char *name;
  uint64_t seed;
  ph_arena arena;
  ph_bindings bindings;
  ph_yaml *tree;   /* the family's body with its options on top, $names filled in */
  ph_yaml *before; /* a list of nodes that come first, of the body and of all options */
  ph_text *out;
  ph_error *error;
} maker;

/* ---- putting the tree together ---- */

static ph_status add_before(maker *m, const ph_yaml *part) {
  const ph_yaml *nodes = ph_yaml_get(part, "before");
  for (uint32_t i = 0; nodes != NULL && i < nodes->count; i++) {
    ph_yaml **slot =
        ph_arena_push(&m->arena, &m->before->items, &m->before->count, &m->before->capacity, sizeof(*slot));
    if (slot == NULL) return ph_fail_memory(m->error);
    *slot = nodes->items[i];
  }
  return PH_OK;
}

static ph_status put_options(maker *m) {
  m->before = ph_arena_alloc(&m->arena, sizeof(*m->before));
  m->tree = ph_tree_merge(&m->arena, NULL, m->family->body);
  if (m->before == NULL || m->tree == NULL) return ph_fail_memory(m->error);
  m->before->kind = PH_YAML_LIST;
  PH_TRY(add_before(m, m->tree));
  for (uint32_t i = 0; i < m->family->vary_count; i++) {
    const ph_yaml *patch = m->family->varies[i].choices[m->choices[i]].patch;
    if (patch == NULL) continue;
    PH_TRY(add_before(m, patch));
    m->tree = ph_tree_merge(&m->arena, m->tree, patch);
    if (m->tree == NULL) return ph_fail_memory(m->error);
  }
  return PH_OK;
}

/* A value that varies is a dim of that name, or what $name stands for. */
static ph_status put_value(maker *m, const char *name, const ph_yaml *value) {
  ph_yaml *dims = ph_yaml_get(m->tree, "dims");
  bool is_dim = dims != NULL && ph_yaml_get(dims, name) != NULL;
  bool put = ph_bindings_set(&m->arena, &m->bindings, name, value);
  if (put && is_dim) {
    dims = ph_tree_merge(&m->arena, NULL, dims);
    put = dims != NULL && ph_tree_set(&m->arena, dims, name, value->place, (ph_yaml *)value) &&
          ph_tree_set(&m->arena, m->tree, "dims", value->place, dims);
    ph_bindings_find(&m->bindings, name)->used = true;
  }
  return put ? PH_OK : ph_fail_memory(m->error);
}

static ph_status put_values(maker *m) {
  const ph_yaml *let = ph_yaml_get(m->tree, "let");
  for (uint32_t i = 0; let != NULL && i < let->count; i++)
    if (!ph_bindings_set(&m->arena, &m->bindings, let->pairs[i].key, let->pairs[i].value))
      return ph_fail_memory(m->error);
  for (uint32_t i = 0; i < m->family->vary_count; i++) {
    const ph_vary *vary = &m->family->varies[i];
    for (uint32_t k = 0; !vary->is_option && k < vary->name_count; k++)
      PH_TRY(put_value(m, vary->names[k], vary->choices[m->choices[i]].values[k]));
  }
  return PH_OK;
}

static ph_status fill(maker *m) {
  /* What `let` says is used only where something asks for it. */
  ph_yaml *without_let = ph_tree_map(&m->arena, m->tree->place);
  if (without_let == NULL) return ph_fail_memory(m->error);
  for (uint32_t i = 0; i < m->tree->count; i++) {
    const ph_yaml_pair *pair = &m->tree->pairs[i];
    bool skip = strcmp(pair->key, "let") == 0 || strcmp(pair->key, "before") == 0;
    if (!skip && !ph_tree_set(&m->arena, without_let, pair->key, pair->place, pair->value))
      return ph_fail_memory(m->error);
  }
  PH_TRY(ph_tree_fill(&m->arena, without_let, &m->bindings, &m->tree, m->error));
  PH_TRY(ph_tree_fill(&m->arena, m->before, &m->bindings, &m->before, m->error));
  for (uint32_t i = 0; i < m->family->vary_count; i++) {
    const ph_vary *vary = &m->family->varies[i];
    for (uint32_t k = 0; !vary->is_option && k < vary->name_count; k++)
      if (!ph_bindings_find(&m->bindings, vary->names[k])->used)
        return ph_fail_at(m->error, m->family->place, "'%s' varies, but it is no dim, no option, and nothing is $%s",
                          vary->names[k], vary->names[k]);
  }
  return PH_OK;
}

static ph_status put_together(maker *m) {
  PH_TRY(put_options(m));
  PH_TRY(put_values(m));
  return fill(m);
}

/* ---- writing it out ---- */

static ph_status set(maker *m, ph_yaml *map, const char *key, const char *text) {
  bool done = text != NULL && ph_tree_set(&m->arena, map, key, map->place, ph_tree_scalar(&m->arena, map->place, text));
  return done ? PH_OK : ph_fail_memory(m->error);
}

/* A random source gets a seed of its own for each case. */
static ph_status seed_source(maker *m, ph_yaml *source) {
  if (source->kind != PH_YAML_MAP || ph_yaml_get(source, "random") == NULL) return PH_OK;
  const ph_yaml *written = ph_yaml_get(source, "seed");
  ph_number number = {0};
  if (written != NULL && (!ph_yaml_number(written, &number) || !number.is_integer || number.integer < 0))
    return ph_fail_at(m->error, written->place, "seed must be an integer of 0 or more");
  uint64_t key = ph_random_key(m->seed + (uint64_t)number.integer, m->name) >> 11; /* 53 bits: any reader keeps them */
  return set(m, source, "seed", ph_arena_text(&m->arena, "%" PRIu64, key));
}

/* `NAME: [dtype?, dims..]` stands for a shape, a type and random numbers; `key` is where a source goes. */
static ph_status write_tensor(maker *m, const ph_yaml_pair *pair, const char *key, const char *indent) {
  ph_yaml *tensor = ph_tree_map(&m->arena, pair->place);
  ph_yaml *shape = pair->value, *dtype = NULL;
  if (tensor == NULL) return ph_fail_memory(m->error);
  if (shape->kind == PH_YAML_LIST) {
    ph_yaml *dims = ph_arena_alloc(&m->arena, sizeof(*dims));
    if (dims == NULL) return ph_fail_memory(m->error);
    *dims = *shape;
    if (shape->count > 0 && shape->items[0]->kind == PH_YAML_SCALAR &&
        ph_dtype_named(shape->items[0]->text) != PH_DTYPE_NONE) {
      dtype = shape->items[0];
      dims->items++;
      dims->count--;
    }
    if (!ph_tree_set(&m->arena, tensor, "shape", pair->place, dims)) return ph_fail_memory(m->error);
    if (dtype != NULL && !ph_tree_set(&m->arena, tensor, "dtype", pair->place, dtype)) return ph_fail_memory(m->error);
  } else {
    tensor = ph_tree_merge(&m->arena, NULL, pair->value);
    if (tensor == NULL) return ph_fail_memory(m->error);
    dtype = ph_yaml_get(tensor, "dtype");
  }
  ph_yaml *source = ph_yaml_get(tensor, key);
  if (source != NULL) {
    source = ph_tree_merge(&m->arena, NULL, source);
    if (source == NULL || !ph_tree_set(&m->arena, tensor, key, pair->place, source)) return ph_fail_memory(m->error);
  } else {
    ph_dtype type = dtype == NULL ? PH_F32 : ph_dtype_named(dtype->text);
    if (!ph_dtype_is_real(type) && type != PH_BOOL)
      return ph_fail_at(m->error, pair->place, "'%s' needs a %s: nobody knows which integers it takes", pair->key, key);
    source = ph_tree_map(&m->arena, pair->place);
    if (source == NULL || !ph_tree_set(&m->arena, tensor, key, pair->place, source)) return ph_fail_memory(m->error);
    PH_TRY(set(m, source, "random", type == PH_BOOL ? "uniform" : "normal"));
  }
  PH_TRY(seed_source(m, source));
  ph_text_add(m->out, "%s%s: ", indent, pair->key);
  ph_tree_write(m->out, tensor);
  ph_text_add(m->out, "\n");
  return PH_OK;
}

static ph_status write_tensors(maker *m, const char *section, const char *head, const char *key, const char *indent) {
  const ph_yaml *tensors = ph_yaml_get(m->tree, section);
  if (tensors == NULL) return PH_OK;
  if (tensors->kind != PH_YAML_MAP) return ph_fail_at(m->error, tensors->place, "%s must be a mapping", section);
  ph_text_add(m->out, "%s", head);
  for (uint32_t i = 0; i < tensors->count; i++) /* null takes away what a template has */
    if (!ph_yaml_is_null(tensors->pairs[i].value)) PH_TRY(write_tensor(m, &tensors->pairs[i], key, indent));
  return PH_OK;
}

static void write_node(maker *m, const ph_yaml *node) {
  ph_text_add(m->out, "  - ");
  ph_tree_write(m->out, node);
  ph_text_add(m->out, "\n");
}

/* The node called y that a family is about. */
static ph_status write_single_node(maker *m, const ph_yaml *node) {
  ph_yaml *named = ph_tree_map(&m->arena, node->place);
  if (named == NULL) return ph_fail_memory(m->error);
  PH_TRY(set(m, named, "name", "y"));
  PH_TRY(set(m, named, "op", m->family->op));
  named = ph_tree_merge(&m->arena, named, node);
  if (named == NULL) return ph_fail_memory(m->error);
  write_node(m, named);
  return PH_OK;
}

/* All outputs of the node where none are named. */
static ph_status write_outputs(maker *m, const ph_yaml *node) {
  const ph_yaml *outputs = ph_yaml_get(m->tree, "outputs");
  ph_text_add(m->out, "outputs: ");
  if (outputs != NULL) {
    ph_tree_write(m->out, outputs);
  } else if (node == NULL) {
    return ph_fail_at(m->error, m->family->place, "a family with a graph names its outputs");
  } else {
    const ph_op *op = ph_op_find(m->family->op);
    const ph_yaml *into = op->outputs == NULL ? ph_yaml_get(node, "into") : NULL;
    uint32_t count = op->outputs != NULL ? op->output_count : into != NULL ? into->count : 0;
    ph_text_add(m->out, "[");
    for (uint32_t i = 0; i < count; i++) {
      const char *name = op->outputs != NULL ? op->outputs[i].name : into->pairs[i].key;
      bool first = op->outputs != NULL && i == 0;
      ph_text_add(m->out, "%sy%s%s", i > 0 ? ", " : "", first ? "" : ".", first ? "" : name);
    }
    ph_text_add(m->out, "]");
  }
  ph_text_add(m->out, "\n");
  return PH_OK;
}

static ph_status write_config(maker *m) {
  const ph_yaml *dims = ph_yaml_get(m->tree, "dims"), *blocks = ph_yaml_get(m->tree, "blocks");
  const ph_yaml *node = ph_yaml_get(m->tree, "node"), *graph = ph_yaml_get(m->tree, "graph");
  if ((node == NULL) == (graph == NULL))
    return ph_fail_at(m->error, m->family->place, "a family has either a node or a graph");
  ph_text_add(m->out, "polyhead: 1\nname: \"%s\"\n", m->name);
  if (dims != NULL) {
    ph_text_add(m->out, "dims: ");
    ph_tree_write(m->out, dims);
    ph_text_add(m->out, "\n");
  }
  PH_TRY(write_tensors(m, "inputs", "inputs:\n", "default", "  "));
  PH_TRY(write_tensors(m, "weights", "weights:\n  tensors:\n", "init", "    "));
  if (blocks != NULL) {
    ph_text_add(m->out, "blocks: ");
    ph_tree_write(m->out, blocks);
    ph_text_add(m->out, "\n");
  }
  ph_text_add(m->out, "graph:\n");
  for (uint32_t i = 0; i < m->before->count; i++) write_node(m, m->before->items[i]);
  for (uint32_t i = 0; graph != NULL && i < graph->count; i++) write_node(m, graph->items[i]);
  if (node != NULL) PH_TRY(write_single_node(m, node));
  PH_TRY(write_outputs(m, node));
  return m->out->failed ? ph_fail_memory(m->error) : PH_OK;
}

ph_status ph_suite_config(const ph_suite *suite, uint32_t index, uint64_t seed, ph_text *out, ph_error *error) {
  maker m = {.suite = suite,
             .family = suite->cases[index].family,
             .choices = suite->cases[index].choices,
             .name = suite->listed[index].name,
             .seed = seed,
             .out = out,
             .error = error};
  ph_status status = put_together(&m);
  if (status == PH_OK) status = write_config(&m);
  ph_arena_free(&m.arena);
  return status;
}

ph_status ph_suite_rebind(const ph_suite *suite, uint32_t index, uint32_t step, ph_arena *arena,
                          const char *const **out, uint32_t *out_count, ph_error *error) {
  const ph_yaml *list = suite->cases[index].family->rebind;
  *out_count = 0;
  if (list == NULL || step >= list->count) return PH_OK;
  const ph_yaml *dims = list->items[step];
  if (dims->kind != PH_YAML_MAP || dims->count == 0)
    return ph_fail_at(error, dims->place, "an entry of rebind is {dim: value}");
  const char **texts = ph_arena_array(arena, dims->count, sizeof(*texts));
  if (texts == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < dims->count; i++) {
    if (dims->pairs[i].value->kind != PH_YAML_SCALAR)
      return ph_fail_at(error, dims->pairs[i].place, "a dim is a number");
    texts[i] = ph_arena_text(arena, "%s=%s", dims->pairs[i].key, dims->pairs[i].value->text);
    if (texts[i] == NULL) return ph_fail_memory(error);
  }
  *out = texts;
  *out_count = dims->count;
  return PH_OK;
}
