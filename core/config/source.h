/* SOURCE of the config language, made into a tensor. */
#ifndef POLYHEAD_CONFIG_SOURCE_H
#define POLYHEAD_CONFIG_SOURCE_H

#include <polyhead/tensor.h>

#include "graph/model.h"

/* The elements of a value of a concrete type.  `path` is the value's full path: random sources mix it with their seed,
 * so that two values never get the same numbers.  normal has mean 0 and spread 1, uniform is [-1, 1), xavier_uniform
 * +-sqrt(6 / (in + out)) over the last two axes (Glorot and Bengio 2010, equation 16); of a bool, uniform makes true
 * and false equally often.  PH_INVALID, with the source's
 * place, where shape or type do not fit. */
PH_NODISCARD ph_status ph_source_make(const ph_source *source, const char *path, const ph_type *type,
                                      const ph_scope *scope, ph_tensor **out, ph_error *error);

/* The same for a tensor whose shape was not declared: that of the values or of the file.  PH_INVALID for fill and
 * random. */
PH_NODISCARD ph_status ph_source_make_any_shape(const ph_source *source, const char *path, ph_dtype dtype,
                                                const ph_scope *scope, ph_tensor **out, ph_error *error);

#endif
