#include "runtime/lower.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "passes/views.h"

/* How one operand of a node is seen: dims and strides in elements, each with whether it varies. */
typedef struct view {
  uint32_t rank;
  ph_dim dims[PH_MAX_RANK];
  ph_dim strides[PH_MAX_RANK];
} view;

/* ---- views ---- */

static view dense_view(const ph_type *type) {
  view v = {.rank = type->rank};
  ph_dim stride = {.value = 1};
  for (uint32_t i = type->rank; i-- > 0;) {
    v.dims[i] = type->dims[i];
    v.strides[i] = stride;
    stride.value *= type->dims[i].value;
    stride.varies = stride.varies || type->dims[i].varies;
  }
  return v;
}

int64_t ph_strided_layout(const ph_type *type, int64_t strides[PH_MAX_RANK]) {
  enum { PADDING = 3 };
  int64_t stride = type->rank == 1 ? 2 : 1; /* a vector has no rows: every second element is its */
  for (uint32_t i = type->rank; i-- > 0;) {
    uint32_t axis = i;
    if (type->rank >= 3 && i + 3 == type->rank) axis = i + 1;
    if (type->rank >= 3 && i + 2 == type->rank) axis = i - 1;
    strides[axis] = stride;
    stride *= type->dims[axis].value;
    if (i + 1 == type->rank && type->rank > 1) stride += PADDING;
  }
  return stride;
}

static view strided_view(const ph_type *type) {
  view v = dense_view(type); /* which strides vary with the run is hardly another question */
  int64_t strides[PH_MAX_RANK];
  ph_strided_layout(type, strides);
  for (uint32_t i = 0; i < type->rank; i++) v.strides[i].value = strides[i];
  return v;
}

/* Where the value lies in a run. */
static view run_view(const ph_net *net, uint32_t value) {
  ph_value_layout layout = ph_value_layout_of(net, value);
  view v = {.rank = layout.rank};
  memcpy(v.dims, layout.dims, sizeof(v.dims));
  memcpy(v.strides, layout.strides, sizeof(v.strides));
  return v;
}

/* Puts an axis of extent 1 before axis `at`. */
static void insert_axis(view *v, uint32_t at) {
  memmove(&v->dims[at + 1], &v->dims[at], (v->rank - at) * sizeof(v->dims[0]));
  memmove(&v->strides[at + 1], &v->strides[at], (v->rank - at) * sizeof(v->strides[0]));
  v->dims[at] = (ph_dim){.value = 1};
  v->strides[at] = (ph_dim){0};
  v->rank++;
}

static void pad_left(view *v, uint32_t rank) {
  while (v->rank < rank) insert_axis(v, 0);
}

/* Repeats axes of extent 1 to the given dims by stride 0. */
static void repeat_to(view *v, const ph_dim *dims, uint32_t rank) {
  for (uint32_t i = 0; i < rank; i++) {
    if (v->dims[i].value == dims[i].value) continue;
    bool varies = v->dims[i].varies || dims[i].varies;
    v->dims[i] = dims[i];
    v->strides[i] = (ph_dim){.varies = varies};
  }
}

/* [B, S, D] and [S, D] become [B, 1, S, D] and [1, 1, S, D]; lse loses its last axis before and after. */
static void lift_heads(view *v, uint32_t full_rank) {
  if (full_rank == 3) insert_axis(v, 1);
  if (full_rank == 2) {
    insert_axis(v, 0);
    insert_axis(v, 0);
  }
}

static const char *role_name(const ph_op *op, uint32_t role) {
  return op->roles[role < op->role_count ? role : op->role_count - 1].name;
}

static bool is_index_or_sinks(const ph_op *op, uint32_t role) {
  return (op->roles[role].flags & PH_ROLE_INDEX) || strcmp(op->roles[role].name, "sinks") == 0;
}

/* softmax belongs to the attention family only where heads matter: with sinks. */
static bool is_lifted(const ph_net_node *node) {
  return node->op->layout == PH_LAYOUT_ATTENTION &&
         (strcmp(node->op->name, "softmax") != 0 || node->inputs[1] != PH_NONE);
}

/* Whether a value lies as ph_strided_layout() says. */
static bool is_strided_input(const ph_net_value *value, ph_lower_mode mode) {
  return (mode == PH_LOWER_STRIDED || mode == PH_LOWER_SPREAD) && value->kind != PH_TENSOR_CONSTANT;
}
static bool is_strided_output(const ph_net_node *node, uint32_t slot, ph_lower_mode mode) {
  return mode == PH_LOWER_SPREAD && slot == 0 && node->op->spreads;
}

