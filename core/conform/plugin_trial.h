/* A plugin on trial: what its checks share, and the checks by the file that has them. */
#ifndef POLYHEAD_CONFORM_PLUGIN_TRIAL_H
#define POLYHEAD_CONFORM_PLUGIN_TRIAL_H

#include <limits.h>

#include <polyhead/polyhead.h>

typedef struct ph_plugin_trial {
  const char *path;
  char real[PATH_MAX]; /* links followed */
  ph_backend_query_function query;
  const ph_backend *backend; /* its table has been looked at: it may be called */
  ph_host host;
  ph_backend_context *context;
  uint32_t device_count;
  ph_device *device; /* number 0 */
  ph_device_info limits;
  char text[768];      /* of the check that is going on: what was found */
  const char *cure;    /* where it failed */
  char cure_text[512]; /* room for one that is not always the same */
} ph_plugin_trial;

/* What a check hands back; each fills the text, in the manner of printf, of which too long ones are cut. */
ph_check_state ph_trial_pass(ph_plugin_trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));
ph_check_state ph_trial_skip(ph_plugin_trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));
ph_check_state ph_trial_fail(ph_plugin_trial *trial, const char *cure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `call` returned `status` with what is in *error: says so. */
ph_check_state ph_trial_call_failed(ph_plugin_trial *trial, const char *call, ph_status status, const ph_error *error);

typedef ph_check_state ph_trial_check(ph_plugin_trial *trial);

/* plugin_exports.c */
ph_trial_check ph_trial_exports;
/* plugin_device.c: opening, devices, options, queues, memory */
ph_trial_check ph_trial_open, ph_trial_devices, ph_trial_device, ph_trial_option, ph_trial_nulls, ph_trial_queue,
    ph_trial_buffer, ph_trial_map, ph_trial_memory, ph_trial_close;
void ph_trial_end(ph_plugin_trial *trial); /* closes what is open */
/* plugin_run.c: supports(), a node from program to result */
ph_trial_check ph_trial_supports, ph_trial_run;

#endif
