/* A conformance run: which cases, on which device, and what became of them all. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "conform/case.h"
#include "conform/required.h"
#include "conform/sources.h"
#include "runtime/registry.h"

typedef struct picked {
  ph_case_source *source;
  uint32_t index;
} picked;

struct ph_conformance {
  ph_arena arena;
  ph_source_list sources;
  unsigned set;
  const char *device, *required_file; /* as given; device NULL: auto */
  uint64_t seed;
  void (*after)(void *user, uint32_t done, uint32_t total, const ph_case_result *result);
  void *user;
  picked *cases;
  uint32_t count, capacity;
  ph_case_result *results; /* by case */
  ph_tally *tally;
  ph_required required;
  const ph_device_entry *entry;
  uint32_t states[PH_CASE_STATE_COUNT], trusted, possible, met;
};

/* ---- picking ---- */

static const char *const set_names[] = {"tiny", "smoke", "ci", "full"};
static const unsigned set_bits[] = {PH_SET_TINY, PH_SET_SMOKE, PH_SET_CI, PH_SET_FULL};

ph_status ph_set_named(const char *name, unsigned *out, ph_error *error) {
  for (size_t i = 0; i < 4; i++)
    if (strcmp(set_names[i], name) == 0) {
      *out = set_bits[i];
      return PH_OK;
    }
  const char *near = ph_nearest(name, set_names, 4);
  return ph_fail(error, PH_INVALID, "there is no set '%s'%s%s%s; there are tiny, smoke, ci and full", name,
                 near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

static ph_status pick(ph_conformance *c, const char *filter, ph_error *error) {
  for (uint32_t s = 0; s < c->sources.count; s++) {
    ph_case_source *source = c->sources.items[s];
    for (uint32_t i = 0; i < source->case_count; i++) {
      if ((source->cases[i].sets & c->set) == 0) continue;
      if (filter != NULL && !ph_case_matches(filter, source->cases[i].name)) continue;
      picked *slot = ph_arena_push(&c->arena, &c->cases, &c->count, &c->capacity, sizeof(*slot));
      if (slot == NULL) return ph_fail_memory(error);
      *slot = (picked){source, i};
    }
  }
  return PH_OK;
}

static ph_status fill(ph_conformance *c, const ph_conform_options *options, ph_error *error) {
  PH_TRY(ph_set_named(options->set != NULL ? options->set : options->filter != NULL ? "full" : "ci", &c->set, error));
  c->device = options->device == NULL ? NULL : ph_arena_text(&c->arena, "%s", options->device);
  c->required_file = options->required == NULL ? NULL : ph_arena_text(&c->arena, "%s", options->required);
  c->seed = options->seed;
  c->after = options->after;
  c->user = options->user;
  PH_TRY(ph_sources_open(options->suites, options->suite_count, &c->arena, &c->sources, error));
  PH_TRY(pick(c, options->filter, error));
  c->results = ph_arena_array(&c->arena, c->count, sizeof(*c->results));
  if (c->results == NULL) return ph_fail_memory(error);
  return ph_tally_create(&c->tally, error);
}

ph_status ph_conform_open(const ph_conform_options *options, ph_conformance **out, ph_error *error) {
  ph_conformance *c = ph_new_array(1, sizeof(*c));
  if (c == NULL) return ph_fail_memory(error);
  ph_status status = fill(c, options, error);
  if (status == PH_OK)
    *out = c;
  else
    ph_conform_close(c);
  return status;
}

void ph_conform_close(ph_conformance *conformance) {
  if (conformance == NULL) return;
  ph_sources_close(&conformance->sources);
  ph_tally_destroy(conformance->tally);
  ph_arena_free(&conformance->arena);
  free(conformance);
}

/* ---- running ---- */

/* Quoted for a shell where that is needed. */
static void add_word(ph_text *text, const char *word) {
  if (word[0] != '\0' &&
      strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%") == strlen(word)) {
    ph_text_add(text, "%s", word);
    return;
  }
  ph_text_add(text, "'");
  for (; *word != '\0'; word++) ph_text_add(text, *word == '\'' ? "'\\''" : "%c", *word);
  ph_text_add(text, "'");
}

static const char *command_of(ph_conformance *c, const ph_context *context, const picked *one, const char *name) {
  ph_text text = {0};
  ph_text_add(&text, "polyhead conform -d ");
  add_word(&text, c->device != NULL ? c->device : c->entry->spec);
  for (uint32_t i = 0; i < context->options.plugin_count; i++) { /* they follow the reference in the list */
    ph_text_add(&text, " --plugin ");
    add_word(&text, context->plugins.items[1 + i].info.path);
  }
  if (one->source->path != NULL) {
    ph_text_add(&text, " --suite ");
    add_word(&text, one->source->path);
  }
  ph_text_add(&text, " --filter '");
  for (const char *at = name; *at != '\0'; at++) ph_text_add(&text, *at == '\'' ? "'\\''" : "%c", *at);
  ph_text_add(&text, "' --seed %llu", (unsigned long long)c->seed);
  const char *command = text.failed ? NULL : ph_arena_copy(&c->arena, text.data, text.length);
  ph_text_free(&text);
  return command;
}

/* What the backend promises decides what an outcome is called. */
static void settle(const ph_conformance *c, ph_case_result *result) {
  if (result->state == PH_CASE_UNSUPPORTED && ph_required_op(&c->required, result->refused_op)) {
    char reason[sizeof(result->reason)];
    memcpy(reason, result->reason, sizeof(reason));
    ph_case_set(result, PH_CASE_FAIL, "%s must be supported, but: %.700s", result->refused_op, reason);
  }
  if (result->state == PH_CASE_PASS && !result->trusted && !result->empty) {
    result->state = PH_CASE_UNTRUSTED;
    strcpy(result->reason, "nothing was compared that a wrong answer would change");
  }
  const char *expected = ph_required_fail(&c->required, result->name);
  if (expected == NULL || (result->state != PH_CASE_FAIL && result->state != PH_CASE_PASS)) return;
  result->state = result->state == PH_CASE_FAIL ? PH_CASE_EXPECTED_FAIL : PH_CASE_UNEXPECTED_PASS;
  snprintf(result->reason, sizeof(result->reason), "%s", expected);
}

static ph_status note_options(ph_conformance *c, const ph_case *one, ph_error *error) {
  for (uint32_t i = 0; i < one->option_count; i++)
    for (uint32_t k = 0; k < i; k++)
      PH_TRY(ph_tally_pair(c->tally, one->op != NULL ? one->op : "", one->options[i], one->options[k], error));
  return PH_OK;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A queue that died takes the device with it (backend.h): the next case gets a fresh one. */
static void lose_device(ph_case_run *run) {
  if (run->reference == run->device) run->reference = NULL;
  ph_open_device_close(run->device);
  run->device = NULL;
}

static ph_status open_devices(const ph_conformance *c, ph_case_run *run, ph_error *error) {
  if (run->device == NULL) PH_TRY(ph_context_open_device(run->context, c->device, &run->device, error));
  if (run->reference != NULL) return PH_OK;
  if (strcmp(run->device->entry->backend, "reference") != 0)
    return ph_context_open_device(run->context, "reference", &run->reference, error);
  run->reference = run->device;
  return PH_OK;
}

static ph_status run_case(ph_conformance *c, uint32_t index, ph_case_run *run, ph_error *error) {
  const picked *one = &c->cases[index];
  const ph_case *listed = &one->source->cases[one->index];
  ph_case_result *result = &c->results[index];
  *result = (ph_case_result){.name = listed->name, .command = command_of(c, run->context, one, listed->name)};
  if (result->command == NULL) return ph_fail_memory(error);
  ph_error lost = PH_ERROR_INIT;
  double start = now();
  if (open_devices(c, run, &lost) != PH_OK)
    ph_case_set(result, PH_CASE_UNAVAILABLE, "the device was lost in an earlier case: %.600s", lost.message);
  else
    PH_TRY(one->source->run(one->source, one->index, run, result, error));
  result->seconds = now() - start;
  settle(c, result);
  if (result->nodes > 0) PH_TRY(note_options(c, listed, error));
  c->states[result->state]++;
  c->trusted += result->trusted;
  if (result->status == PH_DEVICE_FAILED) lose_device(run);
  return PH_OK;
}

static void count_pairs(ph_conformance *c) {
  for (uint32_t s = 0; s < c->sources.count; s++)
    for (uint32_t i = 0; i < c->sources.items[s]->pair_count; i++) {
      const ph_case_pair *pair = &c->sources.items[s]->pairs[i];
      if ((pair->sets & c->set) == 0) continue;
      c->possible++;
      c->met += ph_tally_has_pair(c->tally, pair->op != NULL ? pair->op : "", pair->options[0], pair->options[1]);
    }
}

static ph_status read_required(ph_conformance *c, ph_error *error) {
  if (c->required_file != NULL) return ph_required_read(c->required_file, &c->arena, &c->required, error);
  const char *folder = ph_suites_folder(&c->arena);
  if (folder == NULL) return PH_OK;
  const char *file = ph_arena_text(&c->arena, "%s/required/%s.yaml", folder, c->entry->backend);
  if (file == NULL) return ph_fail_memory(error);
  return access(file, F_OK) == 0 ? ph_required_read(file, &c->arena, &c->required, error) : PH_OK;
}

static ph_status run_all(ph_conformance *c, ph_case_run *run, ph_error *error) {
  PH_TRY(open_devices(c, run, error));
  c->entry = run->device->entry;
  PH_TRY(read_required(c, error));
  for (uint32_t i = 0; i < c->count; i++) {
    PH_TRY(run_case(c, i, run, error));
    if (c->after != NULL) c->after(c->user, i + 1, c->count, &c->results[i]);
  }
  count_pairs(c);
  return PH_OK;
}

ph_status ph_conform_run(ph_conformance *conformance, ph_context *context, ph_error *error) {
  ph_case_run run = {.context = context, .seed = conformance->seed, .tally = conformance->tally};
  ph_status status = run_all(conformance, &run, error);
  if (run.reference != run.device) ph_open_device_close(run.reference);
  ph_open_device_close(run.device);
  return status;
}

/* ---- what there is to know ---- */

uint32_t ph_conform_case_count(const ph_conformance *conformance) {
  return conformance->count;
}

const char *ph_conform_case_name(const ph_conformance *conformance, uint32_t index) {
  const picked *one = &conformance->cases[index];
  return one->source->cases[one->index].name;
}

ph_status ph_conform_show(ph_conformance *conformance, uint32_t index, char **out, ph_error *error) {
  const picked *one = &conformance->cases[index];
  ph_text text = {0};
  ph_status status = one->source->show(one->source, one->index, conformance->seed, &text, error);
  if (status == PH_OK && (text.failed || text.data == NULL)) status = ph_fail_memory(error);
  if (status == PH_OK)
    *out = text.data;
  else
    ph_text_free(&text);
  return status;
}

const ph_device_entry *ph_conform_device(const ph_conformance *conformance) {
  return conformance->entry;
}
const ph_case_result *ph_conform_result(const ph_conformance *conformance, uint32_t index) {
  return &conformance->results[index];
}
uint32_t ph_conform_state_count(const ph_conformance *conformance, ph_case_state state) {
  return conformance->states[state];
}
uint32_t ph_conform_trusted_count(const ph_conformance *conformance) {
  return conformance->trusted;
}

bool ph_conform_good(const ph_conformance *conformance) {
  const uint32_t *states = conformance->states;
  bool bad = states[PH_CASE_FAIL] + states[PH_CASE_UNEXPECTED_PASS] + states[PH_CASE_UNTRUSTED] > 0;
  return !bad && states[PH_CASE_PASS] + states[PH_CASE_EXPECTED_FAIL] > 0;
}

uint32_t ph_conform_op_count(const ph_conformance *conformance) {
  return ph_tally_op_count(conformance->tally);
}
const ph_conform_op *ph_conform_op_result(const ph_conformance *conformance, uint32_t index) {
  return ph_tally_op(conformance->tally, index);
}

void ph_conform_pairs(const ph_conformance *conformance, uint32_t *out_possible, uint32_t *out_met) {
  *out_possible = conformance->possible;
  *out_met = conformance->met;
}
