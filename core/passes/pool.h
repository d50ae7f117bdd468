/* Constants that passes make: each once in a session, whatever the dims of its plans. */
#ifndef POLYHEAD_PASSES_POOL_H
#define POLYHEAD_PASSES_POOL_H

#include <polyhead/tensor.h>

typedef struct ph_pool_entry ph_pool_entry;

/* Start with {0}. */
typedef struct ph_pool {
  ph_pool_entry *first;
} ph_pool;

/* The tensor that was made from these sources (by identity) under this key; borrowed; NULL if there is none. */
ph_tensor *ph_pool_find(const ph_pool *pool, const char *key, ph_tensor *const *sources, uint32_t source_count);
/* Retains tensor and sources. */
PH_NODISCARD ph_status ph_pool_add(ph_pool *pool, const char *key, ph_tensor *const *sources, uint32_t source_count,
                                   ph_tensor *tensor, ph_error *error);
void ph_pool_free(ph_pool *pool);

#endif
