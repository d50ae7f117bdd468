/* The steps that cut a text into words. */
#include <stdlib.h>
#include <string.h>

#include "text/steps.h"

bool ph_words_add(ph_words *words, const char *bytes, size_t length) {
  if (length == 0) return true;
  if (!ph_grow(&words->items, &words->capacity, words->count + 1, sizeof(*words->items))) return false;
  words->items[words->count++] = (ph_word){words->text.length, length};
  ph_text_put(&words->text, bytes, length);
  return !words->text.failed;
}

void ph_words_free(ph_words *words) {
  ph_text_free(&words->text);
  free(words->items);
  *words = (ph_words){0};
}

/* ---- at matches ---- */

static ph_status find_match(const ph_step *step, const char *word, size_t length, size_t from, size_t *out_start,
                            size_t *out_end, ph_error *error) {
  bool found = false;
  for (size_t at = from; at < length && !found; at = *out_end + 1) {
    if (step->pattern != NULL) {
      PH_TRY(ph_pattern_find(step->pattern, word, length, at, &found, out_start, out_end, error));
    } else {
      const char *place = strstr(word + at, step->from);
      found = place != NULL && step->from[0] != '\0';
      if (found) *out_start = (size_t)(place - word), *out_end = *out_start + strlen(step->from);
    }
    if (!found) break;
    found = *out_end > *out_start; /* a match of nothing is none */
  }
  if (!found) *out_start = *out_end = length;
  return PH_OK;
}

/* Words that are being cut from `word`: the one that has begun at `from`, and the kind of its last piece. */
typedef struct cutter {
  const ph_step *step;
  const char *word;
  size_t from;
  bool after_match;
  ph_words *out;
} cutter;

/* One piece, a match or what lies between two; words begin at pieces, unless a match belongs to its neighbour. */
static bool add_piece(cutter *c, size_t start, size_t end, bool match) {
  bool joined = (c->step->matches == PH_MATCHES_BEFORE && match && !c->after_match) ||
                (c->step->matches == PH_MATCHES_AFTER && !match && c->after_match);
  bool added = joined || ph_words_add(c->out, c->word + c->from, start - c->from);
  if (!joined) c->from = start;
  if (match && c->step->matches == PH_MATCHES_REMOVED) c->from = end;
  c->after_match = match;
  return added;
}

static ph_status split(const ph_step *step, const char *word, size_t length, ph_words *out, ph_error *error) {
  cutter c = {.step = step, .word = word, .out = out};
  for (size_t at = 0; at < length;) {
    size_t start, end;
    PH_TRY(find_match(step, word, length, at, &start, &end, error));
    bool added = start == at || add_piece(&c, at, start, step->invert);
    added = added && (end == start || add_piece(&c, start, end, !step->invert));
    if (!added) return ph_fail_memory(error);
    at = end;
  }
  return ph_words_add(out, word + c.from, length - c.from) ? PH_OK : ph_fail_memory(error);
}

/* ---- at characters ---- */

static bool cut_at_characters(const ph_step *step, const char *word, size_t size, ph_words *out) {
  size_t from = 0;
  bool added = true;
  for (size_t at = 0; at < size && added;) {
    size_t length = ph_character_length(word + at, size - at);
    uint32_t character = ph_character(word + at, length);
    bool blank = step->kind == PH_STEP_BLANKS && ph_is_white(character);
    bool mark = step->kind == PH_STEP_PUNCTUATION && ph_is_punctuation(character);
    if (blank || mark) {
      added = ph_words_add(out, word + from, at - from) && (blank || ph_words_add(out, word + at, length));
      from = at + length;
    }
    at += length;
  }
  return added && ph_words_add(out, word + from, size - from);
}

/* ---- words that are written differently ---- */

/* GPT-2's alphabet (Radford et al. 2019): printable bytes stand for themselves, the others for U+0100 and on. */
static bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

size_t ph_byte_character(unsigned char byte, char out[2]) {
  unsigned character = byte;
  if (!is_printable(byte)) {
    character = 0x100;
    for (int i = 0; i < byte; i++) character += !is_printable(i);
  }
  if (character < 0x80) {
    out[0] = (char)character;
    return 1;
  }
  out[0] = (char)(0xc0 | character >> 6);
  out[1] = (char)(0x80 | (character & 0x3f));
  return 2;
}

