/* A config that is no file. */
#ifndef POLYHEAD_CONFIG_LOAD_TEXT_H
#define POLYHEAD_CONFIG_LOAD_TEXT_H

#include <polyhead/polyhead.h>

/* ph_model_load() of the config in `text`; `path` stands for its file in messages, and files that it names are sought
 * beside that. */
PH_NODISCARD ph_status ph_model_load_text(const char *path, const char *text, const ph_model_options *options,
                                          ph_model **out, ph_error *error);

#endif
