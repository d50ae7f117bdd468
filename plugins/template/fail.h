/* How functions fail: they fill a ph_error, which belongs to the caller and may be NULL, and return its code. */
#ifndef MINE_FAIL_H
#define MINE_FAIL_H

#include <polyhead/backend.h>

/* return FAIL(error, PH_INVALID, "rows is %d, but ...", rows);
 * The message is one sentence: what failed, on what, and the cure.  (The status is repeated so that the compiler sees
 * it.) */
#define FAIL(error, status, ...) (fail((error), (status), __FILE__, __LINE__, __VA_ARGS__), (status))
#define NO_MEMORY(error)         FAIL(error, PH_OUT_OF_MEMORY, "out of host memory")

void fail(ph_error *error, ph_status status, const char *file, int line, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 5, 6)))
#endif
    ;

#endif
