/* An attention of given sizes, for the tests of the oracle. */
#ifndef POLYHEAD_TESTS_ATTENTION_CASE_H
#define POLYHEAD_TESTS_ATTENTION_CASE_H

#include "oracle_case.h"

/* q [batch, heads, queries, depth], k [batch, shared, keys, depth], v [batch, shared, keys, width]. */
typedef struct attention_sizes {
  int64_t batch, heads, shared, queries, keys, depth, width;
} attention_sizes;

/* q and k are filled with one number each, NaN if need be; v is given. */
static inline void attention_open(oracle_case *c, attention_sizes s, double q, double k, const double *v) {
  case_open(c, "attention");
  case_fill(c, PH_F32, DIMS(s.batch, s.heads, s.queries, s.depth), q);
  case_fill(c, PH_F32, DIMS(s.batch, s.shared, s.keys, s.depth), k);
  case_input(c, PH_F32, DIMS(s.batch, s.shared, s.keys, s.width), v);
}

/* After the roles mask .. sinks: both outputs. */
static inline void attention_run(oracle_case *c, attention_sizes s) {
  case_absent(c, 8 - c->node.input_count);
  case_output(c, PH_F32, DIMS(s.batch, s.heads, s.queries, s.width));
  case_output(c, PH_F32, DIMS(s.batch, s.heads, s.queries));
  case_run(c);
}

#endif
