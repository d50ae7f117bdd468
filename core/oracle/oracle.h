/* The oracle: what every op must give, in double, and how much a rounding error at each stage may move it (NUMERICS).
 * It knows the ABI's view of a graph and nothing else, so that the reference plugin is this same code. */
#ifndef POLYHEAD_ORACLE_ORACLE_H
#define POLYHEAD_ORACLE_ORACLE_H

#include <polyhead/backend.h>

/* The magnitudes of NUMERICS section 3: the first-order effect on an element of relative errors at one stage. */
enum {
  PH_MAGNITUDE_SCORE = PH_STAGE_SCORE,
  PH_MAGNITUDE_WEIGHT = PH_STAGE_WEIGHT,
  PH_MAGNITUDE_ACCUM = PH_STAGE_ACCUM,
  PH_MAGNITUDE_F32,     /* counted at the roundoff of f32 whatever the backend declares */
  PH_MAGNITUDE_BUILTIN, /* ulps * |f| of a built-in function */
  PH_MAGNITUDE_COUNT
};

/* An infinite PH_MAGNITUDE_F32 marks an element where any answer stands, NaN and infinities too (NUMERICS section 2: a
 * value that is not finite under a weight below 2^-100, a score that leaves f32's range). */

/* One output of a node, dense and row-major.  Real types fill `real`, integers and bools `integer`. */
typedef struct ph_oracle_output {
  int64_t count;
  ph_dtype dtype;
  double *real;
  int64_t *integer;
  double *magnitude[PH_MAGNITUDE_COUNT]; /* NULL: zero everywhere, or not asked for */
} ph_oracle_output;

/* Computes node `node` of `graph`.  data[t] is element 0 of tensor t (not read for tensors that are no input of the
 * node).  `outputs` has node->output_count entries, zeroed by the caller, and is filled for every output that is wanted
 * (PH_NONE: left alone); free with ph_oracle_outputs_free().  PH_UNSUPPORTED for an unknown op or version; an id
 * outside a table gives a row of NaN, as for any backend. */
PH_NODISCARD ph_status ph_oracle_node(const ph_graph *graph, uint32_t node, const void *const *data, bool magnitudes,
                                      ph_oracle_output *outputs, ph_error *error);
void ph_oracle_outputs_free(ph_oracle_output *outputs, uint32_t count);

/* True where the oracle knows the op in this version. */
bool ph_oracle_knows(const char *op, uint32_t version);
/* A bit (1u << PH_MAGNITUDE_*) for each magnitude that the op has; 0 for an unknown op. */
uint32_t ph_oracle_magnitudes(const char *op);

#endif
