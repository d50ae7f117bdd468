/* What a config says that is legal but most likely a mistake. */
#include <string.h>

#include "config/loader.h"

/* ---- unused names.  A block that is written out many times is judged once: used anywhere is used. ---- */

static void warn_inputs_and_states(ph_loader *loader) {
  const ph_model *model = loader->model;
  for (uint32_t i = 0; i < model->value_count; i++) {
    const ph_model_value *value = &model->values[i];
    if (value->kind == PH_VALUE_INPUT && !value->used)
      ph_loader_warn(loader, value->place, "the input '%s' is not used", value->path);
    if (value->kind == PH_VALUE_STATE && !value->used)
      ph_loader_warn(loader, value->place, "nothing reads the state '%s'", value->path);
    if (value->kind == PH_VALUE_WEIGHT && value->used) loader->weight_sources[value->index]->used = true;
  }
}

static void warn_weights(ph_loader *loader) {
  const ph_model *model = loader->model;
  for (uint32_t i = 0; i < model->weight_count; i++) {
    ph_yaml *source = loader->weight_sources[i];
    if (!source->used)
      ph_loader_warn(loader, model->weights[i].place, "the weight '%s' is not used", model->weights[i].path);
    source->used = true;
  }
}

static void warn_nodes(ph_loader *loader) {
  const ph_model *model = loader->model;
  for (uint32_t i = 0; i < model->node_count; i++)
    for (uint32_t k = 0; k < model->nodes[i].output_count; k++) {
      uint32_t value = model->nodes[i].first_output + k;
      if (model->values[value].used || loader->exported[value]) loader->node_sources[i]->used = true;
    }
  for (uint32_t i = 0; i < model->node_count; i++) {
    ph_yaml *source = loader->node_sources[i];
    if (!source->used)
      ph_loader_warn(loader, model->nodes[i].place, "nothing uses the node '%s'", model->nodes[i].path);
    source->used = true;
  }
}

static void warn_calls(ph_loader *loader) {
  for (uint32_t i = 0; i < loader->call_count; i++)
    for (uint32_t k = 0; k < loader->calls[i].output_count; k++)
      if (loader->model->values[loader->calls[i].outputs[k]].used) loader->calls[i].source->used = true;
  for (uint32_t i = 0; i < loader->call_count; i++) {
    const ph_call_record *call = &loader->calls[i];
    if (!call->source->used) ph_loader_warn(loader, call->source->place, "nothing uses the node '%s'", call->path);
    call->source->used = true;
  }
}

static void warn_blocks(ph_loader *loader) {
  for (uint32_t i = 0; loader->blocks != NULL && i < loader->blocks->count; i++)
    if (!loader->blocks->pairs[i].value->used)
      ph_loader_warn(loader, loader->blocks->pairs[i].place, "nothing calls the block '%s', so it is not checked",
                     loader->blocks->pairs[i].key);
}

static void warn_dims(ph_loader *loader) {
  for (uint32_t i = 0; i < loader->model->dim_count; i++)
    if (!loader->dim_notes[i].used)
      ph_loader_warn(loader, loader->model->dims[i].place, "the dim '%s' is not used", loader->model->dims[i].name);
}

/* ---- a float mask of 0 and 1 is added to the scores, so it masks nothing ---- */

static bool is_zero_one(const ph_source *source) {
  bool some_one = false;
  if (source->kind != PH_SOURCE_VALUES || source->all_bool) return false;
  for (size_t i = 0; i < source->value_count; i++) {
    if (source->reals[i] != 0 && source->reals[i] != 1) return false;
    some_one = some_one || source->reals[i] == 1;
  }
  return some_one;
}

static void warn_masks(ph_loader *loader, const ph_model_node *node) {
  static const char *const roles[] = {"mask", "key_mask"};
  const ph_model *model = loader->model;
  for (size_t i = 0; i < 2; i++) {
    uint32_t role = ph_op_role_index(node->op, roles[i]);
    if (role == PH_NONE || node->inputs[role] == PH_NONE) continue;
    const ph_model_value *value = &model->values[node->inputs[role]];
    if (value->kind != PH_VALUE_INPUT) continue;
    const ph_model_input *input = &model->inputs[value->index];
    if (input->dtype != PH_BOOL && is_zero_one(&input->initial))
      ph_loader_warn(loader, input->place,
                     "the mask '%s' holds only 0 and 1, and a float mask is added to the scores; for a mask that "
                     "selects say dtype: bool",
                     input->name);
  }
}

void ph_loader_warn_all(ph_loader *loader) {
  warn_inputs_and_states(loader);
  warn_weights(loader);
  warn_nodes(loader);
  warn_calls(loader);
  warn_blocks(loader);
  warn_dims(loader);
  for (uint32_t i = 0; i < loader->model->node_count; i++) warn_masks(loader, &loader->model->nodes[i]);
}