static view input_view(const ph_net *net, const ph_net_node *node, uint32_t role, ph_lower_mode mode) {
  const ph_net_value *value = &net->values[node->inputs[role]];
  const ph_type *type = &value->type;
  const ph_type *first = &net->values[node->inputs[0]].type, *y = &net->values[node->outputs[0]].type;
  bool strided = is_strided_input(value, mode);
  view v = mode == PH_LOWER_RUN ? run_view(net, node->inputs[role]) : strided ? strided_view(type) : dense_view(type);
  switch (node->op->layout) {
  case PH_LAYOUT_BROADCAST:
    pad_left(&v, y->rank);
    repeat_to(&v, y->dims, y->rank);
    break;
  case PH_LAYOUT_MATMUL: {
    const ph_type *a = first, *b = &net->values[node->inputs[1]].type;
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    if (rank < 2) rank = 2;
    if (type->rank == 1) insert_axis(&v, role == 0 ? 0 : 1);
    pad_left(&v, rank);
    repeat_to(&v, y->dims, rank - 2); /* y's batch axes come first whether or not it has rows and columns */
    break;
  }
  case PH_LAYOUT_ATTENTION:
    if (!is_lifted(node) || is_index_or_sinks(node->op, role)) break;
    if (strcmp(role_name(node->op, role), "key_mask") == 0) { /* [B, Sk] */
      insert_axis(&v, 1);
      insert_axis(&v, 1);
    } else if (strcmp(role_name(node->op, role), "mask") == 0) {
      if (first->rank == 3 && v.rank == 3) insert_axis(&v, 1); /* [B, Sq, Sk] with one head */
      pad_left(&v, 4);
    } else {
      lift_heads(&v, type->rank);
    }
    break;
  case PH_LAYOUT_PLAIN:
    break;
  }
  return v;
}

static view output_view(const ph_net *net, const ph_net_node *node, uint32_t slot, ph_lower_mode mode) {
  const ph_type *type = &net->values[node->outputs[slot]].type;
  bool strided = is_strided_output(node, slot, mode);
  view v = mode == PH_LOWER_RUN ? run_view(net, node->outputs[slot]) : strided ? strided_view(type) : dense_view(type);
  if (node->op->layout == PH_LAYOUT_MATMUL) {
    const ph_type *a = &net->values[node->inputs[0]].type, *b = &net->values[node->inputs[1]].type;
    if (b->rank == 1) insert_axis(&v, v.rank);
    if (a->rank == 1) insert_axis(&v, v.rank - 1);
  }
  if (is_lifted(node)) lift_heads(&v, slot == 1 ? type->rank + 1 : type->rank); /* slot 1 is lse */
  return v;
}

/* ---- building ---- */

typedef struct builder {
  const ph_net *net;
  ph_lower_mode mode;
  ph_lowered *lowered;
  ph_tensor_desc **tensors, **open_tensors; /* arrays in the arena */
  uint32_t tensor_count, tensor_capacity, open_count, open_capacity, map_count, map_capacity, offset_count,
      offset_capacity, storage_capacity;
  uint32_t *inner_reads, *all_reads; /* of each value and of its views: by these nodes, by all that run */
  ph_error *error;
} builder;

static bool same_view(const ph_tensor_desc *desc, const view *v) {
  if (desc->rank != v->rank) return false;
  for (uint32_t i = 0; i < v->rank; i++)
    if (desc->dims[i] != v->dims[i].value || desc->strides[i] != v->strides[i].value) return false;
  return true;
}

static uint64_t bytes_of(const ph_type *type) {
  int64_t count;
  if (!ph_type_count(type, &count)) return 0; /* refused when the node was added */
  return (uint64_t)count * ph_dtype_size(type->dtype);
}

static ph_status add_storage(builder *b, uint32_t value, ph_tensor_kind kind, bool strided, uint32_t node,
                             uint32_t *out) {
  ph_storage *storage = ph_arena_push(&b->lowered->arena, &b->lowered->storages, &b->lowered->storage_count,
                                      &b->storage_capacity, sizeof(*storage));
  if (storage == NULL) return ph_fail_memory(b->error);
  const ph_type *type = &b->net->values[value].type;
  *storage = (ph_storage){.value = value,
                          .kind = kind,
                          .bytes = bytes_of(type),
                          .first = node,
                          .last = node,
                          .next = b->net->values[value].next};
  int64_t strides[PH_MAX_RANK];
  if (strided && storage->bytes > 0)
    storage->bytes = (uint64_t)ph_strided_layout(type, strides) * ph_dtype_size(type->dtype);
  *out = b->lowered->storage_count - 1;
  return PH_OK;
}

