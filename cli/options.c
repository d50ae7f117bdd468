/* The table of options, its parser and its help text. */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

typedef struct option_row {
  cli_option_set bit;
  char letter;                 /* 0: none */
  const char *name, *argument; /* argument NULL: a flag */
  const char *text;
} option_row;

static const option_row rows[] = {
    {CLI_DEVICE, 'd', "device", "DEV", "the device: BACKEND[:INDEX | :part of a name][,option=value]..., or auto"},
    {CLI_WEIGHTS, 0, "weights", "FILE", "take weights from FILE (.npz, .safetensors); may be repeated"},
    {CLI_INPUT, 'i', "input", "NAME=FILE", "an input from FILE: .npy, .npz or .safetensors; FILE:KEY picks a tensor"},
    {CLI_OUTPUT, 'o', "output", "PATH=FILE", "write a value to FILE: .npy, .npz or .safetensors; may be repeated"},
    {CLI_DIM, 0, "dim", "NAME=VALUE", "bind a dim; may be repeated"},
    {CLI_RANDOM, 0, "random", NULL, "make up the weights that no file has"},
    {CLI_PROFILE, 0, "profile", NULL, "measure each node and print where the time went"},
    {CLI_REPORT, 0, "report", "FILE", "write a page (HTML) with graph, times, memory, attention maps and outputs"},
    {CLI_TRACE, 0, "trace", "FILE", "write when each node ran, for Perfetto or chrome://tracing"},
    {CLI_PROMPT, 0, "prompt", "TEXT", "what the text begins with"},
    {CLI_PROMPT_IDS, 0, "prompt-ids", "IDS", "the same as ids: 1,2,3 or a .npy; nothing is put before them"},
    {CLI_SOURCE, 0, "source", "TEXT", "what an encoder-decoder reads"},
    {CLI_SOURCE_IDS, 0, "source-ids", "IDS", "the same as ids: 1,2,3 or a .npy"},
    {CLI_TOKENS, 0, "tokens", "N", "how many tokens to generate at most (256)"},
    {CLI_GREEDY, 0, "greedy", NULL, "take the likeliest token each time (the default)"},
    {CLI_TEMPERATURE, 0, "temperature", "T", "draw tokens; below 1 likely ones are preferred (1)"},
    {CLI_TOP_K, 0, "top-k", "K", "draw among the K likeliest tokens"},
    {CLI_TOP_P, 0, "top-p", "P", "draw among the likeliest tokens that together have probability P"},
    {CLI_PER_NODE, 0, "per-node", NULL, "list every node's verdict, not only the first that differs"},
    {CLI_SAVE, 0, "save", "FILE", "keep the device's answers in FILE (.safetensors), to be compared elsewhere"},
    {CLI_LOAD, 0, "load", "FILE", "judge answers that were saved elsewhere; may be repeated"},
    {CLI_EQUAL_NAN, 0, "equal-nan", NULL, "let a NaN in saved outputs pass where the right value is NaN, too"},
    {CLI_SET, 0, "set", "SET", "the cases: tiny, smoke, ci or full"},
    {CLI_SUITE, 0, "suite", "PATH", "cases from this file or folder instead of our own; may be repeated"},
    {CLI_FILTER, 0, "filter", "GLOB", "only cases of this name; * ? [ ] as in a shell"},
    {CLI_SEED, 0, "seed", "N", "other random numbers"},
    {CLI_LIST, 0, "list", NULL, "name the cases and run none"},
    {CLI_SHOW, 0, "show", "CASE", "print a case, or those that a GLOB fits, as configs; run nothing"},
    {CLI_JUNIT, 0, "junit", "FILE", "write the outcome as JUnit XML, too"},
    {CLI_WARMUP, 0, "warmup", "N", "runs before those that count"},
    {CLI_ITERS, 0, "iters", "N", "runs that count; without it at least 5, for half a second"},
    {CLI_QUICK, 0, "quick", NULL, "few cases, a few runs each"},
    {CLI_PLOT, 0, "plot", "FILE", "draw the times as SVG, too"},
    {CLI_REQUIRED, 0, "required", "FILE", "what the backend promises, instead of required/BACKEND.yaml"},
    {CLI_TENSOR, 0, "tensor", "PATH", "the value to draw; several, or * in it, become the rows of a grid"},
    {CLI_HEAD, 0, "head", "N", "this head alone"},
    {CLI_FORMAT, 0, "format", "FORMAT", "dot (the default), mermaid or svg"},
    {CLI_FALLBACK, 0, "fallback", "POLICY", "for nodes that the device refuses: none (an error) or reference"},
    {CLI_PLUGIN, 0, "plugin", "FILE", "load this backend first; may be repeated"},
    {CLI_VERBOSE, 'v', "verbose", NULL, "say more; twice: everything"},
    {CLI_JSON, 0, "json", NULL, "print one JSON document on standard output"},
    {CLI_HELP, 'h', "help", NULL, "print this help"},
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static const option_row *find_long(const char *name, size_t length) {
  for (size_t i = 0; i < ROW_COUNT; i++)
    if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) return &rows[i];
  return NULL;
}

