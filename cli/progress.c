#include "progress.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR = 20 };

void cli_progress_show(void *user, uint32_t done, uint32_t total, const char *name) {
  static const char full[] = "####################", rest[] = "....................";
  (void)user;
  if (!isatty(STDERR_FILENO)) return;
  int length = total > 0 ? (int)((uint64_t)BAR * done / total) : 0;
  fprintf(stderr, "\r\033[K%.*s%.*s %u of %u  %.60s", length, full, BAR - length, rest, done + 1, total, name);
  fflush(stderr);
}

void cli_progress_clear(void) {
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}
