/* Where cases come from: the suites of the library, and what --suite names. */
#ifndef POLYHEAD_CONFORM_SOURCES_H
#define POLYHEAD_CONFORM_SOURCES_H

#include "base/memory.h"
#include "conform/case.h"

typedef struct ph_source_list {
  ph_case_source **items;
  uint32_t count, capacity;
} ph_source_list;

/* A path is a suite file, a folder of suite files, or a folder of external cases; without paths the library's own
 * folder.  Texts and the list live in the arena; end with ph_sources_close(), after a failure, too. */
PH_NODISCARD ph_status ph_sources_open(const char *const *paths, uint32_t path_count, ph_arena *arena,
                                       ph_source_list *out, ph_error *error);
void ph_sources_close(ph_source_list *list);

/* The folder of the suites that come with the library: beside it where it is installed, in the source where it lies in
 * a build tree.  NULL when the library's own path cannot be found. */
const char *ph_suites_folder(ph_arena *arena);

/* The suites in that folder that are there to be timed, bench_*.yaml: no source of conformance cases. */
PH_NODISCARD ph_status ph_bench_suites(ph_arena *arena, const char *const **out, uint32_t *out_count, ph_error *error);

#endif
