/* Faults that users of other engines met, as configs whose right answers stand beside the question
 * (docs/user-reports.md).
 *
 *     reports DEVICE FILE...
 *
 * In a config the output NAME_expected is what NAME must be: the output NAME or something.NAME, else an inner value,
 * which is looked at when the graph runs in steps.  The output `within` is how far a number may be off, relative to the
 * larger of 1 and what is expected; without it nothing may differ.  NaN must meet NaN, and infinity the same infinity.
 * Every config runs as core fuses it and in steps, several times, with the same bits each time.  Comments say more:
 *
 *     # with keys=17 queries=3             once more with other dims
 *     # with keys=17: refused: TEXT        not with these: the message holds TEXT
 *     # refused: TEXT                      not at all
 *     # warns: TEXT                        somebody is warned
 *     # runs: 100                          not just three times
 */
#include <math.h>
#include <polyhead/polyhead.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

enum { MAX_WORDS = 8, RUNS = 3, SHOWN = 3 };

typedef struct report {
  ph_context *context;
  const char *device, *file;
  ph_text heard; /* what was warned of */
  int runs, failures;
  bool absent; /* there is no such device */
} report;

/* One way to run it. */
typedef struct trial {
  char words[256]; /* "keys=17 queries=3", cut into `dims` */
  const char *dims[MAX_WORDS];
  uint32_t dim_count;
  const char *refused; /* NULL: it must run */
  bool steps;
} trial;

static void hear(void *user, const char *text) {
  ph_text_add(&((report *)user)->heard, "%s\n", text);
}

static void hear_log(void *user, ph_log_level level, const char *text) {
  if (level <= PH_LOG_WARN) hear(user, text);
}

static void complain(report *r, const trial *t, const char *text) {
  printf("FAILED: %s%s", r->file, t->steps ? ", in steps" : "");
  for (uint32_t i = 0; i < t->dim_count; i++) printf(", %s", t->dims[i]);
  printf(": %s\n", text);
  r->failures++;
}

/* ---- values ---- */

static double number(const ph_tensor *tensor, size_t i) {
  return ph_read_real(tensor->dtype, tensor->data, i);
}

static bool is_near(const ph_tensor *got, const ph_tensor *expected, size_t i, double within) {
  if (!ph_dtype_is_real(got->dtype))
    return ph_read_integer(got->dtype, got->data, i) == ph_read_integer(expected->dtype, expected->data, i);
  double a = number(got, i), b = number(expected, i);
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= within * fmax(1, fabs(b));
}

static void compare(report *r, const trial *t, const char *name, const ph_tensor *got, const ph_tensor *expected,
                    double within) {
  char text[256];
  bool same = got->dtype == expected->dtype && got->rank == expected->rank;
  for (uint32_t i = 0; same && i < got->rank; i++) same = got->dims[i] == expected->dims[i];
  if (!same) {
    snprintf(text, sizeof(text), "%s and %s_expected differ in type or shape", name, name);
    complain(r, t, text);
    return;
  }
  size_t bad = 0;
  for (size_t i = 0; i < got->count; i++) {
    if (is_near(got, expected, i, within) || bad++ >= SHOWN) continue;
    snprintf(text, sizeof(text), "%s, element %zu: %.9g instead of %.9g", name, i, number(got, i), number(expected, i));
    complain(r, t, text);
  }
  r->failures += bad > SHOWN ? (int)(bad - SHOWN) : 0;
}

/* The value that NAME_expected speaks of, or NULL. */
static const ph_output *find_output(const ph_session *session, const char *name, size_t length) {
  for (uint32_t i = 0; i < ph_session_output_count(session); i++) {
    const ph_output *output = ph_session_output(session, i);
    size_t size = strlen(output->alias);
    if (size < length || strncmp(output->alias + size - length, name, length) != 0) continue;
    if (size == length || output->alias[size - length - 1] == '.') return output;
  }
  return NULL;
}

/* The length of NAME in NAME_expected; 0 for other names. */
static size_t expected_length(const char *alias) {
  static const char tail[] = "_expected";
  size_t length = strlen(alias);
  bool is = length >= sizeof(tail) && strcmp(alias + length - (sizeof(tail) - 1), tail) == 0;
  return is ? length - (sizeof(tail) - 1) : 0;
}

