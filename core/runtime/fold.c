#include "runtime/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "oracle/oracle.h"
#include "runtime/lower.h"

/* The oracle makes some ten million results a second, each in memory as a double first. */
static const double most_elements = 4 << 20, most_flops = 1 << 26;

static bool varies(const ph_type *type) {
  for (uint32_t i = 0; i < type->rank; i++)
    if (type->dims[i].varies) return true;
  return false;
}

static bool is_foldable(const ph_net *net, const ph_net_node *node) {
  if (strcmp(node->op->name, "cache_write") == 0 || node->way != PH_NODE_RUNS) return false;
  for (uint32_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] != PH_NONE && net->values[node->inputs[i]].kind != PH_TENSOR_CONSTANT) return false;
  for (uint32_t i = 0; i < node->op->attr_count; i++)
    if (node->attrs[i].varies) return false;
  for (uint32_t i = 0; i < node->output_count; i++) {
    const ph_net_value *y = &net->values[node->outputs[i]];
    if (varies(&y->type) || y->next || y->in_place) return false;
  }
  return true;
}

static double elements_of(const ph_net *net, const ph_net_node *node) {
  double sum = 0;
  for (uint32_t i = 0; i < node->output_count; i++) {
    int64_t count = 0;
    (void)ph_type_count(&net->values[node->outputs[i]].type, &count); /* it fits since the node was added */
    sum += (double)count;
  }
  return sum;
}

static ph_status store(const ph_oracle_output *from, const ph_type *type, ph_tensor **out, ph_error *error) {
  int64_t dims[PH_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; i++) dims[i] = type->dims[i].value;
  PH_TRY(ph_tensor_create(type->dtype, type->rank, dims, out, error));
  for (int64_t i = 0; i < from->count; i++) {
    if (from->real != NULL)
      ph_write_real(type->dtype, (*out)->data, (size_t)i, from->real[i]);
    else
      ph_write_integer(type->dtype, (*out)->data, (size_t)i, from->integer[i]);
  }
  return PH_OK;
}

/* A node being folded: the constants it reads, and its results by output. */
typedef struct folding {
  ph_net *net;
  ph_net_node *node;
  ph_tensor **sources, **results;
  const void **data; /* by tensor of the lowered graph */
  ph_oracle_output *computed;
  ph_lowered *lowered;
} folding;

static ph_status compute(folding *f, ph_pool *pool, ph_error *error) {
  ph_net_node *node = f->node;
  PH_TRY(ph_lower(f->net, &node, 1, PH_LOWER_APART, &f->lowered, error));
  f->data = ph_new_array(f->lowered->graph.tensor_count, sizeof(*f->data));
  f->computed = ph_new_array(node->output_count, sizeof(*f->computed));
  if (f->data == NULL || f->computed == NULL) return ph_fail_memory(error);
  for (uint32_t t = 0; t < f->lowered->graph.tensor_count; t++) f->data[t] = f->lowered->graph.tensors[t]->data;
  PH_TRY(ph_oracle_node(&f->lowered->graph, 0, f->data, false, f->computed, error));
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < node->output_count && status == PH_OK; i++) {
    const ph_net_value *y = &f->net->values[node->outputs[i]];
    if (f->lowered->graph.nodes[0]->outputs[i] == PH_NONE) continue;
    status = store(&f->computed[i], &y->type, &f->results[i], error);
    if (status == PH_OK) status = ph_pool_add(pool, y->path, f->sources, node->input_count, f->results[i], error);
  }
  ph_oracle_outputs_free(f->computed, node->output_count);
  return status;
}

/* Takes the results of another plan where they are there. */
static bool take(folding *f, const ph_pool *pool) {
  ph_tensor *found = NULL;
  for (uint32_t i = 0; i < f->node->output_count; i++) {
    found = ph_pool_find(pool, f->net->values[f->node->outputs[i]].path, f->sources, f->node->input_count);
    if (found == NULL) break; /* of an output that nobody wanted; the first is always there */
    f->results[i] = ph_tensor_retain(found);
  }
  return f->results[0] != NULL;
}

static ph_status keep(folding *f, ph_error *error) {
  ph_net *net = f->net;
  for (uint32_t i = 0; i < f->node->output_count; i++) {
    if (f->results[i] == NULL) continue;
    ph_tensor **slot = ph_arena_push(&net->arena, &net->owned, &net->owned_count, &net->owned_capacity, sizeof(*slot));
    if (slot == NULL) return ph_fail_memory(error);
    *slot = ph_tensor_retain(f->results[i]);
    ph_net_value *y = &net->values[f->node->outputs[i]];
    y->kind = PH_TENSOR_CONSTANT;
    y->tensor = f->results[i];
  }
  f->node->way = PH_NODE_FOLDED;
  return PH_OK;
}

static ph_status fold(ph_net *net, ph_net_node *node, ph_pool *pool, ph_error *error) {
  folding f = {.net = net,
               .node = node,
               .sources = ph_new_array(node->input_count, sizeof(*f.sources)),
               .results = ph_new_array(node->output_count, sizeof(*f.results))};
  ph_status status = f.sources != NULL && f.results != NULL ? PH_OK : ph_fail_memory(error);
  for (uint32_t i = 0; i < node->input_count && status == PH_OK; i++)
    if (node->inputs[i] != PH_NONE) f.sources[i] = net->values[node->inputs[i]].tensor;
  if (status == PH_OK && !take(&f, pool)) status = compute(&f, pool, error);
  if (status == PH_OK) status = keep(&f, error);
  for (uint32_t i = 0; f.results != NULL && i < node->output_count; i++) ph_tensor_release(f.results[i]);
  ph_lowered_destroy(f.lowered);
  free(f.sources);
  free(f.results);
  free(f.data);
  free(f.computed);
  return status;
}

ph_status ph_fold_constants(ph_net *net, ph_pool *pool, ph_error *error) {
  for (uint32_t n = 0; n < net->node_count; n++) {
    ph_net_node *node = net->nodes[n];
    if (!is_foldable(net, node)) continue;
    if (elements_of(net, node) > most_elements || (node->op->flops != NULL && node->op->flops(net, node) > most_flops))
      node->note = "it hangs on constants alone, but is too large to be computed ahead";
    else
      PH_TRY(fold(net, node, pool, error));
  }
  return PH_OK;
}
