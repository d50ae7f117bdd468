/* Charts of measured values: lines over a number, both axes logarithmic; or bars. */
#ifndef POLYHEAD_DRAW_CHART_H
#define POLYHEAD_DRAW_CHART_H

#include <polyhead/backend.h>

typedef struct ph_chart_point {
  const char *series; /* a line of the chart; of bars, the name of the bar */
  double x;           /* above 0; bars have none */
  double y;           /* above 0: seconds */
} ph_chart_point;

/* Points of one series belong together wherever they stand.  x_label NULL: bars.  Writes SVG; *out, with a NUL behind
 * it, is freed with free(). */
PH_NODISCARD ph_status ph_chart_draw(const char *title, const char *x_label, const ph_chart_point *points,
                                     uint32_t count, char **out, size_t *out_size, ph_error *error);

#endif
