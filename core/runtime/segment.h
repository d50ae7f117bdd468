/* A segment: consecutive nodes on one device, as a program, a plan and the buffers they need. */
#ifndef POLYHEAD_RUNTIME_SEGMENT_H
#define POLYHEAD_RUNTIME_SEGMENT_H

#include "runtime/context.h"
#include "runtime/lower.h"
#include "runtime/port.h"

/* Programs of a session, by signature: a plan for new dims finds the program of the old ones. */
typedef struct ph_program_cache ph_program_cache;
PH_NODISCARD ph_status ph_program_cache_create(ph_program_cache **out, ph_error *error);
void ph_program_cache_destroy(ph_program_cache *cache); /* after the segments that use it; NULL is fine */

/* The program for the open graph of `lowered` on this device, made where there is none yet.  It belongs to the cache,
 * which retains its constants. */
PH_NODISCARD ph_status ph_program_find(ph_program_cache *cache, const ph_open_device *device, const ph_net *net,
                                       const ph_lowered *lowered, ph_program **out, ph_error *error);

typedef struct ph_segment ph_segment;

/* Takes over `lowered`, also when it fails.  `constants` are retained as long as the program lives. */
PH_NODISCARD ph_status ph_segment_create(const ph_open_device *device, ph_program_cache *programs, const ph_net *net,
                                         ph_lowered *lowered, ph_segment **out, ph_error *error);
void ph_segment_destroy(ph_segment *segment); /* NULL is fine */
const ph_lowered *ph_segment_lowered(const ph_segment *segment);
const ph_open_device *ph_segment_device(const ph_segment *segment);

/* Bytes of: the arena, the workspace. */
uint64_t ph_segment_arena_bytes(const ph_segment *segment);
uint64_t ph_segment_workspace_bytes(const ph_segment *segment);

/* Fills what a run is to write, outputs and inner tensors, with bytes of 0xff (NaN in every real type), so that nothing
 * of an earlier run can be taken for a result.  Does nothing before the first run. */
PH_NODISCARD ph_status ph_segment_poison(ph_segment *segment, ph_error *error);

/* What a run gives a storage of the lowered graph and gets from it. */
typedef struct ph_segment_io {
  ph_tensor *input;  /* INPUT: to be set, dense, borrowed */
  uint64_t content;  /* INPUT: a number of its bytes (port.h); what did not change is not fed again */
  ph_buffer *state;  /* STATE, and the OUTPUT that becomes one: to be set; NULL for one without elements */
  ph_tensor *output; /* other OUTPUTs: set by a run, the segment's until the next one; retained, it stays as it is */
} ph_segment_io;
ph_segment_io *ph_segment_ios(ph_segment *segment); /* by storage */

/* Runs once.  Buffers are made at the first run.  `times`, where not NULL, has one record per node.  A failure's
 * error->node is an index in the lowered graph. */
PH_NODISCARD ph_status ph_segment_run(ph_segment *segment, ph_node_time *times, ph_error *error);
/* Lets go of the tensors of the last run. */
void ph_segment_rest(ph_segment *segment);

#endif
