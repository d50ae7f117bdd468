/* The weights of a model, made up, under their published key names; and .safetensors files of them in every spelling
 * that is in use. */
#ifndef POLYHEAD_TESTS_MODELS_WEIGHTS_H
#define POLYHEAD_TESTS_MODELS_WEIGHTS_H

#include <polyhead/polyhead.h>

enum { WEIGHTS_MOST = 96, WEIGHTS_NAME = 96 };

typedef struct weights {
  char names[WEIGHTS_MOST][WEIGHTS_NAME];
  ph_tensor *tensors[WEIGHTS_MOST];
  size_t count;
} weights;

/* A tensor of numbers around `centre`, at most `spread` away, not the same in any two. */
void weights_add(weights *w, const char *name, double centre, double spread, uint32_t rank, const int64_t *dims);
/* NAME.weight [out, in], or [in, out], with NAME.bias [out]; NAME.weight and NAME.bias of a norm [size]. */
void weights_add_linear(weights *w, const char *name, int64_t in, int64_t out, bool in_out);
void weights_add_norm(weights *w, const char *name, int64_t size);
void weights_free(weights *w);

/* The tensor NAME TAIL; ends the program where there is none. */
const ph_tensor *weights_get(const weights *w, const char *name, const char *tail);

/* Writes the file, each name behind `prefix`.  `old_norms`: LayerNorm.gamma and .beta instead of .weight and .bias. */
PH_NODISCARD ph_status weights_write(const weights *w, const char *path, const char *prefix, bool old_norms,
                                     ph_error *error);

#endif