/* The value in whose memory it lies: what is written into a state's own memory is that state. */
static uint32_t memory_of(const builder *b, uint32_t seen) {
  uint32_t value = b->mode == PH_LOWER_RUN ? ph_value_root(b->net, seen) : seen;
  const ph_net_value *v = &b->net->values[value];
  return b->mode == PH_LOWER_RUN && v->in_place ? b->net->states[v->state].value : value;
}

static ph_tensor_kind kind_of(const builder *b, uint32_t value, bool written) {
  const ph_net_value *v = &b->net->values[value];
  if (v->kind == PH_TENSOR_CONSTANT) return PH_TENSOR_CONSTANT;
  if (v->kind == PH_TENSOR_STATE && b->mode == PH_LOWER_RUN) return PH_TENSOR_STATE;
  if (!written) return PH_TENSOR_INPUT;
  bool leaves = b->mode != PH_LOWER_RUN || v->kept || v->next || b->all_reads[value] > b->inner_reads[value];
  return leaves ? PH_TENSOR_OUTPUT : PH_TENSOR_INNER;
}

/* The storage of a value as node number `node` sees it. */
static ph_status find_storage(builder *b, uint32_t seen, bool written, bool strided, uint32_t node, uint32_t *out) {
  uint32_t value = memory_of(b, seen);
  const ph_net_value *v = &b->net->values[value];
  bool constant = v->kind == PH_TENSOR_CONSTANT; /* one tensor may be several values: weights that are shared */
  for (uint32_t i = 0; (b->mode == PH_LOWER_RUN || constant) && i < b->lowered->storage_count; i++)
    if (b->lowered->storages[i].value == value ||
        (constant && b->net->values[b->lowered->storages[i].value].tensor == v->tensor)) {
      b->lowered->storages[i].last = node;
      *out = i;
      return PH_OK;
    }
  return add_storage(b, value, kind_of(b, value, written), strided, node, out);
}

static ph_tensor_desc *push_desc(builder *b, ph_tensor_desc ***items, uint32_t *count, uint32_t *capacity) {
  ph_tensor_desc **slot = ph_arena_push(&b->lowered->arena, items, count, capacity, sizeof(*slot));
  if (slot == NULL) return NULL;
  *slot = ph_arena_alloc(&b->lowered->arena, sizeof(**slot));
  return *slot;
}

static ph_status add_tensor(builder *b, uint32_t value, const view *v, bool written, bool strided, uint32_t node,
                            uint32_t *out) {
  const ph_net_value *source = &b->net->values[value];
  uint64_t offset = 0;
  if (b->mode == PH_LOWER_RUN)
    offset = (uint64_t)ph_value_layout_of(b->net, value).offset * ph_dtype_size(source->type.dtype);
  uint32_t storage;
  PH_TRY(find_storage(b, value, written, strided, node, &storage));
  for (uint32_t i = 0; i < b->tensor_count; i++)
    if (b->lowered->tensor_storage[i] == storage && b->lowered->tensor_offset[i] == offset &&
        same_view(b->tensors[i], v)) {
      *out = i;
      return PH_OK;
    }
  uint32_t *map =
      ph_arena_push(&b->lowered->arena, &b->lowered->tensor_storage, &b->map_count, &b->map_capacity, sizeof(*map));
  uint64_t *offset_slot = ph_arena_push(&b->lowered->arena, &b->lowered->tensor_offset, &b->offset_count,
                                        &b->offset_capacity, sizeof(*offset_slot));
  ph_tensor_desc *desc = push_desc(b, &b->tensors, &b->tensor_count, &b->tensor_capacity);
  ph_tensor_desc *open = push_desc(b, &b->open_tensors, &b->open_count, &b->open_capacity);
  if (map == NULL || offset_slot == NULL || desc == NULL || open == NULL) return ph_fail_memory(b->error);
  *map = storage;
  *offset_slot = offset;
  *desc = (ph_tensor_desc){.struct_size = sizeof(*desc),
                           .name = source->path,
                           .kind = b->lowered->storages[storage].kind,
                           .dtype = source->type.dtype,
                           .rank = v->rank};
  if (desc->kind == PH_TENSOR_CONSTANT)
    desc->data = (const char *)b->net->values[b->lowered->storages[storage].value].tensor->data + offset;
  *open = *desc;
  for (uint32_t i = 0; i < v->rank; i++) {
    desc->dims[i] = v->dims[i].value;
    desc->strides[i] = v->strides[i].value;
    open->dims[i] = v->dims[i].varies ? PH_DIM_VARIES : v->dims[i].value;
    open->strides[i] = v->strides[i].varies ? PH_DIM_VARIES : v->strides[i].value;
  }
  *out = b->tensor_count - 1;
  return PH_OK;
}

