/* What the programs have in common that `run` measures side by side: they wait for orders on standard input and answer
 * on standard output, a line each. open NAME WORD...         -> ok | no REASON     a piece of work; its operands are
 * made up run NAME SECONDS LEAST    -> times T...         runs it at least LEAST times and SECONDS long; seconds of
 * each run ask NAME                  -> facts KEY=VALUE... close NAME                -> ok A library that has several
 * ways to do a piece of work (transposed or not, sgemm or sgemv) tries them all: the fastest counts. */
#ifndef POLYHEAD_TESTS_BENCH_PEER_H
#define POLYHEAD_TESTS_BENCH_PEER_H

#include <stddef.h>

typedef struct peer_work peer_work; /* each program has its own */

/* words[0..count-1] follow NAME.  NULL with *reason where it cannot be done. */
peer_work *peer_open(char **words, int count, const char **reason);
void peer_close(peer_work *work);
int peer_ways(const peer_work *work); /* how many there are */
/* NULL, or why it failed. */
const char *peer_run(peer_work *work, int way);
/* Prints "KEY=VALUE KEY=VALUE". */
void peer_tell(const peer_work *work);

double peer_now(void);
/* Numbers around 0, the same in each run. */
float *peer_numbers(size_t count, unsigned seed);

#endif
