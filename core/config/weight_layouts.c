/* A square weight in the other layout fits too: a warning where the key tells how its family lies. */
#include <string.h>

#include "base/text.h"
#include "config/weights.h"

typedef struct family {
  const char *part; /* of the key, between dots or slashes */
  const char *layout;
} family;

/* GPT-2's Conv1D keeps [in, out]; the rest are names of torch.nn.Linear, [out, in]. */
static const family families[] = {
    {"c_attn", "in_out"},    {"c_fc", "in_out"},    {"c_proj", "in_out"},    {"q_proj", "out_in"},
    {"k_proj", "out_in"},    {"v_proj", "out_in"},  {"o_proj", "out_in"},    {"out_proj", "out_in"},
    {"gate_proj", "out_in"}, {"up_proj", "out_in"}, {"down_proj", "out_in"}, {"query", "out_in"},
    {"key", "out_in"},       {"value", "out_in"},   {"dense", "out_in"},     {"fc1", "out_in"},
    {"fc2", "out_in"},
};

static const family *family_of(const char *key) {
  while (*key != '\0') {
    size_t length = strcspn(key, "./");
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
      if (strlen(families[i].part) == length && strncmp(families[i].part, key, length) == 0) return &families[i];
    key += length + (key[length] != '\0');
  }
  return NULL;
}

/* NULL where the node is no linear, or has another weight than one of the model's. */
static const ph_model_weight *weight_of(const ph_model *model, const ph_model_node *node, uint32_t *out_index) {
  if (strcmp(node->op->name, "linear") != 0) return NULL;
  uint32_t value = node->inputs[ph_op_role_index(node->op, "weight")];
  if (value == PH_NONE || model->values[value].kind != PH_VALUE_WEIGHT) return NULL;
  *out_index = model->values[value].index;
  return &model->weights[*out_index];
}

static const char *layout_of(const ph_model_node *node) {
  uint32_t row = ph_op_attr_index(node->op, "layout");
  for (uint32_t i = 0; i < node->attr_count; i++)
    if (node->attrs[i].row == row) return node->attrs[i].text;
  return node->op->attrs[row].initial;
}

static const family *doubt(const ph_model *model, ph_tensor *const *weights, const ph_model_node *node) {
  uint32_t index;
  const ph_model_weight *weight = weight_of(model, node, &index);
  if (weight == NULL || weight->key_count == 0) return NULL;
  const ph_tensor *tensor = weights[index];
  const family *found = family_of(weight->keys[0]);
  bool square = tensor->rank == 2 && tensor->dims[0] == tensor->dims[1] && tensor->dims[0] > 1;
  return square && found != NULL && strcmp(found->layout, layout_of(node)) != 0 ? found : NULL;
}

/* A block that is written out many times is mentioned once. */
static bool stands_earlier(const ph_model *model, uint32_t index) {
  ph_place place = model->nodes[index].place;
  for (uint32_t i = 0; i < index; i++)
    if (model->nodes[i].place.line == place.line && model->nodes[i].place.column == place.column) return true;
  return false;
}

void ph_weights_check_layouts(const ph_model *model, ph_tensor *const *weights, ph_notes *notes) {
  if (notes == NULL || notes->warn == NULL) return;
  for (uint32_t i = 0; i < model->node_count; i++) {
    const ph_model_node *node = &model->nodes[i];
    const family *found = doubt(model, weights, node);
    if (found == NULL || stands_earlier(model, i)) continue;
    ph_text text = {0};
    ph_text_add(&text,
                "%s:%u:%u: warning: node '%s': its weight is square, and '%s' weights usually lie %s, but the "
                "layout here is %s",
                node->place.file, node->place.line, node->place.column, node->path, found->part, found->layout,
                layout_of(node));
    if (!text.failed) notes->warn(notes->user, text.data);
    ph_text_free(&text);
  }
}
