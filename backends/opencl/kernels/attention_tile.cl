/* What the kernels of attention for CPUs share: blocks of K and V as f32, and the end of a row. */

/* Whether a score may be changed by more than the place of its key. */
#if defined(HAS_MASK) || defined(HAS_KEY_MASK) || defined(RING) || defined(ALIBI)
#define ALWAYS_BIASED true
#else
#define ALWAYS_BIASED false
#endif

/* Copies `rows` rows of `width` elements to f32 rows of `pitch`, filled up with 0. */
#define DEFINE_COPY_TILE(NAME, role)                                                                                   \
  static void NAME(float *tile, int pitch, __global const TYPE(role) * from, ulong first, ulong stride, ulong column,  \
                   int rows, int width) {                                                                              \
    for (int i = 0; i < rows; i++) {                                                                                   \
      ulong at = first + (ulong)i * stride;                                                                            \
      int d = 0;                                                                                                       \
      for (; column == 1 && d + WIDTH <= width; d += WIDTH)                                                            \
        WIDE(vstore)(LOAD_WIDE(role, from, at + (ulong)d), 0, tile + i * pitch + d);                                   \
      for (; d < width; d++) tile[i * pitch + d] = LOAD(role, from, at + (ulong)d * column);                           \
      for (; d < pitch; d++) tile[i * pitch + d] = 0.0f;                                                               \
    }                                                                                                                  \
  }
DEFINE_COPY_TILE(copy_k, IN1)
DEFINE_COPY_TILE(copy_v, IN2)

/* Four rows become four columns. */
#define TURN_FOUR(a, b, c, d)                                                                                          \
  {                                                                                                                    \
    float4 x = (float4)(a.x, b.x, c.x, d.x), y = (float4)(a.y, b.y, c.y, d.y);                                         \
    float4 z = (float4)(a.z, b.z, c.z, d.z), w = (float4)(a.w, b.w, c.w, d.w);                                         \
    a = x, b = y, c = z, d = w;                                                                                        \
  }

/* ---- the end of a row ---- */

/* -inf where there is none. */
static float sink_of(long head, __global const TYPE(IN7) * sinks, ulong sinks_first, long sinks_stride) {
#ifdef HAS_SINKS
  return LOAD(IN7, sinks, sinks_first + (ulong)(head * sinks_stride));
#else
  return -INFINITY;
#endif
}

typedef struct row_end {
  float inverse, lse; /* of the sum, and the log of the sum */
} row_end;

/* `total` is the sum of e^(score - maximum).  A sink is one more term of it, but not in the maximum. */
static row_end end_row(float maximum, float total, float sink) {
  bool empty = maximum == -INFINITY && total == 0.0f, bad = isnan(sink) || sink == INFINITY || isnan(total);
  float top = fmax(maximum, sink);
  row_end end;
  end.inverse = bad ? NAN : empty ? 0.0f : 1.0f / (total + exp(sink - maximum));
  end.lse = bad ? NAN : empty ? sink : top + log(total * exp(maximum - top) + exp(sink - top));
  return end;
}
