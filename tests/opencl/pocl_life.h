/* Lives of the toy on the first device of PoCL, for the tests of the host code; see toy.h. */
#ifndef POLYHEAD_TEST_POCL_LIFE_H
#define POLYHEAD_TEST_POCL_LIFE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "toy.h"

enum { COUNT = 1000 };

static inline void assert_has(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("'%s' is not in: %s", part, text);
}

/* "a=1,b=2" as options; lives until the next call. */
static inline uint32_t parse(const char *text, ph_option options[8]) {
  static char copy[256];
  snprintf(copy, sizeof(copy), "%s", text);
  uint32_t count = 0;
  for (char *rest = copy, *pair; count < 8 && (pair = strtok_r(NULL, ",", &rest)) != NULL; count++) {
    char *equals = strchr(pair, '=');
    assert_non_null(equals);
    *equals = '\0';
    options[count] = (ph_option){.key = pair, .value = equals + 1};
  }
  return count;
}

/* A life on the first device of PoCL; the log is the caller's to free. */
static inline toy_life live(const char *options, const char *cache_dir, toy_host *host) {
  ph_option parsed[8];
  toy_life life = {.options = parsed, .option_count = parse(options, parsed), .count = COUNT, .runs = 2};
  toy_host_init(host, cache_dir);
  toy_live(toy_backend(true), host, &life);
  life.options = NULL;
  return life;
}

/* A life that must be right; gives the log, to be freed. */
static inline char *live_well(const char *options, const char *cache_dir, toy_life *out) {
  toy_host host;
  toy_life life = live(options, cache_dir, &host);
  if (life.status != PH_OK) fail_msg("%s: %s", options, life.error.message);
  if (!life.right) fail_msg("%s: wrong values: %g %g", options, (double)life.first, (double)life.last);
  if (out != NULL) *out = life;
  return host.log.data;
}

/* What a test program without such a device returns; -1 where there is one. */
static inline int without_pocl(void) {
  toy_host host;
  toy_life life = live("", NULL, &host);
  toy_host_free(&host);
  if (life.device_count > 0) return -1;
  printf("no device of PoCL: skipped\n");
  return getenv("POLYHEAD_TEST_REQUIRE_DEVICES") != NULL ? 1 : 77;
}

#endif
