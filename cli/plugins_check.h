/* polyhead plugins check FILE. */
#ifndef POLYHEAD_CLI_PLUGINS_CHECK_H
#define POLYHEAD_CLI_PLUGINS_CHECK_H

#include "command.h"

PH_NODISCARD ph_status cli_plugins_check(const char *path, cli_result *result, ph_error *error);

#endif
