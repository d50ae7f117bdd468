/* EXPR of the config language: integers or reals, dims by name, + - * / ( ) and, for reals, sqrt(). */
#ifndef POLYHEAD_GRAPH_EXPR_H
#define POLYHEAD_GRAPH_EXPR_H

#include "base/memory.h"
#include "graph/type.h"

typedef struct ph_expr ph_expr; /* immutable; lives in an arena */

/* The names that an expression may use.  `value` says PH_INVALID with a message for a name that is not there. */
typedef struct ph_scope {
  ph_status (*value)(const void *user, const char *name, ph_dim *out, ph_error *error);
  const void *user;
} ph_scope;

/* Parses; `round` replaces the name `i` (NULL outside a repeat).  Messages name the offending part of the text. Nesting
 * deeper than 100 is refused, and so are more than 100 operations in a row. */
PH_NODISCARD ph_status ph_expr_parse(ph_arena *arena, const char *text, const int64_t *round, const ph_expr **out,
                                     ph_error *error);
PH_NODISCARD ph_status ph_expr_number(ph_arena *arena, int64_t value, const ph_expr **out, ph_error *error);
/* The result has a name where the expression is one plain name.  Exact: overflow, an uneven division or a decimal is
 * PH_INVALID. */
PH_NODISCARD ph_status ph_expr_integer(const ph_expr *expr, const ph_scope *scope, ph_dim *out, ph_error *error);
/* In double; decimals and sqrt() allowed.  *out_varies: depends on a varying dim. */
PH_NODISCARD ph_status ph_expr_real(const ph_expr *expr, const ph_scope *scope, double *out, bool *out_varies,
                                    ph_error *error);
/* Calls `visit` for every name in it. */
void ph_expr_names(const ph_expr *expr, void (*visit)(void *user, const char *name), void *user);
/* The name, where the expression is one name and nothing else; else NULL. */
const char *ph_expr_plain_name(const ph_expr *expr);
/* The text as it was written. */
const char *ph_expr_text(const ph_expr *expr);

#endif
