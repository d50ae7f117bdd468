/* polyhead plugins check: a plugin's file, its table, its life from open() to close(), and a smoke test.  The checks
 * are a list; each is told before it begins, so that one that never ends or ends the process is known by name. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "conform/plugin_trial.h"
#include "runtime/plugin.h"

/* ---- what a check says ---- */

static void put_text(ph_plugin_trial *trial, const char *format, va_list arguments) {
  vsnprintf(trial->text, sizeof(trial->text), format, arguments);
}

ph_check_state ph_trial_pass(ph_plugin_trial *trial, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_text(trial, format, arguments);
  va_end(arguments);
  return PH_CHECK_PASS;
}

ph_check_state ph_trial_skip(ph_plugin_trial *trial, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_text(trial, format, arguments);
  va_end(arguments);
  return PH_CHECK_SKIP;
}

ph_check_state ph_trial_fail(ph_plugin_trial *trial, const char *cure, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_text(trial, format, arguments);
  va_end(arguments);
  trial->cure = cure;
  return PH_CHECK_FAIL;
}

ph_check_state ph_trial_call_failed(ph_plugin_trial *trial, const char *call, ph_status status, const ph_error *error) {
  if (error->message[0] == '\0')
    return ph_trial_fail(trial, "fill error->message with one sentence: what failed, on what, and the cure",
                         "%s() failed (%s) and did not say why", call, ph_status_name(status));
  return ph_trial_fail(trial, "make this call work, or let supports() or device_count() say no beforehand",
                       "%s() failed (%s): %.500s", call, ph_status_name(status), error->message);
}

/* ---- the file and its table ---- */

static ph_check_state check_file(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  if (ph_plugin_file_check(trial->path, trial->real, &error) == PH_OK)
    return ph_trial_pass(trial, "%s: a regular file that nobody else may change", trial->real);
  return ph_trial_fail(trial,
                       "a plugin is a regular file of yours or root's, in a folder of yours or root's: chmod go-w",
                       "%s", error.message);
}

static ph_check_state check_library(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  if (ph_plugin_file_open(trial->real, &trial->query, &error) == PH_OK)
    return ph_trial_pass(trial, "a shared library that has %s()", PH_BACKEND_SYMBOL);
  return ph_trial_fail(trial,
                       "build a shared library that defines ph_backend_query() and links all that it needs "
                       "(polyhead_plugin() in CMake does)",
                       "%s", error.message);
}

static ph_check_state check_query(ph_plugin_trial *trial) {
  trial->backend = trial->query(PH_ABI_VERSION);
  if (trial->backend == NULL)
    return ph_trial_fail(trial, "return the table to every host of the major version that you were built for",
                         "ph_backend_query() gives nothing for ABI %u.%u", PH_ABI_MAJOR, PH_ABI_MINOR);
  if (trial->query(PH_ABI_VERSION) != trial->backend)
    return ph_trial_fail(trial, "return the address of static data",
                         "ph_backend_query() gives another table each time");
  return ph_trial_pass(trial, "a table for ABI %u.%u", PH_ABI_MAJOR, PH_ABI_MINOR);
}

static ph_check_state check_major(ph_plugin_trial *trial) {
  uint32_t next = PH_ABI_MAJOR + 1;
  if (trial->query(next << 16) != NULL)
    return ph_trial_fail(trial, "return host_abi_version >> 16 == PH_ABI_MAJOR ? &backend : NULL;",
                         "ph_backend_query() gives its table to a host of ABI %u.0, whose structs are others", next);
  return ph_trial_pass(trial, "nothing for ABI %u.0", next);
}

static ph_check_state keep_rule(ph_plugin_trial *trial, const char *name, const char *cure) {
  ph_error error = PH_ERROR_INIT;
  for (int i = 0; i < PH_PLUGIN_RULE_COUNT; i++)
    if (strcmp(ph_plugin_rules[i].name, name) == 0 && ph_plugin_rules[i].check(trial->backend, &error) != PH_OK)
      return ph_trial_fail(trial, cure, "%s", error.message);
  return PH_CHECK_PASS;
}

static const char begin_table[] = "begin the table with PH_BACKEND_HEADER and build against this version's headers";

static ph_check_state check_version(ph_plugin_trial *trial) {
  ph_check_state state = keep_rule(trial, "version", begin_table);
  if (state != PH_CHECK_PASS) return state;
  return ph_trial_pass(trial, "built for ABI %u.%u", trial->backend->abi_version >> 16,
                       trial->backend->abi_version & 0xFFFF);
}

static ph_check_state check_size(ph_plugin_trial *trial) {
  ph_check_state state = keep_rule(trial, "size", begin_table);
  if (state != PH_CHECK_PASS) return state;
  return ph_trial_pass(trial, "a table of %u bytes; this library's has %zu", trial->backend->struct_size,
                       sizeof(ph_backend));
}

static ph_check_state check_entries(ph_plugin_trial *trial) {
  const ph_backend *backend = trial->backend;
  ph_check_state state =
      keep_rule(trial, "entries", "fill it in: only what stands below \"Optional\" in backend.h may be left out");
  if (state != PH_CHECK_PASS) return state;
  bool map = PH_HAS(backend, ph_backend, buffer_map), unmap = PH_HAS(backend, ph_backend, buffer_unmap);
  if (map != unmap)
    return ph_trial_fail(trial, "fill in both or neither", "%s is there without %s",
                         map ? "buffer_map" : "buffer_unmap", map ? "buffer_unmap" : "buffer_map");
  return ph_trial_pass(trial, "all required functions are there, buffer_map is %s", map ? "too" : "not");
}

