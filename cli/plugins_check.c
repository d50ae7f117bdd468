/* polyhead plugins check: a line for each check of a plugin.  The plugin runs in a child process, so that one that ends
 * the process, never comes back or prints is one failed check more. */
#define _GNU_SOURCE /* pipe2 */
#include "plugins_check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "json.h"
#include "output.h"

enum { MOST_SECONDS = 1800 };

/* ---- the child: writes {"begins": NAME} before a check and {"name":, "state":, ..} after it, a line each ---- */

static void send_line(FILE *to, json_t *line) {
  if (line != NULL) json_dumpf(line, to, JSON_COMPACT);
  fputc('\n', to);
  fflush(to);
  json_decref(line);
}

static void send_begin(void *user, const char *name) {
  send_line(user, json_pack("{ss}", "begins", name));
}

static void send_result(void *user, const ph_plugin_check_result *result) {
  static const char *const states[] = {"pass", "fail", "skip"};
  send_line(user, json_pack("{so ss so so}", "name", cli_json_text(result->name), "state", states[result->state],
                            "text", cli_json_text(result->text), "cure", cli_json_text(result->cure)));
}

/* What the plugin prints goes to `printed`, which the parent looks at. */
static void run_child(const char *path, int results, int printed) {
  FILE *to = fdopen(results, "w");
  if (to == NULL || dup2(printed, STDOUT_FILENO) == -1) _exit(CLI_EXIT_DEVICE);
  alarm(MOST_SECONDS);
  ph_plugin_check(path, send_begin, send_result, to);
  fflush(NULL);
  _exit(CLI_EXIT_GOOD);
}

/* ---- the parent ---- */

typedef struct report {
  json_t *checks;   /* with --json; else the lines are printed as they come */
  char running[32]; /* the check that has begun and not ended; "" if none */
  uint32_t failed, skipped;
  bool smoke_skipped;
} report;

static void show(report *r, const char *name, const char *state, const char *text, const char *cure) {
  bool failed = strcmp(state, "fail") == 0, skipped = strcmp(state, "skip") == 0;
  r->failed += failed;
  r->skipped += skipped;
  r->running[0] = '\0';
  if (strcmp(name, "smoke") == 0) r->smoke_skipped = skipped;
  if (r->checks != NULL) {
    r->checks = cli_json_append(r->checks,
                                json_pack("{so so so so}", "name", cli_json_text(name), "state", cli_json_text(state),
                                          "text", cli_json_text(text), "cure", cli_json_text(cure)));
    return;
  }
  cli_print_colored(stdout, failed ? CLI_RED : skipped ? CLI_YELLOW : CLI_GREEN, state);
  printf("  %-8s  %s", name, text);
  if (cure != NULL) printf("; cure: %s", cure);
  printf("\n");
  fflush(stdout);
}

static const char *text_of(const json_t *line, const char *name) {
  return json_string_value(json_object_get(line, name));
}

static void take_line(report *r, const char *bytes) {
  json_t *line = json_loads(bytes, 0, NULL);
  const char *begins = text_of(line, "begins"), *name = text_of(line, "name"), *state = text_of(line, "state");
  const char *text = text_of(line, "text");
  if (begins != NULL) snprintf(r->running, sizeof(r->running), "%s", begins);
  if (name != NULL && state != NULL && text != NULL) show(r, name, state, text, text_of(line, "cure"));
  json_decref(line);
}

/* A child that did not come to its end. */
static void explain_end(report *r, int status) {
  char text[256], name[sizeof(r->running)];
  snprintf(name, sizeof(name), "%s", r->running[0] != '\0' ? r->running : "end");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    snprintf(text, sizeof(text), "it did not come back within %d seconds", MOST_SECONDS);
  else if (WIFSIGNALED(status))
    snprintf(text, sizeof(text), "it ended the process: %s", strsignal(WTERMSIG(status)));
  else if (r->running[0] != '\0')
    snprintf(text, sizeof(text), "it ended the process with the exit code %d", WEXITSTATUS(status));
  else
    return;
  show(r, name, "fail", text,
       "a backend never exits, aborts or raises a signal; to see where: gdb -ex 'set follow-fork-mode child' -ex run "
       "--args polyhead plugins check FILE");
}

/* The first line of what was printed, if anything was. */
static void judge_printed(report *r, FILE *printed) {
  char line[128] = "";
  rewind(printed);
  if (fgets(line, sizeof(line), printed) == NULL) {
    show(r, "silence", "pass", "nothing was printed to standard output", NULL);
    return;
  }
  line[strcspn(line, "\n")] = '\0';
  char text[192];
  snprintf(text, sizeof(text), "it printed '%s'", line);
  show(r, "silence", "fail", text, "a backend never prints: use the host's log()");
}

static ph_status watch(const char *path, report *r, FILE *printed, ph_error *error) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ph_fail(error, PH_IO, "cannot make a pipe: %s", strerror(errno));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_child(path, ends[1], fileno(printed));
  }
  close(ends[1]);
  FILE *results = child > 0 ? fdopen(ends[0], "r") : NULL;
  if (results == NULL) {
    ph_status failed = ph_fail(error, PH_IO, "cannot start a process: %s", strerror(errno));
    close(ends[0]);
    return failed;
  }
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, results) != -1) take_line(r, line);
  free(line);
  fclose(results);
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) continue;
  explain_end(r, status);
  judge_printed(r, printed);
  return PH_OK;
}

ph_status cli_plugins_check(const char *path, cli_result *result, ph_error *error) {
  report r = {.checks = result->json != NULL ? json_array() : NULL};
  FILE *printed = tmpfile();
  if (printed == NULL) return ph_fail(error, PH_IO, "cannot make a temporary file: %s", strerror(errno));
  ph_status status = watch(path, &r, printed, error);
  fclose(printed);
  if (status != PH_OK) {
    json_decref(r.checks);
    return status;
  }
  result->exit_code = r.failed > 0 ? CLI_EXIT_DIFFERENT : r.smoke_skipped ? CLI_EXIT_UNSUPPORTED : CLI_EXIT_GOOD;
  if (result->json == NULL) {
    const char *verdict = r.failed > 0 ? "failed" : r.smoke_skipped ? "not all could be tried" : "well made";
    printf("%s: %s", path, verdict);
    printf(r.failed > 0 ? " (%u of the checks)\n" : "\n", r.failed);
    return PH_OK;
  }
  PH_TRY(cli_json_set(result->json, "file", cli_json_text(path), error));
  PH_TRY(cli_json_set(result->json, "pass", json_boolean(result->exit_code == CLI_EXIT_GOOD), error));
  return cli_json_set(result->json, "checks", r.checks, error);
}
