/* Vocabularies in every form of file: text to ids and back, streams that are cut anywhere, and files that are wrong. */
#include <polyhead/polyhead.h>

#include "scratch.h"

static void **folder; /* of the group */

static ph_vocabulary *open_bytes(const char *name, const void *bytes, size_t size) {
  ph_error error = PH_ERROR_INIT;
  ph_vocabulary *vocabulary;
  assert_ok(ph_vocabulary_open(scratch_file(folder, name, bytes, size), &vocabulary, &error), error);
  return vocabulary;
}

/* JSON with ' for ". */
static char *quoted(const char *text) {
  char *copy = strdup(text);
  for (char *at = copy; *at != '\0'; at++)
    if (*at == '\'') *at = '"';
  return copy;
}

static ph_vocabulary *open_json(const char *name, const char *text) {
  char *json = quoted(text);
  ph_vocabulary *vocabulary = open_bytes(name, json, strlen(json));
  free(json);
  return vocabulary;
}

static void refused(const char *name, const char *text, ph_status code, const char *part) {
  char *json = quoted(text);
  const char *path = scratch_file(folder, name, json, strlen(json));
  ph_error error = PH_ERROR_INIT;
  ph_vocabulary *vocabulary = NULL;
  ph_status status = ph_vocabulary_open(path, &vocabulary, &error);
  ph_vocabulary_close(vocabulary);
  free(json);
  if (status != code) fail_msg("status %d, not %d, of %s: %s", (int)status, (int)code, text, error.message);
  assert_contains(error.message, part);
  assert_contains(error.message, path);
}

/* The ids of a text as "1 2 3". */
static const char *ids_of(const ph_vocabulary *vocabulary, const char *text, bool frame) {
  static char shown[256];
  ph_error error = PH_ERROR_INIT;
  int64_t *ids;
  size_t count, used = 0;
  assert_ok(ph_vocabulary_encode(vocabulary, text, frame, &ids, &count, &error), error);
  shown[0] = '\0';
  for (size_t i = 0; i < count; i++)
    used += (size_t)snprintf(shown + used, sizeof(shown) - used, "%s%d", i > 0 ? " " : "", (int)ids[i]);
  free(ids);
  return shown;
}

#define assert_encodes(vocabulary, text, ids) assert_string_equal(ids_of((vocabulary), (text), false), (ids))

/* The text of ids as they come, '|' after each call. */
static const char *stream_of(const ph_vocabulary *vocabulary, const int64_t *ids, size_t count) {
  static char shown[256];
  ph_error error = PH_ERROR_INIT;
  ph_decoder *decoder;
  assert_ok(ph_decoder_create(vocabulary, &decoder, &error), error);
  size_t used = 0;
  for (size_t i = 0; i <= count; i++) {
    const char *text;
    size_t size;
    if (i < count)
      assert_ok(ph_decoder_put(decoder, ids[i], &text, &size, &error), error);
    else
      assert_ok(ph_decoder_end(decoder, &text, &size, &error), error);
    assert_int_equal(strlen(text), size);
    used += (size_t)snprintf(shown + used, sizeof(shown) - used, "%s%s", text, i < count ? "|" : "");
  }
  ph_decoder_destroy(decoder);
  return shown;
}

