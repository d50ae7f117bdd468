/* The tensors of a model's weights: found in files by key, or made from their init, or made up. */
#ifndef POLYHEAD_CONFIG_WEIGHTS_H
#define POLYHEAD_CONFIG_WEIGHTS_H

#include <polyhead/tensor.h>

#include "graph/model.h"
#include "graph/net.h"

/* Opens the model's weight files, once, and picks the top prefix under which most of the declared keys exist (the first
 * one on a tie).  ph_weights_resolve() does it by itself. */
PH_NODISCARD ph_status ph_weights_open(ph_model *model, ph_error *error);
void ph_weights_close(ph_model *model); /* tensors taken before live on */
/* Whether the files hold a key, the top prefix put before it.  After ph_weights_open().  An op node with `weights:
 * PREFIX` has a bias where they hold PREFIXbias: without files it has none. */
bool ph_weights_has(const ph_model *model, const char *key);

/* The tensors of model->weights in order, at these dims; each retained for the caller.  `out` has room for
 * model->weight_count of them and is untouched on failure.  In this order:
 *   the first of the weight's keys that the files hold under the chosen prefix; a declared shape or dtype must be the
 *     file's; one key is one tensor, however many weights name it;
 *   the weight's init;
 *   with --random: xavier_uniform for rank 2 and more, else uniform in [-1, 1), keyed by the weight's key or path;
 *   PH_INVALID with the place of the weight and the nearest key.
 * Tensors are kept while their shape stays the same. */
PH_NODISCARD ph_status ph_weights_resolve(ph_model *model, const ph_dim *dims, ph_tensor **out, ph_error *error);

/* Warns about square weights of `linear` whose key belongs to a family that is known to lie the other way than the
 * node's layout says (c_attn, c_fc, c_proj are in_out; q_proj and the like are out_in).  `weights` as
 * ph_weights_resolve() gives them. */
void ph_weights_check_layouts(const ph_model *model, ph_tensor *const *weights, ph_notes *notes);

#endif
