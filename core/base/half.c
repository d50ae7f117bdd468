#include "base/half.h"

#include <math.h>
#include <string.h>

double ph_f16_to_double(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude;
  if (exponent == 31) magnitude = fraction ? (double)NAN : (double)INFINITY;
  else if (exponent == 0) magnitude = ldexp(fraction, -24);
  else magnitude = ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double ph_bf16_to_double(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

/* Rounds to a binary float with `fraction_bits` stored bits, smallest normal exponent `min_exponent` and largest
 * `max_exponent`; the result's fields lie as IEEE 754 lays them. */
static uint16_t narrow(double value, int fraction_bits, int min_exponent, int max_exponent) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  uint16_t infinity = (uint16_t)((max_exponent - min_exponent + 2) << fraction_bits);
  if (isnan(value)) return (uint16_t)(sign | infinity | (1 << (fraction_bits - 1)));
  double magnitude = fabs(value);
  if (isinf(value)) return (uint16_t)(sign | infinity);
  if (magnitude == 0) return sign;
  int exponent;
  frexp(magnitude, &exponent);
  exponent -= 1; /* magnitude = 1.f * 2^exponent */
  if (exponent < min_exponent) exponent = min_exponent;
  if (exponent > max_exponent) return (uint16_t)(sign | infinity);
  /* In units of the last place: exact in double; nearbyint rounds to even. */
  double units = nearbyint(ldexp(magnitude, fraction_bits - exponent));
  /* A carry into the next exponent, or from subnormal to normal, comes out right by itself. */
  double fields = units + ldexp((double)(exponent - min_exponent), fraction_bits);
  return fields >= infinity ? (uint16_t)(sign | infinity) : (uint16_t)(sign | (uint16_t)fields);
}

uint16_t ph_double_to_f16(double value) { return narrow(value, 10, -14, 15); }
uint16_t ph_double_to_bf16(double value) { return narrow(value, 7, -126, 127); }
