/* What run, check and compare begin with: plugins, a config, its inputs. */
#ifndef POLYHEAD_CLI_SETUP_H
#define POLYHEAD_CLI_SETUP_H

#include "command.h"

/* What --plugin, -v and POLYHEAD_LOG say. */
PH_NODISCARD ph_status cli_context_options(const cli_options *options, ph_context_options *out, ph_error *error);

/* Messages of the library go to standard error: warnings and errors, more with -v or as POLYHEAD_LOG says. */
PH_NODISCARD ph_status cli_context_open(const cli_options *options, ph_context **out, ph_error *error);

/* What --weights, --dim and --random say of a config; warnings go to standard error. */
PH_NODISCARD ph_status cli_model_options(const cli_options *options, ph_model_options *out, ph_error *error);

/* Loads the config named by the first argument, with --weights, --dim and --random.  Warnings go to standard error. */
PH_NODISCARD ph_status cli_model_open(const cli_options *options, ph_model **out, ph_error *error);

/* The tensors of -i. */
typedef struct cli_inputs {
  cli_pair *pairs; /* NAME and FILE */
  ph_tensor **tensors;
  uint32_t count;
} cli_inputs;

/* Reads the files of -i: a .npy, or the tensor NAME of a .npz or .safetensors, or the tensor KEY of FILE:KEY.  Free in
 * case of failure, too. */
PH_NODISCARD ph_status cli_inputs_open(const cli_options *options, cli_inputs *out, ph_error *error);
void cli_inputs_close(cli_inputs *inputs);

/* A session on the device of -d with these inputs; with -v, or where nobody chose the device, says on standard error
 * which one it is.  `keep` may be NULL. */
PH_NODISCARD ph_status cli_session_open(const cli_options *options, ph_context *context, ph_model *model,
                                        const cli_inputs *inputs, const char *const *keep, uint32_t keep_count,
                                        ph_session **out, ph_error *error);

/* Says on standard error which nodes run on the reference because the device refuses them. */
void cli_tell_moved(const ph_session *session);

#endif
