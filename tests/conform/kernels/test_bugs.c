/* test_bugs PLUGIN SET [BUG]...: tests the suites with the backend `kernels`.  Suites are those that come with the
 * library.
 *
 * Right kernels of every kind must pass all cases and stay at half of their bound: the calibration of C
 * (docs/numerics.md). Each bug must be caught by nine of ten trusted cases that exercise it; a numeric one counts as
 * caught where it is at twice its bound or more.  A case exercises a bug where it shows in the results, which the
 * backend says by itself: it computes each node without the bug, too. */
#include <polyhead/polyhead.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bugs.h"

static const double most_of_bound = 0.5, least_share = 0.9, least_ratio = 2;
enum { LEAST_CASES = 10, MISSED_SHOWN = 10 };

/* The kernels as they are right. */
enum { PLAIN, ONLINE, HALF_WEIGHTS, ALL_TYPES, KIND_COUNT };
static const char *const kinds[KIND_COUNT] = {"plain", "online", "half_weights", "all types"};
static const char *const devices[KIND_COUNT] = {"kernels,kernel=plain,storage=f32", "kernels,kernel=online,storage=f32",
                                                "kernels,kernel=half_weights,storage=f32", "kernels,kernel=plain"};

/* What became of one case. */
typedef struct outcome {
  const char *name; /* lives as long as its conformance */
  ph_case_state state;
  bool trusted, exercised;
  double ratio;
} outcome;

typedef struct suite_run {
  ph_conformance *conformance;
  outcome *outcomes;
  uint32_t count;
} suite_run;

typedef struct tester {
  ph_context *context;
  const char *set;
  suite_run *run; /* the one under way */
  bool shown;     /* the log said that the bug shows; taken by the case that ends */
  bool good;
  suite_run right[KIND_COUNT];
  ph_error error;
} tester;

static void listen(void *user, ph_log_level level, const char *text) {
  tester *t = user;
  if (level == PH_LOG_DEBUG && strstr(text, "shows bug=") != NULL) t->shown = true;
}

static void complain(tester *t, const char *what, const char *kind, const char *where) {
  t->good = false;
  printf("  WRONG: %s, kernel=%s: %s\n", where, kind, what);
}

/* ---- running the suites ---- */

static void end_case(void *user, uint32_t done, uint32_t total, const ph_case_result *result) {
  (void)total;
  tester *t = user;
  t->run->outcomes[done - 1] = (outcome){result->name, result->state, result->trusted, t->shown, result->ratio};
  t->shown = false;
}

static void end_run(suite_run *run) {
  ph_conform_close(run->conformance);
  free(run->outcomes);
  *run = (suite_run){0};
}

static bool run_suites(tester *t, const char *device, suite_run *run) {
  const ph_conform_options options = {
      .struct_size = sizeof(options), .device = device, .set = t->set, .after = end_case, .user = t};
  *run = (suite_run){0};
  if (ph_conform_open(&options, &run->conformance, &t->error) != PH_OK) return false;
  run->count = ph_conform_case_count(run->conformance);
  run->outcomes = calloc(run->count > 0 ? run->count : 1, sizeof(*run->outcomes));
  t->run = run;
  t->shown = false;
  if (run->outcomes != NULL && ph_conform_run(run->conformance, t->context, &t->error) == PH_OK) return true;
  end_run(run);
  return false;
}

/* ---- right kernels ---- */

static void check_right(tester *t, int kind) {
  for (uint32_t i = 0; i < t->right[kind].count; i++) {
    const ph_case_result *result = ph_conform_result(t->right[kind].conformance, i);
    if (result->state != PH_CASE_PASS && result->state != PH_CASE_UNSUPPORTED)
      complain(t, result->reason, kinds[kind], result->name);
  }
}

/* One op's largest |got - expected| / bound by kernel; where the kernels do not differ, of the first alone. */
static void print_op(tester *t, uint32_t index) {
  const ph_conform_op *plain = ph_conform_op_result(t->right[PLAIN].conformance, index);
  bool differs = strcmp(plain->op, "attention") == 0 || strcmp(plain->op, "weighted_sum") == 0;
  if (plain->cases == 0) return;
  printf("%-20s %8u", plain->op, plain->trusted);
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    const ph_conform_op *op = ph_conform_op_result(t->right[kind].conformance, index);
    if (differs || kind == PLAIN || kind == ALL_TYPES)
      printf(" %13.3f", op->ratio);
    else
      printf(" %13s", "");
    if (op->ratio > most_of_bound) complain(t, "above half its bound", kinds[kind], op->worst_case);
  }
  printf("\n");
}

