/* What a bench runs: configs as they are, and the cases of suites. */
#ifndef POLYHEAD_BENCH_CASES_H
#define POLYHEAD_BENCH_CASES_H

#include "base/memory.h"
#include "conform/suite.h"

typedef struct ph_bench_case {
  const char *name;   /* of a suite's case, or the config's file */
  const char *config; /* a file; NULL: a suite's case */
  const ph_suite *suite;
  uint32_t index; /* in the suite */
} ph_bench_case;

typedef struct ph_bench_cases {
  ph_bench_case *items;
  uint32_t count, capacity;
  ph_suite **suites;
  uint32_t suite_count, suite_capacity;
} ph_bench_cases;

/* Reads the suites among the options' files (none: the library's own bench_*.yaml) and picks the cases.  Everything but
 * the suites lives in the arena.  End with ph_bench_cases_close(), after a failure, too. */
PH_NODISCARD ph_status ph_bench_cases_open(const ph_bench_options *options, ph_arena *arena, ph_bench_cases *out,
                                           ph_error *error);
void ph_bench_cases_close(ph_bench_cases *cases);

/* The model of a case; `options` are those of configs. */
PH_NODISCARD ph_status ph_bench_case_load(const ph_bench_case *one, const ph_model_options *options, uint64_t seed,
                                          ph_model **out, ph_error *error);

#endif
