/* The inside of a session: what is planned for each set of dims, and what a run leaves behind. */
#ifndef POLYHEAD_RUNTIME_SESSION_H
#define POLYHEAD_RUNTIME_SESSION_H

#include "passes/pool.h"
#include "runtime/context.h"
#include "runtime/hold.h"
#include "runtime/place.h"
#include "runtime/segment.h"
#include "runtime/states.h"

/* The model at one set of dims on the session's devices. */
typedef struct ph_session_plan {
  ph_dim *dims; /* model->dim_count */
  ph_net *net;
  ph_placement *placements; /* by node of the net */
  bool refused;             /* some node has no device: then there are no segments */
  ph_segment **segments;
  uint32_t *segment_first; /* the first node of each segment */
  uint32_t segment_count;
  uint32_t held_segments;  /* the first ones, which depend on held inputs and weights alone */
  uint32_t *output_values; /* the session's outputs, by net value */
  ph_tensor **values;      /* by net value: on the host, during and after a run; NULL where not there */
  uint64_t *contents;      /* by net value: the number of those bytes (port.h) */
  ph_tensor **changed;     /* for the use of a run; borrowed */
  uint32_t value_count;    /* of `values`: whoever writes nodes out afterwards adds values to the net */
  ph_node_time *times;     /* by node of the net */
  ph_node_report *reports; /* filled when asked for; texts in net->arena */
  struct ph_session_plan *next;
} ph_session_plan;

struct ph_session {
  ph_context *context;
  ph_model *model;
  ph_open_device *device, *reference; /* reference: the fallback, or NULL */
  ph_program_cache *programs;
  ph_pool pool; /* constants that passes made, for the plans of all dims */
  ph_session_plan *plans, *current;
  ph_state *states;     /* by model state */
  ph_held held;         /* what those segments gave, for the plans of all dims */
  ph_tensor **inputs;   /* by model input: as given, NULL where not */
  ph_tensor **defaults; /* by model input: made from its source, at the dims of the last run */
  uint64_t *contents;   /* by model input: the number of the bytes of what was given or made last */
  uint64_t last_content;
  bool moved;          /* an input was given with other dims than before: which plan fits must be found anew */
  ph_tensor **weights; /* by model weight, as resolved */
  ph_tensor **aligned; /* the same, aligned as backends want it */
  char **keep;
  uint32_t keep_count;
  ph_output *outputs; /* the model's, then the kept ones */
  uint32_t output_count;
  ph_arena labels;
  ph_vocabulary **vocabularies; /* by labels of the model; NULL where they are texts */
  bool times, attention, unfolded, poisoned;
  bool borrowed; /* device and reference belong to somebody else */
};

void ph_session_plan_destroy(ph_session_plan *plan);          /* NULL is fine */
void ph_session_plan_rest(ph_session_plan *plan);             /* lets go of the tensors of its last run */
void ph_tensors_release(ph_tensor **tensors, uint32_t count); /* each, and the array; NULL is fine */

/* ph_session_create() on devices that are open already and outlive the session; options->device and ->fallback are not
 * read.  reference: takes what the device refuses; NULL for none. */
PH_NODISCARD ph_status ph_session_create_on(ph_context *context, ph_model *model, const ph_session_options *options,
                                            ph_open_device *device, ph_open_device *reference, ph_session **out,
                                            ph_error *error);

/* Fills what the next run of the current plan is to write with NaN (ph_segment_poison()): a bench does so before it
 * measures. Held values stay. */
PH_NODISCARD ph_status ph_session_poison(ph_session *session, ph_error *error);

/* The host tensor of an input of the net: given, its default, or a scalar's value.  Borrowed; makes defaults. */
PH_NODISCARD ph_status ph_session_input_tensor(ph_session *session, ph_session_plan *plan, uint32_t value,
                                               ph_tensor **out, ph_error *error);

/* labels.c: the texts for each axis whose dim has labels of the right number, as many as the type has axes, or NULL
 * where none has; they live in session->labels, until the next run. */
PH_NODISCARD ph_status ph_labels_open(ph_session *session, ph_error *error);
PH_NODISCARD ph_status ph_labels_find(ph_session *session, const ph_session_plan *plan, const ph_type *type,
                                      const char *const *const **out, ph_error *error);
void ph_labels_close(ph_session *session);

/* inputs_check.c: ids, offsets and lengths that come from outside, before anything runs (DESIGN 3); warns of float
 * masks of only 0 and 1.  `host` are host tensors by net value, NULL where there is nothing (more) to check. */
PH_NODISCARD ph_status ph_check_indices(const ph_net *net, ph_tensor *const *host, ph_context *context,
                                        ph_error *error);

#endif
