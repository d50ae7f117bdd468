/* A net: a model at one set of dims, every shape and attribute concrete, composites written out.  Passes rewrite it. */
#ifndef POLYHEAD_GRAPH_NET_H
#define POLYHEAD_GRAPH_NET_H

#include "graph/model.h"

typedef struct ph_net_value {
  const char *path;
  ph_tensor_kind kind; /* INPUT, CONSTANT, STATE or INNER */
  ph_type type;
  uint32_t input;    /* INPUT: the model's input, PH_NONE for a scalar over a varying dim */
  ph_tensor *tensor; /* CONSTANT, and a varying scalar's value at these dims; borrowed from the net */
  bool kept;         /* somebody wants it: an output, -o, --tensor */
  uint32_t state;    /* STATE, and where `next` or `in_place`: index in net->states */
  bool next;         /* an INNER value made to become a state at the end of the run (passes/states.h) */
  bool in_place;     /* an INNER value that is written into the state's own memory */
  const struct ph_net_node
      *move; /* a view (passes/views.h): the move between it and the value in whose memory it lies */
} ph_net_value;

/* What becomes of a node in a run. */
typedef enum ph_node_way {
  PH_NODE_RUNS,
  PH_NODE_VIEW,  /* it moves nothing: one side of it is a view of the other (passes/views.h) */
  PH_NODE_FOLDED /* its result is a constant, made when the plan was (runtime/fold.h) */
} ph_node_way;

struct ph_net_node {
  const ph_op *op;
  const char *path;
  ph_place place;
  uint32_t *inputs; /* net values by role, PH_NONE where absent */
  uint32_t input_count;
  uint32_t *outputs;
  uint32_t output_count;
  ph_net_attr *attrs;         /* op->attr_count of them */
  struct ph_net_node **steps; /* a fused or merged node: the nodes it stands for, in order; else NULL */
  uint32_t step_count;
  ph_node_way way;
  const char
      *note; /* why it was not fused, merged, folded or made a view, though it looks like it; NULL: nothing to say */
};

typedef struct ph_net_state {
  uint32_t value; /* of kind STATE */
  uint32_t next;  /* the value that it becomes */
} ph_net_state;

struct ph_net {
  ph_arena arena;
  const ph_model *model; /* outlives the net */
  ph_net_value *values;
  ph_net_node **nodes;  /* in execution order */
  ph_net_state *states; /* by model state */
  uint32_t state_count;
  uint32_t value_count, value_capacity, node_count, node_capacity;
  ph_tensor **owned; /* constants that the net keeps alive */
  uint32_t owned_count, owned_capacity;
  uint32_t *of_model;     /* by model value: the net value, PH_NONE for scalars (each reader has its own) */
  struct ph_notes *notes; /* where warnings go; may be NULL */
};

/* Warnings that somebody collects; texts are whole sentences with their place. */
typedef struct ph_notes {
  void (*warn)(void *user, const char *text);
  void *user;
} ph_notes;

void ph_net_destroy(ph_net *net); /* NULL is fine */

/* By path, as `outputs`, -o and --tensor name values: the model's own and the inner ones of composites; PH_NONE if
 * there is none. */
uint32_t ph_net_value_find(const ph_net *net, const char *path);

/* A new value of kind CONSTANT; the net retains the tensor. */
PH_NODISCARD ph_status ph_net_add_constant(ph_net *net, const char *path, ph_tensor *tensor, uint32_t *out,
                                           ph_error *error);
/* A rank-0 constant. */
PH_NODISCARD ph_status ph_net_add_scalar(ph_net *net, double value, ph_dtype dtype, uint32_t *out, ph_error *error);

/* An attribute for ph_net_add_node(): {"axis", {.kind = PH_ATTR_I64, .as.i64 = 1}}. */
typedef struct ph_net_attr_value {
  const char *name;
  ph_attr value;
  bool varies;
} ph_net_attr_value;

/* Adds a node and its output values, after checking roles, types, attributes and shapes; attributes not given get their
 * defaults.  Inputs are in role order, PH_NONE where absent.  Outputs are named `path` (the first) and `path.<output>`;
 * or, for split, from `output_names`.  The first output's index is in *out, the others follow.  A composite is expanded
 * on the spot.  PH_INVALID with "node 'path': ..." . */
PH_NODISCARD ph_status ph_net_add_node(ph_net *net, const ph_op *op, const char *path, ph_place place,
                                       const uint32_t *inputs, uint32_t input_count, const ph_net_attr_value *attrs,
                                       uint32_t attr_count, const char *const *output_names, uint32_t *out,
                                       ph_error *error);

/* Replaces node number `at` by the nodes from number `tail` on, which were added at the end. */
PH_NODISCARD ph_status ph_net_splice(ph_net *net, uint32_t at, uint32_t tail, ph_error *error);
/* Reads of each value, by nodes; `out` has net->value_count entries. */
void ph_net_count_reads(const ph_net *net, uint32_t *out);

/* The attribute by name, whether it has a value or not. */
const ph_net_attr *ph_net_node_attr(const ph_net_node *node, const char *name);

/* ---- bind.c: model -> net ---- */

/* The dims' values for a run: --dim first, then the shapes of the given tensors (by model input, NULL where not given),
 * then the file's text.  `out` has model->dim_count entries.  A conflict names both sides. */
PH_NODISCARD ph_status ph_bind_dims(const ph_model *model, const ph_tensor *const *given, ph_dim *out, ph_error *error);
/* Evaluates everything.  `weights` are the tensors of model->weights, in order. */
PH_NODISCARD ph_status ph_bind(const ph_model *model, const ph_dim *dims, ph_tensor *const *weights, ph_notes *notes,
                               ph_net **out, ph_error *error);
/* The dims' values as names for expressions; `storage` lives as long as the scope is used. */
typedef struct ph_dim_scope {
  const ph_model *model;
  const ph_dim *dims;
} ph_dim_scope;
ph_scope ph_scope_of_dims(const ph_dim_scope *storage);

#endif
