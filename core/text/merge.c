/* Byte-pair encoding: neighbours are merged, the best pair first, until none is left.  A heap of pairs and a linked
 * list of what is left keep it at n log n however long a text is. */
#include <stdlib.h>

#include "text/vocabulary.h"

typedef struct symbol {
  uint32_t id, previous, next; /* PH_NONE at the ends */
  bool gone;
} symbol;

/* A pair that was seen: still there if both ids are as they were. */
typedef struct pair {
  double rank;
  uint32_t at, left, right, becomes;
} pair;

typedef struct merger {
  const ph_vocabulary *vocabulary;
  ph_pair_find *find;
  symbol *symbols;
  pair *heap;
  size_t count, capacity;
} merger;

static bool comes_before(const pair *a, const pair *b) {
  return a->rank < b->rank || (a->rank == b->rank && a->at < b->at);
}

static void swap(pair *a, pair *b) {
  pair kept = *a;
  *a = *b;
  *b = kept;
}

static bool push(merger *m, pair added) {
  if (!ph_grow(&m->heap, &m->capacity, m->count + 1, sizeof(*m->heap))) return false;
  size_t at = m->count++;
  m->heap[at] = added;
  for (; at > 0 && comes_before(&m->heap[at], &m->heap[(at - 1) / 2]); at = (at - 1) / 2)
    swap(&m->heap[at], &m->heap[(at - 1) / 2]);
  return true;
}

static pair pop(merger *m) {
  pair first = m->heap[0];
  m->heap[0] = m->heap[--m->count];
  for (size_t at = 0, best = 0;; at = best) {
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < m->count; child++)
      if (comes_before(&m->heap[child], &m->heap[best])) best = child;
    if (best == at) return first;
    swap(&m->heap[at], &m->heap[best]);
  }
}

static bool look_at(merger *m, uint32_t at) {
  if (at == PH_NONE || m->symbols[at].next == PH_NONE) return true;
  pair seen = {.at = at, .left = m->symbols[at].id, .right = m->symbols[m->symbols[at].next].id};
  if (!m->find(m->vocabulary, seen.left, seen.right, &seen.rank, &seen.becomes)) return true;
  return push(m, seen);
}

static bool merge_all(merger *m) {
  while (m->count > 0) {
    pair best = pop(m);
    symbol *left = &m->symbols[best.at];
    if (left->gone || left->id != best.left || left->next == PH_NONE) continue;
    symbol *right = &m->symbols[left->next];
    if (right->id != best.right) continue;
    left->id = best.becomes;
    left->next = right->next;
    right->gone = true;
    if (right->next != PH_NONE) m->symbols[right->next].previous = best.at;
    if (!look_at(m, left->previous) || !look_at(m, best.at)) return false;
  }
  return true;
}

ph_status ph_merge(const ph_vocabulary *vocabulary, ph_pair_find *find, ph_ids *ids, size_t first, ph_error *error) {
  size_t count = ids->count - first;
  if (count < 2) return PH_OK;
  if (count >= PH_NONE) return ph_fail(error, PH_INVALID, "a text of %zu characters is too long", count);
  merger m = {.vocabulary = vocabulary, .find = find, .symbols = ph_new_array(count, sizeof(symbol))};
  bool done = m.symbols != NULL;
  for (uint32_t i = 0; done && i < count; i++)
    m.symbols[i] = (symbol){.id = (uint32_t)ids->items[first + i],
                            .previous = i > 0 ? i - 1 : PH_NONE,
                            .next = i + 1 < count ? i + 1 : PH_NONE};
  for (uint32_t i = 0; done && i < count; i++) done = look_at(&m, i);
  done = done && merge_all(&m);
  ids->count = first;
  for (uint32_t i = 0; done && i != PH_NONE; i = m.symbols[i].next) ids->items[ids->count++] = m.symbols[i].id;
  free(m.symbols);
  free(m.heap);
  return done ? PH_OK : ph_fail_memory(error);
}

bool ph_ids_add(ph_ids *ids, int64_t id) {
  if (!ph_grow(&ids->items, &ids->capacity, ids->count + 1, sizeof(*ids->items))) return false;
  ids->items[ids->count++] = id;
  return true;
}