#define STREAM(vocabulary, ...)                                                                                        \
  stream_of((vocabulary), (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void assert_token(const ph_vocabulary *vocabulary, int64_t id, const char *expected) {
  char *token = ph_vocabulary_token(vocabulary, id);
  if (expected == NULL)
    assert_null(token);
  else
    assert_string_equal(token, expected);
  free(token);
}

/* ---- lists ---- */

static void letters(void **state) {
  (void)state;
  ph_vocabulary *v = open_json("letters.json", "['<blank>', '<s>', '</s>', 'a', 'b', 'ø', 'ab', ' ']");
  assert_int_equal(ph_vocabulary_size(v), 8);
  assert_int_equal(ph_vocabulary_find(v, "ø"), 5);
  assert_int_equal(ph_vocabulary_find(v, "c"), -1);
  assert_encodes(v, "aabøa", "3 6 5 3"); /* the longest first */
  assert_encodes(v, "b a", "4 7 3");
  assert_encodes(v, "", "");
  assert_string_equal(STREAM(v, 1, 3, 5, 6, 2), "|a|ø|ab||");
  assert_token(v, 5, "ø");
  assert_token(v, 0, "<blank>");
  assert_token(v, 8, NULL);
  ph_error error = PH_ERROR_INIT;
  int64_t *ids;
  size_t count;
  assert_int_equal(ph_vocabulary_encode(v, "aéa", false, &ids, &count, &error), PH_INVALID);
  assert_contains(error.message, "'é' is not in the vocabulary");
  ph_vocabulary_close(v);
}

static void lines(void **state) {
  (void)state;
  static const char text[] = "<unk>\r\n小\r\n红\r\n小红\r\nlikes\r\napples\r\n.\r\n"; /* as Windows writes it */
  ph_vocabulary *v = open_bytes("vocab.txt", text, strlen(text));
  assert_int_equal(ph_vocabulary_size(v), 7);
  assert_encodes(v, "小红 likes  红小\napples.", "3 4 2 1 5 6");
  assert_encodes(v, "猫 likes", "0 4");
  assert_string_equal(STREAM(v, 3, 4, 5, 6), "小红|likes| apples|.|");
  assert_string_equal(STREAM(v, 4, 9, 5), "likes|\xef\xbf\xbd| apples|"); /* an id without a token */
  ph_vocabulary_close(v);
}

/* Chinese text: a character is a token where the vocabulary says so. */
static void bert_lines(void **state) {
  (void)state;
  static const char text[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n小\n红\nplay\n##ing\n##s\n.\ncafe\n!";
  ph_vocabulary *v = open_bytes("bert.txt", text, strlen(text));
  assert_string_equal(ids_of(v, "Playing小红。 CAFÉ plays.", true), "2 6 7 4 5 1 10 6 8 9 3");
  assert_encodes(v, "[CLS] play\xc2\xa0!", "2 6 11");
  assert_string_equal(STREAM(v, 2, 6, 7, 10, 4, 5, 9, 3), "|play|ing| cafe|小|红|.||");
  ph_vocabulary_close(v);
}

/* ---- scores ---- */

/* "<unk>", <s>, the bytes, then pieces: id 2 + byte. */
static ph_vocabulary *open_scores(const char *pieces) {
  static char json[32768];
  size_t used = (size_t)snprintf(json, sizeof(json),
                                 "[{'id': 0, 'text': '<unk>', 'score': 0.0}, "
                                 "{'id': 1, 'text': '\\n<s>\\n', 'score': 0.0}");
  for (int byte = 0; byte < 256; byte++)
    used += (size_t)snprintf(json + used, sizeof(json) - used, ", {'id': %d, 'text': '\\u%04x', 'score': 0.0}",
                             byte + 2, (unsigned)byte);
  snprintf(json + used, sizeof(json) - used, "%s]", pieces);
  return open_json("tokens.json", json);
}

static void scores(void **state) {
  (void)state;
  ph_vocabulary *v =
      open_scores(", {'id': 258, 'text': ' ', 'score': -9}, {'id': 259, 'text': 'a', 'score': -1},"
                  " {'id': 260, 'text': 'b', 'score': -2}, {'id': 261, 'text': 'ab', 'score': -5},"
                  " {'id': 262, 'text': 'ba', 'score': -4}, {'id': 263, 'text': ' a', 'score': -3},"
                  " {'id': 264, 'text': ' ab', 'score': -6}, {'id': 265, 'text': '\xc3\xa2', 'score': -7}");
  assert_encodes(v, "ab", "264");                        /* ' a', then ' ab' */
  assert_encodes(v, "bab", "258 262 260");               /* 'ba' before 'ab' */
  assert_encodes(v, "a\xe2\x82\xac", "263 228 132 174"); /* a character without a token is spelt */
  assert_string_equal(STREAM(v, 1, 263, 258, 259, 261), "|a| |a|ab|");
  assert_string_equal(STREAM(v, 228, 132, 174, 228, 259), "||\xe2\x82\xac||\xef\xbf\xbd"
                                                          "a|");
  assert_string_equal(STREAM(v, 263, 228, 132), "a|||\xef\xbf\xbd\xef\xbf\xbd");
  assert_token(v, 1, "<s>");
  assert_token(v, 228, "<0xE2>");
  assert_token(v, 263, " a");
  assert_token(v, 265, "<0xE2>"); /* written as Latin-1, so the byte 0xe2 */
  ph_vocabulary_close(v);
}

/* ---- tokenizer.json ---- */

#define BYTE_LEVEL "{'type': 'ByteLevel', 'add_prefix_space': false, 'trim_offsets': true, 'use_regex': true}"

/* GPT-2's kind: bytes as characters, words by its expression, merges in their order. */
static void merges_of_bytes(void **state) {
  (void)state;
  ph_vocabulary *v = open_json(
      "gpt2.json",
      "{'version': '1.0', 'added_tokens': [{'id': 9, 'content': '<|end|>', 'special': true, 'single_word': false,"
      " 'lstrip': false, 'rstrip': false, 'normalized': false}], 'normalizer': null, 'pre_tokenizer': " BYTE_LEVEL ","
      " 'post_processor': {'type': 'ByteLevel', 'add_prefix_space': true, 'trim_offsets': false}, "
      "'decoder': " BYTE_LEVEL
      ", 'model': {'type': 'BPE', 'dropout': null, 'unk_token': null, 'vocab': {'a': 0, 'b': 1, 'Ġ': 2, 'ab': 3,"
      " 'Ġa': 4, 'Ġab': 5, 'ba': 6, 'Ã': 7, '©': 8, '1': 10, '\\u0027': 11, 's': 12, '\\u0027s': 13, 'Ċ': 14},"
      " 'merges': ['b a', ['Ġ', 'a'], 'a b', 'Ġa b', '\\u0027 s']}}");
  assert_encodes(v, "ab ab", "3 5");
  assert_encodes(v, "bab", "6 1"); /* 'b a' is before 'a b' */
  assert_encodes(v, "a1b's", "0 10 1 13");
  assert_encodes(v, "a  ab\n", "0 2 5 14"); /* two blanks: one belongs to the word */
  assert_encodes(v, "é<|end|>a", "7 8 9 0");
  assert_string_equal(STREAM(v, 5, 7, 8, 9, 14), " ab||é||\n|");
  assert_token(v, 5, " ab");
  assert_token(v, 7, "<0xC3>");
  ph_error error = PH_ERROR_INIT;
  int64_t *ids;
  size_t count;
  assert_int_equal(ph_vocabulary_encode(v, "abc", false, &ids, &count, &error), PH_INVALID);
  ph_vocabulary_close(v);
}

/* Llama's kind: the blank is a character of its own, and what has no token is spelt in bytes. */
static void merges_of_characters(void **state) {
  (void)state;
  static const char text[] =
      "{'added_tokens': [{'id': 1, 'content': '<s>', 'special': true}], 'normalizer': {'type': 'Sequence', "
      "'normalizers': ["
      "{'type': 'Prepend', 'prepend': '▁'}, {'type': 'Replace', 'pattern': {'String': ' '}, 'content': '▁'}]},"
      " 'pre_tokenizer': null, 'post_processor': {'type': 'TemplateProcessing', 'single': [{'SpecialToken': {'id': "
      "'<s>',"
      " 'type_id': 0}}, {'Sequence': {'id': 'A', 'type_id': 0}}], 'pair': [], 'special_tokens': {'<s>': {'id': '<s>',"
      " 'ids': [1], 'tokens': ['<s>']}}}, 'decoder': {'type': 'Sequence', 'decoders': [{'type': 'Replace', 'pattern':"
      " {'String': '▁'}, 'content': ' '}, {'type': 'ByteFallback'}, {'type': 'Fuse'}, {'type': 'Strip', 'content': ' ',"
      " 'start': 1, 'stop': 0}]}, 'model': {'type': 'BPE', 'unk_token': '<unk>', 'fuse_unk': true, 'byte_fallback': %s,"
      " 'vocab': {'<unk>': 0, '<s>': 1, '<0xC3>': 2, '<0xA9>': 3, '▁': 4, 'a': 5, '▁a': 6, 'aa': 7}, 'merges': ['▁ a',"
      " 'a a']}}";
  char json[2048];
  snprintf(json, sizeof(json), text, "true");
  ph_vocabulary *v = open_json("llama.json", json);
  assert_string_equal(ids_of(v, "a aa", true), "1 6 6 5");
  assert_encodes(v, "é<s>aaa", "4 2 3 1 6 7");
  assert_encodes(v, "aéüa", "6 2 3 0 5"); /* ü cannot be spelt: 0xbc has no token */
  assert_string_equal(STREAM(v, 1, 6, 5, 2, 3, 6), "|a|a||é| a|");
  ph_vocabulary_close(v);
  snprintf(json, sizeof(json), text, "false");
  v = open_json("llama.json", json);
  assert_encodes(v, "aéüa", "6 0 5"); /* one unknown token for both */
  ph_vocabulary_close(v);
}

/* BERT's kind. */
static void pieces(void **state) {
  (void)state;
  ph_vocabulary *v = open_json(
      "bert.json",
      "{'added_tokens': [{'id': 0, 'content': '[UNK]', 'special': true}, {'id': 1, 'content': '[CLS]', 'special': "
      "true},"
      " {'id': 2, 'content': '[SEP]', 'special': true}, {'id': 3, 'content': '[MASK]', 'special': true, 'lstrip': "
      "true}],"
      " 'normalizer': {'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, 'strip_accents': "
      "null,"
      " 'lowercase': true}, 'pre_tokenizer': {'type': 'BertPreTokenizer'}, 'post_processor': {'type': 'BertProcessing',"
      " 'sep': ['[SEP]', 2], 'cls': ['[CLS]', 1]}, 'decoder': {'type': 'WordPiece', 'prefix': '##', 'cleanup': true},"
      " 'model': {'type': 'WordPiece', 'unk_token': '[UNK]', 'continuing_subword_prefix': '##',"
      " 'max_input_chars_per_word': 8, 'vocab': {'[UNK]': 0, '[CLS]': 1, '[SEP]': 2, '[MASK]': 3, 'un': 4, '##aff': 5,"
      " '##able': 6, '我': 7, '爱': 8, ',': 9, 'e': 10, '##e': 11}}}");
  assert_string_equal(ids_of(v, "Unaffable, 我爱", true), "1 0 9 7 8 2"); /* nine letters are too many */
  assert_encodes(v, "UNaff\tunable,unx", "4 5 4 6 9 0");
  assert_encodes(v, "éE [MASK] un", "10 11 3 4"); /* the accent goes */
  assert_string_equal(STREAM(v, 1, 4, 6, 9, 10, 7, 8, 2), "|un|able|,| e|我|爱||");
  ph_vocabulary_close(v);
}

#define MODEL                                                                                                          \
  "'model': {'type': 'BPE', 'vocab': {'a': 0, 'b': 1, '1': 2, '2': 3, '▁a': 4, '▁': 5, '-': 6, 'A': 7, 'å': 8}, " \
  "'merges': ['▁ a']}"

/* Each of the other steps, on a vocabulary of single characters. */
static void steps(void **state) {
  (void)state;
  static const struct {
    const char *steps, *text, *ids;
  } cases[] = {
      {"'pre_tokenizer': {'type': 'Metaspace', 'replacement': '▁', 'prepend_scheme': 'always', 'split': true},", "a ab",
       "4 4 1"},
      {"'pre_tokenizer': {'type': 'Metaspace', 'replacement': '▁', 'add_prefix_space': false},", "a ab", "0 4 1"},
      {"'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [{'type': 'WhitespaceSplit'}, {'type': 'Digits',"
       " 'individual_digits': true}]},",
       " a12 b", "0 2 3 1"},
      {"'pre_tokenizer': {'type': 'Whitespace'},", "a - b", "0 6 1"},
      {"'pre_tokenizer': {'type': 'Whitespace'},", "▁ a▁a", "5 0 5 0"},
      {"'pre_tokenizer': {'type': 'Split', 'pattern': {'String': '-'}, 'behavior': 'Removed', 'invert': false},",
       "a-b--1", "0 1 2"},
      {"'pre_tokenizer': {'type': 'Split', 'pattern': {'Regex': '[ab]'}, 'behavior': 'Removed', 'invert': true},",
       "a-b--1", "0 1"},
      {"'normalizer': {'type': 'Replace', 'pattern': {'Regex': '[^a]+'}, 'content': '-'},", "b1a22", "6 0 6"},
      {"'normalizer': {'type': 'Lowercase'},", "aA", "0 0"},
      {"'normalizer': {'type': 'NFC'},", "a\xcc\x8a", "8"}, /* a and the ring become one */
      {"'normalizer': {'type': 'Sequence', 'normalizers': [{'type': 'NFD'}, {'type': 'StripAccents'}, {'type': 'Strip',"
       " 'strip_left': true, 'strip_right': true}]},",
       " å ", "0"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char json[1024];
    snprintf(json, sizeof(json), "{%s" MODEL "}", cases[i].steps);
    ph_vocabulary *v = open_json("steps.json", json);
    assert_encodes(v, cases[i].text, cases[i].ids);
    ph_vocabulary_close(v);
  }
}

/* Where a cut falls, seen by a merge across it. */
static void cuts(void **state) {
  (void)state;
  static const char *const expected[][2] = {
      {"Isolated", "0 1 0 1 1 0"}, {"MergedWithPrevious", "2 2 1 0"}, {"MergedWithNext", "0 3 1 3"}};
  for (size_t i = 0; i < 3; i++) {
    char json[1024];
    snprintf(
        json, sizeof(json),
        "{'pre_tokenizer': {'type': 'Split', 'pattern': {'String': '-'}, 'behavior': '%s', 'invert': false}, 'model':"
        " {'type': 'BPE', 'vocab': {'a': 0, '-': 1, 'a-': 2, '-a': 3}, 'merges': ['a -', '- a']}}",
        expected[i][0]);
    ph_vocabulary *v = open_json("cuts.json", json);
    assert_encodes(v, "a-a--a", expected[i][1]);
    ph_vocabulary_close(v);
  }
}

/* Merging is n log n: a text without blanks is one word. */
static void a_long_word(void **state) {
  (void)state;
  enum { LENGTH = 200000 };
  ph_vocabulary *v = open_json("long.json", "{'model': {'type': 'BPE', 'vocab': {'a': 0, 'aa': 1, 'aaaa': 2}, 'merges':"
                                            " ['a a', 'aa aa']}}");
  char *text = calloc(LENGTH + 1, 1);
  memset(text, 'a', LENGTH);
  int64_t *ids;
  size_t count;
  ph_error error = PH_ERROR_INIT;
  assert_ok(ph_vocabulary_encode(v, text, false, &ids, &count, &error), error);
  assert_int_equal(count, LENGTH / 4);
  for (size_t i = 0; i < count; i++) assert_int_equal(ids[i], 2);
  free(ids);
  free(text);
  ph_vocabulary_close(v);
}

static void mistakes(void **state) {
  (void)state;
  refused("empty.txt", "", PH_INVALID, "holds no tokens");
  refused("bad.json", "{'model': ", PH_INVALID, "no JSON");
  refused("bad.json", "{'a': 1}", PH_INVALID, "is no vocabulary");
  refused("bad.json", "['a', 1]", PH_INVALID, "entry 1 is no text");
  refused("bad.json", "[{'id': 0, 'text': 'a'}]", PH_INVALID, "entry 0 must be");
  refused("bad.json", "[{'id': 0, 'text': '小', 'score': 0}]", PH_INVALID, "up to U+00FF");
  refused("bad.json", "[{'id': -1, 'text': 'a', 'score': 0}]", PH_INVALID, "the id -1 of 'a' is outside");
  refused("bad.json", "[{'id': 999999999, 'text': 'a', 'score': 0}]", PH_INVALID, "is outside");
  refused("bad.json", "[{'id': 0, 'text': 'a', 'score': 0}, {'id': 0, 'text': 'b', 'score': 0}]", PH_INVALID,
          "the id 0 is of 'a' and of 'b'");
  refused("bad.json", "{'model': {'type': 'Unigram', 'vocab': {'a': 0}}}", PH_UNSUPPORTED, "'Unigram'");
  refused("bad.json", "{'model': {'type': 'BPE', 'vocab': {'a': 0}, 'merges': ['a b']}}", PH_INVALID, "merge 0");
  refused("bad.json", "{'model': {'type': 'BPE', 'vocab': {'a': 0}, 'merges': ['ab']}}", PH_INVALID, "merge 0");
  refused("bad.json", "{'model': {'type': 'BPE', 'vocab': {'a': 0}, 'unk_token': 'u'}}", PH_INVALID, "unk_token");
  refused("bad.json", "{'model': {'type': 'BPE', 'vocab': ['a']}}", PH_INVALID, "model.vocab");
  refused("bad.json", "{'normalizer': {'type': 'Precompiled'}, " MODEL "}", PH_UNSUPPORTED,
          "the normalizer 'Precompiled'");
  refused("bad.json", "{'pre_tokenizer': {'type': 'Odd'}, " MODEL "}", PH_UNSUPPORTED, "the pre_tokenizer 'Odd'");
  refused("bad.json", "{'pre_tokenizer': {'type': 'Split', 'behavior': 'Isolated'}, " MODEL "}", PH_INVALID, "pattern");
  refused("bad.json", "{'decoder': {'type': 'CTC'}, " MODEL "}", PH_UNSUPPORTED, "the decoder 'CTC'");
  refused("bad.json", "{'post_processor': {'type': 'BertProcessing', 'sep': ['x', 99], 'cls': ['y', 1]}, " MODEL "}",
          PH_INVALID, "a token that is not there");
  ph_error error = PH_ERROR_INIT;
  ph_vocabulary *vocabulary;
  const char *path = scratch_path(folder, "none.json");
  assert_int_equal(ph_vocabulary_open(path, &vocabulary, &error), PH_IO);
  assert_contains(error.message, path);
}

int main(void) {
  void *path;
  if (scratch_create(&path) != 0) return 1;
  folder = &path;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(letters),     cmocka_unit_test(lines),           cmocka_unit_test(bert_lines),
      cmocka_unit_test(scores),      cmocka_unit_test(merges_of_bytes), cmocka_unit_test(merges_of_characters),
      cmocka_unit_test(pieces),      cmocka_unit_test(steps),           cmocka_unit_test(cuts),
      cmocka_unit_test(a_long_word), cmocka_unit_test(mistakes),
  };
  int result = cmocka_run_group_tests(tests, NULL, NULL);
  return scratch_remove(&path) != 0 ? 1 : result;
}
