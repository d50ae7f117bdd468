/* Folders for a test, and the test itself as a program to start. */
#ifndef POLYHEAD_TEST_SCRATCH_H
#define POLYHEAD_TEST_SCRATCH_H

char *scratch_folder(void);        /* a new, empty one; ended by scratch_remove() */
void scratch_remove(char *folder); /* with the files in it; frees the name */
const char *scratch_self(void);    /* the path of this program */

#endif
