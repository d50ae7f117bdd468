/* What an op is here: a row of the table in ops.c and a file op_<name>.c with its function. */
#ifndef MINE_OP_H
#define MINE_OP_H

#include <polyhead/backend.h>
#include <polyhead/node.h>

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 3 };

/* An input or output of a node. */
struct operand {
  bool present; /* optional inputs may be absent, optional outputs unwanted */
  uint32_t tensor;
  uint32_t rank;
  int64_t dims[PH_MAX_RANK], strides[PH_MAX_RANK]; /* strides in elements; 0 repeats */
  int64_t count;                                   /* elements */
  float *data;                                     /* element 0; set by execute(); NULL where absent or empty */
};

/* What a node's attributes say.  Their texts die with the call that brings them, so they are read for the plan. */
struct settings {
  bool in_out; /* linear */
};

/* A node that runs: roles and outputs in the order of `polyhead ops <name>`. */
struct task {
  const struct op *op;
  struct operand in[MOST_INPUTS], out[MOST_OUTPUTS];
  struct settings settings;
  const float *packed; /* what pack() made; NULL where it made nothing */
};

struct op {
  const char *name;
  uint32_t version;              /* the newest that it knows */
  ph_dtype stages[PH_STAGE_MAX]; /* what its results are judged by; left out where the op has no such stage */
  bool takes_strides;            /* else inputs must be dense */
  void (*read)(const ph_node *node, struct settings *out); /* attributes; NULL: it has none */
  /* Makes of constants something better to compute with, once for each program; malloc()ed.  NULL: nothing to make. */
  float *(*pack)(const ph_graph *graph, const ph_node *node, bool *out_of_memory);
  void (*run)(const struct task *task); /* at least one output has elements */
};

const struct op *find_op(const char *name); /* NULL if there is none */

void run_add(const struct task *task);
void run_relu(const struct task *task);
void run_linear(const struct task *task);
void read_linear(const ph_node *node, struct settings *out);
float *pack_linear(const ph_graph *graph, const ph_node *node, bool *out_of_memory);

#endif
