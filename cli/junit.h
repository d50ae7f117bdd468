/* A conformance run as JUnit XML. */
#ifndef POLYHEAD_CLI_JUNIT_H
#define POLYHEAD_CLI_JUNIT_H

#include <polyhead/polyhead.h>

/* Writes the file, whole or not at all.  A test case for each case: a fail, an unexpected pass and an untrusted one are
 * failures; unsupported, unavailable and expected-fail are skipped. */
PH_NODISCARD ph_status cli_junit_write(const char *path, const ph_conformance *conformance, ph_error *error);

#endif
