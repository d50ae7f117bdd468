/* The polyhead command: picks the sub-command, turns its status into messages and an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "command.h"
#include "json.h"
#include "output.h"

static int exit_code_of(ph_status status) {
  switch (status) {
  case PH_OK:
    return CLI_EXIT_GOOD;
  case PH_INVALID:
  case PH_IO:
  case PH_INCOMPATIBLE:
    return CLI_EXIT_USAGE;
  case PH_UNSUPPORTED:
  case PH_UNAVAILABLE:
    return CLI_EXIT_UNSUPPORTED;
  case PH_OUT_OF_MEMORY:
  case PH_DEVICE_FAILED:
  case PH_INTERNAL:
    break;
  }
  return CLI_EXIT_DEVICE;
}

/* A standard stream that the caller closed would be the next file opened, and take what is printed. */
static bool hold_standard_streams(void) {
  for (int stream = 0; stream <= 2; stream++)
    if (fcntl(stream, F_GETFD) == -1 && open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) != stream) return false;
  return true;
}

static int fail(ph_status status, const ph_error *error) {
  cli_print_error(error->message[0] != '\0' ? error->message : ph_status_name(status));
  return exit_code_of(status);
}

/* Output that did not arrive is a failure, whatever else went well. */
static int finish_output(int exit_code) {
  bool earlier = ferror(stdout) != 0;
  errno = 0;
  if (fflush(stdout) == 0 && !earlier) return exit_code;
  ph_error error = PH_ERROR_INIT;
  return fail(ph_fail(&error, PH_IO, "cannot write to standard output: %s", errno != 0 ? strerror(errno) : "an error"),
              &error);
}

static bool print_document(const json_t *json) {
  return json != NULL && json_dumpf(json, stdout, 0) == 0 && fputc('\n', stdout) != EOF;
}

/* The document in place of the one that could not be made. */
static void print_error_document(ph_status status, const ph_error *error) {
  json_t *json = json_pack("{s{ss so si}}", "error", "status", ph_status_name(status), "message",
                           cli_json_text(error->message), "exit", exit_code_of(status));
  print_document(json);
  json_decref(json);
}

static ph_status check_arguments(const cli_command *command, const cli_options *options, ph_error *error) {
  uint32_t count = options->arguments.count;
  if (count < command->least)
    return ph_fail(error, PH_INVALID, "'polyhead %s' needs an argument: polyhead %s %s", command->name, command->name,
                   command->arguments);
  if (count > command->most)
    return ph_fail(error, PH_INVALID, "'polyhead %s' does not know what to do with '%s'; usage: polyhead %s%s%s",
                   command->name, options->arguments.items[command->most], command->name,
                   command->arguments[0] != '\0' ? " " : "", command->arguments);
  return PH_OK;
}

static bool has_word(char *const *argv, const char *word) {
  for (; *argv != NULL; argv++)
    if (strcmp(*argv, word) == 0) return true;
  return false;
}

static int run_command(const cli_command *command, int argc, char *const *argv) {
  ph_error error = PH_ERROR_INIT;
  cli_options options;
  cli_result result = {.exit_code = CLI_EXIT_GOOD};
  bool json = has_word(argv, "--json"); /* known before the options are parsed: their errors belong in the document */
  ph_status status = cli_options_parse(command->name, command->options, argc, argv, &options, &error);
  if (status == PH_OK && options.help) {
    cli_print_command_help(command, stdout);
    goto done;
  }
  if (status == PH_OK) status = check_arguments(command, &options, &error);
  if (status == PH_OK && json && (result.json = json_object()) == NULL) status = ph_fail_memory(&error);
  if (status == PH_OK) status = command->run(&options, &result, &error);
  if (status != PH_OK) {
    if (json) print_error_document(status, &error);
    result.exit_code = fail(status, &error);
  } else if (json && !print_document(result.json) && ferror(stdout) == 0) {
    result.exit_code = fail(ph_fail_memory(&error), &error);
  }
done:
  json_decref(result.json);
  cli_options_free(&options);
  return finish_output(result.exit_code);
}

int main(int argc, char **argv) {
  if (!hold_standard_streams()) return CLI_EXIT_USAGE;
  const char *word = argc > 1 ? argv[1] : NULL;
  if (word == NULL) {
    cli_print_help(stderr);
    return CLI_EXIT_USAGE;
  }
  if (strcmp(word, "--version") == 0) {
    printf("polyhead %s\n", ph_version());
    return finish_output(CLI_EXIT_GOOD);
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    cli_print_help(stdout);
    return finish_output(CLI_EXIT_GOOD);
  }
  ph_error error = PH_ERROR_INIT;
  const cli_command *command = NULL;
  ph_status status = PH_INVALID;
  if (word[0] == '-')
    status = ph_fail(&error, PH_INVALID, "the command comes first, then its options: polyhead COMMAND %s", word);
  else
    command = cli_command_find(word, &error);
  if (command == NULL) {
    if (has_word(argv, "--json")) print_error_document(status, &error);
    return fail(status, &error);
  }
  return run_command(command, argc - 2, argv + 2);
}
