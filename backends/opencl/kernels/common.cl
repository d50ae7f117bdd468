/* Text that goes before every kernel file: how elements are read and written, how an index becomes an offset, and who
 * may attend to whom.  OpenCL C 1.2, no extension: f16 is touched by vload_half and vstore_half alone, bf16 by its
 * bits, and all arithmetic is f32.
 *
 * The host builds with -DIN<r>=<type> for each input and -DOUT<s>=<type> for each output that is there, <type> being
 * F32, F16, BF16, I32, I64 or BOOL.  A tensor comes as two parameters, a pointer and the number of its first element.
 */

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

/* An optional tensor that is not there still has two parameters, which nobody reads. */
#ifndef IN1
#define IN1 F32
#endif
#ifndef IN2
#define IN2 F32
#endif
#ifndef IN3
#define IN3 F32
#endif
#ifndef IN7
#define IN7 F32
#endif
#ifndef OUT1
#define OUT1 F32
#endif
#ifndef OUT2
#define OUT2 F32
#endif

/* Asks for memory that will be needed.  OpenCL's prefetch() does nothing on CPUs, and SPIR-V has no other. */
#if defined(__x86_64__) || defined(__aarch64__)
#define FETCH(pointer) __builtin_prefetch(pointer, 0, 2)
#else
#define FETCH(pointer) (void)(pointer)
#endif

/* ---- elements: TYPE(IN0) is what memory holds, BITS(IN0) an unsigned integer as wide, for copying ---- */

#define TYPE(role)       PASTE(type_, role)
#define BITS(role)       PASTE(bits_, role)
#define IS_INTEGER(role) PASTE(is_integer_, role)
#define IS_BOOL(role)    PASTE(is_bool_, role)
#define NAN_BITS(role)   PASTE(nan_bits_, role) /* what stands for "no such element"; integers have 0 */

#define type_F32  float
#define type_F16  half
#define type_BF16 ushort
#define type_I32  int
#define type_I64  long
#define type_BOOL uchar

#define bits_F32  uint
#define bits_F16  ushort
#define bits_BF16 ushort
#define bits_I32  uint
#define bits_I64  ulong
#define bits_BOOL uchar

#define is_integer_F32  0
#define is_integer_F16  0
#define is_integer_BF16 0
#define is_integer_I32  1
#define is_integer_I64  1
#define is_integer_BOOL 1

#define is_bool_F32  0
#define is_bool_F16  0
#define is_bool_BF16 0
#define is_bool_I32  0
#define is_bool_I64  0
#define is_bool_BOOL 1

#define nan_bits_F32  0x7fc00000u
#define nan_bits_F16  0x7e00
#define nan_bits_BF16 0x7fc0
#define nan_bits_I32  0
#define nan_bits_I64  0
#define nan_bits_BOOL 0

/* Any type as f32. */
#define LOAD(role, pointer, index) PASTE(load_, role)(pointer, index)
#define load_F32(p, i)             ((p)[i])
#define load_F16(p, i)             vload_half(i, p)
#define load_BF16(p, i)            as_float((uint)(p)[i] << 16)
#define load_I32(p, i)             convert_float((p)[i])
#define load_I64(p, i)             convert_float((p)[i])
#define load_BOOL(p, i)            ((p)[i] != 0 ? 1.0f : 0.0f)

/* Defines load_NAME() and store_NAME(): vectors of elements wherever they lie.  PoCL's vload_half and vstore_half take
 * addresses for multiples of the vector's size, and its vstore goes element by element for 8 or 16 bits. */