int ph_character_byte(uint32_t character) {
  if (character < 0x100) return is_printable((int)character) ? (int)character : -1;
  uint32_t others = 0x100;
  for (int byte = 0; byte < 256; byte++)
    if (!is_printable(byte) && others++ == character) return byte;
  return -1;
}

static bool spell_bytes(const char *word, size_t length, ph_words *out) {
  ph_text spelt = {0};
  for (size_t i = 0; i < length; i++) {
    char character[2];
    size_t size = ph_byte_character((unsigned char)word[i], character);
    ph_text_put(&spelt, character, size);
  }
  bool added = !spelt.failed && ph_words_add(out, spelt.data, spelt.length);
  ph_text_free(&spelt);
  return added;
}

static bool mark_blanks(const ph_step *step, bool start, const char *word, size_t length, ph_words *out) {
  ph_text marked = {0};
  size_t sign = strlen(step->text);
  bool has_sign = length >= sign && memcmp(word, step->text, sign) == 0;
  if ((start || !step->at_start) && step->left && word[0] != ' ' && !has_sign) ph_text_put(&marked, step->text, sign);
  for (size_t i = 0; i < length; i++)
    if (word[i] == ' ')
      ph_text_put(&marked, step->text, sign);
    else
      ph_text_put(&marked, word + i, 1);
  bool added = !marked.failed;
  size_t from = 0;
  for (size_t at = 1; step->cut && added && at + sign <= marked.length; at++) {
    if (memcmp(marked.data + at, step->text, sign) != 0) continue;
    added = ph_words_add(out, marked.data + from, at - from);
    from = at;
  }
  added = added && ph_words_add(out, marked.data + from, marked.length - from);
  ph_text_free(&marked);
  return added;
}

ph_status ph_step_cut(const ph_step *step, bool start, const char *word, size_t length, ph_words *out,
                      ph_error *error) {
  bool added;
  if (step->kind == PH_STEP_SPLIT) return split(step, word, length, out, error);
  if (step->kind == PH_STEP_BYTES)
    added = spell_bytes(word, length, out);
  else if (step->kind == PH_STEP_METASPACE)
    added = mark_blanks(step, start, word, length, out);
  else
    added = cut_at_characters(step, word, length, out);
  return added ? PH_OK : ph_fail_memory(error);
}

/* ---- all of them ---- */

static ph_status normalize_all(const ph_text_steps *steps, bool start, ph_text *text, ph_error *error) {
  for (uint32_t i = 0; i < steps->count; i++) {
    if (steps->items[i].kind >= PH_STEP_SPLIT) continue;
    ph_text changed = {0};
    ph_status status = ph_step_normalize(&steps->items[i], start, text->data, text->length, &changed, error);
    ph_text_free(text);
    *text = changed;
    PH_TRY(status);
  }
  return PH_OK;
}

static ph_status cut_all(const ph_text_steps *steps, bool start, ph_words *words, ph_error *error) {
  for (uint32_t i = 0; i < steps->count; i++) {
    if (steps->items[i].kind < PH_STEP_SPLIT) continue;
    ph_words cut = {0};
    ph_status status = PH_OK;
    for (size_t k = 0; k < words->count && status == PH_OK; k++) {
      /* A copy, since some searches want a NUL at the word's end. */
      char *word = ph_new_array(words->items[k].length + 1, 1);
      if (word == NULL) status = ph_fail_memory(error);
      if (status == PH_OK) {
        memcpy(word, words->text.data + words->items[k].start, words->items[k].length);
        status = ph_step_cut(&steps->items[i], start && k == 0, word, words->items[k].length, &cut, error);
      }
      free(word);
    }
    ph_words_free(words);
    *words = cut;
    PH_TRY(status);
  }
  return PH_OK;
}

ph_status ph_steps_apply(const ph_text_steps *steps, const char *text, size_t size, bool start, ph_words *out,
                         ph_error *error) {
  ph_text whole = {0};
  ph_text_put(&whole, text, size);
  ph_status status = whole.failed ? ph_fail_memory(error) : normalize_all(steps, start, &whole, error);
  if (status == PH_OK && !ph_words_add(out, whole.data, whole.length)) status = ph_fail_memory(error);
  ph_text_free(&whole);
  return status == PH_OK ? cut_all(steps, start, out, error) : status;
}
