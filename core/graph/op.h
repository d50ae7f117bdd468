/* The op table: one row per op, and everything that the rest of the project knows about an op. */
#ifndef POLYHEAD_GRAPH_OP_H
#define POLYHEAD_GRAPH_OP_H

#include "graph/type.h"

typedef struct ph_net ph_net;
typedef struct ph_net_node ph_net_node;

enum {
  PH_ROLE_OPTIONAL = 1u << 0,
  PH_ROLE_NAMED = 1u << 1,    /* given by name only, never by position */
  PH_ROLE_VARIADIC = 1u << 2, /* takes all the rest; at least one */
  PH_ROLE_INDEX = 1u << 3     /* i64 at the backend; i32 is widened by the core */
};

/* What an index that comes from outside must satisfy before anything runs (DESIGN 3, "core checks"). */
typedef enum ph_index_rule {
  PH_INDEX_FREE = 0,     /* any value is legal (an offset of a mask) */
  PH_INDEX_IN_TABLE,     /* 0 <= v < extent 0 of role `of` (embedding, rotary's positions) */
  PH_INDEX_ON_AXIS,      /* -n <= v < n, n the extent of the attribute `axis` in role `of` (gather) */
  PH_INDEX_LENGTH,       /* 0 <= v <= the last extent of role `of`, or last but one for k (attention) */
  PH_INDEX_CACHE_OFFSET, /* 0 <= v, and v + written extent <= slots unless ring */
  PH_INDEX_NOT_NEGATIVE,
  PH_INDEX_ROTARY,     /* 0 <= v (+ rows - 1 for an offset) < rows of cos, where cos is a table */
  PH_INDEX_BELOW_SIZE, /* 0 <= v < the attribute `size` (one_hot) */
  PH_INDEX_BELOW_AXIS  /* 0 <= v < n, n the extent of the attribute `axis` in role `of` (cross_entropy) */
} ph_index_rule;

enum { PH_TYPES_REAL = 1u << 0, PH_TYPES_INTEGER = 1u << 1, PH_TYPES_BOOL = 1u << 2, PH_TYPES_ANY = 7u };

typedef struct ph_op_role {
  const char *name;
  const char *doc; /* shapes, one line */
  unsigned flags;
  unsigned types; /* PH_TYPES_* */
  ph_index_rule rule;
  const char *of; /* the role that the rule looks at */
} ph_op_role;

typedef enum ph_attr_type {
  PH_ATTR_TYPE_INTEGER,
  PH_ATTR_TYPE_REAL,
  PH_ATTR_TYPE_BOOL,
  PH_ATTR_TYPE_CHOICE,   /* one of `choices` */
  PH_ATTR_TYPE_AXIS,     /* an integer; negative ones count from the end of the first role and are made positive */
  PH_ATTR_TYPE_AXES,     /* a list of them */
  PH_ATTR_TYPE_INTEGERS, /* a list of integers */
  PH_ATTR_TYPE_EXTENTS,  /* a mapping name: extent, whose names name the outputs (split's `into`) */
  PH_ATTR_TYPE_DTYPE     /* the name of a type */
} ph_attr_type;

typedef struct ph_op_attr {
  const char *name;
  const char *doc;
  ph_attr_type type;
  bool may_be_absent;         /* has no value then (scale, softcap, window ...) */
  const char *initial;        /* the default as one would write it; NULL with !may_be_absent: required */
  const char *const *choices; /* NULL-terminated */
} ph_op_attr;

typedef struct ph_op_output {
  const char *name;
  const char *doc;
  bool optional; /* computed only where somebody wants it */
} ph_op_output;

/* How the operands of a node are laid out for a backend (runtime/lower.c). */
typedef enum ph_layout {
  PH_LAYOUT_PLAIN,     /* as they are */
  PH_LAYOUT_BROADCAST, /* every input is a view with the output's dims, stride 0 where it repeats */
  PH_LAYOUT_ATTENTION, /* rank 4, masks too; see lower.c */
  PH_LAYOUT_MATMUL     /* both of the output's rank, at least 2; stride 0 where a batch axis repeats */
} ph_layout;

/* One attribute of a node, in the order of the op's row. */
typedef struct ph_net_attr {
  ph_attr value; /* the kind is PH_ATTR_VARIES never: `varies` says so, and the value is the one of these dims */
  bool present, varies;
} ph_net_attr;

/* What a shape rule works on. */
typedef struct ph_infer {
  const struct ph_op *op;
  const ph_type *inputs; /* by role; dtype PH_DTYPE_NONE where absent; variadic ones one after the other */
  uint32_t input_count;
  ph_net_attr *attrs; /* axes are already made positive; a rule may fill in what was absent */
  ph_type *outputs;
  uint32_t output_count;
  ph_arena *arena;
  ph_error *error;
} ph_infer;

typedef struct ph_op {
  const char *name;
  uint32_t version;
  const char *doc;    /* one line */
  const char *source; /* paper and section or spec it comes from; NULL where obvious */
  const ph_op_role *roles;
  uint32_t role_count;
  const ph_op_attr *attrs;
  uint32_t attr_count;
  const ph_op_output *outputs; /* NULL: named by the attribute of type EXTENTS */
  uint32_t output_count;
  ph_layout layout;
  /* For each stage a bit (1u << ph_dtype) for every type that a backend may declare; 0: the op has no such stage. */
  uint32_t stage_types[PH_STAGE_MAX];
  bool exact;   /* results must agree bit for bit */
  bool moves;   /* its results are its input's elements elsewhere, so strides may do in its place (passes/views.c) */
  bool spreads; /* its first result may be asked for with strides of its own, as a part of something wider */
  bool heavy;   /* much work for each element: another kernel costs more than a copy of its operands (runtime/place.c) */
  bool rereads; /* reads the rows of roles 1 and 2 anew for every few rows of role 0 (runtime/place.c) */
  /* Types and shapes of the outputs, or PH_INVALID with the reason ("weight is [64, 32] but ..."). */
  ph_status (*infer)(ph_infer *infer);
  /* Floating-point operations of one run (a multiply-add is two); NULL: none. */
  double (*flops)(const ph_net *net, const ph_net_node *node);
  /* Adds to the net the steps that give the same, the last one under the node's own path; outputs[slot] becomes the
   * value that plays each output of the node.  NULL where the op has no steps. */
  ph_status (*expand)(ph_net *net, const ph_net_node *node, uint32_t *outputs, ph_error *error);
  bool composite;                 /* always expanded; others with `expand` only where a device refuses them */
  const char *const *inner_names; /* NULL-terminated: the values that the steps make */
} ph_op;

extern const ph_op *const ph_ops[]; /* in the order of the reference */
extern const uint32_t ph_op_count;

const ph_op *ph_op_find(const char *name);                    /* NULL if unknown */
uint32_t ph_op_role_index(const ph_op *op, const char *name); /* PH_NONE if unknown */
uint32_t ph_op_attr_index(const ph_op *op, const char *name); /* PH_NONE if unknown */

/* For shape rules: the attribute's value; the op has it by this name. */
const ph_net_attr *ph_infer_attr(const ph_infer *infer, const char *name);
int64_t ph_infer_int(const ph_infer *infer, const char *name); /* integer, axis or bool */
bool ph_infer_is(const ph_infer *infer, const char *name, const char *choice);
const ph_type *ph_infer_input(const ph_infer *infer, const char *role); /* NULL where absent */

#endif
