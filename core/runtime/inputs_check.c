/* Ids, offsets and lengths that come from outside are checked before anything runs, the same for every device. */
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "runtime/session.h"

typedef struct checker {
  const ph_net *net;
  ph_tensor *const *host;
  ph_context *context;
  ph_error *error;
} checker;

/* The host tensor behind an operand: itself, or what was only widened to i64 on the way; NULL where it is computed. */
static const ph_tensor *host_tensor(const checker *c, uint32_t value) {
  if (value == PH_NONE) return NULL;
  if (c->net->values[value].kind != PH_TENSOR_INNER) return c->host[value];
  for (uint32_t n = 0; n < c->net->node_count; n++) {
    const ph_net_node *node = c->net->nodes[n];
    if (node->outputs[0] == value && strcmp(node->op->name, "cast") == 0)
      return ph_dtype_is_real(c->net->values[node->inputs[0]].type.dtype) ? NULL : host_tensor(c, node->inputs[0]);
  }
  return NULL;
}

/* What is allowed, low <= v <= high, and how to say it. */
typedef struct range {
  int64_t low, high;
  const char *because;
} range;

static const ph_type *type_of_role(const checker *c, const ph_net_node *node, const char *role) {
  uint32_t value = node->inputs[ph_op_role_index(node->op, role)];
  return value == PH_NONE ? NULL : &c->net->values[value].type;
}

static int64_t int_attr(const ph_net_node *node, const char *name) {
  return ph_net_node_attr(node, name)->value.as.i64;
}

/* False where the rule allows everything. */
static bool range_of(const checker *c, const ph_net_node *node, const ph_op_role *role, range *out) {
  const ph_type *of = role->of == NULL ? NULL : type_of_role(c, node, role->of);
  switch (role->rule) {
  case PH_INDEX_IN_TABLE:
    *out = (range){0, of->dims[0].value - 1, "the table has no such row"};
    return true;
  case PH_INDEX_ON_AXIS: {
    int64_t extent = of->dims[int_attr(node, "axis")].value;
    *out = (range){-extent, extent - 1, "the axis is not that long"};
    return true;
  }
  case PH_INDEX_BELOW_AXIS:
    *out = (range){0, of->dims[int_attr(node, "axis")].value - 1, "there is no such class"};
    return true;
  case PH_INDEX_LENGTH:
    *out = (range){0, of->dims[of->rank - (strcmp(role->of, "k") == 0 ? 2 : 1)].value, "there are not so many keys"};
    return true;
  case PH_INDEX_CACHE_OFFSET: {
    int64_t axis = int_attr(node, "axis"), written = type_of_role(c, node, "x")->dims[axis].value;
    *out = (range){0, int_attr(node, "ring") ? INT64_MAX - written : of->dims[axis].value - written,
                   "the write would leave the cache"};
    return true;
  }
  case PH_INDEX_ROTARY: {
    if (of == NULL || of->rank != 2) return false;
    const ph_type *x = type_of_role(c, node, "x");
    int64_t rows = strcmp(role->name, "offset") == 0 ? x->dims[x->rank - 2].value : 1;
    *out = (range){0, of->dims[0].value - (rows > 0 ? rows : 1), "cos and sin have no such row"};
    return true;
  }
  case PH_INDEX_NOT_NEGATIVE:
    *out = (range){0, INT64_MAX, "it must not be negative"};
    return true;
  case PH_INDEX_BELOW_SIZE:
    *out = (range){0, int_attr(node, "size") - 1, "it must be below size"};
    return true;
  case PH_INDEX_FREE:
    break;
  }
  return false;
}

static ph_status check_role(const checker *c, const ph_net_node *node, uint32_t input, const ph_op_role *role) {
  const ph_tensor *tensor = host_tensor(c, node->inputs[input]);
  range allowed;
  if (tensor == NULL || !range_of(c, node, role, &allowed)) return PH_OK;
  for (size_t i = 0; i < tensor->count; i++) {
    int64_t v = ph_read_integer(tensor->dtype, tensor->data, i);
    if (v >= allowed.low && v <= allowed.high) continue;
    ph_text where = {0};
    size_t rest = i, block = tensor->count;
    for (uint32_t axis = 0; axis < tensor->rank; axis++) {
      block /= (size_t)tensor->dims[axis];
      ph_text_add(&where, "%s%zu", axis == 0 ? "" : ", ", rest / block);
      rest %= block;
    }
    ph_status status =
        ph_fail_at(c->error, node->place, "node '%s': %s[%s] is %lld, but must lie between %lld and %lld: %s",
                   node->path, role->name, where.data == NULL ? "" : where.data, (long long)v, (long long)allowed.low,
                   (long long)allowed.high, allowed.because);
    ph_text_free(&where);
    return status;
  }
  return PH_OK;
}

/* A float mask is added; one of zeros and ones was probably meant to multiply. */
static void warn_of_flags(const checker *c, const ph_net_node *node, uint32_t value, const char *role) {
  const ph_tensor *mask = value == PH_NONE ? NULL : host_tensor(c, value);
  if (mask == NULL || !ph_dtype_is_real(mask->dtype)) return;
  bool one = false;
  for (size_t i = 0; i < mask->count; i++) {
    double v = ph_read_real(mask->dtype, mask->data, i);
    if (v != 0 && v != 1) return;
    one = one || v == 1;
  }
  if (one)
    ph_context_log(
        c->context, PH_LOG_WARN,
        "%s:%u:%u: warning: node '%s': the float %s holds only 0 and 1; a float mask is added to the scores: for "
        "allowed and not allowed give a bool mask with polarity",
        node->place.file, node->place.line, node->place.column, node->path, role);
}

ph_status ph_check_indices(const ph_net *net, ph_tensor *const *host, ph_context *context, ph_error *error) {
  checker c = {net, host, context, error};
  for (uint32_t n = 0; n < net->node_count; n++) {
    const ph_net_node *node = net->nodes[n];
    for (uint32_t i = 0; i < node->input_count && i < node->op->role_count; i++) {
      const ph_op_role *role = &node->op->roles[i];
      if (role->flags & PH_ROLE_INDEX) PH_TRY(check_role(&c, node, i, role));
      if (strcmp(role->name, "mask") == 0 || strcmp(role->name, "key_mask") == 0)
        warn_of_flags(&c, node, node->inputs[i], role->name);
    }
  }
  return PH_OK;
}
