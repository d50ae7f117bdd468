#include "conform/reference_step.h"

#include <stdlib.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "oracle/tolerance.h"

static ph_status run(ph_reference_step *step, const void **data, ph_tensor *const *values, ph_error *error) {
  const ph_lowered *lowered = step->lowered;
  for (uint32_t i = 0; i < lowered->graph.tensor_count; i++) {
    uint32_t s = lowered->tensor_storage[i];
    const ph_storage *storage = &lowered->storages[s];
    if (storage->kind == PH_TENSOR_CONSTANT) data[i] = lowered->graph.tensors[i]->data;
    if (storage->kind == PH_TENSOR_INPUT) data[i] = step->inputs[s] = values[storage->value]->data;
  }
  return ph_oracle_node(&lowered->graph, 0, data, true, step->expected, error);
}

ph_status ph_reference_step_run(ph_reference_step *step, const ph_net *net, ph_net_node *node, ph_tensor *const *values,
                                ph_error *error) {
  *step = (ph_reference_step){.net = net, .node = node};
  PH_TRY(ph_lower(net, &node, 1, PH_LOWER_APART, &step->lowered, error));
  step->inputs = ph_new_array(step->lowered->storage_count, sizeof(*step->inputs));
  step->expected = ph_new_array(node->output_count, sizeof(*step->expected));
  const void **data = ph_new_array(step->lowered->graph.tensor_count, sizeof(*data));
  bool ready = step->inputs != NULL && step->expected != NULL && data != NULL;
  ph_status status = ready ? run(step, data, values, error) : ph_fail_memory(error);
  free(data);
  return status;
}

void ph_reference_step_end(ph_reference_step *step) {
  if (step->expected != NULL) ph_oracle_outputs_free(step->expected, step->node->output_count);
  ph_lowered_destroy(step->lowered);
  free(step->expected);
  free(step->inputs);
}

static void store(const ph_oracle_output *expected, bool exact, const ph_dtype *stages, uint64_t key, ph_tensor *to) {
  for (int64_t i = 0; i < expected->count; i++) {
    if (expected->real == NULL) {
      ph_write_integer(to->dtype, to->data, (size_t)i, expected->integer[i]);
      continue;
    }
    double value = expected->real[i];
    double tolerance = stages == NULL ? 0 : ph_tolerance(expected, i, stages, exact);
    if (tolerance > 0 && tolerance < 1e300) value += tolerance * (2 * ph_random_unit(key, (uint64_t)i) - 1);
    ph_write_real(to->dtype, to->data, (size_t)i, value);
  }
}

ph_status ph_reference_step_store(const ph_reference_step *step, const ph_dtype *stages, uint64_t key,
                                  ph_tensor **values, ph_error *error) {
  for (uint32_t i = 0; i < step->node->output_count; i++) {
    if (step->lowered->graph.nodes[0]->outputs[i] == PH_NONE) continue;
    uint32_t value = step->node->outputs[i];
    const ph_type *type = &step->net->values[value].type;
    int64_t dims[PH_MAX_RANK];
    for (uint32_t k = 0; k < type->rank; k++) dims[k] = type->dims[k].value;
    ph_tensor *tensor;
    PH_TRY(ph_tensor_create(type->dtype, type->rank, dims, &tensor, error));
    store(&step->expected[i], step->node->op->exact, stages, ph_random_key(key + i, step->node->path), tensor);
    ph_tensor_release(values[value]);
    values[value] = tensor;
  }
  return PH_OK;
}

static void drop(const ph_net *net, uint32_t value, bool keep, ph_tensor **values) {
  if (keep && net->values[value].kept) return;
  ph_tensor_release(values[value]);
  values[value] = NULL;
}

void ph_reference_drop(const ph_net *net, const ph_net_node *node, uint32_t *reads, bool keep, ph_tensor **values) {
  for (uint32_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] != PH_NONE && --reads[node->inputs[i]] == 0) drop(net, node->inputs[i], keep, values);
  for (uint32_t i = 0; i < node->output_count; i++)
    if (reads[node->outputs[i]] == 0) drop(net, node->outputs[i], keep, values);
}
