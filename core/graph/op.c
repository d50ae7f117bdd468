/* Looking things up in the op table, and what its shape rules share. */
#include "graph/op.h"

#include <string.h>

#include "graph/op_rows.h"

const ph_op_output ph_single_output[1] = {{.name = "y"}};

const ph_op *ph_op_find(const char *name) {
  for (uint32_t i = 0; i < ph_op_count; i++)
    if (strcmp(ph_ops[i]->name, name) == 0) return ph_ops[i];
  return NULL;
}

uint32_t ph_op_role_index(const ph_op *op, const char *name) {
  for (uint32_t i = 0; i < op->role_count; i++)
    if (strcmp(op->roles[i].name, name) == 0) return i;
  return PH_NONE;
}

uint32_t ph_op_attr_index(const ph_op *op, const char *name) {
  for (uint32_t i = 0; i < op->attr_count; i++)
    if (strcmp(op->attrs[i].name, name) == 0) return i;
  return PH_NONE;
}

const ph_net_attr *ph_infer_attr(const ph_infer *infer, const char *name) {
  return &infer->attrs[ph_op_attr_index(infer->op, name)];
}

int64_t ph_infer_int(const ph_infer *infer, const char *name) {
  return ph_infer_attr(infer, name)->value.as.i64;
}

bool ph_infer_is(const ph_infer *infer, const char *name, const char *choice) {
  const ph_net_attr *attr = ph_infer_attr(infer, name);
  return attr->present && strcmp(attr->value.as.string, choice) == 0;
}

const ph_type *ph_infer_input(const ph_infer *infer, const char *role) {
  uint32_t index = ph_op_role_index(infer->op, role);
  if (index == PH_NONE || index >= infer->input_count) return NULL;
  return infer->inputs[index].dtype == PH_DTYPE_NONE ? NULL : &infer->inputs[index];
}

ph_status ph_infer_product(ph_infer *infer, ph_dim a, ph_dim b, ph_dim *out) {
  *out = (ph_dim){.varies = a.varies || b.varies};
  if (!ph_mul_i64(a.value, b.value, &out->value))
    return ph_fail(infer->error, PH_INVALID, "an extent of %lld times %lld does not fit in 64 bits", (long long)a.value,
                   (long long)b.value);
  return PH_OK;
}

ph_status ph_infer_sum(ph_infer *infer, ph_dim a, ph_dim b, ph_dim *out) {
  *out = (ph_dim){.varies = a.varies || b.varies};
  if (!ph_add_i64(a.value, b.value, &out->value))
    return ph_fail(infer->error, PH_INVALID, "an extent of %lld plus %lld does not fit in 64 bits", (long long)a.value,
                   (long long)b.value);
  return PH_OK;
}

ph_status ph_infer_rank(ph_infer *infer, const char *role, uint32_t least, uint32_t most, const char *expected) {
  const ph_type *type = ph_infer_input(infer, role);
  if (type == NULL || (type->rank >= least && type->rank <= most)) return PH_OK;
  return ph_fail(infer->error, PH_INVALID, "%s is %s, but %s takes %s", role, ph_type_text(type), infer->op->name,
                 expected);
}

ph_status ph_infer_dims(ph_infer *infer, const char *role, uint32_t rank, const ph_dim *dims, const char *expected) {
  const ph_type *type = ph_infer_input(infer, role);
  if (type == NULL) return PH_OK;
  bool same = type->rank == rank;
  for (uint32_t i = 0; same && i < rank; i++) same = type->dims[i].value == dims[i].value;
  if (same) return PH_OK;
  ph_type needed = {.dtype = type->dtype, .rank = rank};
  memcpy(needed.dims, dims, rank * sizeof(*dims));
  return ph_fail(infer->error, PH_INVALID, "%s is %s, but must be %s = %s", role, ph_type_text(type), expected,
                 ph_type_text(&needed));
}

ph_status ph_infer_per_sample(ph_infer *infer, const char *role, int64_t batch, bool or_one) {
  const ph_type *type = ph_infer_input(infer, role);
  if (type == NULL) return PH_OK;
  if (type->rank == 1 && (type->dims[0].value == batch || (or_one && type->dims[0].value == 1))) return PH_OK;
  return ph_fail(infer->error, PH_INVALID, "%s is %s, but must be [%lld]%s: one entry per sample of the batch", role,
                 ph_type_text(type), (long long)batch, or_one ? " or [1]" : "");
}

ph_status ph_infer_broadcast(ph_infer *infer, const ph_type *a, const ph_type *b, ph_type *out) {
  *out = (ph_type){.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
  for (uint32_t i = 0; i < out->rank; i++) {
    uint32_t from_a = out->rank - a->rank, from_b = out->rank - b->rank;
    ph_dim one = ph_dim_of(1);
    ph_dim left = i < from_a ? one : a->dims[i - from_a], right = i < from_b ? one : b->dims[i - from_b];
    if (left.value != right.value && left.value != 1 && right.value != 1)
      return ph_fail(infer->error, PH_INVALID,
                     "%s and %s do not broadcast: axis %u, counted from the right, is %lld and %lld", ph_type_text(a),
                     ph_type_text(b), out->rank - i, (long long)left.value, (long long)right.value);
    out->dims[i] = left.value == 1 ? right : left;
  }
  return PH_OK;
}

ph_status ph_infer_fits(ph_infer *infer, const char *role, const ph_type *type, const ph_type *to) {
  bool fits = type->rank <= to->rank;
  for (uint32_t i = 0; fits && i < type->rank; i++) {
    int64_t extent = type->dims[i].value;
    fits = extent == 1 || extent == to->dims[to->rank - type->rank + i].value;
  }
  if (fits) return PH_OK;
  return ph_fail(infer->error, PH_INVALID, "%s is %s, which does not broadcast to %s", role, ph_type_text(type),
                 ph_type_text(to));
}

const ph_type *ph_node_role_type(const ph_net *net, const ph_net_node *node, uint32_t role) {
  return &net->values[node->inputs[role]].type;
}

double ph_node_elements(const ph_net *net, const ph_net_node *node) {
  const ph_type *type = &net->values[node->outputs[0]].type;
  double count = 1;
  for (uint32_t i = 0; i < type->rank; i++) count *= (double)type->dims[i].value;
  return count;
}
