/* The reference backend: the oracle, rounded once per node, behind the backend ABI like any other. */
#ifndef POLYHEAD_BACKENDS_REFERENCE_H
#define POLYHEAD_BACKENDS_REFERENCE_H

#include <polyhead/backend.h>

/* Static data.  The plugin exports it, and libpolyhead holds it too, so that there is always one backend. */
const ph_backend *ph_reference_backend(void);

#endif
