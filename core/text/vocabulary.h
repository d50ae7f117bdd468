/* The inside of a vocabulary: its tokens, and how text becomes ids and ids become text.  Everything lives in its arena.
 *
 * vocabulary.c finds out what a file is and keeps the table of tokens; vocabulary_read.c and tokenizer_read.c read the
 * forms of files; encode.c, merge.c and words.c make ids of text; decode.c makes text of ids. */
#ifndef POLYHEAD_TEXT_VOCABULARY_H
#define POLYHEAD_TEXT_VOCABULARY_H

#include <polyhead/polyhead.h>

#include "base/error.h"
#include "base/memory.h"

typedef struct ph_token_row {
  const char *bytes; /* as the file has them; NULL: no token has this id */
  size_t length;
  double score; /* SCORES: the higher, the sooner it is merged */
  bool special; /* stands for no text: <s>, [CLS] */
} ph_token_row;

typedef enum ph_vocabulary_kind {
  PH_VOCABULARY_LIST,     /* the longest token that fits, from left to right; blanks that are no token part words */
  PH_VOCABULARY_SCORES,   /* characters, merged by the score of what they become (SentencePiece's BPE) */
  PH_VOCABULARY_MERGES,   /* characters, merged in the order of a list (Sennrich et al. 2016) */
  PH_VOCABULARY_WORDPIECE /* words, the longest piece first (Wu et al. 2016) */
} ph_vocabulary_kind;

/* How ids become text; each flag is one step, in this order. */
typedef struct ph_decoding {
  bool byte_level;         /* a character stands for a byte, as in GPT-2 */
  bool byte_tokens;        /* <0x0A> is a byte */
  const char *blank;       /* what stands for a blank, "\xe2\x96\x81" in SentencePiece; NULL: nothing does */
  bool drop_first_blank;   /* encoding put one before the text */
  bool spaced;             /* tokens are words: a blank between two of them */
  const char *inside_word; /* spaced: begins a token that goes on with a word, "##"; NULL: none does */
} ph_decoding;

struct ph_text_steps;

struct ph_vocabulary {
  ph_arena arena;
  const char *file;
  ph_token_row *tokens; /* by id */
  uint32_t token_count, token_capacity;
  uint32_t *slots; /* a hash table of ids by bytes; PH_NONE: empty */
  size_t slot_count;
  size_t longest; /* token, in bytes */
  ph_vocabulary_kind kind;
  uint32_t unknown;            /* id; PH_NONE: text that has no token is an error */
  uint32_t bytes[256];         /* ids of tokens that are a byte; all there or all PH_NONE */
  bool first_blank;            /* SCORES: encoding puts a blank before the text */
  struct ph_text_steps *steps; /* of a tokenizer.json and a vocab.txt of WordPiece; else NULL */
  ph_decoding decoding;
  const uint32_t *before, *after; /* ids that frame a text */
  uint32_t before_count, after_count;
};

/* ---- vocabulary.c ---- */

/* A token for an id that has none; the bytes are copied.  PH_INVALID where the id is taken or absurd. */
PH_NODISCARD ph_status ph_token_add(ph_vocabulary *vocabulary, int64_t id, ph_token_row row, ph_error *error);
/* Makes the table by which tokens are found, once all are there.  Of two alike the first is found, but a byte (`bytes`)
 * only where nothing else is. */
PH_NODISCARD ph_status ph_tokens_index(ph_vocabulary *vocabulary, ph_error *error);
/* PH_NONE where there is no such token. */
uint32_t ph_token_find(const ph_vocabulary *vocabulary, const char *bytes, size_t length);
/* "<s>", "[CLS]", "<|endoftext|>" look special. */
bool ph_token_looks_special(const char *bytes, size_t length);

/* ---- vocabulary_read.c ---- */

PH_NODISCARD ph_status ph_vocabulary_read_lines(ph_vocabulary *vocabulary, const char *text, size_t size,
                                                ph_error *error);
/* A list of texts, or of {id, text, score} whose texts are bytes written as Latin-1. */
struct json_t;
PH_NODISCARD ph_status ph_vocabulary_read_list(ph_vocabulary *vocabulary, const struct json_t *list, ph_error *error);

/* ---- merge.c ---- */

typedef struct ph_ids {
  int64_t *items;
  size_t count, capacity;
} ph_ids;

bool ph_ids_add(ph_ids *ids, int64_t id); /* false when out of memory */

/* What two neighbours become; false where nothing.  The pair of the lowest rank is merged first, of equals the first.
 */
typedef bool ph_pair_find(const ph_vocabulary *vocabulary, uint32_t left, uint32_t right, double *out_rank,
                          uint32_t *out_id);
/* Merges ids from `first` on until no pair is left. */
PH_NODISCARD ph_status ph_merge(const ph_vocabulary *vocabulary, ph_pair_find *find, ph_ids *ids, size_t first,
                                ph_error *error);

/* ---- encode.c ---- */

/* Bytes of the UTF-8 character at `text`, 1 where it is broken. */
size_t ph_character_length(const char *text, size_t size);
PH_NODISCARD ph_status ph_no_token(const ph_vocabulary *vocabulary, const char *text, size_t length, ph_error *error);

#endif
