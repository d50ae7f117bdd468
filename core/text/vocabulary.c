/* ph_vocabulary: opening a file of any form, and the table of its tokens. */
#include "text/vocabulary.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "text/steps.h"

enum { MOST_TOKENS = 1 << 22 };

ph_status ph_token_add(ph_vocabulary *vocabulary, int64_t id, ph_token_row row, ph_error *error) {
  if (id < 0 || id >= MOST_TOKENS)
    return ph_fail(error, PH_INVALID, "%s: the id %" PRId64 " of '%s' is outside 0 .. %d", vocabulary->file, id,
                   row.bytes, MOST_TOKENS - 1);
  while (vocabulary->token_count <= (uint32_t)id)
    if (ph_arena_push(&vocabulary->arena, &vocabulary->tokens, &vocabulary->token_count, &vocabulary->token_capacity,
                      sizeof(row)) == NULL)
      return ph_fail_memory(error);
  ph_token_row *slot = &vocabulary->tokens[id];
  if (slot->bytes != NULL)
    return ph_fail(error, PH_INVALID, "%s: the id %" PRId64 " is of '%s' and of '%s'", vocabulary->file, id,
                   slot->bytes, row.bytes);
  *slot = row;
  slot->bytes = ph_arena_copy(&vocabulary->arena, row.bytes, row.length);
  return slot->bytes != NULL ? PH_OK : ph_fail_memory(error);
}

/* ---- finding tokens ---- */

static size_t hash(const char *bytes, size_t length) {
  uint64_t value = 0xcbf29ce484222325u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) value = (value ^ (unsigned char)bytes[i]) * 0x100000001b3u;
  return (size_t)(value ^ value >> 32);
}

/* The slot of the token, or the empty one where it would be. */
static size_t find_slot(const ph_vocabulary *vocabulary, const char *bytes, size_t length) {
  size_t at = hash(bytes, length) % vocabulary->slot_count;
  for (;; at = (at + 1) % vocabulary->slot_count) {
    if (vocabulary->slots[at] == PH_NONE) return at;
    const ph_token_row *row = &vocabulary->tokens[vocabulary->slots[at]];
    if (row->length == length && memcmp(row->bytes, bytes, length) == 0) return at;
  }
}

static bool is_byte_token(const ph_vocabulary *vocabulary, uint32_t id) {
  const ph_token_row *row = &vocabulary->tokens[id];
  return row->length == 1 && vocabulary->bytes[(unsigned char)row->bytes[0]] == id;
}

ph_status ph_tokens_index(ph_vocabulary *vocabulary, ph_error *error) {
  vocabulary->slot_count = (size_t)vocabulary->token_count * 2 + 1;
  vocabulary->slots = ph_arena_array(&vocabulary->arena, vocabulary->slot_count, sizeof(*vocabulary->slots));
  if (vocabulary->slots == NULL) return ph_fail_memory(error);
  for (size_t i = 0; i < vocabulary->slot_count; i++) vocabulary->slots[i] = PH_NONE;
  for (int bytes = 0; bytes < 2; bytes++)
    for (uint32_t id = 0; id < vocabulary->token_count; id++) {
      const ph_token_row *row = &vocabulary->tokens[id];
      if (row->bytes == NULL || is_byte_token(vocabulary, id) != (bytes == 1)) continue;
      size_t at = find_slot(vocabulary, row->bytes, row->length);
      if (vocabulary->slots[at] == PH_NONE) vocabulary->slots[at] = id;
      if (row->length > vocabulary->longest) vocabulary->longest = row->length;
    }
  return PH_OK;
}

uint32_t ph_token_find(const ph_vocabulary *vocabulary, const char *bytes, size_t length) {
  return vocabulary->slots[find_slot(vocabulary, bytes, length)];
}

bool ph_token_looks_special(const char *bytes, size_t length) {
  while (length > 2 && bytes[length - 1] == '\n') length--; /* "\n<s>\n", as some files show it */
  while (length > 2 && bytes[0] == '\n') bytes++, length--;
  if (length < 3) return false;
  return (bytes[0] == '<' && bytes[length - 1] == '>') || (bytes[0] == '[' && bytes[length - 1] == ']');
}

/* ---- files ---- */

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), part = strlen(ending);
  return length >= part && strcmp(text + length - part, ending) == 0;
}

static ph_status read_json(ph_vocabulary *vocabulary, const char *text, size_t size, ph_error *error) {
  json_error_t where;
  json_t *root = json_loadb(text, size, JSON_ALLOW_NUL, &where);
  if (root == NULL)
    return ph_fail(error, PH_INVALID, "%s:%d:%d: error: no JSON: %s", vocabulary->file, where.line, where.column,
                   where.text);
  ph_status status = PH_OK;
  if (json_is_array(root))
    status = ph_vocabulary_read_list(vocabulary, root, error);
  else if (json_is_object(json_object_get(root, "model")))
    status = ph_tokenizer_read(vocabulary, root, error);
  else
    status = ph_fail(error, PH_INVALID,
                     "%s is no vocabulary: neither a list of tokens nor a tokenizer.json with its 'model'",
                     vocabulary->file);
  json_decref(root);
  return status;
}

static ph_status read_file(ph_vocabulary *vocabulary, const char *path, ph_error *error) {
  ph_file_map map;
  PH_TRY(ph_file_map_open(path, &map, error));
  const char *text = (const char *)map.data;
  ph_status status = ends_with(path, ".json") ? read_json(vocabulary, text, map.size, error)
                                              : ph_vocabulary_read_lines(vocabulary, text, map.size, error);
  ph_file_map_close(&map);
  PH_TRY(status);
  if (vocabulary->token_count == 0) return ph_fail(error, PH_INVALID, "%s holds no tokens", path);
  return PH_OK;
}

ph_status ph_vocabulary_open(const char *path, ph_vocabulary **out, ph_error *error) {
  ph_vocabulary *vocabulary = calloc(1, sizeof(*vocabulary));
  if (vocabulary == NULL) return ph_fail_memory(error);
  vocabulary->unknown = PH_NONE;
  for (size_t i = 0; i < 256; i++) vocabulary->bytes[i] = PH_NONE;
  vocabulary->file = ph_arena_copy(&vocabulary->arena, path, strlen(path));
  ph_status status = vocabulary->file != NULL ? read_file(vocabulary, path, error) : ph_fail_memory(error);
  if (status == PH_OK)
    *out = vocabulary;
  else
    ph_vocabulary_close(vocabulary);
  return status;
}

void ph_vocabulary_close(ph_vocabulary *vocabulary) {
  if (vocabulary == NULL) return;
  ph_text_steps_free(vocabulary->steps);
  ph_arena_free(&vocabulary->arena);
  free(vocabulary);
}

int64_t ph_vocabulary_size(const ph_vocabulary *vocabulary) {
  return vocabulary->token_count;
}

int64_t ph_vocabulary_find(const ph_vocabulary *vocabulary, const char *token) {
  uint32_t id = ph_token_find(vocabulary, token, strlen(token));
  return id != PH_NONE ? (int64_t)id : -1;
}
