/* A limit on processor time, for what must not be slow. */
#ifndef POLYHEAD_TESTS_QUICK_H
#define POLYHEAD_TESTS_QUICK_H

#include <stdlib.h>
#include <time.h>

#include "scratch.h"

/* Less than a second since `start`, or as many as $POLYHEAD_TEST_PATIENCE says, where a tool makes everything slow. */
static inline void assert_quick(clock_t start) {
  const char *patience = getenv("POLYHEAD_TEST_PATIENCE");
  double limit = patience != NULL ? strtod(patience, NULL) : 1;
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  if (seconds > limit) fail_msg("it took %.2f s", seconds);
}

#endif
