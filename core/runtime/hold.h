/* What depends on held inputs and weights alone is computed once and kept, whatever else changes (CONFIG, `hold`). */
#ifndef POLYHEAD_RUNTIME_HOLD_H
#define POLYHEAD_RUNTIME_HOLD_H

#include "runtime/place.h"

/* Moves the nodes that depend on held inputs and weights alone to the front, in their order, and gives their number; 0
 * where the model holds nothing. */
PH_NODISCARD ph_status ph_hold_first(ph_net *net, ph_placement *placements, uint32_t *out_count, ph_error *error);

/* Values by path, and the held inputs that they were computed from.  Start with {0}. */
typedef struct ph_held {
  char **paths;
  ph_tensor **tensors;
  size_t count, path_capacity, tensor_capacity;
  ph_tensor **inputs; /* by model input; NULL where it is not held */
  uint32_t input_count;
} ph_held;

/* Whether it was computed from these inputs (by model input; the same tensors, not equal ones). */
bool ph_held_is_of(const ph_held *held, const ph_model *model, ph_tensor *const *inputs);
/* Forgets everything and remembers the inputs. */
PH_NODISCARD ph_status ph_held_start(ph_held *held, const ph_model *model, ph_tensor *const *inputs, ph_error *error);
PH_NODISCARD ph_status ph_held_add(ph_held *held, const char *path, ph_tensor *tensor, ph_error *error);
/* The value, borrowed; NULL where it is not there with this type. */
ph_tensor *ph_held_find(const ph_held *held, const char *path, const ph_type *type);
void ph_held_free(ph_held *held);

#endif
