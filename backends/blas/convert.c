#include "blas/convert.h"

#include <string.h>

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/* The fields of an f16, moved up into those of an f32, are its value times 2^-112: of subnormals too, as both count
 * from the same exponent there.  Infinity and NaN need the largest exponent put back. */
static float f16_to_float(uint16_t half) {
  uint32_t magnitude = half & 0x7FFFu, sign = (uint32_t)(half & 0x8000u) << 16;
  uint32_t bits = bits_of(float_of(magnitude << 13) * 0x1p112f) | (magnitude >= 0x7C00u ? 0x7F800000u : 0);
  return float_of(bits | sign);
}

/* Rounding to nearest even: adding just under half of what is cut off, and one more where the last bit kept is odd,
 * carries into it exactly when it should. */
static uint16_t float_to_f16(float value) {
  uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu, half;
  if (magnitude > 0x7F800000u)
    half = 0x7E00u; /* NaN */
  else if (magnitude >= 0x47800000u)
    half = 0x7C00u; /* 65536 and more */
  else if (magnitude < 0x38800000u)
    half = bits_of(float_of(magnitude) + 0.5f) - 0x3F000000u; /* subnormal: one place of 0.5 is one of 2^-24 */
  else
    half = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  return (uint16_t)(half | sign);
}

static float bf16_to_float(uint16_t half) {
  return float_of((uint32_t)half << 16);
}

static uint16_t float_to_bf16(float value) {
  uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40u); /* NaN, and quiet */
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

void blas_load(ph_dtype dtype, const void *from, int64_t count, float *to) {
  const uint16_t *halves = from;
  if (dtype == PH_F16)
    for (int64_t i = 0; i < count; i++) to[i] = f16_to_float(halves[i]);
  else if (dtype == PH_BF16)
    for (int64_t i = 0; i < count; i++) to[i] = bf16_to_float(halves[i]);
  else if (count > 0)
    memcpy(to, from, (size_t)count * sizeof(float));
}

void blas_store(ph_dtype dtype, const float *from, int64_t count, void *to) {
  uint16_t *halves = to;
  if (dtype == PH_F16)
    for (int64_t i = 0; i < count; i++) halves[i] = float_to_f16(from[i]);
  else if (dtype == PH_BF16)
    for (int64_t i = 0; i < count; i++) halves[i] = float_to_bf16(from[i]);
  else if (count > 0)
    memcpy(to, from, (size_t)count * sizeof(float));
}