static const option_row *find_letter(char letter) {
  for (size_t i = 0; i < ROW_COUNT; i++)
    if (rows[i].letter == letter) return &rows[i];
  return NULL;
}

/* `row`: the option where another command has it, else NULL. */
static ph_status unknown_option(const char *command, cli_option_set accepted, const char *word, const option_row *row,
                                ph_error *error) {
  if (row != NULL)
    return ph_fail(error, PH_INVALID, "'polyhead %s' takes no option '--%s'; 'polyhead %s --help' lists those it takes",
                   command, row->name, command);
  const char *names[ROW_COUNT];
  size_t count = 0;
  for (size_t i = 0; i < ROW_COUNT; i++)
    if ((accepted & rows[i].bit) != 0) names[count++] = rows[i].name;
  char name[64];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
  const char *nearest = strncmp(name, "--", 2) == 0 ? ph_nearest(name + 2, names, count) : NULL;
  if (nearest != NULL) return ph_fail(error, PH_INVALID, "unknown option '%s'; did you mean '--%s'?", name, nearest);
  return ph_fail(error, PH_INVALID, "unknown option '%s'; 'polyhead %s --help' lists those there are", name, command);
}

static ph_status apply_once(const char *name, const char *value, const char **out, ph_error *error) {
  if (*out != NULL) return ph_fail(error, PH_INVALID, "--%s is given twice: '%s' and '%s'", name, *out, value);
  *out = value;
  return PH_OK;
}

ph_status cli_count_parse(const char *option, const char *text, uint64_t least, uint64_t *out, ph_error *error) {
  if (text == NULL) return PH_OK;
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least)
    return ph_fail(error, PH_INVALID, "--%s takes an integer of %llu or more, not '%s'", option,
                   (unsigned long long)least, text);
  *out = value;
  return PH_OK;
}

/* Lists have room for every word of the command line. */
static void add(cli_list *list, const char *text) {
  list->items[list->count++] = text;
}

