/* The normalizer, pre_tokenizer and decoder of a tokenizer.json as steps. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "text/steps.h"

typedef struct reader {
  ph_vocabulary *vocabulary;
  ph_error *error;
} reader;

static const char *type_of(const json_t *object) {
  const char *type = json_string_value(json_object_get(object, "type"));
  return type != NULL ? type : "(none)";
}

static bool flag(const json_t *object, const char *name, bool absent) {
  const json_t *value = json_object_get(object, name);
  return json_is_boolean(value) ? json_is_true(value) : absent;
}

/* A copy in the arena of the text member; `absent` where there is none.  NULL when out of memory. */
static const char *text_of(const reader *r, const json_t *object, const char *name, const char *absent) {
  const char *value = json_string_value(json_object_get(object, name));
  if (value == NULL) return absent;
  return ph_arena_copy(&r->vocabulary->arena, value, strlen(value));
}

/* Takes a step over, its pattern too, whatever becomes of it. */
static ph_status push(const reader *r, ph_step step) {
  ph_text_steps *steps = r->vocabulary->steps;
  ph_step *slot = ph_arena_push(&r->vocabulary->arena, &steps->items, &steps->count, &steps->capacity, sizeof(*slot));
  if (slot == NULL) {
    ph_pattern_free(step.pattern);
    return ph_fail_memory(r->error);
  }
  *slot = step;
  return PH_OK;
}

static ph_status push_kind(const reader *r, ph_step_kind kind) {
  return push(r, (ph_step){.kind = kind});
}

static ph_status push_pattern(const reader *r, const char *pattern, ph_split_matches matches, bool invert) {
  ph_step step = {.kind = PH_STEP_SPLIT, .matches = matches, .invert = invert};
  PH_TRY(ph_pattern_compile(pattern, &step.pattern, r->error));
  return push(r, step);
}

/* `pattern`: {"String": ..} or {"Regex": ..}. */
static ph_status read_pattern(const reader *r, const json_t *object, ph_step *step) {
  const json_t *pattern = json_object_get(object, "pattern");
  const char *regex = json_string_value(json_object_get(pattern, "Regex"));
  if (regex != NULL) return ph_pattern_compile(regex, &step->pattern, r->error);
  step->from = text_of(r, pattern, "String", "");
  if (step->from == NULL) return ph_fail_memory(r->error);
  if (step->from[0] != '\0') return PH_OK;
  return ph_fail(r->error, PH_INVALID, "%s: a %s needs a pattern, {\"String\": ..} or {\"Regex\": ..}",
                 r->vocabulary->file, type_of(object));
}

static ph_status unknown(const reader *r, const char *what, const json_t *object) {
  return ph_fail(r->error, PH_UNSUPPORTED, "%s: the %s '%s' is not known here", r->vocabulary->file, what,
                 type_of(object));
}

typedef ph_status read_function(const reader *r, const json_t *object);

static ph_status read_each(const reader *r, const json_t *list, read_function *read) {
  for (size_t i = 0; i < json_array_size(list); i++) PH_TRY(read(r, json_array_get(list, i)));
  return PH_OK;
}

/* ---- normalizers ---- */

static ph_status read_bert_normalizer(const reader *r, const json_t *object) {
  bool lower = flag(object, "lowercase", true);
  if (flag(object, "clean_text", true)) PH_TRY(push_kind(r, PH_STEP_CLEAN));
  if (flag(object, "handle_chinese_chars", true)) PH_TRY(push_kind(r, PH_STEP_CHINESE));
  if (flag(object, "strip_accents", lower)) {
    PH_TRY(push(r, (ph_step){.kind = PH_STEP_UNICODE, .form = PH_NFD}));
    PH_TRY(push_kind(r, PH_STEP_STRIP_ACCENTS));
  }
  return lower ? push_kind(r, PH_STEP_LOWER) : PH_OK;
}

static ph_status read_normalizer(const reader *r, const json_t *object) {
  static const char *const forms[] = {[PH_NFC] = "NFC", [PH_NFD] = "NFD", [PH_NFKC] = "NFKC", [PH_NFKD] = "NFKD"};
  const char *type = type_of(object);
  if (strcmp(type, "Sequence") == 0) return read_each(r, json_object_get(object, "normalizers"), read_normalizer);
  if (strcmp(type, "BertNormalizer") == 0) return read_bert_normalizer(r, object);
  if (strcmp(type, "Lowercase") == 0) return push_kind(r, PH_STEP_LOWER);
  if (strcmp(type, "StripAccents") == 0) return push_kind(r, PH_STEP_STRIP_ACCENTS);
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
    if (strcmp(type, forms[i]) == 0) return push(r, (ph_step){.kind = PH_STEP_UNICODE, .form = (ph_unicode_form)i});
  ph_step step = {
      .kind = PH_STEP_STRIP, .left = flag(object, "strip_left", true), .right = flag(object, "strip_right", true)};
  if (strcmp(type, "Strip") == 0) return push(r, step);
  if (strcmp(type, "Prepend") == 0) {
    step = (ph_step){.kind = PH_STEP_PREPEND, .text = text_of(r, object, "prepend", "")};
  } else if (strcmp(type, "Replace") == 0) {
    step = (ph_step){.kind = PH_STEP_REPLACE, .text = text_of(r, object, "content", "")};
    if (step.text != NULL) PH_TRY(read_pattern(r, object, &step));
  } else {
    return unknown(r, "normalizer", object);
  }
  return step.text != NULL ? push(r, step) : ph_fail_memory(r->error);
}

