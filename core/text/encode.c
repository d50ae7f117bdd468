/* Text becomes ids. */
#include <stdlib.h>
#include <string.h>

#include "text/steps.h"

size_t ph_character_length(const char *text, size_t size) {
  unsigned char first = (unsigned char)text[0];
  size_t length = first < 0x80 ? 1 : first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
  if (length > size) return 1;
  for (size_t i = 1; i < length; i++)
    if (((unsigned char)text[i] & 0xc0) != 0x80) return 1;
  return length;
}

ph_status ph_no_token(const ph_vocabulary *vocabulary, const char *text, size_t length, ph_error *error) {
  return ph_fail(error, PH_INVALID, "'%.*s' is not in the vocabulary %s, which has no token for unknown text",
                 (int)length, text, vocabulary->file);
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- lists ---- */

static ph_status encode_list(const ph_vocabulary *vocabulary, const char *text, size_t size, ph_ids *ids,
                             ph_error *error) {
  for (size_t at = 0; at < size;) {
    size_t length = size - at < vocabulary->longest ? size - at : vocabulary->longest;
    uint32_t id = PH_NONE;
    for (; length > 0 && (id = ph_token_find(vocabulary, text + at, length)) == PH_NONE;) length--;
    if (length == 0 && is_blank(text[at])) {
      at++;
      continue;
    }
    if (length == 0) {
      length = ph_character_length(text + at, size - at);
      id = vocabulary->unknown;
    }
    if (id == PH_NONE) return ph_no_token(vocabulary, text + at, length, error);
    if (!ph_ids_add(ids, id)) return ph_fail_memory(error);
    at += length;
  }
  return PH_OK;
}

/* ---- scores ---- */

static bool find_by_score(const ph_vocabulary *vocabulary, uint32_t left, uint32_t right, double *out_rank,
                          uint32_t *out_id) {
  const ph_token_row *a = &vocabulary->tokens[left], *b = &vocabulary->tokens[right];
  char joined[256];
  size_t length = a->length + b->length;
  if (length > vocabulary->longest || length > sizeof(joined)) return false;
  memcpy(joined, a->bytes, a->length);
  memcpy(joined + a->length, b->bytes, b->length);
  *out_id = ph_token_find(vocabulary, joined, length);
  if (*out_id == PH_NONE) return false;
  *out_rank = -vocabulary->tokens[*out_id].score;
  return true;
}

static ph_status add_characters(const ph_vocabulary *vocabulary, const char *text, size_t size, ph_ids *ids,
                                ph_error *error) {
  for (size_t at = 0; at < size;) {
    size_t length = ph_character_length(text + at, size - at);
    uint32_t id = ph_token_find(vocabulary, text + at, length);
    bool spell = id == PH_NONE && vocabulary->bytes[0] != PH_NONE;
    if (id == PH_NONE && !spell) id = vocabulary->unknown;
    if (id == PH_NONE && !spell) return ph_no_token(vocabulary, text + at, length, error);
    for (size_t i = 0; spell && i < length; i++)
      if (!ph_ids_add(ids, vocabulary->bytes[(unsigned char)text[at + i]])) return ph_fail_memory(error);
    if (!spell && !ph_ids_add(ids, id)) return ph_fail_memory(error);
    at += length;
  }
  return PH_OK;
}

static ph_status encode_scores(const ph_vocabulary *vocabulary, const char *text, size_t size, ph_ids *ids,
                               ph_error *error) {
  size_t first = ids->count;
  if (vocabulary->first_blank && size > 0) PH_TRY(add_characters(vocabulary, " ", 1, ids, error));
  PH_TRY(add_characters(vocabulary, text, size, ids, error));
  return ph_merge(vocabulary, find_by_score, ids, first, error);
}

/* ---- steps, then words ---- */

static ph_status encode_part(const ph_vocabulary *vocabulary, const char *text, size_t size, bool start, ph_ids *ids,
                             ph_error *error) {
  ph_words words = {0};
  ph_status status = ph_steps_apply(vocabulary->steps, text, size, start, &words, error);
  for (size_t i = 0; i < words.count && status == PH_OK; i++)
    status = ph_word_encode(vocabulary, words.text.data + words.items[i].start, words.items[i].length, ids, error);
  ph_words_free(&words);
  return status;
}

/* The added token that begins here, the longest; NULL where none does. */
static const ph_added_token *find_added(const ph_text_steps *steps, const char *text, size_t size) {
  const ph_added_token *best = NULL;
  for (uint32_t i = 0; i < steps->added_count; i++) {
    const ph_added_token *added = &steps->added[i];
    if (added->length > size || (best != NULL && added->length <= best->length)) continue;
    if (memcmp(added->text, text, added->length) == 0) best = added;
  }
  return best;
}

static ph_status encode_steps(const ph_vocabulary *vocabulary, const char *text, size_t size, ph_ids *ids,
                              ph_error *error) {
  size_t from = 0;
  for (size_t at = 0; at < size;) {
    const ph_added_token *added = find_added(vocabulary->steps, text + at, size - at);
    if (added == NULL) {
      at++;
      continue;
    }
    size_t end = at;
    while (added->left && end > from && is_blank(text[end - 1])) end--;
    if (end > from) PH_TRY(encode_part(vocabulary, text + from, end - from, from == 0, ids, error));
    if (!ph_ids_add(ids, added->id)) return ph_fail_memory(error);
    at += added->length;
    while (added->right && at < size && is_blank(text[at])) at++;
    from = at;
  }
  return from < size ? encode_part(vocabulary, text + from, size - from, from == 0, ids, error) : PH_OK;
}

static ph_status encode(const ph_vocabulary *vocabulary, const char *text, ph_ids *ids, ph_error *error) {
  size_t size = strlen(text);
  if (vocabulary->steps != NULL) return encode_steps(vocabulary, text, size, ids, error);
  if (vocabulary->kind == PH_VOCABULARY_SCORES) return encode_scores(vocabulary, text, size, ids, error);
  return encode_list(vocabulary, text, size, ids, error);
}

static bool add_all(ph_ids *ids, const uint32_t *items, uint32_t count) {
  bool added = true;
  for (uint32_t i = 0; i < count && added; i++) added = ph_ids_add(ids, items[i]);
  return added;
}

ph_status ph_vocabulary_encode(const ph_vocabulary *vocabulary, const char *text, bool frame, int64_t **out_ids,
                               size_t *out_count, ph_error *error) {
  ph_ids ids = {0};
  bool room = ph_grow(&ids.items, &ids.capacity, 1, sizeof(*ids.items));
  if (frame) room = room && add_all(&ids, vocabulary->before, vocabulary->before_count);
  ph_status status = room ? encode(vocabulary, text, &ids, error) : ph_fail_memory(error);
  if (status == PH_OK && frame && !add_all(&ids, vocabulary->after, vocabulary->after_count))
    status = ph_fail_memory(error);
  if (status == PH_OK) {
    *out_ids = ids.items;
    *out_count = ids.count;
  } else {
    free(ids.items);
  }
  return status;
}
