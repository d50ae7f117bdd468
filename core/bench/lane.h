/* One case on one device, run again and again. */
#ifndef POLYHEAD_BENCH_LANE_H
#define POLYHEAD_BENCH_LANE_H

#include "bench/samples.h"
#include "runtime/context.h"

/* How long a lane goes on. */
typedef struct ph_bench_pace {
  uint32_t warmup, iters; /* PH_NONE: as many as are worth their time */
} ph_bench_pace;

typedef struct ph_bench_lane ph_bench_lane;

/* Prepares the model on the device, with node times in a second session where the device has them, and runs it for the
 * first time.  What goes wrong is in *result, which outlives the lane; *out is then NULL. */
PH_NODISCARD ph_status ph_bench_lane_open(ph_context *context, ph_model *model, const ph_bench_options *options,
                                          ph_open_device *device, const ph_bench_pace *pace, ph_bench_result *result,
                                          ph_bench_lane **out, ph_error *error);
/* One run more, each in a lane's turn, so that what disturbs the machine disturbs all lanes; false when the lane has
 * enough, or failed. */
bool ph_bench_lane_turn(ph_bench_lane *lane);
/* Fills the result. */
void ph_bench_lane_close(ph_bench_lane *lane); /* NULL is fine */

#endif
