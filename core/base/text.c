#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool reserve(ph_text *text, size_t more) {
  size_t need;
  if (text->failed || !ph_add_size(text->length, more, &need) || !ph_add_size(need, 1, &need) ||
      !ph_grow(&text->data, &text->capacity, need, 1))
    text->failed = true;
  return !text->failed;
}

void ph_text_put(ph_text *text, const char *bytes, size_t length) {
  if (!reserve(text, length)) return;
  memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void ph_text_add(ph_text *text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length >= 0 && reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
}

void ph_text_free(ph_text *text) {
  free(text->data);
  *text = (ph_text){0};
}

enum { NAME_MAX_LENGTH = 64 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edit distance (insert, delete, replace, swap neighbours), case ignored; large when a name is too long to be worth it.
 */
static size_t distance(const char *a, const char *b) {
  size_t m = strlen(a), n = strlen(b);
  if (m > NAME_MAX_LENGTH || n > NAME_MAX_LENGTH) return NAME_MAX_LENGTH;
  size_t rows[3][NAME_MAX_LENGTH + 1]; /* i - 2, i - 1 and i, in turn */
  for (size_t j = 0; j <= n; j++) rows[0][j] = j;
  for (size_t i = 1; i <= m; i++) {
    size_t *now = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= n; j++) {
      int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
      now[j] = least(above[j - 1] + (x != y), 1 + least(above[j], now[j - 1]));
      if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
        now[j] = least(now[j], before[j - 2] + 1);
    }
  }
  return rows[m % 3][n];
}

const char *ph_nearest(const char *name, const char *const *names, size_t count) {
  size_t limit = strlen(name) / 3, best = 0;
  if (limit == 0) limit = 1;
  const char *found = NULL;
  for (size_t i = 0; i < count; i++) {
    size_t d = distance(name, names[i]);
    if (d <= limit && (found == NULL || d < best)) {
      found = names[i];
      best = d;
    }
  }
  return found;
}

bool ph_contains_ignoring_case(const char *text, const char *part) {
  size_t length = strlen(part);
  for (;; text++) {
    size_t i = 0;
    while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
    if (i == length) return true;
    if (*text == '\0') return false;
  }
}
