#include "junit.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

/* XML 1.0 takes no control characters but tab and line ends. */
static void add_escaped(ph_text *text, const char *from) {
  for (; *from != '\0'; from++) {
    switch (*from) {
    case '&':
      ph_text_add(text, "&amp;");
      break;
    case '<':
      ph_text_add(text, "&lt;");
      break;
    case '>':
      ph_text_add(text, "&gt;");
      break;
    case '"':
      ph_text_add(text, "&quot;");
      break;
    default:
      ph_text_add(text, "%c", (unsigned char)*from < 0x20 ? ' ' : *from);
    }
  }
}

static bool is_failure(ph_case_state state) {
  return state == PH_CASE_FAIL || state == PH_CASE_UNEXPECTED_PASS || state == PH_CASE_UNTRUSTED;
}

static void add_case(ph_text *text, const ph_case_result *result) {
  size_t family = strcspn(result->name, "/");
  ph_text_add(text, "    <testcase classname=\"");
  char name[256];
  snprintf(name, sizeof(name), "%.*s", (int)family, result->name);
  add_escaped(text, name);
  ph_text_add(text, "\" name=\"");
  add_escaped(text, result->name);
  ph_text_add(text, "\" time=\"%.6f\"", result->seconds);
  if (result->state == PH_CASE_PASS) {
    ph_text_add(text, "/>\n");
    return;
  }
  const char *tag = is_failure(result->state) ? "failure" : "skipped";
  ph_text_add(text, "><%s message=\"%s: ", tag, ph_case_state_name(result->state));
  add_escaped(text, result->reason);
  ph_text_add(text, "\">");
  add_escaped(text, result->command);
  ph_text_add(text, "</%s></testcase>\n", tag);
}

static void add_suite(ph_text *text, const ph_conformance *conformance) {
  uint32_t count = ph_conform_case_count(conformance), failures = 0, skipped = 0;
  double seconds = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ph_case_result *result = ph_conform_result(conformance, i);
    bool failed = is_failure(result->state);
    failures += failed;
    skipped += !failed && result->state != PH_CASE_PASS;
    seconds += result->seconds;
  }
  ph_text_add(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"polyhead conform ");
  add_escaped(text, ph_conform_device(conformance)->spec);
  ph_text_add(text, "\" tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"%.6f\">\n", count, failures,
              skipped, seconds);
  for (uint32_t i = 0; i < count; i++) add_case(text, ph_conform_result(conformance, i));
  ph_text_add(text, "  </testsuite>\n</testsuites>\n");
}

ph_status cli_junit_write(const char *path, const ph_conformance *conformance, ph_error *error) {
  ph_file_writer *writer;
  PH_TRY(ph_file_writer_create(path, &writer, error));
  ph_text text = {0};
  add_suite(&text, conformance);
  ph_status status = text.failed ? ph_fail_memory(error) : ph_file_writer_put(writer, text.data, text.length, error);
  ph_text_free(&text);
  if (status == PH_OK) return ph_file_writer_commit(writer, error);
  ph_file_writer_abandon(writer);
  return status;
}
