/* A sub-command: its row in the table, and what it hands back. */
#ifndef POLYHEAD_CLI_COMMAND_H
#define POLYHEAD_CLI_COMMAND_H

#include <jansson.h>

#include "options.h"

/* Exit codes (DESIGN 7). */
enum { CLI_EXIT_GOOD = 0, CLI_EXIT_DIFFERENT = 1, CLI_EXIT_USAGE = 2, CLI_EXIT_UNSUPPORTED = 3, CLI_EXIT_DEVICE = 4 };

typedef struct cli_result {
  json_t *json; /* with --json: the document, an object to be filled; else NULL, and the command prints */
  int exit_code;
} cli_result;

typedef struct cli_command {
  const char *name;
  const char *arguments; /* "CONFIG", "[NAME]", "" */
  uint32_t least, most;  /* how many arguments */
  cli_option_set options;
  const char *summary; /* one line */
  const char *text;    /* what `polyhead NAME --help` says beside the options */
  /* A failure's exit code follows from its status. */
  ph_status (*run)(const cli_options *options, cli_result *result, ph_error *error);
} cli_command;

extern const cli_command cli_run, cli_bench, cli_tune, cli_check, cli_compare, cli_conform, cli_generate, cli_graph,
    cli_heatmap, cli_devices, cli_plugins, cli_ops, cli_schema, cli_help;

extern const cli_command *const cli_commands[]; /* in the order of the help; NULL-terminated */
/* NULL if unknown; *error then names the nearest. */
const cli_command *cli_command_find(const char *name, ph_error *error);

void cli_print_help(FILE *to);
void cli_print_command_help(const cli_command *command, FILE *to);

#endif
