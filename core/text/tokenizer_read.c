/* A Hugging Face tokenizer.json: its model, added tokens and post_processor. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "text/steps.h"

static ph_status malformed(const ph_vocabulary *vocabulary, const char *what, ph_error *error) {
  return ph_fail(error, PH_INVALID, "%s: %s", vocabulary->file, what);
}

/* ---- tokens ---- */

static ph_status read_tokens(ph_vocabulary *vocabulary, json_t *tokens, ph_error *error) {
  const char *text;
  json_t *id;
  if (!json_is_object(tokens)) return malformed(vocabulary, "model.vocab must be {token: id}", error);
  json_object_foreach(tokens, text, id) {
    if (!json_is_integer(id)) return malformed(vocabulary, "an id in model.vocab is no integer", error);
    ph_token_row row = {.bytes = text, .length = strlen(text)};
    PH_TRY(ph_token_add(vocabulary, json_integer_value(id), row, error));
  }
  return PH_OK;
}

/* An added token may be in the model's vocabulary, too. */
static ph_status read_added(ph_vocabulary *vocabulary, const json_t *item, ph_error *error) {
  const char *text = json_string_value(json_object_get(item, "content"));
  const json_t *number = json_object_get(item, "id");
  if (text == NULL || text[0] == '\0' || !json_is_integer(number))
    return malformed(vocabulary, "an entry of added_tokens needs id and content", error);
  int64_t id = json_integer_value(number);
  size_t length = strlen(text);
  bool there = id >= 0 && id < vocabulary->token_count && vocabulary->tokens[id].bytes != NULL &&
               vocabulary->tokens[id].length == length && memcmp(vocabulary->tokens[id].bytes, text, length) == 0;
  if (!there) PH_TRY(ph_token_add(vocabulary, id, (ph_token_row){.bytes = text, .length = length}, error));
  ph_token_row *row = &vocabulary->tokens[id];
  row->special = json_is_true(json_object_get(item, "special"));
  ph_text_steps *steps = vocabulary->steps;
  ph_added_token *slot =
      ph_arena_push(&vocabulary->arena, &steps->added, &steps->added_count, &steps->added_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(error);
  *slot = (ph_added_token){.text = row->bytes,
                           .length = length,
                           .id = (uint32_t)id,
                           .left = json_is_true(json_object_get(item, "lstrip")),
                           .right = json_is_true(json_object_get(item, "rstrip"))};
  return PH_OK;
}

static ph_status find_unknown(ph_vocabulary *vocabulary, const json_t *model, ph_error *error) {
  const char *text = json_string_value(json_object_get(model, "unk_token"));
  if (text == NULL) return PH_OK;
  vocabulary->unknown = ph_token_find(vocabulary, text, strlen(text));
  return vocabulary->unknown != PH_NONE ? PH_OK : malformed(vocabulary, "model.unk_token is no token", error);
}

static ph_status copy_text(ph_vocabulary *vocabulary, const json_t *model, const char *name, const char **out,
                           ph_error *error) {
  const char *text = json_string_value(json_object_get(model, name));
  *out = NULL;
  if (text == NULL || text[0] == '\0') return PH_OK;
  *out = ph_arena_copy(&vocabulary->arena, text, strlen(text));
  return *out != NULL ? PH_OK : ph_fail_memory(error);
}

/* ---- merges ---- */

/* "a b", or ["a", "b"]. */
static bool merge_sides(const json_t *item, const char **left, size_t *left_length, const char **right) {
  const char *text = json_string_value(item);
  if (text == NULL) {
    *left = json_string_value(json_array_get(item, 0));
    *right = json_string_value(json_array_get(item, 1));
    if (*left == NULL || *right == NULL) return false;
    *left_length = strlen(*left);
    return true;
  }
  const char *blank = strchr(text, ' ');
  if (blank == NULL) return false;
  *left = text;
  *left_length = (size_t)(blank - text);
  *right = blank + 1;
  return true;
}

static ph_status add_merge(ph_vocabulary *vocabulary, const json_t *item, uint32_t rank, ph_error *error) {
  const char *left, *right, *inside = vocabulary->steps->inside_word;
  size_t left_length;
  if (!merge_sides(item, &left, &left_length, &right))
    return ph_fail(error, PH_INVALID, "%s: merge %u is no pair of tokens", vocabulary->file, rank);
  size_t right_length = strlen(right), skip = inside != NULL ? strlen(inside) : 0;
  if (skip > right_length || (skip > 0 && memcmp(right, inside, skip) != 0)) skip = 0;
  ph_text joined = {0};
  ph_text_put(&joined, left, left_length);
  ph_text_put(&joined, right + skip, right_length - skip);
  if (joined.failed) {
    ph_text_free(&joined);
    return ph_fail_memory(error);
  }
  ph_merge_row row = {.left = ph_token_find(vocabulary, left, left_length),
                      .right = ph_token_find(vocabulary, right, right_length),
                      .rank = rank,
                      .becomes = ph_token_find(vocabulary, joined.data, joined.length)};
  ph_text_free(&joined);
  if (row.left == PH_NONE || row.right == PH_NONE || row.becomes == PH_NONE)
    return ph_fail(error, PH_INVALID, "%s: merge %u is of or makes a text that is no token", vocabulary->file, rank);
  ph_merge_row *slot = ph_merge_slot(vocabulary->steps, row.left, row.right);
  if (slot->rank == PH_NONE) *slot = row;
  return PH_OK;
}

static ph_status read_merges(ph_vocabulary *vocabulary, const json_t *list, ph_error *error) {
  ph_text_steps *steps = vocabulary->steps;
  size_t count = json_array_size(list);
  if (count >= UINT32_MAX / 4) return malformed(vocabulary, "there are too many merges", error);
  steps->merge_slots = count * 2 + 1;
  steps->merges = ph_arena_array(&vocabulary->arena, steps->merge_slots, sizeof(*steps->merges));
  if (steps->merges == NULL) return ph_fail_memory(error);
  for (size_t i = 0; i < steps->merge_slots; i++) steps->merges[i].rank = PH_NONE;
  for (size_t i = 0; i < count; i++) PH_TRY(add_merge(vocabulary, json_array_get(list, i), (uint32_t)i, error));
  return PH_OK;
}

static ph_status read_model(ph_vocabulary *vocabulary, const json_t *model, ph_error *error) {
  ph_text_steps *steps = vocabulary->steps;
  const char *type = json_string_value(json_object_get(model, "type"));
  if (type == NULL) type = json_is_array(json_object_get(model, "merges")) ? "BPE" : "WordPiece"; /* older files */
  PH_TRY(find_unknown(vocabulary, model, error));
  PH_TRY(copy_text(vocabulary, model, "continuing_subword_prefix", &steps->inside_word, error));
  if (strcmp(type, "WordPiece") == 0) {
    const json_t *most = json_object_get(model, "max_input_chars_per_word");
    vocabulary->kind = PH_VOCABULARY_WORDPIECE;
    steps->longest_word =
        json_is_integer(most) && json_integer_value(most) > 0 ? (size_t)json_integer_value(most) : 100;
    return PH_OK;
  }
  if (strcmp(type, "BPE") != 0)
    return ph_fail(error, PH_UNSUPPORTED, "%s: a model of type '%s' is not known here; BPE and WordPiece are",
                   vocabulary->file, type);
  vocabulary->kind = PH_VOCABULARY_MERGES;
  PH_TRY(copy_text(vocabulary, model, "end_of_word_suffix", &steps->word_end, error));
  steps->whole_words = json_is_true(json_object_get(model, "ignore_merges"));
  steps->join_unknown = json_is_true(json_object_get(model, "fuse_unk"));
  steps->byte_tokens = json_is_true(json_object_get(model, "byte_fallback"));
  return read_merges(vocabulary, json_object_get(model, "merges"), error);
}

/* ---- what frames a text ---- */

typedef struct framing {
  uint32_t *ids;
  uint32_t count, capacity;
} framing;

static ph_status add_id(ph_vocabulary *vocabulary, framing *to, const json_t *id, ph_error *error) {
  json_int_t value = json_integer_value(id);
  if (!json_is_integer(id) || value < 0 || value >= vocabulary->token_count)
    return malformed(vocabulary, "the post_processor names a token that is not there", error);
  uint32_t *slot = ph_arena_push(&vocabulary->arena, &to->ids, &to->count, &to->capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(error);
  *slot = (uint32_t)value;
  return PH_OK;
}

static ph_status read_template(ph_vocabulary *vocabulary, const json_t *object, framing sides[2], ph_error *error) {
  const json_t *items = json_object_get(object, "single"), *tokens = json_object_get(object, "special_tokens");
  int side = 0;
  for (size_t i = 0; i < json_array_size(items); i++) {
    const json_t *item = json_array_get(items, i), *special = json_object_get(item, "SpecialToken");
    if (special == NULL) {
      side = 1; /* the text itself */
      continue;
    }
    const char *name = json_string_value(json_object_get(special, "id"));
    const json_t *ids = json_object_get(json_object_get(tokens, name != NULL ? name : ""), "ids");
    if (json_array_size(ids) == 0) return malformed(vocabulary, "the post_processor names an unknown token", error);
    for (size_t k = 0; k < json_array_size(ids); k++)
      PH_TRY(add_id(vocabulary, &sides[side], json_array_get(ids, k), error));
  }
  return PH_OK;
}

static ph_status read_post_processor(ph_vocabulary *vocabulary, const json_t *object, framing sides[2],
                                     ph_error *error) {
  const char *type = json_string_value(json_object_get(object, "type"));
  if (type == NULL) return malformed(vocabulary, "the post_processor has no type", error);
  if (strcmp(type, "TemplateProcessing") == 0) return read_template(vocabulary, object, sides, error);
  if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
    PH_TRY(add_id(vocabulary, &sides[0], json_array_get(json_object_get(object, "cls"), 1), error));
    return add_id(vocabulary, &sides[1], json_array_get(json_object_get(object, "sep"), 1), error);
  }
  const json_t *parts = json_object_get(object, "processors");
  for (size_t i = 0; i < json_array_size(parts); i++)
    PH_TRY(read_post_processor(vocabulary, json_array_get(parts, i), sides, error));
  if (strcmp(type, "Sequence") == 0 || strcmp(type, "ByteLevel") == 0)
    return PH_OK; /* the latter moves offsets alone */
  return ph_fail(error, PH_UNSUPPORTED, "%s: the post_processor '%s' is not known here", vocabulary->file, type);
}

ph_status ph_tokenizer_read(ph_vocabulary *vocabulary, const json_t *root, ph_error *error) {
  vocabulary->steps = calloc(1, sizeof(*vocabulary->steps));
  if (vocabulary->steps == NULL) return ph_fail_memory(error);
  const json_t *model = json_object_get(root, "model"), *added = json_object_get(root, "added_tokens");
  PH_TRY(read_tokens(vocabulary, json_object_get(model, "vocab"), error));
  for (size_t i = 0; i < json_array_size(added); i++) PH_TRY(read_added(vocabulary, json_array_get(added, i), error));
  PH_TRY(ph_tokens_index(vocabulary, error));
  PH_TRY(read_model(vocabulary, model, error));
  PH_TRY(ph_tokenizer_read_steps(vocabulary, root, error));
  const json_t *post = json_object_get(root, "post_processor");
  framing sides[2] = {{0}};
  if (json_is_object(post)) PH_TRY(read_post_processor(vocabulary, post, sides, error));
  vocabulary->before = sides[0].ids;
  vocabulary->before_count = sides[0].count;
  vocabulary->after = sides[1].ids;
  vocabulary->after_count = sides[1].count;
  return PH_OK;
}