/* ---- pre-tokenizers ---- */

/* The cut of GPT-2 (Radford et al. 2019, encoder.py). */
static const char gpt2_pattern[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static ph_status read_byte_level(const reader *r, const json_t *object) {
  if (flag(object, "add_prefix_space", true))
    PH_TRY(push(r, (ph_step){.kind = PH_STEP_PREPEND, .text = " ", .unless_blank = true}));
  if (flag(object, "use_regex", true)) PH_TRY(push_pattern(r, gpt2_pattern, PH_MATCHES_APART, false));
  return push_kind(r, PH_STEP_BYTES);
}

/* \w+|[^\w\s]+ with the \w of Unicode (Technical Standard 18, annex C); that of PCRE2 depends on its version. */
#define WORD "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}"
static const char words_pattern[] = "[" WORD "]+|[^" WORD "\\s]+";

/* Newer files have prepend_scheme, older ones add_prefix_space. */
static ph_status read_metaspace(const reader *r, const json_t *object) {
  const char *scheme = json_string_value(json_object_get(object, "prepend_scheme"));
  ph_step step = {.kind = PH_STEP_METASPACE,
                  .text = text_of(r, object, "replacement", "\xe2\x96\x81"),
                  .at_start = scheme != NULL && strcmp(scheme, "first") == 0,
                  .left = scheme != NULL ? strcmp(scheme, "never") != 0 : flag(object, "add_prefix_space", true),
                  .cut = flag(object, "split", true)};
  return step.text != NULL ? push(r, step) : ph_fail_memory(r->error);
}

static ph_status read_split(const reader *r, const json_t *object) {
  static const char *const behaviours[] = {[PH_MATCHES_APART] = "Isolated",
                                           [PH_MATCHES_REMOVED] = "Removed",
                                           [PH_MATCHES_BEFORE] = "MergedWithPrevious",
                                           [PH_MATCHES_AFTER] = "MergedWithNext"};
  const char *behaviour = json_string_value(json_object_get(object, "behavior"));
  ph_step step = {.kind = PH_STEP_SPLIT, .invert = flag(object, "invert", false)};
  for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++) {
    if (behaviour == NULL || strcmp(behaviour, behaviours[i]) != 0) continue;
    step.matches = (ph_split_matches)i;
    PH_TRY(read_pattern(r, object, &step));
    return push(r, step);
  }
  return ph_fail(r->error, PH_UNSUPPORTED, "%s: a Split that is '%s' is not known here", r->vocabulary->file,
                 behaviour != NULL ? behaviour : "");
}

