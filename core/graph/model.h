/* A model: what a config file says, blocks written out, names resolved, nothing evaluated yet.  Made by config/, read
 * by bind.c.  Everything in it lives in its arena. */
#ifndef POLYHEAD_GRAPH_MODEL_H
#define POLYHEAD_GRAPH_MODEL_H

#include <polyhead/polyhead.h>
#include <pthread.h>

#include "graph/expr.h"
#include "graph/op.h"

/* Where something was written.  Lines and columns from 1; line 0: nowhere in particular. */
typedef struct ph_place {
  const char *file;
  uint32_t line, column;
} ph_place;

/* ph_fail() with "file:line:column: error: " before the message. */
#define ph_fail_at(error, place, ...) ph_place_fail((error), (place), __FILE__, __LINE__, __VA_ARGS__)
PH_NODISCARD ph_status ph_place_fail(ph_error *error, ph_place place, const char *file, int line, const char *format,
                                     ...) __attribute__((format(printf, 5, 6)));
/* Puts the place before the message that `error` already holds, unless `status` is PH_OK; returns `status`. */
ph_status ph_place_prefix(ph_error *error, ph_place place, ph_status status);

/* SOURCE: where the elements of an input or a weight come from when nobody gives them. */
typedef enum ph_source_kind {
  PH_SOURCE_NONE,
  PH_SOURCE_VALUES,
  PH_SOURCE_FILE,
  PH_SOURCE_FILL,
  PH_SOURCE_RANDOM
} ph_source_kind;
typedef enum ph_distribution { PH_NORMAL, PH_UNIFORM, PH_XAVIER_UNIFORM } ph_distribution;

typedef struct ph_source {
  ph_source_kind kind;
  ph_place place;
  /* VALUES: the numbers in row-major order and the shape in which they were nested */
  uint32_t rank;
  int64_t dims[PH_MAX_RANK];
  const double *reals;     /* as doubles, and exactly as integers where `integers` is not NULL */
  const int64_t *integers; /* NULL when some value is no integer; true and false are 1 and 0 */
  bool all_bool;           /* VALUES and FILL: written as true and false */
  size_t value_count;
  const char *file;    /* FILE: resolved against the config's folder */
  const ph_expr *fill; /* FILL: an expression, or NULL and `fill_value` (nan, inf, true ...) */
  double fill_value;
  ph_distribution distribution; /* RANDOM */
  uint64_t seed;
} ph_source;

typedef struct ph_model_dim {
  const char *name;
  const ph_expr *expr;
  ph_place place;
  bool varies;     /* named plainly in an input's shape, and no weight's shape depends on it */
  bool overridden; /* by --dim, or because repeats and keys were written out by its value */
  int64_t override;
} ph_model_dim;

typedef struct ph_model_input {
  const char *name;
  ph_place place;
  ph_dtype dtype;
  uint32_t rank;
  const ph_expr *dims[PH_MAX_RANK];
  ph_source initial; /* kind NONE: required */
  bool hold;
} ph_model_input;

typedef struct ph_model_weight {
  const char *path; /* "w_q", "h.w_q" */
  ph_place place;
  const char *const *keys; /* call prefixes and KEY joined; the top prefix comes before; in order of preference */
  uint32_t key_count;
  bool has_shape;
  uint32_t rank;
  const ph_expr *dims[PH_MAX_RANK];
  ph_dtype dtype; /* PH_DTYPE_NONE: the file's; f32 for init and --random */
  ph_source init; /* kind NONE: must be in the file, or --random */
  uint32_t first; /* weights[first] is the same: its own index, or that of round 0 of a repeat with shared: true */
} ph_model_weight;

/* A value that lives between runs: everyone reads the old one, and at the end of a run it becomes `next`. */
typedef struct ph_model_state {
  const char *path; /* "k_ring", "h.3.k_cache" */
  ph_place place;
  ph_dtype dtype;
  uint32_t rank;
  const ph_expr *dims[PH_MAX_RANK];
  ph_source init; /* kind NONE: zeros */
  uint32_t next;  /* a model value */
} ph_model_state;

