/* required/BACKEND.yaml: what a backend promises to support, and which cases are known to fail on it. */
#ifndef POLYHEAD_CONFORM_REQUIRED_H
#define POLYHEAD_CONFORM_REQUIRED_H

#include "base/memory.h"
#include <polyhead/backend.h>

typedef struct ph_expected_fail {
  const char *pattern, *reason;
} ph_expected_fail;

/* {0}: nothing is required and nothing may fail. */
typedef struct ph_required {
  bool all; /* the whole op table */
  const char **ops;
  uint32_t op_count;
  ph_expected_fail *fails;
  uint32_t fail_count;
} ph_required;

/* {ops: all | [NAME..], expected_fail: [{case: PATTERN, reason: TEXT}..]}; texts live in the arena.  PH_INVALID with
 * the place for anything else. */
PH_NODISCARD ph_status ph_required_read(const char *path, ph_arena *arena, ph_required *out, ph_error *error);
bool ph_required_op(const ph_required *required, const char *op);
/* Why the case is known to fail; NULL where it is not. */
const char *ph_required_fail(const ph_required *required, const char *name);

/* A pattern of case names: the name itself, or one with * ? [ ]. */
bool ph_case_matches(const char *pattern, const char *name);

#endif
