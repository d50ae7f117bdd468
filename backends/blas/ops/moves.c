/* Ops that move elements and change none: heads, concat, split, slice, transpose, reshape, expand.  Each is a list of
 * strided copies, made when the node is planned. */
#include <string.h>

#include "base/dtype.h"
#include "blas/op.h"

typedef struct copy {
  uint32_t role, slot;
  int64_t from, to; /* the first element */
  uint32_t rank;
  int64_t dims[PH_MAX_RANK], from_strides[PH_MAX_RANK], to_strides[PH_MAX_RANK];
} copy;

typedef struct moves {
  size_t size; /* of an element */
  uint32_t count;
  copy *copies;
} moves;

/* ---- running ---- */

static void copy_element(size_t size, const char *from, char *to) {
  switch (size) {
  case 1:
    *to = *from;
    break;
  case 2:
    memcpy(to, from, 2);
    break;
  case 4:
    memcpy(to, from, 4);
    break;
  default:
    memcpy(to, from, 8);
    break;
  }
}

static void run_copy(size_t size, const copy *c, const char *from, char *to) {
  /* The last axes that are dense on both sides are copied at once. */
  uint32_t outer = c->rank;
  int64_t run = 1;
  while (outer > 0 &&
         (c->dims[outer - 1] == 1 || (c->from_strides[outer - 1] == run && c->to_strides[outer - 1] == run)))
    run *= c->dims[--outer];
  bool elements = run == 1 && outer > 0;
  int64_t length = elements ? c->dims[--outer] : run;
  int64_t step_from = elements ? c->from_strides[outer] * (int64_t)size : 0;
  int64_t step_to = elements ? c->to_strides[outer] * (int64_t)size : 0;
  int64_t index[PH_MAX_RANK] = {0};
  do {
    int64_t at_from = c->from, at_to = c->to;
    for (uint32_t i = 0; i < outer; i++) {
      at_from += index[i] * c->from_strides[i];
      at_to += index[i] * c->to_strides[i];
    }
    const char *source = from + at_from * (int64_t)size;
    char *target = to + at_to * (int64_t)size;
    if (elements)
      for (int64_t i = 0; i < length; i++) copy_element(size, source + i * step_from, target + i * step_to);
    else
      memcpy(target, source, (size_t)length * size);
  } while (blas_next(outer, c->dims, index));
}

static void run_moves(const blas_call *call) {
  const moves *p = call->node->parameters;
  for (uint32_t i = 0; i < p->count; i++) {
    const copy *c = &p->copies[i];
    if (call->in[c->role] != NULL && call->out[c->slot] != NULL && blas_product(c->dims, c->rank) > 0)
      run_copy(p->size, c, call->in[c->role], call->out[c->slot]);
  }
}

/* ---- planning ---- */

static void dense_strides(uint32_t rank, const int64_t *dims, int64_t *strides) {
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
}

/* Room for `count` copies; copy i reads role 0 and writes output i, of the dims of that output, densely. */
static copy *make_copies(blas_planner *planner, uint32_t count) {
  moves *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return NULL;
  p->count = count;
  p->size = ph_dtype_size(planner->node->in[0].dtype);
  p->copies = ph_arena_array(planner->arena, count, sizeof(copy));
  for (uint32_t i = 0; p->copies != NULL && i < count; i++) {
    copy *c = &p->copies[i];
    c->slot = i < planner->node->out_count ? i : 0;
    const blas_operand *y = &planner->node->out[c->slot];
    c->rank = y->rank;
    memcpy(c->dims, y->dims, sizeof(c->dims));
    dense_strides(y->rank, y->dims, c->to_strides);
  }
  return p->copies;
}

static void set4(int64_t *to, int64_t a, int64_t b, int64_t c, int64_t d) {
  to[0] = a;
  to[1] = b;
  to[2] = c;
  to[3] = d;
}