static ph_status apply(const option_row *row, const char *command, cli_option_set accepted, const char *value,
                       cli_options *out, ph_error *error) {
  switch (row->bit) {
  case CLI_DEVICE:
    if (out->devices.count > 0 && (accepted & CLI_DEVICES) != CLI_DEVICES)
      return ph_fail(error, PH_INVALID, "'polyhead %s' takes one device, but '%s' and '%s' are given", command,
                     out->devices.items[0], value);
    add(&out->devices, value);
    break;
  case CLI_WEIGHTS:
    add(&out->weights, value);
    break;
  case CLI_INPUT:
    add(&out->inputs, value);
    break;
  case CLI_OUTPUT:
    add(&out->outputs, value);
    break;
  case CLI_DIM:
    add(&out->dims, value);
    break;
  case CLI_PLUGIN:
    add(&out->plugins, value);
    break;
  case CLI_LOAD:
    add(&out->loads, value);
    break;
  case CLI_SAVE:
    if (out->save != NULL) return ph_fail(error, PH_INVALID, "--save is given twice: '%s' and '%s'", out->save, value);
    out->save = value;
    break;
  case CLI_FALLBACK:
    if (strcmp(value, "none") != 0 && strcmp(value, "reference") != 0)
      return ph_fail(error, PH_INVALID, "--fallback takes none or reference, not '%s'", value);
    out->fallback = strcmp(value, "none") == 0 ? PH_FALLBACK_NONE : PH_FALLBACK_REFERENCE;
    break;
  case CLI_SUITE:
    add(&out->suites, value);
    break;
  case CLI_SET:
    return apply_once(row->name, value, &out->set, error);
  case CLI_FILTER:
    return apply_once(row->name, value, &out->filter, error);
  case CLI_TENSOR:
    add(&out->tensors, value);
    break;
  case CLI_PROMPT:
    return apply_once(row->name, value, &out->prompt, error);
  case CLI_PROMPT_IDS:
    return apply_once(row->name, value, &out->prompt_ids, error);
  case CLI_SOURCE:
    return apply_once(row->name, value, &out->source, error);
  case CLI_SOURCE_IDS:
    return apply_once(row->name, value, &out->source_ids, error);
  case CLI_TOKENS:
    return apply_once(row->name, value, &out->tokens, error);
  case CLI_TEMPERATURE:
    return apply_once(row->name, value, &out->temperature, error);
  case CLI_TOP_K:
    return apply_once(row->name, value, &out->top_k, error);
  case CLI_TOP_P:
    return apply_once(row->name, value, &out->top_p, error);
  case CLI_WARMUP:
    return apply_once(row->name, value, &out->warmup, error);
  case CLI_ITERS:
    return apply_once(row->name, value, &out->iters, error);
  case CLI_QUICK:
    out->quick = true;
    break;
  case CLI_PLOT:
    return apply_once(row->name, value, &out->plot, error);
  case CLI_GREEDY:
    out->greedy = true;
    break;
  case CLI_HEAD:
    return apply_once(row->name, value, &out->head, error);
  case CLI_REPORT:
    return apply_once(row->name, value, &out->report, error);
  case CLI_TRACE:
    return apply_once(row->name, value, &out->trace, error);
  case CLI_FORMAT:
    return apply_once(row->name, value, &out->format, error);
  case CLI_SHOW:
    return apply_once(row->name, value, &out->show, error);
  case CLI_JUNIT:
    return apply_once(row->name, value, &out->junit, error);
  case CLI_REQUIRED:
    return apply_once(row->name, value, &out->required, error);
  case CLI_SEED:
    return cli_count_parse(row->name, value, 0, &out->seed, error);
  case CLI_LIST:
    out->list = true;
    break;
  case CLI_RANDOM:
    out->random = true;
    break;
  case CLI_PROFILE:
    out->profile = true;
    break;
  case CLI_PER_NODE:
    out->per_node = true;
    break;
  case CLI_EQUAL_NAN:
    out->equal_nan = true;
    break;
  case CLI_VERBOSE:
    out->verbose++;
    break;
  case CLI_JSON:
    out->json = true;
    break;
  case CLI_HELP:
    out->help = true;
    break;
  }
  return PH_OK;
}

/* "--name", "--name=value" or "--name value"; *next is the word after it, and moves where that was taken. */
static ph_status parse_long(const char *command, cli_option_set accepted, const char *word, char *const **next,
                            cli_options *out, ph_error *error) {
  size_t length = strcspn(word + 2, "=");
  const option_row *row = find_long(word + 2, length);
  if (row == NULL || (accepted & row->bit) == 0) return unknown_option(command, accepted, word, row, error);
  const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
  if (row->argument == NULL && value != NULL)
    return ph_fail(error, PH_INVALID, "--%s takes no value, but '%s' is given", row->name, value);
  if (row->argument != NULL && value == NULL) {
    if (**next == NULL)
      return ph_fail(error, PH_INVALID, "--%s needs a value: --%s %s", row->name, row->name, row->argument);
    value = *(*next)++;
  }
  return apply(row, command, accepted, value, out, error);
}

