#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "json.h"

ph_status cli_records_open(const cli_options *options, cli_records *out, ph_error *error) {
  if (options->report != NULL) PH_TRY(ph_file_writer_create(options->report, &out->report, error));
  if (options->trace != NULL) PH_TRY(ph_file_writer_create(options->trace, &out->trace, error));
  return PH_OK;
}

static ph_status write_whole(ph_file_writer **file, const char *text, size_t size, ph_error *error) {
  ph_status status = ph_file_writer_put(*file, text, size, error);
  if (status != PH_OK) return status;
  status = ph_file_writer_commit(*file, error);
  *file = NULL;
  return status;
}

static ph_status write_report(cli_records *records, ph_session *session, ph_error *error) {
  char *page;
  size_t size;
  PH_TRY(ph_session_report(session, &page, &size, error));
  ph_status status = write_whole(&records->report, page, size, error);
  free(page);
  return status;
}

/* The first node on the same device stands for it. */
static uint32_t track_of(const ph_session *session, uint32_t index) {
  const char *device = ph_session_node(session, index)->device;
  for (uint32_t i = 0; i < index; i++) {
    const char *other = ph_session_node(session, i)->device;
    if (other != NULL && device != NULL && strcmp(other, device) == 0) return i;
  }
  return index;
}

/* One complete event per node, a track per device, which a metadata event names (Trace Event Format; Perfetto wants
 * numbers as thread ids). */
static json_t *events_of(const ph_session *session) {
  json_t *events = json_array();
  uint64_t start = UINT64_MAX;
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    if (node->end_ns != 0 && node->start_ns < start) start = node->start_ns;
  }
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    if (node->end_ns == 0) continue;
    int track = (int)track_of(session, i) + 1;
    if (track == (int)i + 1)
      events = cli_json_append(events, json_pack("{ss ss si si s{so}}", "name", "thread_name", "ph", "M", "pid", 1,
                                                 "tid", track, "args", "name", cli_json_text(node->device)));
    events = cli_json_append(
        events, json_pack("{so so ss sf sf si si s{so so sf sI}}", "name", cli_json_text(node->path), "cat",
                          cli_json_text(node->op), "ph", "X", "ts", (double)(node->start_ns - start) / 1000, "dur",
                          (double)(node->end_ns - node->start_ns) / 1000, "pid", 1, "tid", track, "args", "output",
                          cli_json_text(node->output_type), "variant", cli_json_text(node->variant), "flops",
                          node->flops, "bytes", (json_int_t)node->bytes));
  }
  return events;
}

static ph_status write_trace(cli_records *records, const ph_session *session, ph_error *error) {
  json_t *trace = json_pack("{so ss}", "traceEvents", events_of(session), "displayTimeUnit", "ms");
  char *text = trace != NULL ? json_dumps(trace, JSON_INDENT(1)) : NULL;
  json_decref(trace);
  if (text == NULL) return ph_fail_memory(error);
  ph_status status = write_whole(&records->trace, text, strlen(text), error);
  free(text);
  return status;
}

ph_status cli_records_write(cli_records *records, ph_session *session, ph_error *error) {
  if (records->report != NULL) PH_TRY(write_report(records, session, error));
  return records->trace != NULL ? write_trace(records, session, error) : PH_OK;
}

void cli_records_close(cli_records *records) {
  ph_file_writer_abandon(records->report);
  ph_file_writer_abandon(records->trace);
}
