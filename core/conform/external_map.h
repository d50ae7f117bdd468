/* Mapping a case made elsewhere: its operator is written out as a config in our language, whose inputs are the case's
 * tensors.  The functions that map one operator are in external_attention.c, external_ort.c and external_ops.c; what
 * they write with is here. */
#ifndef POLYHEAD_CONFORM_EXTERNAL_MAP_H
#define POLYHEAD_CONFORM_EXTERNAL_MAP_H

#include "base/error.h"
#include "base/text.h"
#include "conform/external_case.h"

/* A declared output of the config that must agree with a stored one. */
typedef struct ph_external_answer {
  const char *alias;
  const ph_external_tensor *stored;
} ph_external_answer;

/* A mapping being written.  Its functions go on after a failure and then do nothing of use: `status` tells at the end,
 * and only a failure before is kept.  Texts that they return live in the arena. */
typedef struct ph_external_map {
  const ph_external_case *of;
  ph_arena arena;
  ph_text inputs, graph, outputs; /* the sections of the config */
  ph_external_answer *answers;    /* by declared output; `stored` is NULL for one that is only kept */
  uint32_t answer_count, answer_capacity;
  json_t *unread; /* the attributes that nobody asked for */
  bool *read;     /* by input of the case: somebody asked for it */
  bool *written;  /* by input of the case: it is an input of the config */
  ph_status status;
  ph_error *error;
} ph_external_map;

typedef struct ph_external_op {
  const char *name; /* NULL ends a list */
  void (*map)(ph_external_map *map);
} ph_external_op;
extern const ph_external_op ph_external_attention_ops[], ph_external_ort_ops[], ph_external_other_ops[];
const ph_external_op *ph_external_op_find(const char *name); /* NULL where it is not mapped */

/* Maps a loaded case.  PH_UNSUPPORTED for what has no place in the mapping: an operator, an attribute, an input or an
 * output; `map` is to be freed after a failure, too. */
PH_NODISCARD ph_status ph_external_map_case(const ph_external_case *of, ph_external_map *map, ph_error *error);
void ph_external_map_free(ph_external_map *map);
/* Adds the config, from `polyhead: 1` on.  `name` is that of the case. */
void ph_external_map_text(const ph_external_map *map, const char *name, ph_text *out);

/* ---- for the functions that map one operator ---- */

void ph_map_fail(ph_external_map *map, ph_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Formats into the arena. */
const char *ph_map_text(ph_external_map *map, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Attributes: `absent` where it is null or not there. */
int64_t ph_map_int(ph_external_map *map, const char *name, int64_t absent);
double ph_map_real(ph_external_map *map, const char *name, double absent);
const char *ph_map_choice(ph_external_map *map, const char *name, const char *absent);
/* Null or not there: true, and *out keeps its value. */
bool ph_map_ints(ph_external_map *map, const char *name, int64_t *out, uint32_t capacity, uint32_t *out_count);
/* The attribute as the config writes it, behind a comma: ", scale: 0.5"; "" where it is null. */
const char *ph_map_real_attr(ph_external_map *map, const char *name, const char *ours);
/* A number as the config writes it, with all its digits. */
const char *ph_map_number(ph_external_map *map, double value);

/* A tensor of the case by its role.  find: NULL where it is absent.  need: fails where it is absent or its rank is not
 * within the limits, and gives one of rank 8 with extents of 0 then. */
const ph_external_tensor *ph_map_find(ph_external_map *map, const char *role);
const ph_external_tensor *ph_map_need(ph_external_map *map, const char *role, uint32_t least, uint32_t most);
const ph_external_tensor *ph_map_output(const ph_external_map *map, const char *role); /* NULL where absent */
/* The axis counted from the front.  Fails where the tensor has no such axis. */
uint32_t ph_map_axis(ph_external_map *map, const ph_external_tensor *tensor, int64_t axis);

/* Makes the tensor an input of the config, once; returns its name there, the role. */
const char *ph_map_input(ph_external_map *map, const ph_external_tensor *tensor);
/* The same, found by role; fails where it is absent. */
const char *ph_map_take(ph_external_map *map, const char *role);
/* Makes an input of the config from what the mapping computed; the tensor (NULL does nothing) is released. */
const char *ph_map_computed(ph_external_map *map, const char *name, ph_tensor *tensor);
/* A tensor to be filled for that; NULL after a failure. */
ph_tensor *ph_map_new(ph_external_map *map, ph_dtype dtype, uint32_t rank, const int64_t *dims);

/* A node: {name, op and the rest, as the format says it: "matmul, inputs: [%s, %s]"}.  Returns its name. */
const char *ph_map_node(ph_external_map *map, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Declares VALUE, of type dtype, as an output that must be what the case stores, behind a cast where the types differ.
 */
void ph_map_answer(ph_external_map *map, const ph_external_tensor *stored, const char *alias, const char *value,
                   ph_dtype dtype);
/* Declares VALUE as an output, so that nothing is fused over it. */
void ph_map_keep(ph_external_map *map, const char *alias, const char *value);

#endif
