/* Where the time of a run went, node by node. */
#ifndef POLYHEAD_CLI_PROFILE_H
#define POLYHEAD_CLI_PROFILE_H

#include "command.h"

/* Both measure the device's peak where that is not known yet. */
PH_NODISCARD ph_status cli_profile_print(ph_session *session, ph_error *error);
/* The members "profile" and "peak". */
PH_NODISCARD ph_status cli_profile_fill(ph_session *session, json_t *to, ph_error *error);

#endif
