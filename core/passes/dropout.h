/* Dropout acts in training only (Srivastava et al. 2014, section 4): here its readers read what it reads. */
#ifndef POLYHEAD_PASSES_DROPOUT_H
#define POLYHEAD_PASSES_DROPOUT_H

#include "graph/net.h"

/* Leads every reader of a dropout past it, so that a graph runs, and fuses, as it does without; takes away the dropout
 * itself unless its value is kept or becomes a state.  After the wanted values are marked. */
void ph_skip_dropout(ph_net *net);

#endif