static bool run_right(tester *t) {
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    if (!run_suites(t, devices[kind], &t->right[kind])) return false;
    check_right(t, kind);
  }
  printf("%-20s %8s", "op", "trusted");
  for (int kind = 0; kind < KIND_COUNT; kind++) printf(" %13s", kinds[kind]);
  printf("\n");
  for (uint32_t i = 0; i < ph_conform_op_count(t->right[PLAIN].conformance); i++) print_op(t, i);
  printf("\n");
  return true;
}

/* ---- wrong kernels ---- */

typedef struct tally {
  uint32_t exercised, caught;
  double smallest; /* ratio among the catches */
} tally;

static bool counts(const outcome *wrong, const outcome *right) {
  return wrong->exercised && right->trusted;
}

static bool is_caught(const outcome *one, bool numeric) {
  return one->state == PH_CASE_FAIL && !(numeric && one->ratio < least_ratio);
}

static tally count_catches(const suite_run *wrong, const suite_run *right, bool numeric) {
  tally sum = {.smallest = INFINITY};
  for (uint32_t i = 0; i < wrong->count; i++) {
    const outcome *one = &wrong->outcomes[i];
    if (!counts(one, &right->outcomes[i])) continue;
    sum.exercised++;
    if (!is_caught(one, numeric)) continue;
    sum.caught++;
    sum.smallest = fmin(sum.smallest, one->ratio);
  }
  return sum;
}

static void print_missed(const suite_run *wrong, const suite_run *right, bool numeric) {
  int shown = 0;
  for (uint32_t i = 0; i < wrong->count && shown < MISSED_SHOWN; i++) {
    const outcome *one = &wrong->outcomes[i];
    if (!counts(one, &right->outcomes[i]) || is_caught(one, numeric)) continue;
    printf("    not by %s, at %.3g of the bound\n", one->name, one->ratio);
    shown++;
  }
}

static bool run_wrong(tester *t, const kernel_bug_row *bug, int kind) {
  char device[128];
  snprintf(device, sizeof(device), "%s,bug=%s", devices[kind], bug->name);
  suite_run wrong;
  if (!run_suites(t, device, &wrong)) return false;
  tally sum = count_catches(&wrong, &t->right[kind], bug->numeric);
  double share = sum.exercised > 0 ? (double)sum.caught / sum.exercised : 0;
  printf("%-26s %-13s %9u %7u %6.1f%%", bug->name, kinds[kind], sum.exercised, sum.caught, 100 * share);
  if (bug->numeric)
    printf(" %14.3g\n", sum.smallest);
  else
    printf(" %14s\n", "");
  if (sum.exercised < LEAST_CASES) complain(t, "too few trusted cases exercise it", kinds[kind], bug->name);
  if (share < (bug->numeric ? least_share : 1)) complain(t, "too few cases catch it", kinds[kind], bug->name);
  print_missed(&wrong, &t->right[kind], bug->numeric);
  fflush(stdout);
  end_run(&wrong);
  return true;
}

static bool is_asked(const char *name, int argc, char **argv) {
  bool asked = argc == 0;
  for (int i = 0; i < argc; i++) asked = asked || strcmp(argv[i], name) == 0;
  return asked;
}

/* Every bug in the plain kernel, and those of attention in the one that declares the least precise type there is. */
static bool run_all_wrong(tester *t, int argc, char **argv) {
  printf("%-26s %-13s %9s %7s %7s %14s\n", "bug", "kernel", "exercised", "caught", "share", "smallest ratio");
  for (int bug = BUG_NONE + 1; bug < BUG_COUNT; bug++) {
    if (!is_asked(kernel_bugs[bug].name, argc, argv)) continue;
    if (!run_wrong(t, &kernel_bugs[bug], PLAIN)) return false;
    if (kernel_bug_concerns((kernel_bug)bug, "attention") && !run_wrong(t, &kernel_bugs[bug], HALF_WEIGHTS))
      return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *plugin = argv[1];
  tester t = {.set = argv[2], .good = true, .error = {.struct_size = sizeof(t.error)}};
  const ph_context_options options = {.struct_size = sizeof(options),
                                      .plugins = &plugin,
                                      .plugin_count = 1,
                                      .log = listen,
                                      .log_user = &t,
                                      .log_level = PH_LOG_DEBUG};
  bool ran = ph_context_create(&options, &t.context, &t.error) == PH_OK && run_right(&t) &&
             run_all_wrong(&t, argc - 3, argv + 3);
  if (!ran) printf("%s\n", t.error.message);
  for (int kind = 0; kind < KIND_COUNT; kind++) end_run(&t.right[kind]);
  ph_context_destroy(t.context);
  return ran && t.good ? EXIT_SUCCESS : EXIT_FAILURE;
}
