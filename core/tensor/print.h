/* What the two layouts of a printed tensor share: NumPy's brackets and labelled tables. */
#ifndef POLYHEAD_TENSOR_PRINT_H
#define POLYHEAD_TENSOR_PRINT_H

#include "tensor/cell.h"

enum { PH_PRINT_LINE = 75, PH_PRINT_EDGE = 3 }; /* columns of a line, items before and behind a "...": as in NumPy */

typedef struct ph_print_view {
  FILE *to;
  const ph_tensor *tensor;
  const char *const *const *labels; /* by axis; NULL where there are none at all */
  size_t strides[PH_MAX_RANK];
  bool shortened;
  ph_cell_style style;
} ph_print_view;

/* Along an axis: how many items are shown, whether some are left out after the first PH_PRINT_EDGE, and where the i-th
 * one shown lies. */
int64_t ph_print_shown(const ph_print_view *view, uint32_t axis);
bool ph_print_gap(const ph_print_view *view, uint32_t axis);
int64_t ph_print_place(const ph_print_view *view, uint32_t axis, int64_t i);

/* Prints the tensor (not empty, rank 1 or more) as tables; false, with nothing printed, when out of memory. */
bool ph_print_tables(const ph_print_view *view);

#endif