static void compare_all(report *r, const trial *t, const ph_session *session) {
  const ph_output *within = find_output(session, "within", strlen("within"));
  int compared = 0;
  for (uint32_t i = 0; i < ph_session_output_count(session); i++) {
    const ph_output *expected = ph_session_output(session, i);
    size_t length = expected_length(expected->alias);
    const ph_output *got = length == 0 ? NULL : find_output(session, expected->alias, length);
    if (got == NULL) continue;
    compare(r, t, got->alias, got->tensor, expected->tensor, within == NULL ? 0 : number(within->tensor, 0));
    compared++;
  }
  if (compared == 0) complain(r, t, "nothing was compared");
}

/* ---- running ---- */

/* Runs it again and again; the outputs keep their bits. */
static ph_status run_often(report *r, const trial *t, ph_session *session, ph_error *error) {
  PH_TRY(ph_session_run(session, error));
  compare_all(r, t, session);
  uint32_t count = ph_session_output_count(session);
  ph_tensor **first = ph_new_array(count, sizeof(*first));
  if (first == NULL) return PH_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < count; i++) first[i] = ph_tensor_retain(ph_session_output(session, i)->tensor);
  ph_status status = PH_OK;
  for (int run = 1; run < r->runs && status == PH_OK; run++) {
    status = ph_session_run(session, error);
    for (uint32_t i = 0; status == PH_OK && i < count; i++)
      if (memcmp(first[i]->data, ph_session_output(session, i)->tensor->data, first[i]->bytes) != 0)
        complain(r, t, "another run gives other bits");
  }
  for (uint32_t i = 0; i < count; i++) ph_tensor_release(first[i]);
  free(first);
  return status;
}

/* The paths that keep each attention apart, and the inner values that are expected. */
static ph_status inner_paths(const ph_session *session, ph_arena *arena, const char ***out, uint32_t *out_count,
                             uint32_t *out_groups) {
  uint32_t capacity = 0;
  *out = NULL;
  *out_count = *out_groups = 0;
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    if (strcmp(node->op, "attention") != 0) continue;
    const char **slot = ph_arena_push(arena, out, out_count, &capacity, sizeof(*slot));
    if (slot == NULL) return PH_OUT_OF_MEMORY;
    *slot = node->members != NULL ? ph_arena_text(arena, "%s", node->members[0])
                                  : ph_arena_text(arena, "%s.weights", node->path);
    if (*slot == NULL) return PH_OUT_OF_MEMORY;
    ++*out_groups;
  }
  for (uint32_t i = 0; i < ph_session_output_count(session); i++) {
    const char *alias = ph_session_output(session, i)->alias;
    size_t length = expected_length(alias);
    if (length == 0 || find_output(session, alias, length) != NULL) continue;
    const char **slot = ph_arena_push(arena, out, out_count, &capacity, sizeof(*slot));
    if (slot == NULL || (*slot = ph_arena_copy(arena, alias, length)) == NULL) return PH_OUT_OF_MEMORY;
  }
  return PH_OK;
}

static ph_status run_model(report *r, trial *t, ph_model *model, ph_error *error) {
  ph_session_options options = {.struct_size = sizeof(options), .device = r->device};
  ph_session *session;
  PH_TRY(ph_session_create(r->context, model, &options, &session, error));
  ph_arena arena = {0};
  uint32_t groups;
  ph_status status = ph_session_prepare(session, false, error);
  if (status == PH_OK) status = run_often(r, t, session, error);
  if (status == PH_OK)
    status = inner_paths(session, &arena, (const char ***)&options.keep, &options.keep_count, &groups);
  ph_session_destroy(session);
  if (status == PH_OK && options.keep_count > 0) {
    t->steps = true;
    status = ph_session_create(r->context, model, &options, &session, error);
    if (status == PH_OK) {
      status = run_often(r, t, session, error);
      for (uint32_t i = 0; status == PH_OK && groups > 0 && i < ph_session_node_count(session); i++)
        if (strcmp(ph_session_node(session, i)->op, "attention") == 0) complain(r, t, "it does not run in steps");
      ph_session_destroy(session);
    }
  }
  ph_arena_free(&arena);
  return status;
}

