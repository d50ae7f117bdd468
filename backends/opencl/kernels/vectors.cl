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

/* e^x for x at most a few: (1.5 + |x| / 7) 1e-7 relative, 1 exactly at 0, 0 below -87.33, NaN for NaN.  e^x = 2^n 2^f
 * with n the whole number nearest to x log2(e), and f in [-1/2, 1/2].  Adding 1.5 * 2^23 rounds to whole numbers,
 * because beside it a float has no bits left for fractions (vector rint is slow on some drivers); with 127 more the low
 * bits are those of the exponent of 2^n.  2^f is a polynomial fitted for the least relative error, its constant kept
 * at 1. */
static floats exp_of(floats x) {
  const float magic = 12582912.0f + 127.0f, log2_e = 1.44269504f;
  floats shifted = x * log2_e + magic;
  floats f = x * log2_e - (shifted - magic);
  floats p = (floats)(0.0013269407f);
  p = p * f + 0.009671294f;
  p = p * f + 0.055507112f;
  p = p * f + 0.24022247f;
  p = p * f + 0.693147f;
  p = p * f + 1.0f;
  floats power = p * WIDE(as_float)(WIDE(as_int)(shifted) << 23);
  return x < -87.33f ? (floats)(0.0f) : power;
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

/* ---- across lanes ---- */

static float4 fold(floats v) {
#if WIDTH == 16
  float8 half_of_it = v.lo + v.hi;
  return half_of_it.lo + half_of_it.hi;
#elif WIDTH == 8
  return v.lo + v.hi;
#else
  return v;
#endif
}

static float largest_of(floats v) {
  float largest = -INFINITY;
  for (int i = 0; i < WIDTH; i++) largest = fmax(largest, ((const float *)&v)[i]);
  return largest;
}

static float sum_of(floats v) {
  float4 four = fold(v);
  return (four.x + four.y) + (four.z + four.w);
}

/* By the bits of the exponents: some compilers (Mesa's) take x * 0 and x - x for 0, whatever x is. */
static bool all_finite(const floats *vectors, int count) {
  ints exponents = (ints)(0);
  for (int i = 0; i < count; i++) exponents = max(exponents, WIDE(as_int)(vectors[i]) & 0x7f800000);
  return !any(exponents == 0x7f800000);
}

/* ---- rows of neighbours ---- */

/* Defines NAME(pointer, index, left, filler): WIDTH elements, of which `left` (1 or more) are there. */
#define DEFINE_LOAD_PART(NAME, role)                                                                                   \
  static floats NAME(__global const TYPE(role) * pointer, ulong index, ulong left, float filler) {                     \
    if (left >= WIDTH) return LOAD_WIDE(role, pointer, index);                                                         \
    floats values = (floats)(filler);                                                                                  \
    for (ulong i = 0; i < left; i++) ((float *)&values)[i] = LOAD(role, pointer, index + i);                           \
    return values;                                                                                                     \
  }
#define DEFINE_STORE_PART(NAME, role)                                                                                  \
  static void NAME(floats values, __global TYPE(role) * pointer, ulong index, ulong left) {                            \
    if (left >= WIDTH)                                                                                                 \
      STORE_WIDE(role, values, pointer, index);                                                                        \
    else                                                                                                               \
      for (ulong i = 0; i < left; i++) STORE(role, ((const float *)&values)[i], pointer, index + i);                   \
  }

/* Where nothing is done but reading, the hardware reads ahead by itself; where arithmetic comes between, or writing,
 * which reads lines first, it does not get far enough.  So rows ask for the next one (FETCH), for its first NEAR
 * elements at least, and runs for what comes AHEAD elements later. */
enum { NEAR = 16384, AHEAD = 1024 };
