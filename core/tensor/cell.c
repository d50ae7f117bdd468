/* Numbers in columns: which notation, how many digits, and where the point stands.  The rules are NumPy's. */
#include "tensor/cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

enum { SIGNIFICANT = 6, TABLE_DECIMALS = 4, DOUBLE_DIGITS = 17 };

/* printf writes the decimal point of the locale, which may be any text; put '.' there, whatever it is. */
static void plain_point(char *text) {
  char *digits = text + (*text == '-');
  size_t before = strspn(digits, "0123456789");
  char *point = digits + before, *after = point;
  while (*after != '\0' && *after != 'e' && (*after < '0' || *after > '9')) after++;
  if (after == point) return;
  *point = '.';
  memmove(point + 1, after, strlen(after) + 1);
}

static void format_fixed(char out[PH_CELL_SIZE], double value, int decimals) {
  snprintf(out, PH_CELL_SIZE, "%.*f", decimals, value);
  plain_point(out);
}

static void format_exponent(char out[PH_CELL_SIZE], double value, int decimals) {
  snprintf(out, PH_CELL_SIZE, "%.*e", decimals, value);
  plain_point(out);
}

/* The decimal exponent of a finite value other than 0 once it is rounded to `digits` significant digits. */
static int decimal_exponent(double value, int digits) {
  char text[PH_CELL_SIZE];
  format_exponent(text, value, digits - 1);
  return atoi(strchr(text, 'e') + 1);
}

/* The value as an element of the type: what is left of a decimal number when it is read back. */
static double rounded(ph_dtype dtype, double value) {
  union {
    uint16_t half;
    float single;
    double wide;
  } element;
  ph_write_real(dtype, &element, 0, value);
  return ph_read_real(dtype, &element, 0);
}

/* The fewest significant digits that still give the same element. */
static int shortest_digits(ph_dtype dtype, double value) {
  for (int digits = 1; digits < DOUBLE_DIGITS; digits++) {
    char text[PH_CELL_SIZE];
    format_exponent(text, value, digits - 1);
    /* Without its point, for strtod() too goes by the locale. */
    char *exponent = strchr(text, 'e'), *point = strchr(text, '.');
    long power = strtol(exponent + 1, NULL, 10) - (digits - 1);
    if (point != NULL) memmove(point, point + 1, (size_t)(exponent - point) - 1);
    snprintf(text + (exponent - text) - (point != NULL), 16, "e%ld", power);
    if (rounded(dtype, strtod(text, NULL)) == value) return digits;
  }
  return DOUBLE_DIGITS;
}

/* How many of the decimals of a number are not zeros at its end. */
static int used_decimals(const char *text) {
  const char *point = strchr(text, '.');
  if (point == NULL) return 0;
  int decimals = (int)strspn(point + 1, "0123456789");
  while (decimals > 0 && point[decimals] == '0') decimals--;
  return decimals;
}

/* Decimals this value needs in the style's notation, at most style->most_decimals. */
static int own_decimals(const ph_cell_style *style, double value) {
  char text[PH_CELL_SIZE];
  if (value == 0) return 0;
  int digits = shortest_digits(style->tensor->dtype, value);
  int decimals = style->exponent ? digits - 1 : digits - 1 - decimal_exponent(value, digits);
  if (decimals > style->most_decimals) decimals = style->most_decimals;
  if (decimals <= 0) return 0;
  if (style->exponent)
    format_exponent(text, value, decimals);
  else
    format_fixed(text, value, decimals);
  return used_decimals(text);
}

static void widen(int *width, int need) {
  if (need > *width) *width = need;
}

