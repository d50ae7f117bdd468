/* Random numbers with the same bits on every machine (NUMERICS section 4): a counter-based generator keyed by a seed, a
 * name and an index.  No libm, no state. */
#ifndef POLYHEAD_BASE_RANDOM_H
#define POLYHEAD_BASE_RANDOM_H

#include <stdint.h>

/* The key of a stream: mixes the seed with the name of the tensor (its full path) or of the case. */
uint64_t ph_random_key(uint64_t seed, const char *name);
/* 64 random bits: number `index` of stream `key`. */
uint64_t ph_random_bits(uint64_t key, uint64_t index);
/* In [0, 1), a multiple of 2^-53. */
double ph_random_unit(uint64_t key, uint64_t index);
/* Mean 0, spread 1, made by + - * / sqrt alone. */
double ph_random_normal(uint64_t key, uint64_t index);

#endif
