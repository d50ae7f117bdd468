/* Ids become text, as they come: what is not yet a whole character waits for the next id. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "text/steps.h"

struct ph_decoder {
  const ph_vocabulary *vocabulary;
  ph_text held;  /* bytes that are no whole character yet, at most three */
  ph_text ready; /* what the last call gave out */
  bool begun;
  bool after_chinese; /* the last character is an ideograph: no blank follows it */
};

ph_status ph_decoder_create(const ph_vocabulary *vocabulary, ph_decoder **out, ph_error *error) {
  *out = calloc(1, sizeof(**out));
  if (*out == NULL) return ph_fail_memory(error);
  (*out)->vocabulary = vocabulary;
  return PH_OK;
}

void ph_decoder_destroy(ph_decoder *decoder) {
  if (decoder == NULL) return;
  ph_text_free(&decoder->held);
  ph_text_free(&decoder->ready);
  free(decoder);
}

/* ---- one token ---- */

/* "<0x0A>", else -1. */
static int hexadecimal_byte(const ph_token_row *row) {
  static const char digits[] = "0123456789ABCDEF";
  if (row->length != 6 || memcmp(row->bytes, "<0x", 3) != 0 || row->bytes[5] != '>') return -1;
  const char *high = strchr(digits, row->bytes[3]), *low = strchr(digits, row->bytes[4]);
  return high != NULL && low != NULL ? (int)(high - digits) * 16 + (int)(low - digits) : -1;
}

static void put_byte_level(const ph_token_row *row, ph_text *out) {
  for (size_t at = 0; at < row->length;) {
    size_t length = ph_character_length(row->bytes + at, row->length - at);
    int byte = ph_character_byte(ph_character(row->bytes + at, length));
    char c = (char)byte;
    if (byte >= 0)
      ph_text_put(out, &c, 1);
    else
      ph_text_put(out, row->bytes + at, length);
    at += length;
  }
}

static void put_with_blanks(const ph_token_row *row, const char *blank, ph_text *out) {
  size_t length = strlen(blank);
  for (size_t at = 0; at < row->length;) {
    bool found = row->length - at >= length && memcmp(row->bytes + at, blank, length) == 0;
    ph_text_put(out, found ? " " : row->bytes + at, 1);
    at += found ? length : 1;
  }
}

/* The bytes of a token, without what depends on its neighbours. */
static void put_token(const ph_vocabulary *vocabulary, const ph_token_row *row, ph_text *out) {
  const ph_decoding *how = &vocabulary->decoding;
  int byte = how->byte_tokens ? hexadecimal_byte(row) : -1;
  char c = (char)byte;
  if (byte >= 0)
    ph_text_put(out, &c, 1);
  else if (how->byte_level)
    put_byte_level(row, out);
  else if (how->blank != NULL)
    put_with_blanks(row, how->blank, out);
  else
    ph_text_put(out, row->bytes, row->length);
}

static bool is_chinese(const char *text, size_t size) {
  size_t length = size > 0 ? ph_character_length(text, size) : 0;
  uint32_t c = length > 0 ? ph_character(text, length) : 0;
  return (c >= 0x3000 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff00 && c <= 0xffef) ||
         (c >= 0x20000 && c <= 0x3ffff);
}

/* Where tokens are words: nothing before what goes on with a word, punctuation, and beside ideographs. */
static void put_word(ph_decoder *decoder, const ph_token_row *row, ph_text *out) {
  const char *inside = decoder->vocabulary->decoding.inside_word;
  size_t skip = inside != NULL ? strlen(inside) : 0;
  bool goes_on = skip > 0 && row->length > skip && memcmp(row->bytes, inside, skip) == 0;
  bool chinese = is_chinese(row->bytes, row->length);
  bool mark = row->length == 1 && strchr(".,!?", row->bytes[0]) != NULL;
  if (decoder->begun && !goes_on && !mark && !chinese && !decoder->after_chinese) ph_text_put(out, " ", 1);
  ph_token_row rest = *row;
  if (goes_on) {
    rest.bytes += skip;
    rest.length -= skip;
  }
  put_token(decoder->vocabulary, &rest, out);
  decoder->after_chinese = chinese;
}

/* ---- the stream ---- */

