/* Vocabularies that are lists: vocab.txt, a JSON list of texts, and tokens.json, a JSON list of {id, text, score}. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "text/steps.h"
#include "text/vocabulary.h"

static const char *const unknown_names[] = {"<unk>", "[UNK]", "<|unk|>", "UNK"};

static void find_unknown(ph_vocabulary *vocabulary) {
  for (size_t i = 0; i < sizeof(unknown_names) / sizeof(unknown_names[0]) && vocabulary->unknown == PH_NONE; i++)
    vocabulary->unknown = ph_token_find(vocabulary, unknown_names[i], strlen(unknown_names[i]));
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Words stand apart: no token holds a blank, and some token has letters of a script that is written with blanks. */
static bool are_words(const ph_vocabulary *vocabulary) {
  bool words = false;
  for (uint32_t id = 0; id < vocabulary->token_count; id++) {
    const ph_token_row *row = &vocabulary->tokens[id];
    if (row->bytes == NULL || row->special) continue;
    if (memchr(row->bytes, ' ', row->length) != NULL) return false;
    words = words || (row->length > 1 && is_letter(row->bytes[0]) && is_letter(row->bytes[1]));
  }
  return words;
}

/* A list says no more than its tokens; the rest is seen from them. */
static ph_status finish_list(ph_vocabulary *vocabulary, ph_error *error) {
  PH_TRY(ph_tokens_index(vocabulary, error));
  find_unknown(vocabulary);
  vocabulary->kind = PH_VOCABULARY_LIST;
  vocabulary->decoding.spaced = are_words(vocabulary);
  bool pieces = false;
  for (uint32_t id = 0; id < vocabulary->token_count && !pieces; id++)
    pieces = vocabulary->tokens[id].length > 2 && strncmp(vocabulary->tokens[id].bytes, "##", 2) == 0;
  uint32_t unknown = ph_token_find(vocabulary, "[UNK]", 5);
  return pieces && unknown != PH_NONE ? ph_bert_steps(vocabulary, unknown, error) : PH_OK;
}

/* An id has one token, but a line may say the same as another: then the first is found. */
static ph_status add(ph_vocabulary *vocabulary, int64_t id, const char *bytes, size_t length, ph_error *error) {
  ph_token_row row = {.bytes = bytes, .length = length, .special = ph_token_looks_special(bytes, length)};
  return ph_token_add(vocabulary, id, row, error);
}

ph_status ph_vocabulary_read_lines(ph_vocabulary *vocabulary, const char *text, size_t size, ph_error *error) {
  int64_t id = 0;
  for (size_t at = 0; at < size; id++) {
    const char *end = memchr(text + at, '\n', size - at);
    size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
    size_t kept = length > 0 && text[at + length - 1] == '\r' ? length - 1 : length;
    PH_TRY(add(vocabulary, id, text + at, kept, error));
    at += length + 1;
  }
  return finish_list(vocabulary, error);
}

/* ---- tokens.json ---- */

/* Characters U+0000 to U+00FF as the bytes that they stand for. */
static bool from_latin_1(const char *text, size_t size, char *out, size_t *out_length) {
  *out_length = 0;
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 0x80) {
      if ((c & 0xfe) != 0xc2 || i + 1 >= size) return false;
      c = (unsigned char)((c & 3) << 6 | (text[++i] & 0x3f));
    }
    out[(*out_length)++] = (char)c;
  }
  return true;
}

static ph_status read_row(ph_vocabulary *vocabulary, const json_t *item, size_t index, ph_error *error) {
  const json_t *id = json_object_get(item, "id"), *text = json_object_get(item, "text");
  const json_t *score = json_object_get(item, "score");
  if (!json_is_integer(id) || !json_is_string(text) || !json_is_number(score))
    return ph_fail(error, PH_INVALID, "%s: entry %zu must be {\"id\": integer, \"text\": text, \"score\": number}",
                   vocabulary->file, index);
  size_t size = json_string_length(text), length;
  char *bytes = ph_arena_alloc(&vocabulary->arena, size + 1);
  if (bytes == NULL) return ph_fail_memory(error);
  if (!from_latin_1(json_string_value(text), size, bytes, &length))
    return ph_fail(error, PH_INVALID, "%s: entry %zu: bytes are written as characters up to U+00FF", vocabulary->file,
                   index);
  ph_token_row row = {.bytes = bytes,
                      .length = length,
                      .score = json_number_value(score),
                      .special = ph_token_looks_special(bytes, length)};
  return ph_token_add(vocabulary, json_integer_value(id), row, error);
}

/* 256 tokens in a row that are the bytes 0 to 255; bytes are spelt with them. */
static void find_bytes(ph_vocabulary *vocabulary) {
  uint32_t run = 0;
  for (uint32_t id = 0; id < vocabulary->token_count && run < 256; id++) {
    const ph_token_row *row = &vocabulary->tokens[id];
    bool fits = row->bytes != NULL && row->length == 1 && (unsigned char)row->bytes[0] == run;
    run = fits ? run + 1 : row->bytes != NULL && row->length == 1 && row->bytes[0] == '\0';
    if (run < 256) continue;
    for (uint32_t byte = 0; byte < 256; byte++) vocabulary->bytes[byte] = id - 255 + byte;
  }
}

/* Or else the tokens <0x00> to <0xFF>. */
static void find_named_bytes(ph_vocabulary *vocabulary) {
  uint32_t ids[256];
  for (int byte = 0; byte < 256; byte++) {
    char name[8];
    snprintf(name, sizeof(name), "<0x%02X>", byte);
    ids[byte] = ph_token_find(vocabulary, name, 6);
    if (ids[byte] == PH_NONE) return;
    vocabulary->tokens[ids[byte]].special = false; /* although it looks so */
  }
  memcpy(vocabulary->bytes, ids, sizeof(ids));
  vocabulary->decoding.byte_tokens = true;
}

static ph_status read_scores(ph_vocabulary *vocabulary, const json_t *list, ph_error *error) {
  for (size_t i = 0; i < json_array_size(list); i++) PH_TRY(read_row(vocabulary, json_array_get(list, i), i, error));
  find_bytes(vocabulary);
  PH_TRY(ph_tokens_index(vocabulary, error));
  if (vocabulary->bytes[0] == PH_NONE) find_named_bytes(vocabulary);
  find_unknown(vocabulary);
  vocabulary->kind = PH_VOCABULARY_SCORES;
  vocabulary->first_blank = true;
  vocabulary->decoding.drop_first_blank = true;
  return PH_OK;
}

ph_status ph_vocabulary_read_list(ph_vocabulary *vocabulary, const json_t *list, ph_error *error) {
  if (json_is_object(json_array_get(list, 0))) return read_scores(vocabulary, list, error);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *text = json_array_get(list, i);
    if (!json_is_string(text)) return ph_fail(error, PH_INVALID, "%s: entry %zu is no text", vocabulary->file, i);
    PH_TRY(add(vocabulary, (int64_t)i, json_string_value(text), json_string_length(text), error));
  }
  return finish_list(vocabulary, error);
}
