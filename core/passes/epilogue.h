/* Epilogues: what follows a linear layer element by element becomes part of it (DESIGN section 3). */
#ifndef POLYHEAD_PASSES_EPILOGUE_H
#define POLYHEAD_PASSES_EPILOGUE_H

#include "graph/net.h"

/* Replaces linear -> add of a constant [out]? -> activation? -> add of a tensor of the same shape?, in this order, by
 * one `fused_linear` under the path of its last step; a linear with no more than its bias stays `linear`.  The values
 * between must be read once and not be kept.  An activation or an add behind a linear that is not taken says why in its
 * note. */
PH_NODISCARD ph_status ph_fuse_epilogues(ph_net *net, ph_error *error);

#endif
