/* Conformance cases made elsewhere: folders with a case.json and a .npy per tensor, each mapped onto our ops as a
 * graph. docs/external_cases.md says how a folder looks and what becomes of each operator. */
#ifndef POLYHEAD_CONFORM_EXTERNAL_H
#define POLYHEAD_CONFORM_EXTERNAL_H

#include "conform/case.h"

/* Every folder below `path` that holds a case.json is a case, named by its way from there ("attention/test_3d"), and so
 * is every row of an index.tsv in `path`, and every folder without folders in it, so that a case that lost its files
 * fails instead of vanishing.  PH_IO when `path` is no folder that can be read, PH_INVALID when there is no case in it.
 * A malformed case is no error here: it fails when it is run.  Cases are sorted by name; ended by its close(). */
PH_NODISCARD ph_status ph_external_open(const char *path, ph_case_source **out, ph_error *error);

#endif
