/* Placing: which device runs each node, after asking it (DESIGN section 3). */
#ifndef POLYHEAD_RUNTIME_PLACE_H
#define POLYHEAD_RUNTIME_PLACE_H

#include "graph/net.h"
#include "runtime/context.h"

typedef struct ph_placement {
  const ph_open_device *device; /* NULL: nobody runs it */
  ph_support support;           /* of that device */
  bool moved;                   /* the chosen device refused it and the reference took it */
  char reason[192];             /* of the chosen device, where it refused */
} ph_placement;

/* One placement per node of the net, to be freed with free().  Rewrites the net: a fused group or an `attention` that
 * the device refuses becomes its steps; what a device refuses for its strides or its mix of types is made dense or
 * cast. `reference` is the fallback, NULL for none. */
PH_NODISCARD ph_status ph_place_nodes(ph_net *net, const ph_open_device *device, const ph_open_device *reference,
                                      ph_placement **out, ph_error *error);

#endif
