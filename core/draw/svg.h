/* Drawings through Graphviz. */
#ifndef POLYHEAD_DRAW_SVG_H
#define POLYHEAD_DRAW_SVG_H

#include <polyhead/backend.h>

/* Lays out a graph in DOT and draws it as SVG; *out is freed with free().  PH_UNSUPPORTED in a build without Graphviz.
 */
PH_NODISCARD ph_status ph_svg_of_dot(const char *dot, char **out, size_t *out_size, ph_error *error);

#endif
