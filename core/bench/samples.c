#include "bench/samples.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

ph_status ph_samples_add(ph_samples *samples, double value, ph_error *error) {
  if (!ph_grow(&samples->items, &samples->capacity, samples->count + 1, sizeof(double))) return ph_fail_memory(error);
  samples->items[samples->count++] = value;
  return PH_OK;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Between the two nearest samples, as NumPy's percentile. */
static double quantile(const ph_samples *sorted, double part) {
  double place = part * (double)(sorted->count - 1);
  size_t below = (size_t)floor(place), above = below + 1 < sorted->count ? below + 1 : below;
  return sorted->items[below] + (place - (double)below) * (sorted->items[above] - sorted->items[below]);
}

ph_bench_times ph_samples_summary(ph_samples *samples) {
  if (samples->count == 0) return (ph_bench_times){0};
  qsort(samples->items, samples->count, sizeof(double), by_size);
  return (ph_bench_times){.median = quantile(samples, 0.5),
                          .p10 = quantile(samples, 0.1),
                          .p90 = quantile(samples, 0.9),
                          .least = samples->items[0],
                          .count = (uint32_t)samples->count};
}

void ph_samples_free(ph_samples *samples) {
  free(samples->items);
  *samples = (ph_samples){0};
}
