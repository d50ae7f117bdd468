/* Text that grows, and the nearest of several names. */
#ifndef POLYHEAD_BASE_TEXT_H
#define POLYHEAD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Start with {0}.  `data` is NULL until something was added.  After an allocation failed, `failed` is set and further
 * calls do nothing: check once at the end. */
typedef struct ph_text {
  char *data;
  size_t length, capacity;
  bool failed;
} ph_text;

void ph_text_add(ph_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ph_text_put(ph_text *text, const char *bytes, size_t length);
void ph_text_free(ph_text *text);

/* The name among `names` that is most like `name` (case ignored, edit distance at most a third of its length, at least
 * 1; two neighbours swapped are one edit); NULL if none is near. */
const char *ph_nearest(const char *name, const char *const *names, size_t count);

/* A case-insensitive strstr. */
bool ph_contains_ignoring_case(const char *text, const char *part);

#endif
