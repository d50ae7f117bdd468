/* Reading numbers; see number.h. */
#include "graph/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t digits(const char *text) {
  size_t length = 0;
  while (is_digit(text[length])) length++;
  return length;
}

/* strtod() reads the decimal point of the thread's locale; ours is always ".". */
static double to_double(const char *text) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return strtod(text, NULL);
  locale_t before = uselocale(plain);
  double value = strtod(text, NULL);
  uselocale(before);
  freelocale(plain);
  return value;
}

static bool to_integer(const char *text, size_t length, bool negative, int64_t *out) {
  *out = 0;
  for (size_t i = 0; i < length; i++) {
    int digit = text[i] - '0';
    if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, negative ? -digit : digit, out))
      return false;
  }
  return true;
}

size_t ph_number_scan(const char *text, bool negative, ph_number *out) {
  *out = (ph_number){0};
  size_t whole = digits(text), length = whole, fraction = 0;
  if (text[length] == '.') {
    fraction = digits(text + length + 1);
    if (whole + fraction == 0) return 0;
    length += 1 + fraction;
  }
  if (length == 0) return 0;
  if (text[length] == 'e' || text[length] == 'E') {
    size_t sign = text[length + 1] == '-' || text[length + 1] == '+';
    size_t exponent = digits(text + length + 1 + sign);
    if (exponent > 0) length += 1 + sign + exponent;
  }
  if (whole > 1 && text[0] == '0') out->problem = "has a leading zero";
  double magnitude = to_double(text);
  if (isinf(magnitude)) out->problem = "is too large";
  out->real = negative ? -magnitude : magnitude;
  if (length == whole) {
    out->is_integer = to_integer(text, length, negative, &out->integer);
    if (!out->is_integer) out->integer = 0;
  }
  return length;
}

bool ph_number_parse(const char *text, ph_number *out) {
  bool negative = text[0] == '-';
  if (negative || text[0] == '+') text++;
  size_t length = ph_number_scan(text, negative, out);
  return length > 0 && text[length] == '\0';
}
