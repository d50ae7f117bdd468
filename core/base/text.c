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

/* Edit distance (insert, delete, replace), case ignored; large when a name is too long to be worth it. */
static size_t distance(const char *a, const char *b) {
  size_t m = strlen(a), n = strlen(b);
  if (m > NAME_MAX_LENGTH || n > NAME_MAX_LENGTH) return NAME_MAX_LENGTH;
  size_t row[NAME_MAX_LENGTH + 1];
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; i <= m; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t above = row[j];
      size_t best = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
      diagonal = above;
    }
  }
  return row[n];
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