/* [B, S, H * D] to [B, H, S, D] */
static ph_status plan_split_heads(blas_planner *planner, ph_error *error) {
  copy *c = make_copies(planner, 1);
  if (c == NULL) return ph_fail_memory(error);
  int64_t heads = c->dims[1], rows = c->dims[2], depth = c->dims[3];
  set4(c->from_strides, rows * heads * depth, depth, heads * depth, 1);
  return PH_OK;
}

/* [B, H, S, D] to [B, S, H * D] */
static ph_status plan_concat_heads(blas_planner *planner, ph_error *error) {
  const int64_t *x = planner->node->in[0].dims;
  copy *c = make_copies(planner, 1);
  if (c == NULL) return ph_fail_memory(error);
  c->rank = 4;
  set4(c->dims, x[0], x[2], x[1], x[3]);
  set4(c->from_strides, x[1] * x[2] * x[3], x[3], x[2] * x[3], 1);
  dense_strides(4, c->dims, c->to_strides);
  return PH_OK;
}

static uint32_t axis_of(const blas_planner *planner) {
  return (uint32_t)ph_node_int(planner->source, "axis", 0);
}

static ph_status plan_concat(blas_planner *planner, ph_error *error) {
  const blas_node *node = planner->node;
  copy *copies = make_copies(planner, node->in_count);
  if (copies == NULL) return ph_fail_memory(error);
  int64_t start = 0;
  for (uint32_t i = 0; i < node->in_count; i++) {
    copy *c = &copies[i];
    c->role = i;
    c->slot = 0;
    memcpy(c->dims, node->in[i].dims, sizeof(c->dims));
    dense_strides(c->rank, c->dims, c->from_strides);
    c->to = start * c->to_strides[axis_of(planner)];
    start += c->dims[axis_of(planner)];
  }
  return PH_OK;
}

static ph_status plan_split(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  const ph_attr *into = ph_node_attr(planner->source, "into");
  copy *copies = make_copies(planner, planner->node->out_count);
  if (copies == NULL) return ph_fail_memory(error);
  int64_t start = 0;
  for (uint32_t i = 0; i < planner->node->out_count; i++) {
    dense_strides(x->rank, x->dims, copies[i].from_strides);
    copies[i].from = start * copies[i].from_strides[axis_of(planner)];
    start += into->as.list.items[i];
  }
  return PH_OK;
}

static ph_status plan_slice(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  copy *c = make_copies(planner, 1);
  if (c == NULL) return ph_fail_memory(error);
  dense_strides(x->rank, x->dims, c->from_strides);
  c->from = ph_node_int(planner->source, "start", 0) * c->from_strides[axis_of(planner)];
  return PH_OK;
}

static ph_status plan_transpose(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  const ph_attr *axes = ph_node_attr(planner->source, "axes");
  int64_t strides[PH_MAX_RANK];
  copy *c = make_copies(planner, 1);
  if (c == NULL) return ph_fail_memory(error);
  dense_strides(x->rank, x->dims, strides);
  for (uint32_t i = 0; i < x->rank; i++) c->from_strides[i] = strides[axes->as.list.items[i]];
  return PH_OK;
}

static ph_status plan_reshape(blas_planner *planner, ph_error *error) {
  copy *c = make_copies(planner, 1);
  if (c == NULL) return ph_fail_memory(error);
  memcpy(c->from_strides, c->to_strides, sizeof(c->from_strides));
  return PH_OK;
}

static ph_status plan_expand(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  copy *c = make_copies(planner, 1);
  if (c == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < x->rank; i++) c->from_strides[c->rank - x->rank + i] = x->strides[i];
  return PH_OK;
}

#define MOVE(name_) const blas_op blas_##name_ = {.name = #name_, .version = 1, .plan = plan_##name_, .run = run_moves}
MOVE(split_heads);
MOVE(concat_heads);
MOVE(concat);
MOVE(split);
MOVE(slice);
MOVE(transpose);
MOVE(reshape);
MOVE(expand);
