/* polyhead conform: is a backend right? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "command.h"
#include "json.h"
#include "junit.h"
#include "output.h"
#include "setup.h"

/* ---- while it runs ---- */

/* A line that is written over, on a terminal alone. */
static void show_progress(void *user, uint32_t done, uint32_t total, const ph_case_result *result) {
  uint32_t *bad = user;
  *bad +=
      result->state == PH_CASE_FAIL || result->state == PH_CASE_UNEXPECTED_PASS || result->state == PH_CASE_UNTRUSTED;
  if (!isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\r\033[K%u of %u, %u bad  %.60s", done, total, *bad, result->name);
  if (done == total) fprintf(stderr, "\r\033[K");
  fflush(stderr);
}

/* ---- what became of it ---- */

static cli_color color_of(ph_case_state state) {
  if (state == PH_CASE_FAIL || state == PH_CASE_UNEXPECTED_PASS || state == PH_CASE_UNTRUSTED) return CLI_RED;
  return state == PH_CASE_PASS ? CLI_GREEN : CLI_YELLOW;
}

static void print_cases(const ph_conformance *conformance) {
  for (uint32_t i = 0; i < ph_conform_case_count(conformance); i++) {
    const ph_case_result *result = ph_conform_result(conformance, i);
    if (result->state == PH_CASE_PASS) continue;
    cli_print_colored(stdout, color_of(result->state), ph_case_state_name(result->state));
    printf("  %s: %s; again: %s\n", result->name, result->reason, result->command);
  }
}

static ph_status print_ops(const ph_conformance *conformance, ph_error *error) {
  cli_table table = {.columns = "lrrrl"};
  cli_table_add(&table, (const char *const[]){"op", "cases", "trusted", "ratio", "nearest to its bound"});
  for (uint32_t i = 0; i < ph_conform_op_count(conformance); i++) {
    const ph_conform_op *op = ph_conform_op_result(conformance, i);
    if (op->cases == 0) continue;
    char cases[16], trusted[16], ratio[32];
    snprintf(cases, sizeof(cases), "%u", op->cases);
    snprintf(trusted, sizeof(trusted), "%u", op->trusted);
    snprintf(ratio, sizeof(ratio), "%.3g", op->ratio);
    cli_table_add(&table, (const char *const[]){op->op, cases, trusted, ratio, op->worst_case});
  }
  return cli_table_print(&table, stdout, error);
}

/* `whole`: nothing was filtered out, so that pairs of options are worth counting. */
static void print_summary(const ph_conformance *conformance, bool whole) {
  const ph_device_entry *device = ph_conform_device(conformance);
  uint32_t count = ph_conform_case_count(conformance), possible, met;
  printf("%s (%s): %u cases", device->spec, device->info.name, count);
  for (int state = 0; state < PH_CASE_STATE_COUNT; state++) {
    uint32_t in_state = ph_conform_state_count(conformance, (ph_case_state)state);
    if (in_state > 0) printf(", %u %s", in_state, ph_case_state_name((ph_case_state)state));
  }
  printf("; %u trusted", ph_conform_trusted_count(conformance));
  ph_conform_pairs(conformance, &possible, &met);
  if (whole && possible > 0) printf("; %u of %u pairs of options met", met, possible);
  printf("\n");
  if (ph_conform_good(conformance)) {
    cli_print_colored(stdout, CLI_GREEN, "conforms");
    printf("\n");
    return;
  }
  cli_print_colored(stdout, CLI_RED, "does not conform");
  uint32_t ran = 0;
  for (uint32_t i = 0; i < count; i++) ran += ph_conform_result(conformance, i)->nodes > 0;
  printf(ran == 0 ? ": nothing ran\n" : "\n");
}

/* ---- JSON ---- */

static json_t *case_json(const ph_case_result *result) {
  return json_pack("{so ss so so sb sb si sI sI so so so so}", "name", cli_json_text(result->name), "state",
                   ph_case_state_name(result->state), "reason", cli_json_text(result->reason), "command",
                   cli_json_text(result->command), "trusted", (int)result->trusted, "empty", (int)result->empty,
                   "nodes", (int)result->nodes, "compared", (json_int_t)result->compared, "bad",
                   (json_int_t)result->bad, "ratio", cli_json_real(result->ratio), "worst_node",
                   cli_json_text(result->worst_node), "worst_op", cli_json_text(result->worst_op), "seconds",
                   cli_json_real(result->seconds));
}

static json_t *op_json(const ph_conform_op *op) {
  return json_pack("{ss si si so so}", "op", op->op, "cases", (int)op->cases, "trusted", (int)op->trusted, "ratio",
                   cli_json_real(op->ratio), "worst_case", cli_json_text(op->worst_case));
}

static ph_status report_json(const ph_conformance *conformance, json_t *to, ph_error *error) {
  json_t *cases = json_array(), *ops = json_array(), *states = json_object();
  for (uint32_t i = 0; i < ph_conform_case_count(conformance); i++)
    cases = cli_json_append(cases, case_json(ph_conform_result(conformance, i)));
  for (uint32_t i = 0; i < ph_conform_op_count(conformance); i++)
    ops = cli_json_append(ops, op_json(ph_conform_op_result(conformance, i)));
  for (int state = 0; state < PH_CASE_STATE_COUNT && states != NULL; state++)
    json_object_set_new(states, ph_case_state_name((ph_case_state)state),
                        json_integer(ph_conform_state_count(conformance, (ph_case_state)state)));
  uint32_t possible, met;
  ph_conform_pairs(conformance, &possible, &met);
  json_t *pairs = json_pack("{si si}", "possible", (int)possible, "met", (int)met);
  PH_TRY(cli_json_set(to, "device", cli_json_device(ph_conform_device(conformance)), error));
  PH_TRY(cli_json_set(to, "conforms", json_boolean(ph_conform_good(conformance)), error));
  PH_TRY(cli_json_set(to, "states", states, error));
  PH_TRY(cli_json_set(to, "trusted", json_integer(ph_conform_trusted_count(conformance)), error));
  PH_TRY(cli_json_set(to, "pairs", pairs, error));
  PH_TRY(cli_json_set(to, "ops", ops, error));
  return cli_json_set(to, "cases", cases, error);
}

/* ---- the command ---- */

static ph_status list_cases(const ph_conformance *conformance, cli_result *result, ph_error *error) {
  json_t *names = result->json != NULL ? json_array() : NULL;
  for (uint32_t i = 0; i < ph_conform_case_count(conformance); i++) {
    const char *name = ph_conform_case_name(conformance, i);
    if (result->json != NULL)
      names = cli_json_append(names, cli_json_text(name));
    else
      printf("%s\n", name);
  }
  return result->json != NULL ? cli_json_set(result->json, "cases", names, error) : PH_OK;
}

/* Several are told apart as YAML documents are. */
static ph_status show_cases(ph_conformance *conformance, const char *name, cli_result *result, ph_error *error) {
  uint32_t count = ph_conform_case_count(conformance);
  if (count == 0) return ph_fail(error, PH_INVALID, "there is no case '%s'; --list names those there are", name);
  json_t *configs = result->json != NULL ? json_object() : NULL;
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < count && status == PH_OK; i++) {
    char *text;
    status = ph_conform_show(conformance, i, &text, error);
    if (status != PH_OK) break;
    if (result->json == NULL)
      printf("%s%s", i > 0 ? "---\n" : "", text);
    else if (json_object_set_new(configs, ph_conform_case_name(conformance, i), cli_json_text(text)) != 0)
      status = ph_fail_memory(error);
    free(text);
  }
  if (status == PH_OK && result->json != NULL) return cli_json_set(result->json, "configs", configs, error);
  json_decref(configs);
  return status;
}

static ph_status run_cases(const cli_options *options, ph_conformance *conformance, cli_result *result,
                           ph_error *error) {
  ph_context_options wanted;
  PH_TRY(cli_context_options(options, &wanted, error));
  wanted.no_cache = true; /* hundreds of kernels that nobody else asks for, and what was tuned here proves nothing */
  ph_context *context;
  PH_TRY(ph_context_create(&wanted, &context, error));
  ph_status status = ph_conform_run(conformance, context, error);
  if (status == PH_OK) {
    if (!ph_conform_good(conformance)) result->exit_code = CLI_EXIT_DIFFERENT;
    if (result->json != NULL) {
      status = report_json(conformance, result->json, error);
    } else {
      print_cases(conformance);
      status = print_ops(conformance, error);
      print_summary(conformance, options->filter == NULL);
    }
  }
  if (status == PH_OK && options->junit != NULL) status = cli_junit_write(options->junit, conformance, error);
  ph_context_destroy(context);
  return status;
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  uint32_t bad = 0;
  ph_conform_options wanted = {.struct_size = sizeof(wanted),
                               .device = options->devices.count > 0 ? options->devices.items[0] : NULL,
                               .set = options->set,
                               .suites = options->suites.items,
                               .suite_count = options->suites.count,
                               .filter = options->show != NULL ? options->show : options->filter,
                               .seed = options->seed,
                               .required = options->required,
                               .after = show_progress,
                               .user = &bad};
  ph_conformance *conformance;
  PH_TRY(ph_conform_open(&wanted, &conformance, error));
  ph_status status = options->list           ? list_cases(conformance, result, error)
                     : options->show != NULL ? show_cases(conformance, options->show, result, error)
                                             : run_cases(options, conformance, result, error);
  ph_conform_close(conformance);
  return status;
}

const cli_command cli_conform = {
    .name = "conform",
    .arguments = "",
    .options = CLI_DEVICE | CLI_SET | CLI_SUITE | CLI_FILTER | CLI_SEED | CLI_LIST | CLI_SHOW | CLI_JUNIT |
               CLI_REQUIRED | CLI_COMMON,
    .summary = "run the conformance cases on a device",
    .text = "Runs small graphs on the device and holds every node against the value in double precision and its\n"
            "derived bound, between guard bands and twice.  A case is pass, fail, unsupported, unavailable,\n"
            "expected-fail, unexpected-pass or untrusted (nothing wrong could have been seen).  What is not a pass\n"
            "comes with the command that repeats it.\n"
            "Sets: tiny (for simulators), smoke (seconds), ci (minutes; the default) and full.\n"
            "Kernels are compiled for this run alone: the cache folder is neither read nor written.\n"
            "Exits with 1 on a fail, an unexpected pass or an untrusted case, and where nothing ran.",
    .run = run,
};
