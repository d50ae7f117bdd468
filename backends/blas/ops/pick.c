/* Elements picked or placed by index: embedding, gather, cache_write. */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "blas/op.h"

/* x is [outer, extent, inner]; the indices take the place of the extent. */
typedef struct pick {
  int64_t outer, extent, inner;
  size_t size; /* of an element */
  bool from_end;
} pick;

/* What an index outside the table gives: NaN, and 0 where there is no NaN. */
static void spoil(ph_dtype dtype, char *to, int64_t count) {
  size_t size = ph_dtype_size(dtype);
  memset(to, 0, (size_t)count * size);
  for (int64_t i = 0; ph_dtype_is_real(dtype) && i < count; i++) ph_write_real(dtype, to, (size_t)i, (double)NAN);
}

static void run_pick(const blas_call *call, const char *x, const int64_t *indices, int64_t index_count) {
  const pick *p = call->node->parameters;
  size_t bytes = (size_t)p->inner * p->size;
  char *to = call->out[0];
  for (int64_t o = 0; o < p->outer; o++)
    for (int64_t i = 0; i < index_count; i++, to += bytes) {
      int64_t index = indices[i];
      if (p->from_end && index < 0) index = blas_add_clamped(index, p->extent);
      if (index >= 0 && index < p->extent)
        memcpy(to, x + (size_t)(o * p->extent + index) * bytes, bytes);
      else
        spoil(call->node->out[0].dtype, to, p->inner);
    }
}

static ph_status plan_embedding(blas_planner *planner, ph_error *error) {
  const blas_operand *weight = &planner->node->in[1];
  pick *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  *p = (pick){.outer = 1, .extent = weight->dims[0], .inner = weight->dims[1], .size = ph_dtype_size(weight->dtype)};
  return PH_OK;
}

static void run_embedding(const blas_call *call) {
  run_pick(call, call->in[1], call->in[0], call->node->in[0].count);
}

static ph_status plan_gather(blas_planner *planner, ph_error *error) {
  const blas_operand *x = &planner->node->in[0];
  uint32_t axis = (uint32_t)ph_node_int(planner->source, "axis", 0);
  pick *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  *p = (pick){.outer = blas_product(x->dims, axis),
              .extent = x->dims[axis],
              .inner = blas_product(x->dims + axis + 1, x->rank - axis - 1),
              .size = ph_dtype_size(x->dtype),
              .from_end = true};
  return PH_OK;
}

static void run_gather(const blas_call *call) {
  run_pick(call, call->in[0], call->in[1], call->node->in[1].count);
}

const blas_op blas_embedding = {.name = "embedding", .version = 1, .plan = plan_embedding, .run = run_embedding};
const blas_op blas_gather = {.name = "gather", .version = 1, .plan = plan_gather, .run = run_gather};

/* ---- cache_write ---- */

typedef struct cache_write {
  int64_t samples, outer, slots, rows, inner; /* the cache is [samples, outer, slots, inner], x has `rows` for slots */
  bool ring;
} cache_write;

static ph_status plan_cache_write(blas_planner *planner, ph_error *error) {
  const blas_operand *cache = &planner->node->in[0], *x = &planner->node->in[1];
  uint32_t axis = (uint32_t)ph_node_int(planner->source, "axis", 2);
  cache_write *p = blas_parameters(planner, sizeof(*p));
  if (p == NULL) return ph_fail_memory(error);
  *p = (cache_write){.samples = cache->dims[0],
                     .outer = blas_product(cache->dims + 1, axis - 1),
                     .slots = cache->dims[axis],
                     .rows = x->dims[axis],
                     .inner = blas_product(cache->dims + axis + 1, cache->rank - axis - 1),
                     .ring = ph_node_int(planner->source, "ring", 0) != 0};
  return PH_OK;
}

static void put_row(ph_dtype from_type, const char *from, ph_dtype to_type, char *to, int64_t at_from, int64_t at_to,
                    int64_t count) {
  size_t from_size = ph_dtype_size(from_type), to_size = ph_dtype_size(to_type);
  if (from_type == to_type)
    memcpy(to + (size_t)at_to * to_size, from + (size_t)at_from * from_size, (size_t)count * to_size);
  else
    for (int64_t i = 0; i < count; i++)
      ph_write_real(to_type, to, (size_t)(at_to + i), ph_read_real(from_type, from, (size_t)(at_from + i)));
}

/* Row s of x goes to slot offset + s, in a ring modulo the slots; what would miss the cache is dropped. */
static void run_cache_write(const blas_call *call) {
  const cache_write *p = call->node->parameters;
  const blas_operand *cache = &call->node->in[0], *x = &call->node->in[1];
  char *y = call->out[0];
  if (call->in[0] != y) memcpy(y, call->in[0], (size_t)cache->count * ph_dtype_size(cache->dtype));
  for (int64_t b = 0; b < p->samples && x->count > 0; b++) {
    int64_t offset = blas_per_sample(&call->node->in[2], call->in[2], b, 0);
    for (int64_t o = b * p->outer; o < (b + 1) * p->outer; o++)
      for (int64_t s = 0; s < p->rows; s++) {
        int64_t slot = blas_add_clamped(offset, s);
        if (p->ring && slot >= 0) slot %= p->slots;
        if (slot >= 0 && slot < p->slots)
          put_row(x->dtype, call->in[1], cache->dtype, y, (o * p->rows + s) * p->inner,
                  (o * p->slots + slot) * p->inner, p->inner);
      }
  }
}

const blas_op blas_cache_write = {
    .name = "cache_write", .version = 1, .plan = plan_cache_write, .run = run_cache_write};
