/* How far a long command is: a line that is written over, on a terminal alone. */
#ifndef POLYHEAD_CLI_PROGRESS_H
#define POLYHEAD_CLI_PROGRESS_H

#include <stdint.h>

void cli_progress_show(void *user, uint32_t done, uint32_t total, const char *name);
void cli_progress_clear(void);

#endif
