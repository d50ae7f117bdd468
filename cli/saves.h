/* What -o asks for: values and the files that they go to. */
#ifndef POLYHEAD_CLI_SAVES_H
#define POLYHEAD_CLI_SAVES_H

#include "command.h"

typedef struct cli_saves {
  cli_pair *pairs; /* PATH and FILE, as written */
  char **places;   /* each FILE with its folder resolved: equal texts are the same file */
  uint32_t count;
} cli_saves;

/* Checks what can be checked before anything runs: endings, folders, that files can be made there, that no .npy is to
 * hold two values.  Free in case of failure, too. */
PH_NODISCARD ph_status cli_saves_open(const cli_options *options, cli_saves *out, ph_error *error);
void cli_saves_close(cli_saves *saves);

/* Writes the files, one for each place. */
PH_NODISCARD ph_status cli_saves_write(const cli_saves *saves, const ph_session *session, ph_error *error);

/* The output with this alias or path; NULL if there is none. */
const ph_output *cli_output_find(const ph_session *session, const char *path);

#endif
