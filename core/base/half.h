/* The 16-bit storage types.  Conversions to them round once, from double, to nearest even; NaN stays NaN. */
#ifndef POLYHEAD_BASE_HALF_H
#define POLYHEAD_BASE_HALF_H

#include <stdint.h>

double ph_f16_to_double(uint16_t bits);
double ph_bf16_to_double(uint16_t bits);
uint16_t ph_double_to_f16(double value);
uint16_t ph_double_to_bf16(double value);

#endif
