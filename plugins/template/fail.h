/* How functions fail: they fill a ph_error, which belongs to the caller and may be NULL, and return its code. */
#ifndef MINE_FAIL_H
#define MINE_FAIL_H

#include <polyhead/backend.h>

#include <stdio.h>

/* One sentence: what failed, on what, and the cure.  return FAIL(error, PH_INVALID, "rows is %d, but ...", rows); */
#define FAIL(error, status, ...)                                                                                       \
  (((error) != NULL ? ((error)->code = (status), (error)->node = PH_NONE, (error)->native_code = 0,                    \
                       snprintf((error)->where, sizeof((error)->where), "%s:%d", __FILE__, __LINE__),                  \
                       snprintf((error)->message, sizeof((error)->message), __VA_ARGS__))                              \
                    : 0),                                                                                              \
   (status))

#define NO_MEMORY(error) FAIL(error, PH_OUT_OF_MEMORY, "out of host memory")

#endif
