/* polyhead help: the list of commands, and each command's options. */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "command.h"
#include "json.h"

const cli_command *const cli_commands[] = {&cli_run,     &cli_generate, &cli_check,  &cli_compare, &cli_conform,
                                           &cli_bench,   &cli_tune,     &cli_graph,  &cli_heatmap, &cli_devices,
                                           &cli_plugins, &cli_ops,      &cli_schema, &cli_help,    NULL};

const cli_command *cli_command_find(const char *name, ph_error *error) {
  const char *names[sizeof(cli_commands) / sizeof(cli_commands[0])];
  size_t count = 0;
  for (; cli_commands[count] != NULL; count++) {
    if (strcmp(cli_commands[count]->name, name) == 0) return cli_commands[count];
    names[count] = cli_commands[count]->name;
  }
  const char *nearest = ph_nearest(name, names, count);
  ph_status status = PH_INVALID; /* the caller knows it */
  if (nearest != NULL)
    status = ph_fail(error, status, "unknown command '%s'; did you mean '%s'?", name, nearest);
  else
    status = ph_fail(error, status, "unknown command '%s'; 'polyhead help' lists those there are", name);
  (void)status;
  return NULL;
}

void cli_print_help(FILE *to) {
  fprintf(to, "usage: polyhead COMMAND [ARGUMENTS] [OPTIONS]\n"
              "       polyhead --version | --help\n\n"
              "Runs attention and Transformer graphs, written as YAML, on whatever compute device is at hand.\n\n"
              "commands:\n");
  for (size_t i = 0; cli_commands[i] != NULL; i++)
    fprintf(to, "  %-8s  %s\n", cli_commands[i]->name, cli_commands[i]->summary);
  fprintf(to, "\n'polyhead help COMMAND' or 'polyhead COMMAND --help' says more.\n");
}

void cli_print_command_help(const cli_command *command, FILE *to) {
  fprintf(to, "usage: polyhead %s%s%s [OPTIONS]\n\n%s\n\noptions:\n", command->name,
          command->arguments[0] != '\0' ? " " : "", command->arguments, command->text);
  cli_options_print(command->options, to);
}

static json_t *commands_json(void) {
  json_t *array = json_array();
  for (size_t i = 0; cli_commands[i] != NULL; i++)
    array = cli_json_append(array,
                            json_pack("{ss ss}", "name", cli_commands[i]->name, "summary", cli_commands[i]->summary));
  return array;
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  const cli_command *command = NULL;
  if (options->arguments.count > 0) {
    command = cli_command_find(options->arguments.items[0], error);
    if (command == NULL) return PH_INVALID;
  }
  if (result->json != NULL) return cli_json_set(result->json, "commands", commands_json(), error);
  if (command != NULL)
    cli_print_command_help(command, stdout);
  else
    cli_print_help(stdout);
  return PH_OK;
}

const cli_command cli_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .most = 1,
    .options = CLI_JSON | CLI_HELP,
    .summary = "say how a command is used",
    .text = "Lists the commands, or says what COMMAND does and which options it takes.",
    .run = run,
};