/* An element that is no finite real number: its text, unpadded. */
static bool special_text(const ph_tensor *tensor, size_t index, char out[PH_CELL_SIZE]) {
  if (tensor->dtype == PH_BOOL) {
    snprintf(out, PH_CELL_SIZE, "%s", ph_read_integer(tensor->dtype, tensor->data, index) ? "True" : "False");
    return true;
  }
  if (!ph_dtype_is_real(tensor->dtype)) {
    snprintf(out, PH_CELL_SIZE, "%lld", (long long)ph_read_integer(tensor->dtype, tensor->data, index));
    return true;
  }
  double value = ph_read_real(tensor->dtype, tensor->data, index);
  if (isfinite(value)) return false;
  snprintf(out, PH_CELL_SIZE, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
  return true;
}

void ph_cell_range(ph_cell_style *style, size_t index) {
  char text[PH_CELL_SIZE];
  if (special_text(style->tensor, index, text)) {
    widen(&style->special, (int)strlen(text));
    /* NumPy gives all bools of an array five columns. */
    if (style->tensor->dtype == PH_BOOL && style->tensor->rank > 0) widen(&style->special, 5);
    return;
  }
  double magnitude = fabs(ph_read_real(style->tensor->dtype, style->tensor->data, index));
  if (magnitude == 0) return;
  if (magnitude > style->largest) style->largest = magnitude;
  if (style->smallest == 0 || magnitude < style->smallest) style->smallest = magnitude;
}

/* Chooses the notation once the range is known. */
static void choose_notation(ph_cell_style *style) {
  bool uneven = style->smallest < 1e-4 || style->largest / style->smallest > 1000;
  /* In a table it is the large values that matter: weights of 1e-9 beside 0.5 may read 0.0000. */
  if (style->table && !style->exact) uneven = style->largest < 1e-4;
  style->exponent = style->largest > 0 && (style->largest >= 1e6 || uneven);
  if (style->exact) {
    style->most_decimals = PH_CELL_SIZE / 2;
  } else if (style->exponent) {
    style->most_decimals = SIGNIFICANT - 1;
  } else if (style->largest > 0) {
    int exponent = decimal_exponent(style->largest, SIGNIFICANT);
    style->most_decimals = exponent < SIGNIFICANT ? SIGNIFICANT - 1 - exponent : 0;
    int enough = exponent < -1 ? TABLE_DECIMALS - 1 - exponent : TABLE_DECIMALS;
    if (style->table && style->most_decimals > enough) style->most_decimals = enough;
  }
}

void ph_cell_digits(ph_cell_style *style, size_t index) {
  char text[PH_CELL_SIZE];
  if (style->whole == 0) choose_notation(style);
  widen(&style->whole, 1);
  if (special_text(style->tensor, index, text)) return;
  double value = ph_read_real(style->tensor->dtype, style->tensor->data, index);
  int decimals = own_decimals(style, value);
  widen(&style->decimals, decimals);
  if (style->exponent)
    format_exponent(text, value, 0);
  else
    format_fixed(text, value, decimals);
  widen(&style->whole, (int)strcspn(text, ".")); /* with the exponent, where there is one */
}

/* Columns of the point and what follows it. */
static int fraction_width(const ph_cell_style *style) {
  return style->table && style->decimals == 0 ? 0 : 1 + style->decimals;
}

static bool has_reals(const ph_cell_style *style) {
  return ph_dtype_is_real(style->tensor->dtype);
}

int ph_cell_width(const ph_cell_style *style) {
  int width = has_reals(style) ? style->whole + fraction_width(style) : 0;
  return width > style->special ? width : style->special;
}

/* A finite real number: as many decimals as it needs, or in a table as the style has; then spaces up to the last one.
 */
static void real_text(const ph_cell_style *style, double value, char out[PH_CELL_SIZE]) {
  if (style->table && value == 0) {
    snprintf(out, PH_CELL_SIZE, "0%*s", style->exponent ? 0 : fraction_width(style), "");
    return;
  }
  char text[PH_CELL_SIZE];
  bool all = style->table || style->exponent;
  int decimals = all ? style->decimals : own_decimals(style, value);
  if (style->exponent)
    format_exponent(text, value, decimals);
  else
    format_fixed(text, value, decimals);
  size_t mantissa = strcspn(text, "e");
  const char *point = decimals == 0 && !style->table ? "." : "";
  int spaces = all ? 0 : style->decimals - decimals;
  snprintf(out, PH_CELL_SIZE, "%.*s%s%s%*s", (int)mantissa, text, point, text + mantissa, spaces, "");
}

void ph_cell_text(const ph_cell_style *style, size_t index, char out[PH_CELL_SIZE]) {
  char text[PH_CELL_SIZE];
  if (!special_text(style->tensor, index, text))
    real_text(style, ph_read_real(style->tensor->dtype, style->tensor->data, index), text);
  snprintf(out, PH_CELL_SIZE, "%*s", ph_cell_width(style), text);
}
