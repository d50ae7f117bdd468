/* What is done to text before it is cut into tokens: normalising it and cutting it into words.  The steps are those of
 * a Hugging Face tokenizer.json: https://huggingface.co/docs/tokenizers/components */
#ifndef POLYHEAD_TEXT_STEPS_H
#define POLYHEAD_TEXT_STEPS_H

#include "base/text.h"
#include "text/vocabulary.h"

typedef enum ph_step_kind {
  /* normalising */
  PH_STEP_CLEAN,   /* control characters go, blanks of all kinds become ' ' (BERT) */
  PH_STEP_CHINESE, /* blanks around CJK ideographs (BERT) */
  PH_STEP_UNICODE, /* to the form in `form` */
  PH_STEP_LOWER,
  PH_STEP_STRIP_ACCENTS, /* marks that do not take room go; after NFD */
  PH_STEP_PREPEND,       /* `text` before it, where there is any */
  PH_STEP_REPLACE,       /* `pattern`, or else `from`, by `text` */
  PH_STEP_STRIP,         /* blanks at the ends */
  /* cutting: each word so far is cut further */
  PH_STEP_SPLIT,       /* at `pattern`, or else `from` */
  PH_STEP_BLANKS,      /* at blanks, which go */
  PH_STEP_PUNCTUATION, /* around each mark of punctuation, which stays */
  PH_STEP_BYTES,       /* each byte becomes the character that stands for it (GPT-2) */
  PH_STEP_METASPACE    /* blanks become `text`, which also begins the text */
} ph_step_kind;

typedef enum ph_split_matches {
  PH_MATCHES_APART,
  PH_MATCHES_REMOVED,
  PH_MATCHES_BEFORE,
  PH_MATCHES_AFTER
} ph_split_matches;
typedef enum ph_unicode_form { PH_NFC, PH_NFD, PH_NFKC, PH_NFKD } ph_unicode_form;

typedef struct ph_step {
  ph_step_kind kind;
  ph_unicode_form form;
  const char *from, *text;
  struct pcre2_real_code_8 *pattern; /* NULL: none */
  ph_split_matches matches;
  bool invert;       /* SPLIT: what lies between the matches is the match */
  bool at_start;     /* PREPEND, METASPACE: at the start of the text alone; else of every part */
  bool unless_blank; /* PREPEND: not before a blank */
  bool left, right;  /* STRIP */
  bool cut;          /* METASPACE: before each `text` */
} ph_step;

/* A text that is found whole, before anything is normalised: "<|endoftext|>". */
typedef struct ph_added_token {
  const char *text;
  size_t length;
  uint32_t id;
  bool left, right; /* takes the blanks beside it with it */
} ph_added_token;

typedef struct ph_merge_row {
  uint32_t left, right, rank, becomes;
} ph_merge_row;

typedef struct ph_text_steps {
  ph_step *items;
  uint32_t count, capacity;
  ph_added_token *added;
  uint32_t added_count, added_capacity;
  ph_merge_row *merges; /* MERGES: a hash table by left and right; rank PH_NONE: empty */
  size_t merge_slots;
  bool whole_words;        /* MERGES: a word that is a token stays one (ignore_merges) */
  bool join_unknown;       /* MERGES: neighbours without a token are one unknown token */
  bool byte_tokens;        /* MERGES: characters without a token are spelt in <0xHH> */
  const char *word_end;    /* MERGES: stands at the end of a word's last piece; or NULL */
  const char *inside_word; /* WORDPIECE: begins a piece that is not a word's first */
  size_t longest_word;     /* WORDPIECE: in characters; a longer one is unknown */
} ph_text_steps;

/* Words of a text, one after the other in `text`. */
typedef struct ph_word {
  size_t start, length;
} ph_word;
typedef struct ph_words {
  ph_text text;
  ph_word *items;
  size_t count, capacity;
} ph_words;
bool ph_words_add(ph_words *words, const char *bytes, size_t length); /* false when out of memory */
void ph_words_free(ph_words *words);

/* All steps on a part of a text; `start`: it is the first part.  Words are appended to *out. */
PH_NODISCARD ph_status ph_steps_apply(const ph_text_steps *steps, const char *text, size_t size, bool start,
                                      ph_words *out, ph_error *error);
/* normalize.c: `to` begins empty.  PH_UNSUPPORTED for what needs utf8proc in a build without it. */
PH_NODISCARD ph_status ph_step_normalize(const ph_step *step, bool start, const char *text, size_t size, ph_text *to,
                                         ph_error *error);
/* Whether this is punctuation as BERT sees it: ASCII signs and Unicode's categories P. */
bool ph_is_punctuation(uint32_t character);
bool ph_is_white(uint32_t character);
uint32_t ph_character(const char *text, size_t length); /* of ph_character_length() bytes */
/* cut.c */
PH_NODISCARD ph_status ph_step_cut(const ph_step *step, bool start, const char *word, size_t length, ph_words *out,
                                   ph_error *error);

/* The character for a byte in GPT-2's alphabet, as UTF-8 of one or two bytes; and the byte for a character, -1 where it
 * is not in it. */
size_t ph_byte_character(unsigned char byte, char out[2]);
int ph_character_byte(uint32_t character);

/* The steps of BERT (Devlin et al. 2018) for a vocab.txt: pieces begin with ##, and text is lower case where no token
 * has a capital. */
PH_NODISCARD ph_status ph_bert_steps(ph_vocabulary *vocabulary, uint32_t unknown, ph_error *error);

/* tokenizer_read.c: a tokenizer.json; tokenizer_steps.c: its normalizer, pre_tokenizer and decoder. */
PH_NODISCARD ph_status ph_tokenizer_read(ph_vocabulary *vocabulary, const struct json_t *root, ph_error *error);
PH_NODISCARD ph_status ph_tokenizer_read_steps(ph_vocabulary *vocabulary, const struct json_t *root, ph_error *error);

/* patterns.c: regular expressions, where the build has PCRE2 (PH_UNSUPPORTED where not). */
PH_NODISCARD ph_status ph_pattern_compile(const char *text, struct pcre2_real_code_8 **out, ph_error *error);
void ph_pattern_free(struct pcre2_real_code_8 *pattern);
/* The first match from `from` on; *out_found false where there is none. */
PH_NODISCARD ph_status ph_pattern_find(const struct pcre2_real_code_8 *pattern, const char *text, size_t size,
                                       size_t from, bool *out_found, size_t *out_start, size_t *out_end,
                                       ph_error *error);

/* words.c */
/* The row of a pair, or the empty one (rank PH_NONE) where it would be. */
ph_merge_row *ph_merge_slot(const ph_text_steps *steps, uint32_t left, uint32_t right);
PH_NODISCARD ph_status ph_word_encode(const ph_vocabulary *vocabulary, const char *word, size_t length, ph_ids *ids,
                                      ph_error *error);

void ph_text_steps_free(ph_text_steps *steps); /* NULL is fine */

#endif
