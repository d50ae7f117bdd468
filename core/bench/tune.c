/* Tuning: each candidate of a backend measured on the cases of the tune suite, by shape class (docs/performance.md). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench/cases.h"
#include "bench/lane.h"
#include "conform/sources.h"
#include "runtime/device_file.h"
#include "runtime/session.h"

enum { MOST_CANDIDATES = 12 };

/* A variant in a class: the logarithms of its times over the best one's, added up over the cases of the class. */
typedef struct score {
  char variant[64];
  double sum;
  uint32_t cases;
} score;

typedef struct tuned_class {
  ph_tune_row row; /* texts live in the arena */
  score scores[MOST_CANDIDATES];
  uint32_t count;
} tuned_class;

struct ph_tuning {
  ph_arena arena;
  ph_context *context;
  const ph_tune_options *options;
  const char *spec; /* as given, without variant= and tune= */
  ph_open_device *device;
  ph_bench_cases cases;
  ph_text earlier; /* the lines of the run that is gone on with */
  ph_text lines;   /* the lines so far: "case NAME : CLASS : VARIANT=SECONDS .." */
  tuned_class *classes;
  uint32_t class_count, class_capacity;
  ph_error *error;
};

/* ---- which variants there are ---- */

typedef struct candidates {
  char shape_class[64];
  char names[MOST_CANDIDATES][64];
  uint32_t count;
} candidates;

/* Of the node that the case is about: the last one. */
static ph_status find_candidates(ph_tuning *t, ph_model *model, candidates *out, ph_error *error) {
  ph_session *session;
  ph_session_options options = {.struct_size = sizeof(options)};
  *out = (candidates){.count = 0};
  PH_TRY(ph_session_create_on(t->context, model, &options, t->device, NULL, &session, error));
  ph_lowered *lowered = NULL;
  ph_status status = ph_session_prepare(session, false, error);
  const ph_net *net = status == PH_OK ? session->current->net : NULL;
  if (status == PH_OK) status = ph_lower(net, &net->nodes[net->node_count - 1], 1, PH_LOWER_RUN, &lowered, error);
  while (status == PH_OK && out->count < MOST_CANDIDATES) {
    ph_support support = {.struct_size = sizeof(support)};
    status = t->device->backend->candidate(t->device->device, &lowered->graph, 0, out->count, &support, error);
    if (status != PH_OK || !support.supported) break;
    memcpy(out->shape_class, support.shape_class, sizeof(out->shape_class));
    memcpy(out->names[out->count++], support.variant, sizeof(support.variant));
  }
  ph_lowered_destroy(lowered);
  ph_session_destroy(session);
  return status;
}

/* ---- measuring ---- */

static ph_status open_variant(ph_tuning *t, const char *name, ph_open_device **out, ph_error *error) {
  ph_text spec = {0};
  ph_text_add(&spec, "%s,variant=%s,tune=none", t->spec, name);
  ph_status status = spec.failed ? ph_fail_memory(error) : ph_context_open_device(t->context, spec.data, out, error);
  ph_text_free(&spec);
  return status;
}

/* By the device's own clock where it has one that can be believed. */
static double seconds_of(const ph_bench_result *result) {
  if (result->status != PH_OK || result->wrong || result->run.count == 0) return INFINITY;
  bool believable = result->device.count > 0 && result->device.median > 0.02 * result->run.median;
  return believable ? result->device.median : result->run.median;
}

static ph_status measure(ph_tuning *t, ph_model *model, const candidates *wanted, double *out_seconds,
                         ph_error *error) {
  static const ph_bench_options none = {.struct_size = sizeof(none)};
  ph_bench_pace pace = {.warmup = PH_NONE, .iters = t->options->quick ? 3 : PH_NONE};
  ph_open_device *devices[MOST_CANDIDATES] = {NULL};
  ph_bench_lane *lanes[MOST_CANDIDATES] = {NULL};
  ph_bench_result results[MOST_CANDIDATES];
  memset(results, 0, sizeof(results));
  ph_status status = PH_OK;
  for (uint32_t i = 0; i < wanted->count && status == PH_OK; i++) {
    status = open_variant(t, wanted->names[i], &devices[i], error);
    if (status == PH_OK)
      status = ph_bench_lane_open(t->context, model, &none, devices[i], &pace, &results[i], &lanes[i], error);
  }
  for (bool more = status == PH_OK; more;) {
    more = false;
    for (uint32_t i = 0; i < wanted->count; i++)
      if (lanes[i] != NULL && ph_bench_lane_turn(lanes[i])) more = true;
  }
  for (uint32_t i = 0; i < wanted->count; i++) {
    ph_bench_lane_close(lanes[i]);
    ph_open_device_close(devices[i]);
    out_seconds[i] = seconds_of(&results[i]);
  }
  return status;
}

/* ---- lines ---- */

