/* How functions fail: they return a ph_status, and fill a ph_error that the caller owns (and that may be NULL). */
#ifndef POLYHEAD_BASE_ERROR_H
#define POLYHEAD_BASE_ERROR_H

#include <polyhead/backend.h>

/* Leaves the calling function with the status of `expression` unless it is PH_OK. */
#define PH_TRY(expression)                                                                                            \
  do {                                                                                                                 \
    ph_status ph_try_status = (expression);                                                                            \
    if (ph_try_status != PH_OK) return ph_try_status;                                                                  \
  } while (0)

/* Fills *error (which may be NULL) and returns `code`, so that `return ph_fail(error, PH_INVALID, "...", ...)` is one
 * line.  The message is one sentence: what failed, on what, and the cure.  Longer text is cut at a UTF-8 border. */
#define ph_fail(error, code, ...) (ph_error_set((error), (code), __FILE__, __LINE__, __VA_ARGS__), (code))

/* Returns `code`; ph_fail() repeats it so that the compiler sees that it is not PH_OK. */
ph_status ph_error_set(ph_error *error, ph_status code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#define ph_fail_memory(error) ph_fail((error), PH_OUT_OF_MEMORY, "out of host memory")

/* Puts text before the message that *error holds; code and place stay.  For callers that know more about the context. */
void ph_error_prefix(ph_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error record ready to be passed on. */
#define PH_ERROR_INIT {.struct_size = sizeof(ph_error), .node = PH_NONE}

#endif
