/* What the files that turn a YAML tree into a model share.  Not for other folders.
 *
 * load.c reads the top level and calls the others: dims.c, source_read.c, weight_read.c, state_read.c, blocks.c (blocks
 * and their calls), graph_read.c (op nodes), attrs_read.c, labels.c, outputs.c, generate_read.c and, at the end, warnings.c.  frame.c
 * keeps who sees which name. */
#ifndef POLYHEAD_CONFIG_LOADER_H
#define POLYHEAD_CONFIG_LOADER_H

#include "base/error.h"
#include "config/names.h"
#include "config/yaml.h"

/* What is known of a dim beside its row in the model. */
typedef struct ph_dim_note {
  bool used;   /* some expression, or labels, name it */
  bool axis;   /* an input, a weight or an attribute has it as a whole axis */
  bool input;  /* an input's shape names it plainly */
  bool fixed;  /* a repeat or a key depends on it */
  bool pinned; /* a weight's shape, a repeat or a key depends on it */
  enum { PH_DIM_UNKNOWN, PH_DIM_BUSY, PH_DIM_KNOWN } state;
  int64_t value;
  bool overridden; /* by --dim, itself or a dim it depends on; set with the value */
} ph_dim_note;

/* A call of a block, kept for the warning that nobody uses it. */
typedef struct ph_call_record {
  ph_yaml *source;
  const char *path, *block;
  const uint32_t *outputs; /* model values */
  uint32_t output_count;
} ph_call_record;

/* An op node with `weights: PREFIX` whose bias is taken only if the files hold it. */
typedef struct ph_pending_bias {
  uint32_t *input; /* of the node */
  const char *path, *key;
  ph_yaml *source;
} ph_pending_bias;

typedef struct ph_loader {
  ph_model *model;
  ph_arena *arena;  /* the model's */
  ph_arena scratch; /* dies with the loader */
  ph_model_options options;
  ph_error *error;
  ph_names dims;
  ph_dim_note *dim_notes;
  ph_yaml *blocks;        /* NULL: there are none */
  uint64_t written;       /* YAML nodes that calls have written out so far */
  uint32_t named_calls;   /* how many the message of an error mentions */
  uint32_t plain_keys;    /* keys of weights that do not change with the round of a repeat */
  ph_yaml **node_sources; /* by model node */
  uint32_t node_source_count, node_source_capacity;
  ph_yaml **weight_sources; /* by model weight */
  uint32_t weight_source_count, weight_source_capacity;
  bool *exported; /* by model value: a declared output of a block */
  uint32_t exported_count, exported_capacity;
  ph_call_record *calls;
  uint32_t call_count, call_capacity;
  ph_pending_bias *biases;
  uint32_t bias_count, bias_capacity;
} ph_loader;

/* A name that a graph sees: an input, a weight or a node. */
typedef struct ph_entry {
  const char *name;
  ph_place place;
  uint32_t value; /* what the name alone means; PH_NONE where only NAME.out means something */
  uint32_t out_count;
  const char *const *outs;
  const uint32_t *out_values;
} ph_entry;

/* The top level, or one writing-out of a block: what its graph sees. */
typedef struct ph_frame {
  const struct ph_frame *caller; /* NULL at the top level */
  const char *block;
  uint32_t depth;
  ph_place call_place;
  const char *path;       /* "", "h.", "h.3." */
  const char *first_path; /* the same but in round 0 of repeats that are shared: where the weights were made */
  const char *key_prefix; /* call prefixes joined */
  bool round_in_prefix;   /* the innermost repeat's {i} is in it */
  const int64_t *round;   /* NULL outside a repeat */
  const ph_yaml *graph;   /* NULL until it is read */
  ph_names names;
  ph_entry *entries;
  uint32_t entry_count, entry_capacity;
} ph_frame;

/* ---- read.c: typed reading, every message with its place ---- */