static bool add_line(ph_text *lines, const char *name, const candidates *found, const double *seconds) {
  ph_text_add(lines, "case %s : %s :", name, found->shape_class);
  for (uint32_t i = 0; i < found->count; i++)
    if (isfinite(seconds[i])) ph_text_add(lines, " %s=%.4g", found->names[i], seconds[i]);
  ph_text_add(lines, "\n");
  return !lines->failed;
}

/* The line of an earlier run that did not come to its end; NULL where it has none. */
static const char *find_line(const ph_tuning *t, const char *name) {
  size_t length = strlen(name);
  for (const char *at = t->earlier.data; at != NULL && *at != '\0';) {
    if (strncmp(at, "case ", 5) == 0 && strncmp(at + 5, name, length) == 0 && strncmp(at + 5 + length, " : ", 3) == 0)
      return at;
    at = strchr(at, '\n');
    if (at != NULL) at++;
  }
  return NULL;
}

static tuned_class *find_class(ph_tuning *t, const char *text) {
  for (uint32_t i = 0; i < t->class_count; i++)
    if (strcmp(t->classes[i].row.shape_class, text) == 0) return &t->classes[i];
  tuned_class *made = ph_arena_push(&t->arena, &t->classes, &t->class_count, &t->class_capacity, sizeof(*made));
  if (made == NULL) return NULL;
  made->row.shape_class = ph_arena_text(&t->arena, "%s", text);
  return made->row.shape_class != NULL ? made : NULL;
}

static score *find_score(tuned_class *class, const char *variant) {
  for (uint32_t i = 0; i < class->count; i++)
    if (strcmp(class->scores[i].variant, variant) == 0) return &class->scores[i];
  if (class->count == MOST_CANDIDATES) return NULL;
  score *made = &class->scores[class->count++];
  *made = (score){.sum = 0};
  snprintf(made->variant, sizeof(made->variant), "%s", variant);
  return made;
}

/* "case NAME : CLASS : VARIANT=SECONDS ..": the variants in their usual order. */
static ph_status take_line(ph_tuning *t, const char *line, size_t length) {
  char *copy = ph_arena_copy(&t->arena, line, length);
  if (copy == NULL) return ph_fail_memory(t->error);
  char *class_text = strstr(copy, " : "), *times = class_text != NULL ? strstr(class_text + 3, " :") : NULL;
  if (times == NULL) return PH_OK;
  *times = '\0';
  tuned_class *class = find_class(t, class_text + 3);
  if (class == NULL) return ph_fail_memory(t->error);
  double seconds[MOST_CANDIDATES], best = INFINITY;
  score *scores[MOST_CANDIDATES];
  uint32_t count = 0;
  char *rest = NULL;
  for (char *word = strtok_r(times + 2, " \n", &rest); word != NULL && count < MOST_CANDIDATES;
       word = strtok_r(NULL, " \n", &rest)) {
    char *equals = strchr(word, '=');
    if (equals == NULL) continue;
    *equals = '\0';
    scores[count] = find_score(class, word);
    seconds[count] = atof(equals + 1);
    if (scores[count] == NULL || !(seconds[count] > 0)) continue;
    if (seconds[count] < best) best = seconds[count];
    count++;
  }
  for (uint32_t i = 0; i < count; i++) {
    scores[i]->sum += log(seconds[i] / best);
    scores[i]->cases++;
  }
  class->row.cases++;
  return PH_OK;
}

/* ---- rows ---- */

/* A variant that does not run all cases of its class stands behind those that do. */
static int by_score(const void *a, const void *b) {
  const score *x = a, *y = b;
  if (x->cases != y->cases) return x->cases > y->cases ? -1 : 1;
  return (x->sum > y->sum) - (x->sum < y->sum);
}

static ph_status make_row(ph_tuning *t, tuned_class *class, ph_text *out) {
  score usual = class->scores[0];
  qsort(class->scores, class->count, sizeof(*class->scores), by_score);
  const score *best = &class->scores[0];
  class->row.best = ph_arena_text(&t->arena, "%s", best->variant);
  class->row.usual = ph_arena_text(&t->arena, "%s", usual.variant);
  class->row.gain =
      exp(usual.sum / (usual.cases > 0 ? usual.cases : 1) - best->sum / (best->cases > 0 ? best->cases : 1));
  ph_text_add(out, "row %s :", class->row.shape_class);
  for (uint32_t i = 0; i < class->count; i++) ph_text_add(out, " %s", class->scores[i].variant);
  ph_text_add(out, "\n");
  return class->row.best == NULL || class->row.usual == NULL || out->failed ? ph_fail_memory(t->error) : PH_OK;
}