static ph_status read_pre_tokenizer(const reader *r, const json_t *object) {
  const char *type = type_of(object);
  if (strcmp(type, "Sequence") == 0) return read_each(r, json_object_get(object, "pretokenizers"), read_pre_tokenizer);
  if (strcmp(type, "ByteLevel") == 0) return read_byte_level(r, object);
  if (strcmp(type, "Metaspace") == 0) return read_metaspace(r, object);
  if (strcmp(type, "Split") == 0) return read_split(r, object);
  if (strcmp(type, "WhitespaceSplit") == 0) return push_kind(r, PH_STEP_BLANKS);
  if (strcmp(type, "Punctuation") == 0) return push_kind(r, PH_STEP_PUNCTUATION);
  if (strcmp(type, "Whitespace") == 0) return push_pattern(r, words_pattern, PH_MATCHES_REMOVED, true);
  if (strcmp(type, "Digits") == 0)
    return push_pattern(r, flag(object, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", PH_MATCHES_APART, false);
  if (strcmp(type, "BertPreTokenizer") != 0) return unknown(r, "pre_tokenizer", object);
  PH_TRY(push_kind(r, PH_STEP_BLANKS));
  return push_kind(r, PH_STEP_PUNCTUATION);
}

/* ---- decoders ---- */

static ph_status read_decoder(const reader *r, const json_t *object) {
  ph_decoding *how = &r->vocabulary->decoding;
  const char *type = type_of(object);
  if (strcmp(type, "Sequence") == 0) return read_each(r, json_object_get(object, "decoders"), read_decoder);
  if (strcmp(type, "ByteLevel") == 0) {
    how->byte_level = true;
  } else if (strcmp(type, "ByteFallback") == 0) {
    how->byte_tokens = true;
  } else if (strcmp(type, "WordPiece") == 0) {
    how->spaced = true;
    how->inside_word = text_of(r, object, "prefix", "##");
    if (how->inside_word == NULL) return ph_fail_memory(r->error);
  } else if (strcmp(type, "Metaspace") == 0) {
    how->blank = text_of(r, object, "replacement", "\xe2\x96\x81");
    how->drop_first_blank = true;
    if (how->blank == NULL) return ph_fail_memory(r->error);
  } else if (strcmp(type, "Replace") == 0) {
    how->blank = text_of(r, json_object_get(object, "pattern"), "String", "");
    const char *content = json_string_value(json_object_get(object, "content"));
    if (how->blank == NULL) return ph_fail_memory(r->error);
    if (how->blank[0] == '\0' || content == NULL || strcmp(content, " ") != 0) return unknown(r, "decoder", object);
  } else if (strcmp(type, "Strip") == 0) {
    how->drop_first_blank = json_integer_value(json_object_get(object, "start")) > 0;
  } else if (strcmp(type, "Fuse") != 0) { /* tokens stand beside each other anyway */
    return unknown(r, "decoder", object);
  }
  return PH_OK;
}

ph_status ph_tokenizer_read_steps(ph_vocabulary *vocabulary, const json_t *root, ph_error *error) {
  const reader r = {vocabulary, error};
  const json_t *normalizer = json_object_get(root, "normalizer"), *cut = json_object_get(root, "pre_tokenizer");
  const json_t *decoder = json_object_get(root, "decoder");
  if (json_is_object(normalizer)) PH_TRY(read_normalizer(&r, normalizer));
  if (json_is_object(cut)) PH_TRY(read_pre_tokenizer(&r, cut));
  return json_is_object(decoder) ? read_decoder(&r, decoder) : PH_OK;
}

/* ---- BERT without a tokenizer.json ---- */

static bool has_capital(const ph_vocabulary *vocabulary) {
  for (uint32_t id = 0; id < vocabulary->token_count; id++) {
    const ph_token_row *row = &vocabulary->tokens[id];
    for (size_t i = 0; row->bytes != NULL && !row->special && i < row->length; i++)
      if (row->bytes[i] >= 'A' && row->bytes[i] <= 'Z') return true;
  }
  return false;
}

/* [CLS] text [SEP], where the vocabulary has both. */
static ph_status frame(ph_vocabulary *vocabulary, ph_error *error) {
  uint32_t begin = ph_token_find(vocabulary, "[CLS]", 5), end = ph_token_find(vocabulary, "[SEP]", 5);
  if (begin == PH_NONE || end == PH_NONE) return PH_OK;
  uint32_t *ids = ph_arena_array(&vocabulary->arena, 2, sizeof(*ids));
  if (ids == NULL) return ph_fail_memory(error);
  ids[0] = begin;
  ids[1] = end;
  vocabulary->before = ids;
  vocabulary->after = ids + 1;
  vocabulary->before_count = vocabulary->after_count = 1;
  return PH_OK;
}

ph_status ph_bert_steps(ph_vocabulary *vocabulary, uint32_t unknown_id, ph_error *error) {
  const reader r = {vocabulary, error};
  ph_text_steps *steps = vocabulary->steps = calloc(1, sizeof(*steps));
  if (steps == NULL) return ph_fail_memory(error);
  bool lower = !has_capital(vocabulary);
  vocabulary->kind = PH_VOCABULARY_WORDPIECE;
  vocabulary->unknown = unknown_id;
  vocabulary->decoding.spaced = true;
  vocabulary->decoding.inside_word = steps->inside_word = "##";
  steps->longest_word = 100;
  PH_TRY(push_kind(&r, PH_STEP_CLEAN));
  PH_TRY(push_kind(&r, PH_STEP_CHINESE));
  if (lower) {
    PH_TRY(push(&r, (ph_step){.kind = PH_STEP_UNICODE, .form = PH_NFD}));
    PH_TRY(push_kind(&r, PH_STEP_STRIP_ACCENTS));
    PH_TRY(push_kind(&r, PH_STEP_LOWER));
  }
  PH_TRY(push_kind(&r, PH_STEP_BLANKS));
  PH_TRY(push_kind(&r, PH_STEP_PUNCTUATION));
  for (uint32_t id = 0; id < vocabulary->token_count; id++) {
    const ph_token_row *row = &vocabulary->tokens[id];
    if (!row->special) continue;
    ph_added_token *slot =
        ph_arena_push(&vocabulary->arena, &steps->added, &steps->added_count, &steps->added_capacity, sizeof(*slot));
    if (slot == NULL) return ph_fail_memory(error);
    *slot = (ph_added_token){.text = row->bytes, .length = row->length, .id = id};
  }
  return frame(vocabulary, error);
}

void ph_text_steps_free(ph_text_steps *steps) {
  if (steps == NULL) return;
  for (uint32_t i = 0; i < steps->count; i++) ph_pattern_free(steps->items[i].pattern);
  free(steps);
}
