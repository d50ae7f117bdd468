/* What a device answered, kept in a .safetensors file, so that machines that never meet can be compared. */
#ifndef POLYHEAD_CONFORM_SAVED_H
#define POLYHEAD_CONFORM_SAVED_H

#include "graph/net.h"

/* Collects answers until they are written. */
typedef struct ph_answers {
  ph_arena arena;
  const char **names;
  ph_tensor **tensors;
  uint32_t name_count, name_capacity, tensor_count, tensor_capacity;
} ph_answers; /* start with {0} */

/* The outputs of a node by slot (NULL where not wanted), and the stage types that its bound is made from. */
PH_NODISCARD ph_status ph_answers_add_node(ph_answers *answers, const ph_net_node *node,
                                           const ph_dtype stages[PH_STAGE_MAX], ph_tensor *const *got, ph_error *error);
/* An output of the whole graph. */
PH_NODISCARD ph_status ph_answers_add_output(ph_answers *answers, const char *alias, ph_tensor *tensor,
                                             ph_error *error);
PH_NODISCARD ph_status ph_answers_write(const ph_answers *answers, const char *path, ph_error *error);
void ph_answers_free(ph_answers *answers);

/* Answers read back. */
typedef struct ph_saved {
  const char *path;
  ph_tensor_file *file;
} ph_saved;

PH_NODISCARD ph_status ph_saved_open(const char *path, ph_saved *out, ph_error *error);
void ph_saved_close(ph_saved *saved);
/* Whether the other device ran this node, as this op. */
bool ph_saved_has_node(const ph_saved *saved, const ph_net_node *node);
/* The outputs of a node by slot, retained; NULL where the file has none.  PH_INVALID where type or shape are not the
 * net's. */
PH_NODISCARD ph_status ph_saved_node(const ph_saved *saved, const ph_net *net, const ph_net_node *node, ph_tensor **got,
                                     ph_error *error);
PH_NODISCARD ph_status ph_saved_stages(const ph_saved *saved, const ph_net_node *node, ph_dtype out[PH_STAGE_MAX],
                                       ph_error *error);
PH_NODISCARD ph_status ph_saved_output(const ph_saved *saved, const char *alias, ph_tensor **out, ph_error *error);

#endif
