/* The command line: one table of options, and what one call asks for. */
#ifndef POLYHEAD_CLI_OPTIONS_H
#define POLYHEAD_CLI_OPTIONS_H

#include <polyhead/polyhead.h>
#include <stdio.h>

/* An option as a bit, so that a command can say which ones it takes. */
typedef uint64_t cli_option_set;
#define CLI_OPTION(number) ((cli_option_set)1 << (number))
#define CLI_DEVICE         CLI_OPTION(0)
#define CLI_WEIGHTS        CLI_OPTION(1)
#define CLI_INPUT          CLI_OPTION(2)
#define CLI_OUTPUT         CLI_OPTION(3)
#define CLI_DIM            CLI_OPTION(4)
#define CLI_RANDOM         CLI_OPTION(5)
#define CLI_PROFILE        CLI_OPTION(6)
#define CLI_PER_NODE       CLI_OPTION(7)
#define CLI_FALLBACK       CLI_OPTION(8)
#define CLI_PLUGIN         CLI_OPTION(9)
#define CLI_VERBOSE        CLI_OPTION(10)
#define CLI_JSON           CLI_OPTION(11)
#define CLI_HELP           CLI_OPTION(12)
#define CLI_SAVE           CLI_OPTION(14)
#define CLI_LOAD           CLI_OPTION(15)
#define CLI_SET            CLI_OPTION(16)
#define CLI_SUITE          CLI_OPTION(17)
#define CLI_FILTER         CLI_OPTION(18)
#define CLI_SEED           CLI_OPTION(19)
#define CLI_LIST           CLI_OPTION(20)
#define CLI_SHOW           CLI_OPTION(21)
#define CLI_JUNIT          CLI_OPTION(22)
#define CLI_REQUIRED       CLI_OPTION(23)
#define CLI_FORMAT         CLI_OPTION(24)
#define CLI_TENSOR         CLI_OPTION(25)
#define CLI_HEAD           CLI_OPTION(26)
#define CLI_REPORT         CLI_OPTION(27)
#define CLI_TRACE          CLI_OPTION(28)
#define CLI_EQUAL_NAN      CLI_OPTION(29)
#define CLI_WARMUP         CLI_OPTION(30)
#define CLI_ITERS          CLI_OPTION(31)
#define CLI_PLOT           CLI_OPTION(32)
#define CLI_QUICK          CLI_OPTION(33)
#define CLI_PROMPT         CLI_OPTION(40)
#define CLI_PROMPT_IDS     CLI_OPTION(41)
#define CLI_SOURCE         CLI_OPTION(42)
#define CLI_SOURCE_IDS     CLI_OPTION(43)
#define CLI_TOKENS         CLI_OPTION(44)
#define CLI_GREEDY         CLI_OPTION(45)
#define CLI_TEMPERATURE    CLI_OPTION(46)
#define CLI_TOP_K          CLI_OPTION(47)
#define CLI_TOP_P          CLI_OPTION(48)
#define CLI_DEVICES        (CLI_DEVICE | CLI_OPTION(13)) /* -d may be given more than once */
#define CLI_COMMON         (CLI_PLUGIN | CLI_VERBOSE | CLI_JSON | CLI_HELP)

/* What was given for an option that may be repeated; the texts are those of argv. */
typedef struct cli_list {
  const char **items;
  uint32_t count;
} cli_list;

typedef struct cli_options {
  cli_list arguments; /* what is no option */
  cli_list devices, plugins, weights, inputs, outputs, dims, loads, tensors;
  const char *save; /* NULL: not given */
  ph_fallback fallback;
  cli_list suites;
  const char *set, *filter, *show, *junit, *required, *format, *head, *report, *trace; /* NULL: not given */
  const char *prompt, *prompt_ids, *source, *source_ids;                               /* NULL: not given */
  const char *tokens, *temperature, *top_k, *top_p;
  const char *warmup, *iters, *plot;
  bool greedy;
  uint64_t seed;
  bool list;
  bool quick;
  bool random, profile, per_node, equal_nan, json, help;
  unsigned verbose; /* how often -v was given */
} cli_options;

/* Parses the words after the command's name.  `accepted`: the command's options.  PH_INVALID names the word and, for a
 * misspelt option, the nearest one.  Call cli_options_free() in either case. */
PH_NODISCARD ph_status cli_options_parse(const char *command, cli_option_set accepted, int argc, char *const *argv,
                                         cli_options *out, ph_error *error);
void cli_options_free(cli_options *options);

/* The help lines of these options. */
void cli_options_print(cli_option_set accepted, FILE *to);

/* An integer of `least` or more; *out stays as it is where text is NULL.  `option` is its long name, for messages. */
PH_NODISCARD ph_status cli_count_parse(const char *option, const char *text, uint64_t least, uint64_t *out,
                                       ph_error *error);

/* NAME=VALUE, as -i, -o and --dim take it. */
typedef struct cli_pair {
  char *name;
  const char *value; /* points into the list's item */
} cli_pair;

/* Splits each item at its first "=".  `form` is what the option takes, for messages: "-i takes NAME=FILE".  *out has
 * list->count entries; free it with cli_pairs_free(), in case of failure, too. */
PH_NODISCARD ph_status cli_pairs_parse(const cli_list *list, const char *form, cli_pair **out, ph_error *error);
/* Fails where two pairs have the same name. */
PH_NODISCARD ph_status cli_pairs_check_once(const cli_pair *pairs, uint32_t count, const char *option, ph_error *error);
void cli_pairs_free(cli_pair *pairs, uint32_t count);

#endif