/* Bytes that may still become a character: the beginning of one, cut off at the end of the text. */
static bool is_beginning(const char *text, size_t size) {
  unsigned char first = (unsigned char)text[0];
  size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length <= size) return false;
  for (size_t i = 1; i < size; i++)
    if (((unsigned char)text[i] & 0xc0) != 0x80) return false;
  return true;
}

/* Whole characters go from `held` to `ready`; broken bytes become U+FFFD. */
static void move_whole(ph_decoder *decoder, bool end) {
  ph_text *held = &decoder->held;
  size_t at = 0;
  while (at < held->length && (end || !is_beginning(held->data + at, held->length - at))) {
    size_t length = ph_character_length(held->data + at, held->length - at);
    bool broken = length == 1 && (unsigned char)held->data[at] >= 0x80;
    ph_text_put(&decoder->ready, broken ? "\xef\xbf\xbd" : held->data + at, broken ? 3 : length);
    at += length;
  }
  if (at > 0) memmove(held->data, held->data + at, held->length - at);
  held->length -= at;
}

static ph_status hand_out(ph_decoder *decoder, bool end, const char **out, size_t *out_size, ph_error *error) {
  move_whole(decoder, end);
  ph_text_put(&decoder->ready, "", 0);
  if (decoder->held.failed || decoder->ready.failed) return ph_fail_memory(error);
  *out = decoder->ready.data != NULL ? decoder->ready.data : "";
  *out_size = decoder->ready.length;
  return PH_OK;
}

ph_status ph_decoder_put(ph_decoder *decoder, int64_t id, const char **out, size_t *out_size, ph_error *error) {
  const ph_vocabulary *vocabulary = decoder->vocabulary;
  decoder->ready.length = 0;
  bool there = id >= 0 && id < vocabulary->token_count && vocabulary->tokens[id].bytes != NULL;
  const ph_token_row *row = there ? &vocabulary->tokens[id] : NULL;
  ph_text *held = &decoder->held;
  size_t before = held->length;
  if (!there) {
    ph_text_put(held, "\xef\xbf\xbd", 3);
  } else if (!row->special) {
    if (vocabulary->decoding.spaced)
      put_word(decoder, row, held);
    else
      put_token(vocabulary, row, held);
    bool blank = !decoder->begun && held->length > before && held->data[before] == ' ';
    if (blank && vocabulary->decoding.drop_first_blank) {
      memmove(held->data + before, held->data + before + 1, held->length - before - 1);
      held->length--;
    }
    decoder->begun = true;
  }
  return hand_out(decoder, false, out, out_size, error);
}

ph_status ph_decoder_end(ph_decoder *decoder, const char **out, size_t *out_size, ph_error *error) {
  decoder->ready.length = 0;
  return hand_out(decoder, true, out, out_size, error);
}

/* ---- labels ---- */

static bool is_text(const char *bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    size_t length = ph_character_length(bytes + at, size - at);
    if (bytes[at] == '\0' || (length == 1 && (unsigned char)bytes[at] >= 0x80)) return false;
    at += length;
  }
  return true;
}

char *ph_vocabulary_token(const ph_vocabulary *vocabulary, int64_t id) {
  if (id < 0 || id >= vocabulary->token_count || vocabulary->tokens[id].bytes == NULL) return NULL;
  const ph_token_row *row = &vocabulary->tokens[id];
  ph_text text = {0}, shown = {0};
  const char *bytes = row->bytes;
  size_t first = 0, end = row->length;
  if (row->special) { /* "\n<s>\n" */
    while (end > 1 && bytes[end - 1] == '\n') end--;
    while (first + 1 < end && bytes[first] == '\n') first++;
  } else {
    put_token(vocabulary, row, &text);
    bytes = text.data != NULL ? text.data : "";
    end = text.length;
  }
  if (is_text(bytes + first, end - first))
    ph_text_add(&shown, "%.*s", (int)(end - first), bytes + first);
  else
    for (size_t i = first; i < end; i++) ph_text_add(&shown, "<0x%02X>", (unsigned char)bytes[i]);
  bool failed = text.failed || shown.failed;
  ph_text_free(&text);
  if (failed) ph_text_free(&shown);
  return failed ? NULL : shown.data;
}
