/* What a run leaves beside its outputs: a report (--report), a trace (--trace). */
#ifndef POLYHEAD_CLI_RECORDS_H
#define POLYHEAD_CLI_RECORDS_H

#include "base/file.h"
#include "command.h"

typedef struct cli_records {
  ph_file_writer *report, *trace; /* NULL where not asked for */
} cli_records;

/* Makes the files, under names of their own until they are whole.  Free in case of failure, too. */
PH_NODISCARD ph_status cli_records_open(const cli_options *options, cli_records *out, ph_error *error);
PH_NODISCARD ph_status cli_records_write(cli_records *records, ph_session *session, ph_error *error);
void cli_records_close(cli_records *records);

#endif