static ph_status lower_attrs(builder *b, const ph_net_node *node, ph_node *out, ph_node *open) {
  ph_attr *attrs = ph_arena_array(&b->lowered->arena, node->op->attr_count, sizeof(*attrs));
  ph_attr *open_attrs = ph_arena_array(&b->lowered->arena, node->op->attr_count, sizeof(*attrs));
  if (attrs == NULL || open_attrs == NULL) return ph_fail_memory(b->error);
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->op->attr_count; i++) {
    const ph_net_attr *attr = &node->attrs[i];
    if (!attr->present) continue;
    attrs[count] = attr->value;
    /* A softmax whose scores were given more axes has its axis moved with them: it is the last. */
    if (is_lifted(node) && node->op->attrs[i].type == PH_ATTR_TYPE_AXIS) attrs[count].as.i64 = 3;
    open_attrs[count] = attrs[count];
    if (attr->varies) open_attrs[count] = (ph_attr){.name = attr->value.name, .kind = PH_ATTR_VARIES};
    count++;
  }
  out->attrs = attrs;
  open->attrs = open_attrs;
  out->attr_count = open->attr_count = count;
  return PH_OK;
}

static ph_status lower_node(builder *b, const ph_net_node *node, uint32_t index, ph_node *out, ph_node *open) {
  uint32_t *inputs = ph_arena_array(&b->lowered->arena, node->input_count, sizeof(*inputs));
  uint32_t *outputs = ph_arena_array(&b->lowered->arena, node->output_count, sizeof(*outputs));
  if (inputs == NULL || outputs == NULL) return ph_fail_memory(b->error);
  for (uint32_t i = 0; i < node->input_count; i++) {
    inputs[i] = PH_NONE;
    if (node->inputs[i] == PH_NONE) continue;
    view v = input_view(b->net, node, i, b->mode);
    bool strided = is_strided_input(&b->net->values[node->inputs[i]], b->mode);
    PH_TRY(add_tensor(b, node->inputs[i], &v, false, strided, index, &inputs[i]));
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    uint32_t value = node->outputs[i];
    outputs[i] = PH_NONE;
    bool wanted = b->net->values[value].kept || b->all_reads[memory_of(b, value)] > 0;
    bool optional = node->op->outputs != NULL && node->op->outputs[i].optional;
    if (optional && !wanted) continue;
    view v = output_view(b->net, node, i, b->mode);
    PH_TRY(add_tensor(b, value, &v, true, is_strided_output(node, i, b->mode), index, &outputs[i]));
  }
  *out = (ph_node){.struct_size = sizeof(*out),
                   .op = node->op->name,
                   .op_version = node->op->version,
                   .id = node->path,
                   .inputs = inputs,
                   .input_count = node->input_count,
                   .outputs = outputs,
                   .output_count = node->output_count};
  *open = *out;
  return lower_attrs(b, node, out, open);
}

/* A view is read where the value is in whose memory it lies. */
static void count_reads(const builder *b, ph_net_node *const *nodes, uint32_t count, uint32_t *reads) {
  for (uint32_t n = 0; n < count; n++)
    for (uint32_t i = 0; i < nodes[n]->input_count && (b->mode != PH_LOWER_RUN || nodes[n]->way == PH_NODE_RUNS); i++)
      if (nodes[n]->inputs[i] != PH_NONE) reads[memory_of(b, nodes[n]->inputs[i])]++;
}