/* "-v", "-vv", "-dpocl" or "-d pocl". */
static ph_status parse_short(const char *command, cli_option_set accepted, const char *word, char *const **next,
                             cli_options *out, ph_error *error) {
  for (const char *letter = word + 1; *letter != '\0'; letter++) {
    const option_row *row = find_letter(*letter);
    if (row == NULL || (accepted & row->bit) == 0) return unknown_option(command, accepted, word, row, error);
    if (row->argument == NULL) {
      PH_TRY(apply(row, command, accepted, NULL, out, error));
      continue;
    }
    if (letter[1] != '\0') return apply(row, command, accepted, letter + 1, out, error);
    if (**next == NULL) return ph_fail(error, PH_INVALID, "-%c needs a value: -%c %s", *letter, *letter, row->argument);
    return apply(row, command, accepted, *(*next)++, out, error);
  }
  return PH_OK;
}

ph_status cli_options_parse(const char *command, cli_option_set accepted, int argc, char *const *argv, cli_options *out,
                            ph_error *error) {
  *out = (cli_options){0};
  cli_list *lists[] = {&out->arguments, &out->devices, &out->plugins, &out->weights, &out->inputs,
                       &out->outputs,   &out->dims,    &out->loads,   &out->suites,  &out->tensors};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
    lists[i]->items = ph_new_array((size_t)argc, sizeof(char *));
    if (lists[i]->items == NULL) return ph_fail_memory(error);
  }
  bool only_arguments = false; /* after "--" */
  for (char *const *next = argv; *next != NULL;) {
    const char *word = *next++;
    if (only_arguments || word[0] != '-' || word[1] == '\0') {
      add(&out->arguments, word);
    } else if (strcmp(word, "--") == 0) {
      only_arguments = true;
    } else if (word[1] == '-') {
      PH_TRY(parse_long(command, accepted, word, &next, out, error));
    } else {
      PH_TRY(parse_short(command, accepted, word, &next, out, error));
    }
  }
  return PH_OK;
}

void cli_options_free(cli_options *options) {
  free(options->arguments.items);
  free(options->devices.items);
  free(options->plugins.items);
  free(options->weights.items);
  free(options->inputs.items);
  free(options->outputs.items);
  free(options->dims.items);
  free(options->loads.items);
  free(options->suites.items);
  free(options->tensors.items);
  *options = (cli_options){0};
}

void cli_options_print(cli_option_set accepted, FILE *to) {
  for (size_t i = 0; i < ROW_COUNT; i++) {
    const option_row *row = &rows[i];
    if ((accepted & row->bit) == 0) continue;
    char left[40], letter[8] = "    ";
    if (row->letter != 0) snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->argument != NULL ? " " : "",
             row->argument != NULL ? row->argument : "");
    fprintf(to, "  %-26s  %s\n", left, row->text);
  }
}

ph_status cli_pairs_parse(const cli_list *list, const char *form, cli_pair **out, ph_error *error) {
  *out = ph_new_array(list->count, sizeof(cli_pair));
  if (*out == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < list->count; i++) {
    const char *item = list->items[i], *equals = strchr(item, '=');
    if (equals == NULL || equals == item || equals[1] == '\0')
      return ph_fail(error, PH_INVALID, "%s, not '%s'", form, item);
    (*out)[i].name = strndup(item, (size_t)(equals - item));
    if ((*out)[i].name == NULL) return ph_fail_memory(error);
    (*out)[i].value = equals + 1;
  }
  return PH_OK;
}

ph_status cli_pairs_check_once(const cli_pair *pairs, uint32_t count, const char *option, ph_error *error) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < i; j++)
      if (strcmp(pairs[i].name, pairs[j].name) == 0)
        return ph_fail(error, PH_INVALID, "%s %s is given twice: '%s' and '%s'; keep one", option, pairs[i].name,
                       pairs[j].value, pairs[i].value);
  return PH_OK;
}

void cli_pairs_free(cli_pair *pairs, uint32_t count) {
  if (pairs == NULL) return;
  for (uint32_t i = 0; i < count; i++) free(pairs[i].name);
  free(pairs);
}
