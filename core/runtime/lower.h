/* Lowering: from nodes of a net to the graph that a backend sees (backend.h), views and all. */
#ifndef POLYHEAD_RUNTIME_LOWER_H
#define POLYHEAD_RUNTIME_LOWER_H

#include "graph/net.h"

/* A piece of memory that one or more tensors of the lowered graph are views of. */
typedef struct ph_storage {
  uint32_t value;      /* of the net */
  ph_tensor_kind kind; /* INPUT, CONSTANT, STATE, INNER or OUTPUT */
  uint64_t bytes;
  bool next;            /* an OUTPUT that becomes a state at the end of the run */
  uint32_t first, last; /* the first and last node of the lowered graph that touch it */
} ph_storage;

typedef struct ph_lowered {
  ph_arena arena;
  ph_graph graph;           /* every dim concrete */
  ph_graph open;            /* the same with PH_DIM_VARIES and PH_ATTR_VARIES, for program_create() */
  uint32_t *tensor_storage; /* by tensor */
  uint64_t *tensor_offset;  /* by tensor: bytes from the start of its storage; of a constant, they are in its `data` */
  uint32_t *node_of;        /* by node of the graph: which of `nodes` it is */
  ph_storage *storages;
  uint32_t storage_count;
} ph_lowered;

typedef enum ph_lower_mode {
  PH_LOWER_RUN,     /* values flow from node to node */
  PH_LOWER_APART,   /* every node has inputs and outputs of its own, so that each can be fed and judged alone */
  PH_LOWER_STRIDED, /* the same, and inputs lie as ph_strided_layout() says instead of dense */
  PH_LOWER_SPREAD   /* the same, and so does the first output of an op that may be offered that (passes/views.h) */
} ph_lower_mode;

/* The strides of a value that lies in a larger tensor: rows padded, and the two axes before the last in the other
 * order, as heads lie that were never moved.  Returns the elements it spans. */
int64_t ph_strided_layout(const ph_type *type, int64_t strides[PH_MAX_RANK]);

/* `nodes` are consecutive nodes of the net, which outlives the result.  In PH_LOWER_RUN a value is an OUTPUT where it
 * is kept or read by a node outside `nodes`, views lie in the memory of what they are views of, and nodes that do not
 * run (ph_node_way) are left out; else every value is dense and by itself. */
PH_NODISCARD ph_status ph_lower(const ph_net *net, ph_net_node *const *nodes, uint32_t node_count, ph_lower_mode mode,
                                ph_lowered **out, ph_error *error);
void ph_lowered_destroy(ph_lowered *lowered); /* NULL is fine */

/* A text that is the same for two open graphs exactly where one program serves both.  To be freed with free(). */
char *ph_lowered_signature(const ph_lowered *lowered);

#endif
