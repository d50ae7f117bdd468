/* What the tests of the loader share: a scratch folder that they fill with plugins, and a context made from it. */
#ifndef POLYHEAD_TESTS_SCRATCH_H
#define POLYHEAD_TESTS_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include <polyhead/polyhead.h>

/* cmocka fixtures, for each test: an empty scratch folder, POLYHEAD_CACHE_DIR in it, and no POLYHEAD_PLUGIN_PATH. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* "<scratch>/<name>"; one of a few buffers that are used in turn. */
const char *scratch_path(const char *name);
void scratch_folder(const char *name); /* mode 0755 */
void scratch_write(const char *name, const char *bytes);
/* Copies modules/<module>.so to <scratch>/<name>. */
void scratch_module(const char *module, const char *name);

extern ph_text scratch_log; /* all that contexts of this test logged, a line each */
void scratch_record(void *user, ph_log_level level, const char *text); /* a log that writes there; user: &scratch_log */
extern ph_error scratch_error;

/* A context with POLYHEAD_PLUGIN_PATH = `path` (NULL: unset) and --plugin `file` (NULL: none). */
ph_status scratch_try(const char *path, const char *file, ph_context **out);
/* The same, from `modules` copied to <scratch>/p under their names (NULL-terminated); it must work. */
ph_context *scratch_load(const char *const *modules);

/* Of the plugin whose path ends in /`file`; fails the test where there is none. */
const ph_plugin_info *scratch_plugin(const ph_context *context, const char *file);

/* Fails unless `text` contains `part`, and shows both. */
void assert_contains(const char *text, const char *part);

#endif