/* Not ended: the lines alone, so that an interrupted run can go on.  Ended: rows, too. */
static ph_status save(ph_tuning *t, bool ended) {
  ph_text text = {0};
  ph_status status = PH_OK;
  for (uint32_t i = 0; ended && i < t->class_count && status == PH_OK; i++)
    if (t->classes[i].count > 0) status = make_row(t, &t->classes[i], &text);
  if (t->lines.data != NULL) ph_text_put(&text, t->lines.data, t->lines.length);
  if (status == PH_OK && text.failed) status = ph_fail_memory(t->error);
  const char *kind = ended ? "tune" : "tune-part";
  if (status == PH_OK && !ph_device_file_write(t->context, t->device->entry, kind, text.data != NULL ? text.data : ""))
    status = ph_fail(t->error, PH_IO,
                     "the cache folder cannot be written, so what is measured would be lost; "
                     "POLYHEAD_CACHE_DIR names another");
  if (status == PH_OK && ended) (void)ph_device_file_write(t->context, t->device->entry, "tune-part", "");
  ph_text_free(&text);
  return status;
}

/* ---- the run ---- */

static ph_status tune_case(ph_tuning *t, const ph_bench_case *one) {
  const char *line = find_line(t, one->name);
  size_t before = t->lines.length;
  if (line != NULL) {
    ph_text_put(&t->lines, line, strcspn(line, "\n"));
    ph_text_add(&t->lines, "\n");
  } else {
    ph_model *model;
    candidates found;
    double seconds[MOST_CANDIDATES];
    ph_error problem = PH_ERROR_INIT;
    PH_TRY(ph_bench_case_load(one, NULL, 0, &model, t->error));
    ph_status status = find_candidates(t, model, &found, &problem);
    if (status == PH_OK && found.count > 1) status = measure(t, model, &found, seconds, &problem);
    ph_model_destroy(model);
    if (status == PH_UNSUPPORTED || (status == PH_OK && found.count < 2)) return PH_OK; /* there is nothing to choose */
    if (status != PH_OK) return ph_fail(t->error, status, "%s: %.400s", one->name, problem.message);
    if (!add_line(&t->lines, one->name, &found, seconds)) return ph_fail_memory(t->error);
  }
  if (t->lines.failed) return ph_fail_memory(t->error);
  PH_TRY(take_line(t, t->lines.data + before, t->lines.length - before));
  return line == NULL ? save(t, false) : PH_OK;
}

static ph_status open_cases(ph_tuning *t) {
  const char *folder = ph_suites_folder(&t->arena);
  if (folder == NULL) return ph_fail(t->error, PH_IO, "the suites of the library cannot be found");
  const char *file = ph_arena_text(&t->arena, "%s/tune.yaml", folder);
  if (file == NULL) return ph_fail_memory(t->error);
  ph_bench_options options = {
      .struct_size = sizeof(options), .files = &file, .file_count = 1, .set = t->options->quick ? "smoke" : "full"};
  return ph_bench_cases_open(&options, &t->arena, &t->cases, t->error);
}

static ph_status tune_all(ph_tuning *t) {
  PH_TRY(open_cases(t));
  PH_TRY(ph_context_open_device(t->context, t->options->device, &t->device, t->error));
  if (!PH_HAS(t->device->backend, ph_backend, candidate))
    return ph_fail(t->error, PH_UNSUPPORTED, "%s has no variants to choose from", t->device->entry->spec);
  bool chosen = t->options->device != NULL && strncmp(t->options->device, "auto", 4) != 0;
  t->spec = chosen ? t->options->device : t->device->entry->spec;
  ph_open_device_close(t->device); /* and anew without what was measured earlier */
  t->device = NULL;
  const char *untuned = ph_arena_text(&t->arena, "%s,tune=none", t->spec);
  if (untuned == NULL) return ph_fail_memory(t->error);
  PH_TRY(ph_context_open_device(t->context, untuned, &t->device, t->error));
  (void)ph_device_file_read(t->context, t->device->entry, "tune-part", &t->earlier);
  for (uint32_t i = 0; i < t->cases.count; i++) {
    if (t->options->before != NULL) t->options->before(t->options->user, i, t->cases.count, t->cases.items[i].name);
    PH_TRY(tune_case(t, &t->cases.items[i]));
  }
  return save(t, true);
}

ph_status ph_tune(ph_context *context, const ph_tune_options *options, ph_tuning **out, ph_error *error) {
  ph_tuning *t = ph_new_array(1, sizeof(*t));
  if (t == NULL) return ph_fail_memory(error);
  t->context = context;
  t->options = options;
  t->error = error;
  ph_status status = tune_all(t);
  if (status == PH_OK)
    *out = t;
  else
    ph_tuning_destroy(t);
  return status;
}

void ph_tuning_destroy(ph_tuning *tuning) {
  if (tuning == NULL) return;
  ph_bench_cases_close(&tuning->cases);
  ph_open_device_close(tuning->device);
  ph_text_free(&tuning->earlier);
  ph_text_free(&tuning->lines);
  ph_arena_free(&tuning->arena);
  free(tuning);
}

const ph_device_entry *ph_tuning_device(const ph_tuning *tuning) {
  return tuning->device->entry;
}
uint32_t ph_tuning_row_count(const ph_tuning *tuning) {
  return tuning->class_count;
}
const ph_tune_row *ph_tuning_row(const ph_tuning *tuning, uint32_t index) {
  return &tuning->classes[index].row;
}
