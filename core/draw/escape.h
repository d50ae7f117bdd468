/* Text inside SVG and HTML. */
#ifndef POLYHEAD_DRAW_ESCAPE_H
#define POLYHEAD_DRAW_ESCAPE_H

#include "base/text.h"

/* Adds `text` with & < > " as entities and without the control characters that XML does not allow. */
void ph_put_escaped(ph_text *to, const char *text);

#endif
