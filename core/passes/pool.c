#include "passes/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct ph_pool_entry {
  char *key;
  ph_tensor **sources;
  uint32_t source_count;
  ph_tensor *tensor;
  ph_pool_entry *next;
};

ph_tensor *ph_pool_find(const ph_pool *pool, const char *key, ph_tensor *const *sources, uint32_t source_count) {
  for (const ph_pool_entry *entry = pool->first; entry != NULL; entry = entry->next) {
    bool same = entry->source_count == source_count && strcmp(entry->key, key) == 0;
    for (uint32_t i = 0; same && i < source_count; i++) same = entry->sources[i] == sources[i];
    if (same) return entry->tensor;
  }
  return NULL;
}

static void destroy(ph_pool_entry *entry) {
  for (uint32_t i = 0; entry->sources != NULL && i < entry->source_count; i++) ph_tensor_release(entry->sources[i]);
  ph_tensor_release(entry->tensor);
  free(entry->sources);
  free(entry->key);
  free(entry);
}

ph_status ph_pool_add(ph_pool *pool, const char *key, ph_tensor *const *sources, uint32_t source_count,
                      ph_tensor *tensor, ph_error *error) {
  ph_pool_entry *entry = ph_new_array(1, sizeof(*entry));
  if (entry == NULL) return ph_fail_memory(error);
  entry->key = strdup(key);
  entry->sources = ph_new_array(source_count, sizeof(*entry->sources));
  if (entry->key == NULL || entry->sources == NULL) {
    destroy(entry);
    return ph_fail_memory(error);
  }
  for (; entry->source_count < source_count; entry->source_count++)
    entry->sources[entry->source_count] =
        sources[entry->source_count] == NULL ? NULL : ph_tensor_retain(sources[entry->source_count]);
  entry->tensor = ph_tensor_retain(tensor);
  entry->next = pool->first;
  pool->first = entry;
  return PH_OK;
}

void ph_pool_free(ph_pool *pool) {
  while (pool->first != NULL) {
    ph_pool_entry *next = pool->first->next;
    destroy(pool->first);
    pool->first = next;
  }
}
