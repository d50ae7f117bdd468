/* A word becomes tokens: by merges, or by the longest pieces. */
#include <stdio.h>
#include <string.h>

#include "text/steps.h"

/* ---- WordPiece ---- */

static ph_status add_unknown(const ph_vocabulary *vocabulary, const char *text, size_t length, ph_ids *ids,
                             ph_error *error) {
  if (vocabulary->unknown == PH_NONE) return ph_no_token(vocabulary, text, length, error);
  return ph_ids_add(ids, vocabulary->unknown) ? PH_OK : ph_fail_memory(error);
}

static size_t count_characters(const char *text, size_t size) {
  size_t count = 0;
  for (size_t at = 0; at < size; count++) at += ph_character_length(text + at, size - at);
  return count;
}

/* A token of `prefix` and text, with `suffix` behind it; either may be NULL. */
static uint32_t find_piece(const ph_vocabulary *vocabulary, const char *prefix, const char *text, size_t length,
                           const char *suffix) {
  if (prefix == NULL && suffix == NULL) return ph_token_find(vocabulary, text, length);
  char piece[512];
  int size = snprintf(piece, sizeof(piece), "%s%.*s%s", prefix != NULL ? prefix : "", (int)length, text,
                      suffix != NULL ? suffix : "");
  return size >= 0 && (size_t)size < sizeof(piece) ? ph_token_find(vocabulary, piece, (size_t)size) : PH_NONE;
}

static ph_status encode_pieces(const ph_vocabulary *vocabulary, const char *word, size_t length, ph_ids *ids,
                               ph_error *error) {
  const ph_text_steps *steps = vocabulary->steps;
  size_t first = ids->count;
  bool known = count_characters(word, length) <= steps->longest_word;
  for (size_t at = 0; known && at < length;) {
    size_t piece = length - at < vocabulary->longest ? length - at : vocabulary->longest;
    uint32_t id = PH_NONE;
    for (; piece > 0 && id == PH_NONE; piece--)
      id = find_piece(vocabulary, at > 0 ? steps->inside_word : NULL, word + at, piece, NULL);
    known = id != PH_NONE;
    if (known && !ph_ids_add(ids, id)) return ph_fail_memory(error);
    at += piece + 1;
  }
  if (known) return PH_OK;
  ids->count = first; /* of a word with an unknown piece nothing is left */
  return add_unknown(vocabulary, word, length, ids, error);
}

/* ---- merges ---- */

ph_merge_row *ph_merge_slot(const ph_text_steps *steps, uint32_t left, uint32_t right) {
  uint64_t key = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
  size_t at = (size_t)(key >> 20) % steps->merge_slots;
  while (steps->merges[at].rank != PH_NONE && (steps->merges[at].left != left || steps->merges[at].right != right))
    at = (at + 1) % steps->merge_slots;
  return &steps->merges[at];
}

static bool find_merge(const ph_vocabulary *vocabulary, uint32_t left, uint32_t right, double *out_rank,
                       uint32_t *out_id) {
  const ph_merge_row *row = ph_merge_slot(vocabulary->steps, left, right);
  *out_rank = row->rank;
  *out_id = row->becomes;
  return row->rank != PH_NONE;
}

static ph_status add_bytes(const ph_vocabulary *vocabulary, const char *text, size_t length, bool *out_added,
                           ph_ids *ids, ph_error *error) {
  size_t first = ids->count;
  *out_added = vocabulary->steps->byte_tokens;
  for (size_t i = 0; i < length && *out_added; i++) {
    char name[8];
    snprintf(name, sizeof(name), "<0x%02X>", (unsigned char)text[i]);
    uint32_t id = ph_token_find(vocabulary, name, 6);
    *out_added = id != PH_NONE;
    if (*out_added && !ph_ids_add(ids, id)) return ph_fail_memory(error);
  }
  if (!*out_added) ids->count = first;
  return PH_OK;
}

static ph_status encode_merges(const ph_vocabulary *vocabulary, const char *word, size_t length, ph_ids *ids,
                               ph_error *error) {
  const ph_text_steps *steps = vocabulary->steps;
  uint32_t whole = steps->whole_words ? ph_token_find(vocabulary, word, length) : PH_NONE;
  if (whole != PH_NONE) return ph_ids_add(ids, whole) ? PH_OK : ph_fail_memory(error);
  size_t first = ids->count;
  for (size_t at = 0; at < length;) {
    size_t size = ph_character_length(word + at, length - at);
    bool last = at + size == length, spelt = false;
    uint32_t id =
        find_piece(vocabulary, at > 0 ? steps->inside_word : NULL, word + at, size, last ? steps->word_end : NULL);
    if (id == PH_NONE) PH_TRY(add_bytes(vocabulary, word + at, size, &spelt, ids, error));
    bool joined = id == PH_NONE && !spelt && steps->join_unknown && ids->count > first &&
                  ids->items[ids->count - 1] == vocabulary->unknown;
    if (id != PH_NONE && !ph_ids_add(ids, id)) return ph_fail_memory(error);
    if (id == PH_NONE && !spelt && !joined) PH_TRY(add_unknown(vocabulary, word + at, size, ids, error));
    at += size;
  }
  return ph_merge(vocabulary, find_merge, ids, first, error);
}

ph_status ph_word_encode(const ph_vocabulary *vocabulary, const char *word, size_t length, ph_ids *ids,
                         ph_error *error) {
  return vocabulary->kind == PH_VOCABULARY_WORDPIECE ? encode_pieces(vocabulary, word, length, ids, error)
                                                     : encode_merges(vocabulary, word, length, ids, error);
}
