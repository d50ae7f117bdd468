#include "conform/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/op.h"

typedef struct met_pair {
  const char *op, *a, *b; /* op NULL: a free place */
} met_pair;

typedef struct op_tally {
  ph_conform_op result;
  const char *last_case;
  bool last_trusted;
} op_tally;

struct ph_tally {
  op_tally *ops;                    /* by op of the table */
  met_pair *pairs;                  /* an open hash table */
  size_t pair_count, pair_capacity; /* capacity: a power of two */
};

enum { FIRST_CAPACITY = 1024 };

ph_status ph_tally_create(ph_tally **out, ph_error *error) {
  ph_tally *tally = ph_new_array(1, sizeof(*tally));
  if (tally == NULL) return ph_fail_memory(error);
  tally->ops = ph_new_array(ph_op_count, sizeof(*tally->ops));
  tally->pairs = ph_new_array(FIRST_CAPACITY, sizeof(*tally->pairs));
  tally->pair_capacity = FIRST_CAPACITY;
  if (tally->ops == NULL || tally->pairs == NULL) {
    ph_tally_destroy(tally);
    return ph_fail_memory(error);
  }
  for (uint32_t i = 0; i < ph_op_count; i++) tally->ops[i].result.op = ph_ops[i]->name;
  *out = tally;
  return PH_OK;
}

void ph_tally_destroy(ph_tally *tally) {
  if (tally == NULL) return;
  free(tally->ops);
  free(tally->pairs);
  free(tally);
}

ph_status ph_tally_node(ph_tally *tally, const char *case_name, const char *op, bool could_fail, double ratio,
                        ph_error *error) {
  op_tally *of = NULL;
  for (uint32_t i = 0; i < ph_op_count && of == NULL; i++)
    if (strcmp(ph_ops[i]->name, op) == 0) of = &tally->ops[i];
  if (of == NULL) return ph_fail(error, PH_INTERNAL, "the op table has no '%s'", op);
  if (of->last_case != case_name) {
    of->last_case = case_name;
    of->last_trusted = false;
    of->result.cases++;
  }
  if (could_fail && !of->last_trusted) {
    of->last_trusted = true;
    of->result.trusted++;
  }
  if (of->result.worst_case == NULL || ratio > of->result.ratio) {
    of->result.ratio = ratio;
    of->result.worst_case = case_name;
  }
  return PH_OK;
}

uint32_t ph_tally_op_count(const ph_tally *tally) {
  (void)tally;
  return ph_op_count;
}

const ph_conform_op *ph_tally_op(const ph_tally *tally, uint32_t index) {
  return &tally->ops[index].result;
}

/* ---- pairs ---- */

static uint64_t hash(uint64_t start, const char *text) {
  for (; *text != '\0'; text++) start = (start ^ (unsigned char)*text) * 0x100000001B3u; /* FNV-1a */
  return start;
}

/* The order of the two does not matter. */
static met_pair ordered(const char *op, const char *a, const char *b) {
  return strcmp(a, b) < 0 ? (met_pair){op, a, b} : (met_pair){op, b, a};
}

/* Where the pair is, or would be. */
static met_pair *find(met_pair *pairs, size_t capacity, met_pair key) {
  uint64_t h = hash(hash(hash(0xCBF29CE484222325u, key.op), key.a), key.b);
  for (size_t i = h & (capacity - 1);; i = (i + 1) & (capacity - 1))
    if (pairs[i].op == NULL ||
        (strcmp(pairs[i].op, key.op) == 0 && strcmp(pairs[i].a, key.a) == 0 && strcmp(pairs[i].b, key.b) == 0))
      return &pairs[i];
}

static bool grow(ph_tally *tally) {
  size_t capacity = 2 * tally->pair_capacity;
  met_pair *pairs = ph_new_array(capacity, sizeof(*pairs));
  if (pairs == NULL) return false;
  for (size_t i = 0; i < tally->pair_capacity; i++)
    if (tally->pairs[i].op != NULL) *find(pairs, capacity, tally->pairs[i]) = tally->pairs[i];
  free(tally->pairs);
  tally->pairs = pairs;
  tally->pair_capacity = capacity;
  return true;
}

ph_status ph_tally_pair(ph_tally *tally, const char *op, const char *a, const char *b, ph_error *error) {
  if (2 * tally->pair_count >= tally->pair_capacity && !grow(tally)) return ph_fail_memory(error);
  met_pair key = ordered(op, a, b), *place = find(tally->pairs, tally->pair_capacity, key);
  if (place->op == NULL) tally->pair_count++;
  *place = key;
  return PH_OK;
}

bool ph_tally_has_pair(const ph_tally *tally, const char *op, const char *a, const char *b) {
  return find(tally->pairs, tally->pair_capacity, ordered(op, a, b))->op != NULL;
}
