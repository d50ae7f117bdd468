/* What a conformance run adds up: for each op its trusted cases and the nearest it came to its bound, and which options
 * met in a case. */
#ifndef POLYHEAD_CONFORM_TALLY_H
#define POLYHEAD_CONFORM_TALLY_H

#include <polyhead/polyhead.h>

typedef struct ph_tally ph_tally;

PH_NODISCARD ph_status ph_tally_create(ph_tally **out, ph_error *error);
void ph_tally_destroy(ph_tally *tally); /* NULL is fine */

/* A node of a case was judged: its op, whether it could have failed, and |got - expected| over its bound.  Nodes of one
 * case follow each other, and the name outlives the tally. */
PH_NODISCARD ph_status ph_tally_node(ph_tally *tally, const char *case_name, const char *op, bool could_fail,
                                     double ratio, ph_error *error);
/* By op, in the op table's order. */
uint32_t ph_tally_op_count(const ph_tally *tally);
const ph_conform_op *ph_tally_op(const ph_tally *tally, uint32_t index);

/* Two options stood in a case about this op that was judged; the texts outlive the tally. */
PH_NODISCARD ph_status ph_tally_pair(ph_tally *tally, const char *op, const char *a, const char *b, ph_error *error);
bool ph_tally_has_pair(const ph_tally *tally, const char *op, const char *a, const char *b);

#endif
