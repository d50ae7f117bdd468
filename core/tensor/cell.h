/* How numbers are written so that they stand in columns. */
#ifndef POLYHEAD_TENSOR_CELL_H
#define POLYHEAD_TENSOR_CELL_H

#include <polyhead/tensor.h>

enum { PH_CELL_SIZE = 64 };

/* Values that are printed together share a style: set `tensor`, `exact` and `table`, show it every value with
 * ph_cell_range(), then every value again with ph_cell_digits(). */
typedef struct ph_cell_style {
  const ph_tensor *tensor;
  bool exact; /* all digits that tell values apart; else at most 6 significant ones */
  bool table; /* as many digits in each cell, "0" for exactly 0; else as NumPy writes them */

  double largest, smallest; /* finite magnitudes other than 0; smallest is 0 before the first */
  bool exponent;            /* 1.5e-07 */
  int most_decimals;        /* after the point */
  int decimals;             /* that some value needs */
  int whole;                /* columns before the point */
  int special;              /* columns of nan, inf, -inf, of integers and of bools */
} ph_cell_style;

void ph_cell_range(ph_cell_style *style, size_t index);
void ph_cell_digits(ph_cell_style *style, size_t index);
int ph_cell_width(const ph_cell_style *style);
/* The element, padded to the width; ASCII. */
void ph_cell_text(const ph_cell_style *style, size_t index, char out[PH_CELL_SIZE]);

#endif