#define DEFINE_ANYWHERE(NAME, vector, element)                                                                         \
  typedef struct __attribute__((packed)) {                                                                             \
    vector bits;                                                                                                       \
  } anywhere_##NAME;                                                                                                   \
  static vector load_##NAME(__global const element *from) {                                                            \
    return ((__global const anywhere_##NAME *)from)->bits;                                                             \
  }                                                                                                                    \
  static void store_##NAME(vector bits, __global element *to) {                                                        \
    ((__global anywhere_##NAME *)to)->bits = bits;                                                                     \
  }
DEFINE_ANYWHERE(bits_4, ushort4, ushort)
DEFINE_ANYWHERE(bits_8, ushort8, ushort)
DEFINE_ANYWHERE(bits_16, ushort16, ushort)

static float4 floats_of_4(__global const half *halves) {
  ushort4 bits = load_bits_4((__global const ushort *)halves);
  return vload_half4(0, (const half *)&bits);
}

static float8 floats_of_8(__global const half *halves) {
  ushort8 bits = load_bits_8((__global const ushort *)halves);
  return vload_half8(0, (const half *)&bits);
}

/* Of a vector of sixteen in registers PoCL makes a tangle of shuffles. */
static float16 floats_of_16(__global const half *halves) {
  return (float16)(floats_of_8(halves), floats_of_8(halves + 8));
}

static void halves_of_4(float4 value, __global half *halves) {
  ushort4 bits;
  vstore_half4_rte(value, 0, (half *)&bits);
  store_bits_4(bits, (__global ushort *)halves);
}

static void halves_of_8(float8 value, __global half *halves) {
  ushort8 bits;
  vstore_half8_rte(value, 0, (half *)&bits);
  store_bits_8(bits, (__global ushort *)halves);
}

static void halves_of_16(float16 value, __global half *halves) {
  halves_of_8(value.lo, halves);
  halves_of_8(value.hi, halves + 8);
}

/* Eight neighbours of a real type as float8. */
#define LOAD8(role, pointer, index) PASTE(load8_, role)(pointer, index)
#define load8_F32(p, i)             vload8(0, (p) + (i))
#define load8_F16(p, i)             floats_of_8((p) + (i))
#define load8_BF16(p, i)            as_float8(convert_uint8(load_bits_8((p) + (i))) << 16)

/* Four of them. */
#define LOAD4(role, pointer, index) PASTE(load4_, role)(pointer, index)
#define load4_F32(p, i)             vload4(0, (p) + (i))
#define load4_F16(p, i)             floats_of_4((p) + (i))
#define load4_BF16(p, i)            as_float4(convert_uint4(load_bits_4((p) + (i))) << 16)

/* Integers and bools as long, without loss. */
#define LOAD_LONG(role, pointer, index) PASTE(load_long_, role)(pointer, index)
#define load_long_I32(p, i)             convert_long((p)[i])
#define load_long_I64(p, i)             ((p)[i])
#define load_long_BOOL(p, i)            ((long)((p)[i] != 0))

/* f32 to any real type, rounded to nearest even; NaN stays NaN. */
#define STORE(role, value, pointer, index) PASTE(store_, role)(value, pointer, index)
#define store_F32(v, p, i)                 ((p)[i] = (v))
#define store_F16(v, p, i)                 vstore_half_rte(v, i, p)
#define store_BF16(v, p, i)                ((p)[i] = bf16_of(v))

#define STORE8(role, value, pointer, index) PASTE(store8_, role)(value, pointer, index)
#define store8_F32(v, p, i)                 vstore8(v, 0, (p) + (i))
#define store8_F16(v, p, i)                 halves_of_8(v, (p) + (i))
#define store8_BF16(v, p, i)                store_bits_8(bf16_of_eight(v), (p) + (i))

#define STORE4(role, value, pointer, index) PASTE(store4_, role)(value, pointer, index)
#define store4_F32(v, p, i)                 vstore4(v, 0, (p) + (i))
#define store4_F16(v, p, i)                 halves_of_4(v, (p) + (i))
#define store4_BF16(v, p, i)                store_bits_4(bf16_of_four(v), (p) + (i))

#define STORE_LONG(role, value, pointer, index) PASTE(store_long_, role)(value, pointer, index)
#define store_long_I32(v, p, i)                 ((p)[i] = (int)(v))
#define store_long_I64(v, p, i)                 ((p)[i] = (v))
#define store_long_BOOL(v, p, i)                ((p)[i] = (uchar)((v) != 0))

static ushort bf16_of(float value) {
  uint bits = as_uint(value);
  uint rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (ushort)(isnan(value) ? (bits >> 16) | 0x40u : rounded);
}

static ushort4 bf16_of_four(float4 value) {
  uint4 bits = as_uint4(value);
  uint4 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return convert_ushort4(isnan(value) ? (bits >> 16) | 0x40u : rounded);
}

static ushort8 bf16_of_eight(float8 value) {
  uint8 bits = as_uint8(value);
  uint8 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return convert_ushort8(isnan(value) ? (bits >> 16) | 0x40u : rounded);
}

/* ---- vectors of the device's own width: WIDTH is 4, 8 or 16 floats ---- */

#define WIDE__(name, width) name##width
#define WIDE_(name, width)  WIDE__(name, width)
#define WIDE(name)          WIDE_(name, WIDTH) /* WIDE(float), WIDE(vload), WIDE(as_uint) */

#define LOAD_WIDE(role, pointer, index) PASTE(load_wide_, role)(pointer, index)
#define load_wide_F32(p, i)             WIDE(vload)(0, (p) + (i))
#define load_wide_F16(p, i)             WIDE(floats_of_)((p) + (i))
#define load_wide_BF16(p, i)            WIDE(as_float)(WIDE(convert_uint)(WIDE(load_bits_)((p) + (i))) << 16)

#define STORE_WIDE(role, value, pointer, index) PASTE(store_wide_, role)(value, pointer, index)
#define store_wide_F32(v, p, i)                 WIDE(vstore)(v, 0, (p) + (i))
#define store_wide_F16(v, p, i)                 WIDE(halves_of_)(v, (p) + (i))
#define store_wide_BF16(v, p, i)                WIDE(store_bits_)(bf16_of_wide(v), (p) + (i))

static WIDE(ushort) bf16_of_wide(WIDE(float) value) {
  WIDE(uint) bits = WIDE(as_uint)(value);
  WIDE(uint) rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return WIDE(convert_ushort)(isnan(value) ? (bits >> 16) | 0x40u : rounded);
}

/* ---- eight elements at a time ---- */

/* Defines NAME(pointer, index, stride, left, filler): elements index, index + stride, .. as float8, of which `left` (1
 * or more) are there; the others read as `filler`. */
#define DEFINE_LOAD_EIGHT(NAME, role)                                                                                  \
  static float8 NAME(__global const TYPE(role) * pointer, ulong index, ulong stride, ulong left, float filler) {       \
    if (stride == 1 && left >= 8) return LOAD8(role, pointer, index);                                                  \
    float values[8];                                                                                                   \
    for (int i = 0; i < 8; i++) {                                                                                      \
      float value = LOAD(role, pointer, index + min((ulong)i, left - 1) * stride);                                     \
      values[i] = (ulong)i < left ? value : filler;                                                                    \
    }                                                                                                                  \
    return vload8(0, values);                                                                                          \
  }

/* Defines NAME(value, pointer, index, stride, left), which stores the first `left` of eight elements. */
#define DEFINE_STORE_EIGHT(NAME, role)                                                                                 \
  static void NAME(float8 value, __global TYPE(role) * pointer, ulong index, ulong stride, ulong left) {               \
    if (stride == 1 && left >= 8) {                                                                                    \
      STORE8(role, value, pointer, index);                                                                             \
      return;                                                                                                          \
    }                                                                                                                  \
    float values[8];                                                                                                   \
    vstore8(value, 0, values);                                                                                         \
    for (int i = 0; i < 8; i++)                                                                                        \
      if ((ulong)i < left) STORE(role, values[i], pointer, index + (ulong)i * stride);                                 \
  }

static float max_of_eight(float8 v) {
  float4 fours = fmax(v.lo, v.hi);
  float2 twos = fmax(fours.lo, fours.hi);
  return fmax(twos.x, twos.y);
}

static float sum_of_eight(float8 v) {
  float4 fours = v.lo + v.hi;
  float2 twos = fours.lo + fours.hi;
  return twos.x + twos.y;
}

/* ---- arithmetic ---- */

/* tanh; from 9.1 on it rounds to 1, which some drivers do not reach. */
static float tanh_of(float x) {
  return fabs(x) > 9.1f ? copysign(1.0f, x) : tanh(x);
}

/* Remainder that is never negative. */
static long floor_mod(long a, long b) {
  long rest = a % b;
  return rest < 0 ? rest + b : rest;
}

/* ---- activations, by the names that hosts give in -DFUNCTION= and -DACTIVATION= ---- */

#if defined(FUNCTION) || defined(ACTIVATION)
#ifdef ACTIVE_WIDE /* of vectors, else of one element */
typedef WIDE(float) active;
#else
typedef float active;
#endif

#define RELU(x)      ((x) > 0.0f || isnan(x) ? (x) : (active)(0.0f))
#define TANH(x)      (fabs(x) > 9.1f ? copysign((active)(1.0f), x) : tanh(x)) /* as tanh_of() */
#define SIGMOID(x)   sigmoid(x)
#define SILU(x)      silu(x)
#define GELU_ERF(x)  gelu_erf(x)
#define GELU_TANH(x) gelu_tanh(x)

/* 1 / (1 + e^-x) without overflow on either side. */
static active sigmoid(active x) {
  active e = exp(-fabs(x));
  return (x >= 0.0f ? (active)(1.0f) : e) / (1.0f + e);
}

/* x sigmoid(x); -inf gives 0.  Below -80 e^x may be a denormal, which devices may flush, though x e^x is none yet:
 * there the factor is applied in two halves. */
static active silu(active x) {
  active half_power = exp(0.5f * fmax(x, -1000.0f));
  active far = fmax(x, -1000.0f) * half_power * half_power;
  return x < -80.0f ? far : x * sigmoid(x);
}

/* x Phi(x) = x erfc(-x / sqrt 2) / 2.  For z >= 0 erfc(z) = e^(-z^2) (1 - s r(s)) with s = 0.38 z / (1 + 0.38 z), where
 * r was fitted (least squares, weighted until the error was level) to 1.2e-8 of erfc(z) + 0.02: nothing cancels near 0,
 * and the far tail is small beside x.  The built-in erfc goes element by element on vectors and takes ten times as
 * long. Right of 0 the result is x less the mirrored tail; from 16 on it is exactly x or 0. */
static active gelu_erf(active x) {
  active size = fabs(x), u = 0.268700577f * size, s = u / (1.0f + u);
  active r = 0.278940309f;
  r = r * s - 0.463096003f;
  r = r * s - 0.647824234f;
  r = r * s + 2.82710564f;
  r = r * s - 3.95573076f;
  r = r * s + 2.96941795f;
  active tail = 0.5f * size * (1.0f - s * r) * exp(-0.5f * x * x);
  active y = x < 0.0f ? -tail : x - tail;
  return x >= 16.0f ? x : x <= -16.0f ? (active)(0.0f) : y;
}

/* x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), written as x sigmoid(2 u). */
static active gelu_tanh(active x) {
  active y = x * sigmoid(1.5957691f * (x + 0.044715f * x * x * x));
  return x >= 16.0f ? x : x <= -16.0f ? (active)(0.0f) : y;
}
#endif

/* ---- axes ---- */

/* The offset of element `index`, counted row by row, in operand number `operand`.  `axes` holds `rank` extents, then
 * `rank` strides for each operand. */
static ulong offset_of(__global const long *axes, int rank, int operand, ulong index) {
  __global const long *strides = axes + rank * (1 + operand);
  ulong offset = 0;
  for (int axis = rank - 1; axis > 0; axis--) {
    ulong extent = (ulong)axes[axis];
    offset += index % extent * (ulong)strides[axis];
    index /= extent;
  }
  return offset + index * (ulong)strides[0];
}

/* Of that operand, from one index to the next where the last axis does not end between them. */
static ulong step_of(__global const long *axes, int rank, int operand) {
  return (ulong)axes[rank * (2 + operand) - 1];
}

/* ---- who may attend to whom (NUMERICS section 2); for kernels built with -DRULES ---- */

#ifdef RULES
/* MASK, KEY_MASK: the roles of those operands (IN1 ...).  HAS_MASK, HAS_KEY_MASK, HAS_LENGTHS, HAS_OFFSET: they are
 * there. CAUSAL, WINDOW, RING, ALIBI, TRUE_ATTENDS: what the attributes ask for.  `rules` holds what follows, `slopes`
 * ALiBi's slope of each head. */
enum {
  RULE_KEYS,
  RULE_QUERIES,
  RULE_ORIGIN, /* position of query 0 where no offset is given */
  RULE_LEFT,   /* the window; -1: unbounded */
  RULE_RIGHT,
  RULE_MASK_STRIDES,                             /* batch, head, query, key */
  RULE_KEY_MASK_STRIDES = RULE_MASK_STRIDES + 4, /* batch, key */
  RULE_LENGTHS_STRIDE = RULE_KEY_MASK_STRIDES + 2,
  RULE_OFFSET_STRIDE
};

#ifdef TRUE_ATTENDS
#define ATTENDS(element) ((element) != 0)
#else
#define ATTENDS(element) ((element) == 0)
#endif
#ifndef HAS_MASK
#define MASK F32
#endif
#ifndef HAS_KEY_MASK
#define KEY_MASK F32
#endif

/* Parameters of kernels and functions; a kernel starts with `rules += rules_first`. */
#define RULE_PARAMETERS                                                                                                \
  __global const TYPE(MASK) * mask, ulong mask_first, __global const TYPE(KEY_MASK) * key_mask, ulong key_mask_first,  \
      __global const long *lengths, ulong lengths_first, __global const long *offset, ulong offset_first,              \
      __global const long *rules, ulong rules_first, __global const float *slopes, ulong slopes_first
#define RULE_ARGUMENTS                                                                                                 \
  mask, mask_first, key_mask, key_mask_first, lengths, lengths_first, offset, offset_first, rules, rules_first,        \
      slopes, slopes_first

/* Where query `query` stands.  An offset may be any number: sums with it are kept within 64 bits. */
static long position_of(long batch, long query, __global const long *offset, ulong offset_first,
                        __global const long *rules) {
#ifdef HAS_OFFSET
  return add_sat(query, offset[offset_first + (ulong)(batch * rules[RULE_OFFSET_STRIDE])]);
#else
  return query + rules[RULE_ORIGIN];
#endif
}

/* The position of what lies in a slot of a ring cache, whose newest entry stands at `newest`; negative: nothing. */
static long place_in_ring(long newest, long slot, __global const long *rules) {
  return sub_sat(newest, floor_mod(sub_sat(newest, slot), rules[RULE_KEYS]));
}

/* The keys that a query at `place` may see by causal and window: from .x on, before .y, whether they are there or not.
 * In a ring places say nothing about where keys lie. */
static long2 keys_at(long place, __global const long *rules) {
  long low = LONG_MIN, high = LONG_MAX;
#if !defined(RING) && defined(CAUSAL)
  high = add_sat(place, 1L);
#endif
#if !defined(RING) && defined(WINDOW)
  if (rules[RULE_RIGHT] >= 0) high = min(high, add_sat(add_sat(place, rules[RULE_RIGHT]), 1L));
  if (rules[RULE_LEFT] >= 0) low = sub_sat(place, rules[RULE_LEFT]);
#endif
  return (long2)(low, high);
}

/* How many keys are there: all, or as lengths say. */
static long keys_there(long batch, RULE_PARAMETERS) {
  long there = rules[RULE_KEYS];
#ifdef HAS_LENGTHS
  there = clamp(lengths[lengths_first + (ulong)(batch * rules[RULE_LENGTHS_STRIDE])], 0L, there);
#endif
  return there;
}

/* The keys that a query may see by place and lengths: from .x on, before .y, within 0 .. the number of keys.  Neither
 * falls from one query to the next. */
static long2 keys_of_query(long batch, long query, RULE_PARAMETERS) {
  long2 seen = keys_at(position_of(batch, query, offset, offset_first, rules), rules);
  return (long2)(clamp(seen.x, 0L, rules[RULE_KEYS]), clamp(seen.y, 0L, keys_there(batch, RULE_ARGUMENTS)));
}

#if IS_BOOL(MASK)
#define MASK_BIAS(i) (ATTENDS(mask[i]) ? 0.0f : -INFINITY)
#else
#define MASK_BIAS(i) LOAD(MASK, mask, i)
#endif
#if IS_BOOL(KEY_MASK)
#define KEY_MASK_BIAS(i) (ATTENDS(key_mask[i]) ? 0.0f : -INFINITY)
#else
#define KEY_MASK_BIAS(i) LOAD(KEY_MASK, key_mask, i)
#endif

/* What the masks add to a score; -inf: not allowed. */
#ifdef HAS_MASK
static ulong mask_row(long batch, long head, long query, ulong mask_first, __global const long *rules) {
  __global const long *strides = rules + RULE_MASK_STRIDES;
  return mask_first + (ulong)(batch * strides[0] + head * strides[1] + query * strides[2]);
}

static float bias_of_mask(long batch, long head, long query, long key, RULE_PARAMETERS) {
  return MASK_BIAS(mask_row(batch, head, query, mask_first, rules) + (ulong)(key * rules[RULE_MASK_STRIDES + 3]));
}
#endif
#ifdef HAS_KEY_MASK
static float bias_of_key_mask(long batch, long key, RULE_PARAMETERS) {
  __global const long *strides = rules + RULE_KEY_MASK_STRIDES;
  return KEY_MASK_BIAS(key_mask_first + (ulong)(batch * strides[0] + key * strides[1]));
}
#endif

/* The score of a query for a key after biases: -inf where it may not attend.  What a forbidden score or bias holds is
 * selected away at the end, so that NaN and Inf there leave no trace. */
static float ruled_score(float score, long batch, long head, long query, long key, RULE_PARAMETERS) {
  bool allowed = true;
  float bias = 0.0f;

#ifdef HAS_MASK
  float mask_bias = bias_of_mask(batch, head, query, key, RULE_ARGUMENTS);
  allowed = allowed && mask_bias != -INFINITY;
  bias += mask_bias;
#endif
#ifdef HAS_KEY_MASK
  float key_bias = bias_of_key_mask(batch, key, RULE_ARGUMENTS);
  allowed = allowed && key_bias != -INFINITY;
  bias += key_bias;
#endif
#ifdef HAS_LENGTHS
  allowed = allowed && key < lengths[lengths_first + (ulong)(batch * rules[RULE_LENGTHS_STRIDE])];
#endif

#if defined(CAUSAL) || defined(WINDOW) || defined(RING) || defined(ALIBI)
  long place = key; /* the position of what lies at `key` */
#ifdef RING
  place = place_in_ring(position_of(batch, rules[RULE_QUERIES] - 1, offset, offset_first, rules), key, rules);
  allowed = allowed && place >= 0;
#endif
  long distance =
      sub_sat(position_of(batch, query, offset, offset_first, rules), place); /* the key lies that far behind */
#ifdef CAUSAL
  allowed = allowed && distance >= 0;
#endif
#ifdef WINDOW
  allowed = allowed && (rules[RULE_LEFT] < 0 || distance <= rules[RULE_LEFT]);
  allowed = allowed && (rules[RULE_RIGHT] < 0 || distance >= -rules[RULE_RIGHT]);
#endif
#ifdef ALIBI
  bias -= slopes[slopes_first + (ulong)head] * convert_float(distance);
#endif
#endif
  return allowed ? score + bias : -INFINITY;
}
#endif
