/* The steps that change a text as a whole.  Unicode is utf8proc's business, where the build has it. */
#ifdef POLYHEAD_UTF8PROC
#include <utf8proc.h>
#endif

#include <stdlib.h>
#include <string.h>

#include "text/steps.h"

uint32_t ph_character(const char *text, size_t length) {
  unsigned char first = (unsigned char)text[0];
  if (length == 1) return first;
  uint32_t value = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) value = value << 6 | ((unsigned char)text[i] & 0x3fu);
  return value;
}

#ifdef POLYHEAD_UTF8PROC

bool ph_is_white(uint32_t character) {
  utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)character);
  return (character >= '\t' && character <= '\r') || character == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

bool ph_is_punctuation(uint32_t character) {
  bool sign = (character >= 33 && character <= 47) || (character >= 58 && character <= 64) ||
              (character >= 91 && character <= 96) || (character >= 123 && character <= 126);
  utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)character);
  return sign || (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO);
}

static bool is_control(uint32_t character) {
  if (character == '\t' || character == '\n' || character == '\r') return false;
  utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)character);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO ||
         category == UTF8PROC_CATEGORY_CS;
}

static void put_character(ph_text *to, uint32_t character) {
  utf8proc_uint8_t bytes[4];
  utf8proc_ssize_t length = utf8proc_encode_char((utf8proc_int32_t)character, bytes);
  ph_text_put(to, (const char *)bytes, (size_t)length);
}

static ph_status to_form(const ph_step *step, const char *text, size_t size, ph_text *to, ph_error *error) {
  static const int options[] = {
      [PH_NFC] = UTF8PROC_COMPOSE,
      [PH_NFD] = UTF8PROC_DECOMPOSE,
      [PH_NFKC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
      [PH_NFKD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
  };
  utf8proc_uint8_t *formed = NULL;
  utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, &formed,
                                         (utf8proc_option_t)(options[step->form] | UTF8PROC_STABLE));
  if (length >= 0) ph_text_put(to, (const char *)formed, (size_t)length);
  free(formed);
  if (length == UTF8PROC_ERROR_NOMEM) return ph_fail_memory(error);
  return length >= 0 ? PH_OK : ph_fail(error, PH_INVALID, "the text is no UTF-8: %s", utf8proc_errmsg(length));
}

/* The ideographs that BERT puts blanks around. */
static bool is_ideograph(uint32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static void put_changed(const ph_step *step, uint32_t c, ph_text *to) {
  switch (step->kind) {
  case PH_STEP_CLEAN:
    if (ph_is_white(c))
      put_character(to, ' ');
    else if (c != 0 && c != 0xfffd && !is_control(c))
      put_character(to, c);
    break;
  case PH_STEP_CHINESE:
    if (is_ideograph(c)) put_character(to, ' ');
    put_character(to, c);
    if (is_ideograph(c)) put_character(to, ' ');
    break;
  case PH_STEP_STRIP_ACCENTS:
    if (utf8proc_category((utf8proc_int32_t)c) != UTF8PROC_CATEGORY_MN) put_character(to, c);
    break;
  default:
    put_character(to, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
  }
}

static ph_status change_characters(const ph_step *step, const char *text, size_t size, ph_text *to, ph_error *error) {
  for (size_t at = 0; at < size;) {
    size_t length = ph_character_length(text + at, size - at);
    if (length == 1 && (unsigned char)text[at] >= 0x80)
      return ph_fail(error, PH_INVALID, "the text is no UTF-8: byte %zu", at);
    put_changed(step, ph_character(text + at, length), to);
    at += length;
  }
  return PH_OK;
}

#else

bool ph_is_white(uint32_t character) {
  return (character >= '\t' && character <= '\r') || character == ' ';
}

bool ph_is_punctuation(uint32_t character) {
  return (character >= 33 && character <= 47) || (character >= 58 && character <= 64) ||
         (character >= 91 && character <= 96) || (character >= 123 && character <= 126);
}

static ph_status refuse(ph_error *error) {
  return ph_fail(error, PH_UNSUPPORTED, "this tokenizer normalises Unicode, and the build has no utf8proc");
}

static ph_status to_form(const ph_step *step, const char *text, size_t size, ph_text *to, ph_error *error) {
  (void)step, (void)text, (void)size, (void)to;
  return refuse(error);
}

static ph_status change_characters(const ph_step *step, const char *text, size_t size, ph_text *to, ph_error *error) {
  (void)step, (void)text, (void)size, (void)to;
  return refuse(error);
}

#endif

static ph_status find(const ph_step *step, const char *text, size_t size, size_t from, bool *out_found,
                      size_t *out_start, size_t *out_end, ph_error *error) {
  if (step->pattern != NULL)
    return ph_pattern_find(step->pattern, text, size, from, out_found, out_start, out_end, error);
  size_t length = strlen(step->from);
  *out_found = false;
  for (size_t at = from; length > 0 && at + length <= size && !*out_found; at++) {
    *out_found = memcmp(text + at, step->from, length) == 0;
    *out_start = at;
    *out_end = at + length;
  }
  return PH_OK;
}

static ph_status replace(const ph_step *step, const char *text, size_t size, ph_text *to, ph_error *error) {
  for (size_t at = 0; at < size;) {
    size_t start, end;
    bool found;
    PH_TRY(find(step, text, size, at, &found, &start, &end, error));
    if (!found || end == start) start = end = size; /* a match of nothing replaces nothing */
    ph_text_put(to, text + at, start - at);
    if (start < size) ph_text_put(to, step->text, strlen(step->text));
    at = end;
  }
  return PH_OK;
}

static void strip(const ph_step *step, const char *text, size_t size, ph_text *to) {
  size_t start = 0, end = size;
  while (step->left && start < end && ph_is_white((unsigned char)text[start])) start++;
  while (step->right && end > start && ph_is_white((unsigned char)text[end - 1])) end--;
  ph_text_put(to, text + start, end - start);
}

ph_status ph_step_normalize(const ph_step *step, bool start, const char *text, size_t size, ph_text *to,
                            ph_error *error) {
  ph_status status = PH_OK;
  if (step->kind == PH_STEP_UNICODE) {
    status = to_form(step, text, size, to, error);
  } else if (step->kind == PH_STEP_PREPEND) {
    bool wanted = size > 0 && (start || !step->at_start) && !(step->unless_blank && text[0] == ' ');
    if (wanted) ph_text_put(to, step->text, strlen(step->text));
    ph_text_put(to, text, size);
  } else if (step->kind == PH_STEP_REPLACE) {
    status = replace(step, text, size, to, error);
  } else if (step->kind == PH_STEP_STRIP) {
    strip(step, text, size, to);
  } else {
    status = change_characters(step, text, size, to, error);
  }
  PH_TRY(status);
  ph_text_put(to, "", 0);
  return to->failed ? ph_fail_memory(error) : PH_OK;
}
