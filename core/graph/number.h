/* Numbers as configs write them: integers (no leading zero) and decimals with a point or an exponent.  The same in
 * every locale. */
#ifndef POLYHEAD_GRAPH_NUMBER_H
#define POLYHEAD_GRAPH_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ph_number {
  bool is_integer;     /* written as one, and it fits in 64 bits */
  int64_t integer;     /* 0 unless is_integer */
  double real;         /* the nearest double in both cases */
  const char *problem; /* why it is refused ("has a leading zero: ..."), or NULL */
} ph_number;

/* Reads the digits, point and exponent that `text` begins with (no sign; `negative` says that one stood before).
 * Returns their length; 0 where no number begins. */
size_t ph_number_scan(const char *text, bool negative, ph_number *out);

/* The whole text as a number with an optional sign; false where it is none. */
bool ph_number_parse(const char *text, ph_number *out);

#endif