void ph_loader_warn(ph_loader *loader, ph_place place, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "; did you mean 'x'?", or "" where nothing is near. */
const char *ph_loader_hint(ph_loader *loader, const char *name, const char *const *names, size_t count);
bool ph_is_name(const char *text);

PH_NODISCARD ph_status ph_read_map(ph_loader *loader, const ph_yaml *node, const char *what);
PH_NODISCARD ph_status ph_read_list(ph_loader *loader, const ph_yaml *node, const char *what);
PH_NODISCARD ph_status ph_read_text(ph_loader *loader, const ph_yaml *node, const char *what, const char **out);
PH_NODISCARD ph_status ph_read_name(ph_loader *loader, const ph_yaml *node, const char *what, const char **out);
PH_NODISCARD ph_status ph_read_boolean(ph_loader *loader, const ph_yaml *node, const char *what, bool *out);
/* One text or a list of at least one. */
PH_NODISCARD ph_status ph_read_texts(ph_loader *loader, const ph_yaml *node, const char *what, const char *const **out,
                                     uint32_t *out_count);
PH_NODISCARD ph_status ph_read_dtype(ph_loader *loader, const ph_yaml *node, ph_dtype *out);
/* Dims that it names must exist; they count as used. */
PH_NODISCARD ph_status ph_read_expr(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, const char *what,
                                    const ph_expr **out);
PH_NODISCARD ph_status ph_read_expr_text(ph_loader *loader, const ph_frame *frame, const char *text, ph_place place,
                                         const ph_expr **out);
PH_NODISCARD ph_status ph_read_shape(ph_loader *loader, const ph_frame *frame, const ph_yaml *node,
                                     const ph_expr *dims[PH_MAX_RANK], uint32_t *out_rank);
/* PH_INVALID for a key of `map` that is not among `known`, with the nearest. */
PH_NODISCARD ph_status ph_check_keys(ph_loader *loader, const ph_yaml *map, const char *what, const char *const *known,
                                     size_t count);
PH_NODISCARD ph_status ph_require(ph_loader *loader, const ph_yaml *map, const char *what, const char *key,
                                  ph_yaml **out);

/* ---- dims.c ---- */

PH_NODISCARD ph_status ph_dims_read(ph_loader *loader, const ph_yaml *node); /* NULL: none */
PH_NODISCARD ph_status ph_dims_override(ph_loader *loader);
/* The value at load time (--dim, else the text), for repeats, keys and labels. */
PH_NODISCARD ph_status ph_dims_evaluate(ph_loader *loader, const ph_expr *expr, ph_place place, int64_t *out);
/* The dims that the expression depends on cannot vary: a weight's shape needs them. */
void ph_dims_pin(ph_loader *loader, const ph_expr *expr);
/* Nor can they have other values than now: the graph is written out by them. */
void ph_dims_fix(ph_loader *loader, const ph_expr *expr);
void ph_dims_finish(ph_loader *loader);

/* ---- frame.c ---- */

/* A new name; a second one of the same name is refused with both lines. */
PH_NODISCARD ph_status ph_frame_add(ph_loader *loader, ph_frame *frame, ph_entry entry);
const ph_entry *ph_frame_find(const ph_frame *frame, const char *name);
/* A VALUE of the config language as a model value. */
PH_NODISCARD ph_status ph_frame_value(ph_loader *loader, ph_frame *frame, const ph_yaml *node, uint32_t *out);
PH_NODISCARD ph_status ph_model_add_value(ph_loader *loader, ph_model_value value, uint32_t *out);
PH_NODISCARD ph_status ph_model_add_alias(ph_loader *loader, const char *path, uint32_t value);

/* ---- source_read.c ---- */

PH_NODISCARD ph_status ph_source_read(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_source *out);
/* `file` as it was written, against the config's folder. */
const char *ph_path_resolve(ph_loader *loader, const char *file);

/* ---- weight_read.c ---- */

/* {name: WEIGHT ..}: into the model and the frame. */
PH_NODISCARD ph_status ph_weights_read(ph_loader *loader, ph_frame *frame, const ph_yaml *node);
/* {EXPR} replaced; *out_round: some EXPR names the round. */
PH_NODISCARD ph_status ph_key_expand(ph_loader *loader, const int64_t *round, const char *text, ph_place place,
                                     const char **out, bool *out_round);
/* A weight that an op node's `weights: PREFIX` names; its value in *out. */
PH_NODISCARD ph_status ph_weight_add_plain(ph_loader *loader, const char *path, const char *key, ph_yaml *source,
                                           uint32_t *out);
/* Gives the op nodes with `weights: PREFIX` their biases, where the files hold them. */
PH_NODISCARD ph_status ph_biases_settle(ph_loader *loader);

/* ---- state_read.c ---- */

/* {name: STATE ..}: into the model and the frame; NULL: none. */
PH_NODISCARD ph_status ph_states_read(ph_loader *loader, ph_frame *frame, const ph_yaml *node);
/* What each becomes, once the frame's graph is read. */
PH_NODISCARD ph_status ph_states_settle(ph_loader *loader, ph_frame *frame, const ph_yaml *node);

/* ---- blocks.c, graph_read.c, attrs_read.c ---- */

PH_NODISCARD ph_status ph_blocks_read(ph_loader *loader, ph_yaml *node); /* NULL: none */
PH_NODISCARD ph_status ph_graph_read(ph_loader *loader, ph_frame *frame, const ph_yaml *graph);
PH_NODISCARD ph_status ph_call_read(ph_loader *loader, ph_frame *frame, ph_yaml *node, const char *name);
PH_NODISCARD ph_status ph_node_read(ph_loader *loader, ph_frame *frame, ph_yaml *node, const char *name);
PH_NODISCARD ph_status ph_attrs_read(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_model_node *to);

/* ---- the end of the file ---- */

PH_NODISCARD ph_status ph_outputs_read(ph_loader *loader, const ph_yaml *node);
PH_NODISCARD ph_status ph_labels_read(ph_loader *loader, const ph_yaml *node);
PH_NODISCARD ph_status ph_generate_read(ph_loader *loader, const ph_yaml *node); /* NULL: none */
/* Where a file is: beside the config, else beside one of the weight files, else NULL. */
PH_NODISCARD ph_status ph_find_beside(ph_loader *loader, const char *name, const char **out);
void ph_loader_warn_all(ph_loader *loader);

#endif
