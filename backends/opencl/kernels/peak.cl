/* What the device can do at most: the yardstick that `polyhead bench` holds every kernel against.
 *
 * peak_fma runs chains of fused multiply-adds that depend on nothing but themselves.  A unit with a latency of L cycles
 * that starts P of them in a cycle is busy with L * P chains (4 * 2 on today's CPUs); there are 12, and 12 accumulators
 * with their two operands still fit the smallest register file, of 16.
 *
 * peak_read and peak_triad sweep over memory larger than the caches.  Item i begins at i * lead and goes on in steps of
 * `step`: on a CPU (lead = count, step = 1) each item has a stretch of its own, on a GPU (lead = 1, step = items)
 * neighbours read neighbours. */

typedef WIDE(float) VEC;

/* Where there is no such instruction, fma() is a library call. */
#ifdef FP_FAST_FMAF
#define STEP(x) x = fma(x, a, b)
#else
#define STEP(x) x = x * a + b
#endif
#define STEPS                                                                                                          \
  STEP(x0), STEP(x1), STEP(x2), STEP(x3), STEP(x4), STEP(x5), STEP(x6), STEP(x7), STEP(x8), STEP(x9), STEP(x10),       \
      STEP(x11)

/* 8 * 12 * WIDTH multiply-adds in a round. */
kernel void peak_fma(global float *restrict out, float first, float second, int rounds) {
  const size_t item = get_global_id(0);
  const VEC a = (VEC)(first), b = (VEC)(second);
  const VEC x = (VEC)((float)item);
  VEC x0 = x, x1 = x + 1, x2 = x + 2, x3 = x + 3, x4 = x + 4, x5 = x + 5;
  VEC x6 = x + 6, x7 = x + 7, x8 = x + 8, x9 = x + 9, x10 = x + 10, x11 = x + 11;
  for (int r = 0; r < rounds; r++) {
    STEPS;
    STEPS;
    STEPS;
    STEPS;
    STEPS;
    STEPS;
    STEPS;
    STEPS;
  }
  const VEC sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11;
  out[item] = ((const float *)&sum)[0];
}

kernel void peak_read(global const VEC *restrict in, global float *restrict out, ulong lead, ulong step, ulong count) {
  const size_t item = get_global_id(0);
  global const VEC *at = in + item * lead;
  VEC x0 = 0, x1 = 0, x2 = 0, x3 = 0;
  for (ulong i = 0; i < count; i += 4) {
    x0 += at[i * step];
    x1 += at[(i + 1) * step];
    x2 += at[(i + 2) * step];
    x3 += at[(i + 3) * step];
  }
  const VEC sum = x0 + x1 + x2 + x3;
  out[item] = ((const float *)&sum)[0];
}

kernel void peak_triad(global VEC *restrict to, global const VEC *restrict x, global const VEC *restrict y,
                       float factor, ulong lead, ulong step, ulong count) {
  const size_t first = get_global_id(0) * lead;
  for (ulong i = 0; i < count; i++) to[first + i * step] = x[first + i * step] + factor * y[first + i * step];
}