static ph_check_state check_name(ph_plugin_trial *trial) {
  const ph_backend *backend = trial->backend;
  ph_check_state state = keep_rule(trial, "name", "choose a name of small letters, digits and _: it stands after -d");
  if (state != PH_CHECK_PASS) return state;
  if (backend->version[0] == '\0' || backend->vendor[0] == '\0' || backend->summary[0] == '\0' ||
      strchr(backend->summary, '\n') != NULL)
    return ph_trial_fail(trial, "fill in version, vendor and a summary of one line: `polyhead plugins` shows them",
                         "version, vendor or summary is empty or has several lines");
  return ph_trial_pass(trial, "%s %s by %s: %s", backend->name, backend->version, backend->vendor, backend->summary);
}

/* ---- a smoke test: the whole library on this plugin ---- */

static ph_check_state judge_smoke(ph_plugin_trial *trial, const ph_conformance *conformance) {
  uint32_t count = ph_conform_case_count(conformance), passed = ph_conform_state_count(conformance, PH_CASE_PASS);
  uint32_t refused = ph_conform_state_count(conformance, PH_CASE_UNSUPPORTED);
  const ph_case_result *bad = NULL, *first_refused = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const ph_case_result *result = ph_conform_result(conformance, i);
    if (result->state == PH_CASE_UNSUPPORTED && first_refused == NULL) first_refused = result;
    if (bad == NULL && (result->state == PH_CASE_FAIL || result->state == PH_CASE_UNEXPECTED_PASS ||
                        result->state == PH_CASE_UNTRUSTED))
      bad = result;
  }
  if (bad != NULL) {
    snprintf(trial->cure_text, sizeof(trial->cure_text),
             "repeat it: polyhead conform --plugin %.128s -d %.64s --filter '%.256s'", trial->path,
             trial->backend->name, bad->name);
    return ph_trial_fail(trial, trial->cure_text, "%u of %u cases pass; the first that does not (%s) is %s: %.400s",
                         passed, count, ph_case_state_name(bad->state), bad->name, bad->reason);
  }
  if (passed == 0)
    return ph_trial_fail(trial, "support one op first: `add` is the simplest",
                         "it refuses all %u cases; the first because: %.400s", count,
                         first_refused != NULL ? first_refused->reason : "there is no case");
  return ph_trial_pass(trial, "%u cases pass, %u it refuses with a reason", passed, refused);
}

static ph_check_state check_smoke(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  char device[96];
  snprintf(device, sizeof(device), "%.80s:0", trial->backend->name);
  const ph_context_options host = {
      .struct_size = sizeof(host), .plugins = &trial->path, .plugin_count = 1, .no_cache = true};
  const ph_conform_options smoke = {.struct_size = sizeof(smoke), .device = device, .set = "smoke"};
  ph_context *context = NULL;
  ph_conformance *conformance = NULL;
  ph_status status = ph_context_create(&host, &context, &error);
  if (status == PH_OK) status = ph_conform_open(&smoke, &conformance, &error);
  if (status == PH_OK) status = ph_conform_run(conformance, context, &error);
  ph_check_state state =
      status == PH_OK ? judge_smoke(trial, conformance) : ph_trial_call_failed(trial, "conform", status, &error);
  ph_conform_close(conformance);
  ph_context_destroy(context);
  return state;
}

/* ---- all of them ---- */

/* Behind a failure that is `fatal` nothing more can be tried. */
static const struct {
  const char *name;
  ph_trial_check *run;
  bool fatal;
} checks[] = {
    {"file", check_file, true},
    {"library", check_library, true},
    {"exports", ph_trial_exports, false},
    {"query", check_query, true},
    {"major", check_major, false},
    {"version", check_version, true},
    {"size", check_size, true},
    {"entries", check_entries, true},
    {"name", check_name, true},
    {"open", ph_trial_open, true},
    {"devices", ph_trial_devices, true},
    {"device", ph_trial_device, true},
    {"option", ph_trial_option, false},
    {"null", ph_trial_nulls, false},
    {"queue", ph_trial_queue, true},
    {"buffer", ph_trial_buffer, true},
    {"map", ph_trial_map, false},
    {"memory", ph_trial_memory, false},
    {"supports", ph_trial_supports, false},
    {"run", ph_trial_run, false},
    {"close", ph_trial_close, true},
    {"smoke", check_smoke, false},
};

void ph_plugin_check(const char *path, void (*before)(void *user, const char *name),
                     void (*after)(void *user, const ph_plugin_check_result *result), void *user) {
  ph_plugin_trial trial = {.path = path};
  char why_not[128] = ""; /* why nothing more is tried; empty: all is well */
  for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
    ph_check_state state = PH_CHECK_SKIP;
    trial.cure = NULL;
    if (why_not[0] == '\0') {
      if (before != NULL) before(user, checks[i].name);
      state = checks[i].run(&trial);
      if (checks[i].fatal && state == PH_CHECK_FAIL)
        snprintf(why_not, sizeof(why_not), "not tried, as '%s' failed", checks[i].name);
      else if (checks[i].fatal && state == PH_CHECK_SKIP)
        snprintf(why_not, sizeof(why_not), "not tried, as there is no device");
    } else {
      ph_trial_skip(&trial, "%s", why_not);
    }
    const ph_plugin_check_result result = {checks[i].name, state, trial.text, trial.cure};
    after(user, &result);
  }
  ph_trial_end(&trial);
}
