/* Conformance cases: what one is, how it is judged, what became of it, and where cases come from: suite files of our
 * own (suite.h) and folders of cases made elsewhere (external.h). */
#ifndef POLYHEAD_CONFORM_CASE_H
#define POLYHEAD_CONFORM_CASE_H

#include <polyhead/polyhead.h>

#include "base/text.h"
#include "conform/tally.h"
#include "runtime/context.h"

/* One bit for each --set. */
enum { PH_SET_TINY = 1u << 0, PH_SET_SMOKE = 1u << 1, PH_SET_CI = 1u << 2, PH_SET_FULL = 1u << 3 };
/* PH_INVALID names the nearest. */
PH_NODISCARD ph_status ph_set_named(const char *name, unsigned *out, ph_error *error);

typedef struct ph_case {
  const char *name; /* what --filter matches; unique in its source: "softmax.rows/n=17,dtype=f16" */
  const char *op;   /* the op that it is about: its nodes decide whether the case is trusted; NULL: any node does */
  unsigned sets;    /* PH_SET_* */
  /* "mask=bool", "sinks=yes" ...: what meets in it, each once, for the count of pairs; may be NULL */
  const char *const *options;
  uint32_t option_count;
} ph_case;

/* Two options that can meet in a case about this op, and the sets (PH_SET_*) in which they should. */
typedef struct ph_case_pair {
  const char *op, *options[2];
  unsigned sets;
} ph_case_pair;

/* Where cases run: devices that are opened once for all of them. */
typedef struct ph_case_run {
  ph_context *context;
  ph_open_device *device;
  ph_open_device *reference; /* runs what a case needs beside the op that it is about, where the device does not */
  uint64_t seed;
  ph_tally *tally;
} ph_case_run;

typedef struct ph_case_source ph_case_source;
struct ph_case_source {
  const char *path; /* as given with --suite; NULL: found by the library itself */
  const ph_case *cases;
  uint32_t case_count;
  const ph_case_pair *pairs; /* may be NULL */
  uint32_t pair_count;
  /* Runs cases[index].  *result comes with its name and PH_CASE_PASS and is filled by ph_case_judge() and, where there
   * is more to say, by ph_case_set().  PH_OK whatever becomes of the case; another status ends the whole run. */
  ph_status (*run)(ph_case_source *source, uint32_t index, ph_case_run *run, ph_case_result *result, ph_error *error);
  /* Adds a config (CONFIG.md) that `polyhead compare` takes, or what else makes the case plain. */
  ph_status (*show)(ph_case_source *source, uint32_t index, uint64_t seed, ph_text *out, ph_error *error);
  void (*close)(ph_case_source *source);
};

/* A session of the model on the run's device; the model outlives it.  `op` as in ph_case.  What goes wrong is in
 * *result, and *out is then NULL. */
PH_NODISCARD ph_status ph_case_session(ph_case_run *run, const char *op, ph_model *model, ph_case_result *result,
                                       ph_session **out, ph_error *error);

/* Judges the session's model with its inputs as they are: every node by its own bound (judge.h), then the whole, end to
 * end, by the propagated one.  Adds to *result and to the tally.  May be called again after other inputs were set: then
 * it goes on with the same program.  While result->state is PH_CASE_PASS the device's outputs are in
 * ph_session_output().  `op` as in ph_case. */
PH_NODISCARD ph_status ph_case_judge(ph_case_run *run, const char *op, ph_session *session, ph_case_result *result,
                                     ph_error *error);
/* The nodes again, with inputs that do not lie dense (ph_strided_layout()); unsupported where the device takes none so,
 * which no required.yaml forbids. */
PH_NODISCARD ph_status ph_case_judge_strided(ph_case_run *run, const char *op, ph_session *session,
                                             ph_case_result *result, ph_error *error);

/* The state is changed only where the new one is graver: fail over unavailable over unsupported over pass; the first
 * reason of a state stays. */
void ph_case_set(ph_case_result *result, ph_case_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A call that failed, as a state: PH_UNSUPPORTED becomes unsupported, PH_UNAVAILABLE and PH_OUT_OF_MEMORY unavailable,
 * all else a fail. */
void ph_case_set_failure(ph_case_result *result, ph_status status, const ph_error *error);

#endif
