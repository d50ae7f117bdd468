/* How a test steers the stub driver: dlopen() the file that the loader has loaded, too, and look up `stub_icd`.
 *
 * Without a test the environment does it: STUB_ICD_FAIL holds faults, STUB_ICD_DEVICES the number of devices (1).
 * Faults: "clFinish" or "clFinish:1" fails the first call of clFinish, "clFinish:3" the third, "clFinish:*" every one;
 * several are divided by commas. */
#ifndef POLYHEAD_STUB_ICD_H
#define POLYHEAD_STUB_ICD_H

#include <stddef.h>
#include <stdint.h>

typedef struct stub_icd_control {
  const char *const *entries;           /* the names of all calls that can fail; ends with NULL */
  void (*arm)(const char *faults);      /* NULL: none.  Sets the counts back to 0. */
  unsigned (*calls)(const char *entry); /* since arm() */
  unsigned (*live)(void);               /* objects that were made and not released */
  unsigned (*misuses)(void);            /* calls that a real driver may answer with a crash, ever */
  void (*limit_kernels)(size_t work_group, uint64_t local_bytes); /* what each kernel says it takes and uses */
  void (*unify_memory)(int unified); /* what devices found from now on say of their memory (not) */
} stub_icd_control;

#endif