typedef enum ph_value_kind {
  PH_VALUE_INPUT,  /* inputs[index] */
  PH_VALUE_WEIGHT, /* weights[index] */
  PH_VALUE_SCALAR, /* a number or =EXPR: scalars[index] */
  PH_VALUE_STATE,  /* states[index] */
  PH_VALUE_NODE    /* output `slot` of nodes[index] */
} ph_value_kind;

typedef struct ph_model_value {
  const char *path; /* "scores", "parts.q", "h.3.scores" */
  ph_place place;
  ph_value_kind kind;
  uint32_t index, slot;
  bool used;
} ph_model_value;

/* Another path of a value: "h" and "h.y" for "h.4.y", the last round of a repeat. */
typedef struct ph_model_alias {
  const char *path;
  uint32_t value;
} ph_model_alias;

/* An attribute as it was written, typed by the op's row. */
typedef struct ph_model_attr {
  uint32_t row; /* index in op->attrs */
  ph_place place;
  uint32_t count;              /* items of a list, else 1; 0 is an empty list */
  const ph_expr *const *exprs; /* INTEGER, REAL, AXIS, AXES, INTEGERS, EXTENTS */
  const char *const *names;    /* EXTENTS */
  const char *text;            /* CHOICE, DTYPE */
  bool boolean;                /* BOOL */
} ph_model_attr;

typedef struct ph_model_node {
  const char *path;
  ph_place place;      /* of the node in its block */
  ph_place call_place; /* of the call that wrote the block out; line 0 at the top level */
  const ph_op *op;
  const uint32_t *inputs; /* model values by role, PH_NONE where absent; variadic ones as many as given */
  uint32_t input_count;
  const ph_model_attr *attrs; /* the given ones */
  uint32_t attr_count;
  uint32_t first_output; /* its outputs are model values first_output .. + output_count - 1 */
  uint32_t output_count;
} ph_model_node;

typedef struct ph_model_output {
  const char *alias; /* how the file calls it: its alias, else its path */
  const char *path;
  ph_place place;
} ph_model_output;

typedef struct ph_model_labels {
  const char *dim;
  const char *const *texts; /* NULL: the texts of the ids that are fed */
  uint32_t count;           /* of texts */
  uint32_t ids, ids_axis;   /* without texts: an input, and its axis that is the dim */
  const char *vocabulary;   /* of the ids: a file */
  ph_place place;
} ph_model_labels;

struct ph_model {
  ph_arena arena;
  const char *file, *folder, *name, *description;
  ph_model_dim *dims;
  ph_model_input *inputs;
  ph_model_weight *weights;
  ph_model_state *states;
  const ph_expr **scalars;
  ph_model_value *values;
  ph_model_node *nodes;
  ph_model_output *outputs;
  ph_model_labels *labels;
  ph_model_alias *aliases;
  const ph_generation *generation; /* NULL: none */
  uint32_t state_count, state_capacity, dim_count, dim_capacity, input_count, input_capacity, weight_count,
      weight_capacity, scalar_count, scalar_capacity, value_count, value_capacity, node_count, node_capacity,
      output_count, output_capacity, label_count, label_capacity, alias_count, alias_capacity;
  const char *const *prefixes; /* of weights.prefix; at least one, "" if none is written */
  uint32_t prefix_count;
  const char *const *weight_files; /* --weights, else weights.file resolved against the folder */
  uint32_t weight_file_count;
  bool random;              /* --random */
  pthread_mutex_t lock;     /* of the store: sessions in several threads share a model */
  struct ph_weights *store; /* config/weights.c: opened files and the tensors made so far */
};

/* The value by path or alias; PH_NONE if there is none.  Inner values of composites are not among them. */
uint32_t ph_model_value_find(const ph_model *model, const char *path);

#endif