static void run_trial(report *r, trial *t) {
  for (char *rest = t->words, *word; t->dim_count < MAX_WORDS && (word = strtok_r(NULL, " \r\n", &rest)) != NULL;)
    t->dims[t->dim_count++] = word;
  ph_error error = PH_ERROR_INIT;
  ph_model_options options = {
      .struct_size = sizeof(options), .dims = t->dims, .dim_count = t->dim_count, .warn = hear, .warn_user = r};
  ph_model *model = NULL;
  ph_status status = ph_model_load(r->file, &options, &model, &error);
  if (status == PH_OK) status = run_model(r, t, model, &error);
  ph_model_destroy(model);
  r->absent = status == PH_UNAVAILABLE;
  bool as_said = t->refused == NULL ? status == PH_OK : status != PH_OK && strstr(error.message, t->refused) != NULL;
  if (!as_said) complain(r, t, status == PH_OK ? "it is not refused" : error.message);
}

/* ---- the comments ---- */

/* Copies what stands behind `head` on the line to `out`; false where the line begins otherwise. */
static bool after(const char *line, const char *head, char *out, size_t size) {
  size_t length = strlen(head);
  if (strncmp(line, head, length) != 0) return false;
  snprintf(out, size, "%.*s", (int)strcspn(line + length, "\n"), line + length);
  return true;
}

static void run_text(report *r, const char *text) {
  char rest[256], warning[256] = "", refused[256] = "";
  r->runs = RUNS;
  const char *line = text;
  for (; line != NULL; line = strchr(line, '\n'), line = line == NULL ? NULL : line + 1) {
    after(line, "# refused: ", refused, sizeof(refused));
    after(line, "# warns: ", warning, sizeof(warning));
    if (after(line, "# runs: ", rest, sizeof(rest))) r->runs = atoi(rest);
  }
  trial plain = {.refused = refused[0] != '\0' ? refused : NULL};
  run_trial(r, &plain);
  for (line = text; line != NULL && !r->absent; line = strchr(line, '\n'), line = line == NULL ? NULL : line + 1) {
    if (!after(line, "# with ", rest, sizeof(rest))) continue;
    char *colon = strstr(rest, ": refused: ");
    trial t = {.refused = colon != NULL ? colon + strlen(": refused: ") : NULL};
    if (colon != NULL) *colon = '\0';
    memcpy(t.words, rest, sizeof(rest));
    run_trial(r, &t);
  }
  if (warning[0] != '\0' && !r->absent && (r->heard.data == NULL || strstr(r->heard.data, warning) == NULL))
    complain(r, &(trial){0}, "nobody is warned");
}

static void run_file(report *r) {
  enum { SIZE = 1 << 16 };
  FILE *file = fopen(r->file, "rb");
  char *text = calloc(1, SIZE);
  if (file != NULL && text != NULL && fread(text, 1, SIZE - 1, file) > 0)
    run_text(r, text);
  else
    complain(r, &(trial){0}, "it cannot be read");
  if (file != NULL) fclose(file);
  free(text);
  ph_text_free(&r->heard);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: reports DEVICE FILE...\n");
    return 2;
  }
  report r = {.device = argv[1]};
  ph_context_options options = {
      .struct_size = sizeof(options), .log = hear_log, .log_user = &r, .log_level = PH_LOG_WARN, .no_cache = true};
  ph_error error = PH_ERROR_INIT;
  if (ph_context_create(&options, &r.context, &error) != PH_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 2;
  }
  int wrong = 0;
  for (int i = 2; i < argc && !r.absent; i++) {
    r.file = argv[i];
    r.failures = 0;
    run_file(&r);
    if (r.failures == 0) printf("right: %s\n", r.file);
    wrong += r.failures > 0;
  }
  ph_context_destroy(r.context);
  if (r.absent) {
    printf("SKIPPED: there is no device %s\n", r.device);
    return getenv("POLYHEAD_TEST_REQUIRE_DEVICES") != NULL ? 1 : 77;
  }
  printf("%d of %d reports are right on %s\n", argc - 2 - wrong, argc - 2, r.device);
  return wrong > 0;
}
