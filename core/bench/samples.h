/* Measured values and what is said of them. */
#ifndef POLYHEAD_BENCH_SAMPLES_H
#define POLYHEAD_BENCH_SAMPLES_H

#include <polyhead/polyhead.h>

/* Start with {0}. */
typedef struct ph_samples {
  double *items;
  size_t count, capacity;
} ph_samples;

PH_NODISCARD ph_status ph_samples_add(ph_samples *samples, double value, ph_error *error);
/* Sorts them.  All 0 without samples. */
ph_bench_times ph_samples_summary(ph_samples *samples);
void ph_samples_free(ph_samples *samples);

#endif
