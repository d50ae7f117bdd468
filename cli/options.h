/* The command line: one table of options, and what one call asks for. */
#ifndef POLYHEAD_CLI_OPTIONS_H
#define POLYHEAD_CLI_OPTIONS_H

#include <polyhead/polyhead.h>
#include <stdio.h>

/* An option as a bit, so that a command can say which ones it takes. */
enum {
  CLI_DEVICE = 1u << 0,
  CLI_WEIGHTS = 1u << 1,
  CLI_INPUT = 1u << 2,
  CLI_OUTPUT = 1u << 3,
  CLI_DIM = 1u << 4,
  CLI_RANDOM = 1u << 5,
  CLI_PROFILE = 1u << 6,
  CLI_PER_NODE = 1u << 7,
  CLI_FALLBACK = 1u << 8,
  CLI_PLUGIN = 1u << 9,
  CLI_VERBOSE = 1u << 10,
  CLI_JSON = 1u << 11,
  CLI_HELP = 1u << 12,
  CLI_SAVE = 1u << 14,
  CLI_LOAD = 1u << 15,
  CLI_SET = 1u << 16,
  CLI_SUITE = 1u << 17,
  CLI_FILTER = 1u << 18,
  CLI_SEED = 1u << 19,
  CLI_LIST = 1u << 20,
  CLI_SHOW = 1u << 21,
  CLI_JUNIT = 1u << 22,
  CLI_REQUIRED = 1u << 23,
  CLI_DEVICES = CLI_DEVICE | 1u << 13, /* -d may be given more than once */
  CLI_COMMON = CLI_PLUGIN | CLI_VERBOSE | CLI_JSON | CLI_HELP
};

/* What was given for an option that may be repeated; the texts are those of argv. */
typedef struct cli_list {
  const char **items;
  uint32_t count;
} cli_list;

typedef struct cli_options {
  cli_list arguments; /* what is no option */
  cli_list devices, plugins, weights, inputs, outputs, dims, loads;
  const char *save; /* NULL: not given */
  ph_fallback fallback;
  cli_list suites;
  const char *set, *filter, *show, *junit, *required; /* NULL: not given */
  uint64_t seed;
  bool list;
  bool random, profile, per_node, json, help;
  unsigned verbose; /* how often -v was given */
} cli_options;

/* Parses the words after the command's name.  `accepted`: the command's options.  PH_INVALID names the word and, for a
 * misspelt option, the nearest one.  Call cli_options_free() in either case. */
PH_NODISCARD ph_status cli_options_parse(const char *command, unsigned accepted, int argc, char *const *argv,
                                         cli_options *out, ph_error *error);
void cli_options_free(cli_options *options);

/* The help lines of these options. */
void cli_options_print(unsigned accepted, FILE *to);

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