static ph_status lower_all(builder *b, ph_net_node *const *nodes, uint32_t node_count) {
  ph_lowered *lowered = b->lowered;
  ph_node *list = ph_arena_array(&lowered->arena, node_count, sizeof(*list));
  ph_node *open_list = ph_arena_array(&lowered->arena, node_count, sizeof(*list));
  const ph_node **pointers = ph_arena_array(&lowered->arena, node_count, sizeof(*pointers));
  const ph_node **open_pointers = ph_arena_array(&lowered->arena, node_count, sizeof(*pointers));
  b->inner_reads = ph_arena_array(&lowered->arena, b->net->value_count, sizeof(uint32_t));
  b->all_reads = ph_arena_array(&lowered->arena, b->net->value_count, sizeof(uint32_t));
  if (list == NULL || open_list == NULL || pointers == NULL || open_pointers == NULL || b->inner_reads == NULL ||
      b->all_reads == NULL)
    return ph_fail_memory(b->error);
  lowered->node_of = ph_arena_array(&lowered->arena, node_count, sizeof(*lowered->node_of));
  if (lowered->node_of == NULL) return ph_fail_memory(b->error);
  count_reads(b, nodes, node_count, b->inner_reads);
  count_reads(b, b->net->nodes, b->net->node_count, b->all_reads);
  uint32_t count = 0;
  for (uint32_t i = 0; i < node_count; i++) {
    if (b->mode == PH_LOWER_RUN && nodes[i]->way != PH_NODE_RUNS) continue;
    PH_TRY(lower_node(b, nodes[i], count, &list[count], &open_list[count]));
    pointers[count] = &list[count];
    open_pointers[count] = &open_list[count];
    lowered->node_of[count++] = i;
  }
  lowered->graph = (ph_graph){.struct_size = sizeof(ph_graph),
                              .tensors = (const ph_tensor_desc *const *)b->tensors,
                              .tensor_count = b->tensor_count,
                              .nodes = pointers,
                              .node_count = count};
  lowered->open = (ph_graph){.struct_size = sizeof(ph_graph),
                             .tensors = (const ph_tensor_desc *const *)b->open_tensors,
                             .tensor_count = b->tensor_count,
                             .nodes = open_pointers,
                             .node_count = count};
  return PH_OK;
}

ph_status ph_lower(const ph_net *net, ph_net_node *const *nodes, uint32_t node_count, ph_lower_mode mode,
                   ph_lowered **out, ph_error *error) {
  ph_lowered *lowered = ph_new_array(1, sizeof(*lowered));
  if (lowered == NULL) return ph_fail_memory(error);
  builder b = {.net = net, .mode = mode, .lowered = lowered, .error = error};
  ph_status status = lower_all(&b, nodes, node_count);
  if (status == PH_OK)
    *out = lowered;
  else
    ph_lowered_destroy(lowered);
  return status;
}

void ph_lowered_destroy(ph_lowered *lowered) {
  if (lowered == NULL) return;
  ph_arena_free(&lowered->arena);
  free(lowered);
}

static void sign_attr(ph_text *text, const ph_attr *attr) {
  ph_text_add(text, " %s=", attr->name);
  switch (attr->kind) {
  case PH_ATTR_I64:
    ph_text_add(text, "%lld", (long long)attr->as.i64);
    break;
  case PH_ATTR_F64:
    ph_text_add(text, "%a", attr->as.f64);
    break;
  case PH_ATTR_STRING:
    ph_text_add(text, "%s", attr->as.string);
    break;
  case PH_ATTR_VARIES:
    ph_text_add(text, "?");
    break;
  case PH_ATTR_I64_LIST:
    for (uint32_t i = 0; i < attr->as.list.count; i++) ph_text_add(text, "%lld,", (long long)attr->as.list.items[i]);
    break;
  }
}

char *ph_lowered_signature(const ph_lowered *lowered) {
  ph_text text = {0};
  for (uint32_t i = 0; i < lowered->open.tensor_count; i++) {
    const ph_tensor_desc *desc = lowered->open.tensors[i];
    ph_text_add(&text, "%d %d %p", desc->kind, desc->dtype, desc->data);
    for (uint32_t d = 0; d < desc->rank; d++)
      ph_text_add(&text, " %lld:%lld", (long long)desc->dims[d], (long long)desc->strides[d]);
    ph_text_add(&text, "\n");
  }
  for (uint32_t i = 0; i < lowered->open.node_count; i++) {
    const ph_node *node = lowered->open.nodes[i];
    ph_text_add(&text, "%s %u %s:", node->op, node->op_version, node->id);
    for (uint32_t k = 0; k < node->input_count; k++) ph_text_add(&text, " %u", node->inputs[k]);
    ph_text_add(&text, " >");
    for (uint32_t k = 0; k < node->output_count; k++) ph_text_add(&text, " %u", node->outputs[k]);
    for (uint32_t k = 0; k < node->attr_count; k++) sign_attr(&text, &node->attrs[k]);
    ph_text_add(&text, "\n");
  }
  if (text.failed) ph_text_free(&text);
  return text.data;
}
