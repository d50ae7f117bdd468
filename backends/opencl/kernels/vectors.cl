/* Vectors of WIDTH floats and functions of them.  LANES(f) is the list f(0), .. f(WIDTH - 1) in parentheses. */

typedef WIDE(float) floats;
typedef WIDE(int) ints;

#if WIDTH == 16
#define LANES(f) (f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15))
#elif WIDTH == 8
#define LANES(f) (f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7))
#else
#define LANES(f) (f(0), f(1), f(2), f(3))
#endif

/* 2^x for x at most a few: 1.5e-7 relative, 1 exactly at 0, 0 below -126, NaN for NaN.  2^x = 2^n 2^f with n the
 * nearest whole number and f in [-1/2, 1/2].  Adding 1.5 * 2^23 rounds to whole numbers, because beside it a float has
 * no bits left for fractions (vector rint is slow on some drivers); with 127 more the low bits are those of 2^n's
 * exponent.  2^f is a polynomial fitted for the least relative error, with its constant kept at 1. */
static floats exp2_of(floats x) {
  const float magic = 12582912.0f + 127.0f;
  floats shifted = x + magic;
  floats f = x - (shifted - magic);
  floats p = (floats)(0.0013269407f);
  p = p * f + 0.009671294f;
  p = p * f + 0.055507112f;
  p = p * f + 0.24022247f;
  p = p * f + 0.693147f;
  p = p * f + 1.0f;
  floats power = p * WIDE(as_float)(WIDE(as_int)(shifted) << 23);
  return x < -126.0f ? (floats)(0.0f) : power;
}

/* e^x for x at most a few. */
static floats exp_of(floats x) {
  return exp2_of(1.44269504f * x);
}

/* tanh: a rational form of e^(-2|x|) where nothing cancels, near 0 an odd polynomial (Cephes' tanhf, Moshier 1989). */
static floats tanh_of_floats(floats x) {
  floats e = exp_of(-2.0f * fabs(x));
  floats far = copysign((1.0f - e) / (1.0f + e), x);
  floats z = x * x;
  floats p = (floats)(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  floats near = p * z * x + x;
  return fabs(x) < 0.625f ? near : far;
}
