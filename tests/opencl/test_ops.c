/* The kernels of every op outside the attention family against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "base/dtype.h"
#include "node_case.h"

static const ph_dtype reals[] = {PH_F32, PH_F16, PH_BF16};
static const ph_dtype all_types[] = {PH_F32, PH_F16, PH_BF16, PH_I32, PH_I64, PH_BOOL};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const double nan_ = NAN, inf_ = INFINITY;

/* ---- products ---- */

static void linear_case(ph_dtype x_type, ph_dtype weight_type, bool in_out, bool bias, case_layout layout, int64_t rows,
                        int64_t in, int64_t out) {
  node_case *c =
      case_new("linear", "%s x %s %s, %lld x %lld x %lld, layout %d", ph_dtype_name(x_type), ph_dtype_name(weight_type),
               in_out ? "in_out" : "out_in", (long long)rows, (long long)in, (long long)out, layout);
  case_input(c, x_type, layout, SHAPE(2, rows, in));
  case_input(c, weight_type, layout, SHAPE(in_out ? in : out, in_out ? out : in));
  if (bias)
    case_input(c, x_type, DENSE, SHAPE(out));
  else
    case_absent(c);
  case_output(c, x_type, SHAPE(2, rows, out));
  case_text(c, "layout", in_out ? "in_out" : "out_in");
  case_run(c);
}

static void test_linear(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1},    {3, 7, 5},    {4, 8, 8}, {13, 64, 17},
                                      {5, 129, 33}, {1, 300, 64}, {2, 0, 3}};
  for (size_t i = 0; i < COUNT(shapes); i++)
    for (int in_out = 0; in_out < 2; in_out++)
      for (int layout = DENSE; layout <= TURNED; layout++)
        linear_case(PH_F32, PH_F32, in_out, i % 2 == 0, layout, shapes[i][0], shapes[i][1], shapes[i][2]);
  for (size_t x = 0; x < COUNT(reals); x++)
    for (size_t w = 0; w < COUNT(reals); w++)
      for (int in_out = 0; in_out < 2; in_out++) {
        if (x + w == 0) continue;
        linear_case(reals[x], reals[w], in_out, true, DENSE, 5, 67, 13);
        if (x == w) linear_case(reals[x], reals[w], in_out, true, GAPS, 5, 19, 13);
      }

  node_case *c = case_new("linear", "a vector");
  case_input(c, PH_F32, DENSE, SHAPE(9));
  case_input(c, PH_F32, DENSE, SHAPE(5, 9));
  case_absent(c);
  case_output(c, PH_F32, SHAPE(5));
  case_text(c, "layout", "out_in");
  case_run(c);

  c = case_new("linear", "4096 equal products");
  uint32_t x = case_input(c, PH_F32, DENSE, SHAPE(5, 4096)), w = case_input(c, PH_F32, DENSE, SHAPE(4096, 9));
  case_fill(c, x, 0.1f);
  case_fill(c, w, 0.3f);
  case_absent(c);
  case_output(c, PH_F32, SHAPE(5, 9));
  case_text(c, "layout", "in_out");
  case_run(c);
}

static void matmul_case(ph_dtype type, int turned, case_layout layout, unsigned repeated, int64_t m, int64_t k,
                        int64_t n) {
  bool turn_a = (turned & 1) != 0, turn_b = (turned & 2) != 0;
  node_case *c = case_new("matmul", "%s, turned %d, layout %d, repeated %u, %lld x %lld x %lld", ph_dtype_name(type),
                          turned, layout, repeated, (long long)m, (long long)k, (long long)n);
  const int64_t a[] = {2, 3, turn_a ? k : m, turn_a ? m : k}, b[] = {2, 3, turn_b ? n : k, turn_b ? k : n};
  if (repeated == 0) {
    case_input(c, type, layout, 4, a);
    case_input(c, type, layout, 4, b);
  } else {
    case_input_repeated(c, type, 4, a, repeated & 3);
    case_input_repeated(c, type, 4, b, repeated >> 2 & 3);
  }
  case_output(c, type, SHAPE(2, 3, m, n));
  case_integer(c, "transpose_a", turn_a);
  case_integer(c, "transpose_b", turn_b);
  case_run(c);
}

static void test_matmul(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1}, {5, 7, 3}, {4, 16, 8}, {9, 33, 21}, {3, 0, 2}};
  for (size_t i = 0; i < COUNT(shapes); i++)
    for (int turned = 0; turned < 4; turned++)
      for (int layout = DENSE; layout <= TURNED; layout++)
        matmul_case(PH_F32, turned, layout, 0, shapes[i][0], shapes[i][1], shapes[i][2]);
  for (unsigned repeated = 1; repeated < 16; repeated++) matmul_case(PH_F32, 0, DENSE, repeated, 3, 5, 9);
  for (size_t i = 1; i < COUNT(reals); i++)
    for (int turned = 0; turned < 4; turned++) matmul_case(reals[i], turned, DENSE, 0, 5, 19, 11);

  node_case *c = case_new("matmul", "rank 2");
  case_input(c, PH_F32, DENSE, SHAPE(6, 10));
  case_input(c, PH_F32, DENSE, SHAPE(10, 1));
  case_output(c, PH_F32, SHAPE(6, 1));
  case_integer(c, "transpose_a", 0);
  case_integer(c, "transpose_b", 0);
  case_run(c);
}

/* ---- moves ---- */

static void test_heads(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT(all_types); t++)
    for (int layout = DENSE; layout <= TURNED; layout++) {
      node_case *c = case_new("split_heads", "%s, layout %d", ph_dtype_name(all_types[t]), layout);
      case_input(c, all_types[t], layout, SHAPE(2, 5, 21));
      case_output(c, all_types[t], SHAPE(2, 3, 5, 7));
      case_integer(c, "heads", 3);
      case_run(c);
      c = case_new("concat_heads", "%s, layout %d", ph_dtype_name(all_types[t]), layout);
      case_input(c, all_types[t], layout, SHAPE(2, 3, 5, 7));
      case_output(c, all_types[t], SHAPE(2, 5, 21));
      case_run(c);
    }
}

static void test_shapes(void **state) {
  (void)state;
  static const int64_t axes[] = {2, 0, 3, 1}, reshaped[] = {7, 2, 15}, expanded[] = {4, 2, 5, 3};
  for (size_t t = 0; t < COUNT(all_types); t++)
    for (int layout = DENSE; layout <= TURNED; layout++) {
      ph_dtype type = all_types[t];
      const char *name = ph_dtype_name(type);
      node_case *c = case_new("transpose", "%s, layout %d", name, layout);
      case_input(c, type, layout, SHAPE(2, 3, 5, 7));
      case_output(c, type, SHAPE(5, 2, 7, 3));
      case_list(c, "axes", 4, axes);
      case_run(c);
      c = case_new("reshape", "%s, layout %d", name, layout);
      case_input(c, type, layout, SHAPE(2, 3, 5, 7));
      case_output(c, type, SHAPE(7, 2, 15));
      case_list(c, "shape", 3, reshaped);
      case_run(c);
      c = case_new("expand", "%s, layout %d", name, layout);
      case_input(c, type, layout, SHAPE(2, 1, 3));
      case_output(c, type, SHAPE(4, 2, 5, 3));
      case_list(c, "shape", 4, expanded);
      case_run(c);
      c = case_new("slice", "%s, layout %d", name, layout);
      case_input(c, type, layout, SHAPE(2, 11, 3));
      case_output(c, type, SHAPE(2, 4, 3));
      case_integer(c, "axis", 1);
      case_integer(c, "start", 5);
      case_integer(c, "stop", 9);
      case_run(c);
    }
  node_case *c = case_new("reshape", "a scalar");
  case_input(c, PH_F32, DENSE, SHAPE(1, 1));
  case_output(c, PH_F32, 0, NULL);
  case_list(c, "shape", 0, axes);
  case_run(c);
}

static void test_split_and_concat(void **state) {
  (void)state;
  static const int64_t into[] = {2, 0, 5};
  for (size_t t = 0; t < COUNT(all_types); t++)
    for (int layout = DENSE; layout <= TURNED; layout++) {
      node_case *c = case_new("split", "%s, layout %d", ph_dtype_name(all_types[t]), layout);
      case_input(c, all_types[t], layout, SHAPE(3, 7, 2));
      case_output(c, all_types[t], SHAPE(3, 2, 2));
      case_output(c, all_types[t], SHAPE(3, 0, 2));
      case_output(c, all_types[t], SHAPE(3, 5, 2));
      case_integer(c, "axis", 1);
      case_list(c, "into", 3, into);
      case_run(c);
      c = case_new("concat", "%s, layout %d", ph_dtype_name(all_types[t]), layout);
      case_input(c, all_types[t], layout, SHAPE(3, 2, 2));
      case_input(c, all_types[t], DENSE, SHAPE(3, 0, 2));
      case_input(c, all_types[t], layout, SHAPE(3, 5, 2));
      case_output(c, all_types[t], SHAPE(3, 7, 2));
      case_integer(c, "axis", 1);
      case_run(c);
    }
}

static void test_gather(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT(all_types); t++)
    for (int64_t axis = 0; axis < 3; axis++)
      for (int layout = DENSE; layout <= TURNED; layout++) {
        int64_t dims[] = {5, 4, 3}, y[] = {2, 3, 0, 0};
        uint32_t rank = 0;
        for (uint32_t i = 0; i < 3; i++) {
          if (i == axis) {
            y[rank++] = 2;
            y[rank++] = 3;
          } else {
            y[rank++] = dims[i];
          }
        }
        node_case *c =
            case_new("gather", "%s, axis %lld, layout %d", ph_dtype_name(all_types[t]), (long long)axis, layout);
        case_input(c, all_types[t], layout, 3, dims);
        uint32_t indices = case_input(c, PH_I64, layout, SHAPE(2, 3));
        case_output(c, all_types[t], rank, y);
        const double wanted[] = {0, 2, -1, (double)-dims[axis], (double)dims[axis], -7}; /* the last two lie outside */
        for (int64_t i = 0; i < 6; i++) case_set(c, indices, i, wanted[i]);
        case_integer(c, "axis", axis);
        case_run(c);
      }
}

static void test_embedding(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT(reals); t++)
    for (int layout = DENSE; layout <= TURNED; layout++) {
      node_case *c = case_new("embedding", "%s, layout %d", ph_dtype_name(reals[t]), layout);
      uint32_t ids = case_input(c, PH_I64, layout, SHAPE(2, 3));
      case_input(c, reals[t], layout, SHAPE(11, 5));
      case_output(c, reals[t], SHAPE(2, 3, 5));
      const double wanted[] = {0, 10, 3, -1, 11, 1e15};
      for (int64_t i = 0; i < 6; i++) case_set(c, ids, i, wanted[i]);
      case_run(c);
    }
  node_case *c = case_new("embedding", "one id");
  uint32_t ids = case_input(c, PH_I64, DENSE, 0, NULL);
  case_set(c, ids, 0, 2);
  case_input(c, PH_F32, DENSE, SHAPE(3, 4));
  case_output(c, PH_F32, SHAPE(4));
  case_run(c);
}

static void cache_case(ph_dtype cache_type, ph_dtype x_type, bool in_place, bool ring, uint32_t offsets, double first,
                       double second) {
  node_case *c = case_new("cache_write", "%s into %s%s%s, at %g and %g", ph_dtype_name(x_type),
                          ph_dtype_name(cache_type), in_place ? ", in place" : "", ring ? ", ring" : "", first, second);
  case_input(c, cache_type, DENSE, SHAPE(2, 3, 7, 5));
  case_input(c, x_type, GAPS, SHAPE(2, 3, 4, 5));
  uint32_t offset = case_input(c, PH_I64, DENSE, SHAPE(offsets));
  case_set(c, offset, 0, first);
  if (offsets == 2) case_set(c, offset, 1, second);
  if (in_place)
    case_in_place(c);
  else
    case_output(c, cache_type, SHAPE(2, 3, 7, 5));
  case_integer(c, "axis", 2);
  case_integer(c, "ring", ring);
  case_run(c);
}

static void test_cache_write(void **state) {
  (void)state;
  for (int in_place = 0; in_place < 2; in_place++) {
    cache_case(PH_F32, PH_F32, in_place, false, 1, 3, 0);
    cache_case(PH_F32, PH_F32, in_place, false, 2, 0, 2);
    cache_case(PH_F32, PH_F32, in_place, false, 2, 5, -2); /* rows that do not fit are dropped */
    cache_case(PH_F32, PH_F32, in_place, false, 2, 9e18, -9e18);
    cache_case(PH_F32, PH_F32, in_place, true, 2, 5, 1000003);
    cache_case(PH_F16, PH_F32, in_place, true, 2, 5, 13);
    cache_case(PH_BF16, PH_F32, in_place, false, 2, 1, 3);
    cache_case(PH_F16, PH_F16, in_place, false, 2, 1, 3);
  }
}

static void test_cast(void **state) {
  (void)state;
  static const double special[] = {0,   -0.0, 1.5,  -1.5,  0.4,      300.7,     -70000.3,
                                   3e9, -3e9, 1e19, -1e19, INFINITY, -INFINITY, NAN};
  for (size_t from = 0; from < COUNT(all_types); from++)
    for (size_t to = 0; to < COUNT(all_types); to++) {
      node_case *c = case_new("cast", "%s to %s", ph_dtype_name(all_types[from]), ph_dtype_name(all_types[to]));
      uint32_t x = case_input(c, all_types[from], GAPS, SHAPE(3, 17));
      if (ph_dtype_is_real(all_types[from]))
        for (size_t i = 0; i < COUNT(special); i++) case_set(c, x, (int64_t)i, special[i]);
      else if (all_types[from] != PH_BOOL)
        case_set(c, x, 1, 2147483647.0);
      if (all_types[from] == PH_I64) case_set(c, x, 2, 9007199254740991.0);
      case_output(c, all_types[to], SHAPE(3, 17));
      case_text(c, "to", ph_dtype_name(all_types[to]));
      case_run(c);
    }
}

/* ---- element by element ---- */

static void binary_case(const char *op, ph_dtype type, unsigned repeat_a, unsigned repeat_b) {
  node_case *c = case_new(op, "%s, repeated %u and %u", ph_dtype_name(type), repeat_a, repeat_b);
  case_input_repeated(c, type, SHAPE(3, 4, 5), repeat_a);
  uint32_t b = case_input_repeated(c, type, SHAPE(3, 4, 5), repeat_b);
  if (type == PH_I32 || type == PH_I64) case_set(c, b, 0, 2147483647);
  case_output(c, type, SHAPE(3, 4, 5));
  case_run(c);
}

static void test_binary(void **state) {
  (void)state;
  static const char *const ops[] = {"add", "sub", "mul", "div"};
  for (size_t i = 0; i < COUNT(ops); i++) {
    for (unsigned repeat = 0; repeat < 8; repeat++) {
      binary_case(ops[i], PH_F32, 0, repeat);
      binary_case(ops[i], PH_F32, repeat, 0);
    }
    binary_case(ops[i], PH_F32, 3, 5);
    for (size_t t = 1; t < COUNT(reals); t++) binary_case(ops[i], reals[t], 1, 6);
    if (i == 3) continue;
    binary_case(ops[i], PH_I32, 1, 6);
    binary_case(ops[i], PH_I64, 1, 6);
  }
  node_case *c = case_new("div", "large and small");
  uint32_t a = case_input(c, PH_F32, DENSE, SHAPE(40)), b = case_input(c, PH_F32, DENSE, SHAPE(40));
  for (int64_t i = 0; i < 40; i++) {
    case_set(c, a, i, ldexp(1.7, (int)i * 3 - 60));
    case_set(c, b, i, ldexp(1.3, 60 - (int)i * 3));
  }
  case_output(c, PH_F32, SHAPE(40));
  case_run(c);
}

static void unary_case(const char *op, const char *form, ph_dtype type) {
  enum { MANY = 3001 };
  static const double special[] = {0,    -0.0, NAN,   INFINITY, -INFINITY, 16,   -16,  15.99, -15.99,
                                   88,   -88,  88.8,  -88.8,    100,       -100, -80,  -81,   1e4,
                                   -1e4, 1e30, -1e30, 1e-30,    -1e-30,    3e38, -3e38};
  node_case *c = case_new(op, "%s %s", ph_dtype_name(type), form != NULL ? form : "");
  uint32_t x = case_input(c, type, GAPS, SHAPE(1, MANY));
  for (int64_t i = 0; i < MANY; i++)
    case_set(c, x, i, (size_t)i < COUNT(special) ? special[i] : ((double)i - MANY / 2.0) / 50 + 0.0003);
  case_output(c, type, SHAPE(1, MANY));
  if (form != NULL) case_text(c, "form", form);
  if (op[0] == 's' && op[1] == 'o') case_real(c, "cap", 20.0);
  case_run(c);
}

static void test_unary(void **state) {
  (void)state;
  static const char *const ops[] = {"relu", "silu", "tanh", "sigmoid", "erf", "exp", "softcap"};
  for (size_t t = 0; t < COUNT(reals); t++) {
    for (size_t i = 0; i < COUNT(ops); i++) unary_case(ops[i], NULL, reals[t]);
    unary_case("gelu", "erf", reals[t]);
    unary_case("gelu", "tanh", reals[t]);
  }
}

/* ---- positions ---- */

static void test_positions(void **state) {
  (void)state;
  for (int offsets = 0; offsets < 3; offsets++) {
    node_case *c = case_new("positions", "%d offsets", offsets);
    case_input(c, PH_F32, GAPS, SHAPE(2, 7, 3));
    if (offsets > 0) {
      uint32_t offset = case_input(c, PH_I64, DENSE, SHAPE(offsets));
      case_set(c, offset, 0, -5);
    } else {
      case_absent(c);
    }
    case_output(c, PH_I64, SHAPE(2, 7));
    case_integer(c, "start", 11);
    case_integer(c, "axis", 1);
    case_run(c);
  }
}

static void sinusoidal_case(const char *pairs, int64_t size, double base, bool endpoint, double step) {
  node_case *c = case_new("sinusoidal_position", "%s, size %lld, base %g%s, step %g", pairs, (long long)size, base,
                          endpoint ? ", endpoint" : "", step);
  uint32_t positions = case_input(c, PH_I64, GAPS, SHAPE(3, 5));
  for (int64_t i = 0; i < 15; i++) case_set(c, positions, i, ((double)i - 3) * step);
  case_output(c, PH_F32, SHAPE(3, 5, size));
  case_integer(c, "size", size);
  case_text(c, "pairs", pairs);
  case_real(c, "base", base);
  case_integer(c, "endpoint", endpoint);
  case_run(c);
}

static void test_sinusoidal(void **state) {
  (void)state;
  static const double steps[] = {1, 37, 1001, 999983, 123456789012.0};
  for (size_t i = 0; i < COUNT(steps); i++) {
    sinusoidal_case("interleaved", 16, 10000, false, steps[i]);
    sinusoidal_case("half", 10, 10000, true, steps[i]);
    sinusoidal_case("half", 64, 1e12, false, steps[i]);
    sinusoidal_case("half", 8, 0.001, false, steps[i]);
  }
}

/* tables: 0 none, 1 [P, R/2], 2 [B, S, R/2] */
static void rotary_case(ph_dtype type, uint32_t rank, const char *pairs, int64_t turned, int positions, int offsets,
                        int tables, double step) {
  static const int64_t dims[] = {2, 3, 5, 12};
  const int64_t *shape = dims + (rank == 4 ? 0 : rank == 3 ? 1 : 2);
  int64_t batch = rank == 4 ? 2 : rank == 3 ? 3 : 1;
  node_case *c = case_new("rotary", "%s, rank %u, %s, %lld turned, positions %d, offsets %d, tables %d, step %g",
                          ph_dtype_name(type), rank, pairs, (long long)turned, positions, offsets, tables, step);
  case_input(c, type, GAPS, rank, shape);
  if (positions > 0) {
    uint32_t p = positions == 2 ? case_input(c, PH_I64, GAPS, SHAPE(batch, 5)) : case_input(c, PH_I64, GAPS, SHAPE(5));
    for (int64_t i = 0; i < case_count(c, p); i++) case_set(c, p, i, (double)(i * 7 % 13) * step);
  } else {
    case_absent(c);
  }
  if (offsets > 0) {
    uint32_t o = case_input(c, PH_I64, DENSE, SHAPE(offsets == 1 ? 1 : batch));
    for (int64_t i = 0; i < case_count(c, o); i++) case_set(c, o, i, (double)(i + 2) * step);
  } else {
    case_absent(c);
  }
  for (int i = 0; i < 2 && tables > 0; i++) {
    if (tables == 1)
      case_input(c, type, GAPS, SHAPE(9, turned / 2));
    else
      case_input(c, type, GAPS, SHAPE(batch, 5, turned / 2));
  }
  case_output(c, type, rank, shape);
  case_text(c, "pairs", pairs);
  case_real(c, "base", 10000);
  case_integer(c, "rotary_dim", turned);
  case_run(c);
}

static void test_rotary(void **state) {
  (void)state;
  static const char *const pairs[] = {"interleaved", "half"};
  for (int i = 0; i < 2; i++) {
    for (uint32_t rank = 2; rank <= 4; rank++) rotary_case(PH_F32, rank, pairs[i], 12, 0, 0, 0, 1);
    rotary_case(PH_F32, 4, pairs[i], 6, 0, 2, 0, 1);
    rotary_case(PH_F32, 4, pairs[i], 6, 0, 1, 0, 100003);
    rotary_case(PH_F32, 3, pairs[i], 12, 1, 0, 0, 1e6);
    rotary_case(PH_F32, 4, pairs[i], 12, 2, 0, 0, -1e9);
    rotary_case(PH_F32, 4, pairs[i], 6, 2, 0, 1, 1); /* positions above 8 are outside the table */
    rotary_case(PH_F32, 4, pairs[i], 6, 0, 2, 1, 1);
    rotary_case(PH_F32, 4, pairs[i], 6, 0, 0, 1, 1);
    rotary_case(PH_F32, 4, pairs[i], 6, 0, 0, 2, 1);
    rotary_case(PH_F32, 3, pairs[i], 12, 0, 0, 2, 1);
    rotary_case(PH_F16, 4, pairs[i], 6, 0, 2, 0, 100003);
    rotary_case(PH_BF16, 4, pairs[i], 12, 2, 0, 1, 1);
  }
}

/* ---- norms ---- */

static node_case *norm_case(const char *op, ph_dtype type, case_layout layout, int64_t axis, int parts, double factor,
                            double shift) {
  bool layer = op[0] == 'l';
  const int64_t dims[] = {3, 5, 33};
  node_case *c = case_new(op, "%s, layout %d, axis %lld, parts %d, * %g + %g", ph_dtype_name(type), layout,
                          (long long)axis, parts, factor, shift);
  case_scale(c, case_input(c, type, layout, 3, dims), factor, shift);
  if (parts > 0)
    case_input(c, type, layout, (uint32_t)(3 - axis), dims + axis);
  else
    case_absent(c);
  if (layer) {
    if (parts > 1)
      case_input(c, type, layout, (uint32_t)(3 - axis), dims + axis);
    else
      case_absent(c);
  }
  case_output(c, type, 3, dims);
  if (layer)
    for (int i = 0; i < 2; i++) {
      if (parts > i)
        case_output(c, type, SHAPE(axis > 0 ? 3 : 1, axis > 1 ? 5 : 1, 1));
      else
        case_output_unwanted(c);
    }
  case_integer(c, "axis", axis);
  case_real(c, "eps", 1e-5);
  return c;
}

static void test_norms(void **state) {
  (void)state;
  static const char *const ops[] = {"layer_norm", "rms_norm"};
  for (size_t i = 0; i < COUNT(ops); i++) {
    for (int64_t axis = 0; axis < 3; axis++)
      for (int layout = DENSE; layout <= TURNED; layout++)
        for (int parts = 0; parts < 3; parts++) case_run(norm_case(ops[i], PH_F32, layout, axis, parts, 1, 0.5));
    for (size_t t = 1; t < COUNT(reals); t++) case_run(norm_case(ops[i], reals[t], GAPS, 2, 2, 1, 0));
    case_run(norm_case(ops[i], PH_F32, DENSE, 2, 2, 1, 40000));
    case_run(norm_case(ops[i], PH_F32, DENSE, 2, 2, 1e-4, 0));
  }
  node_case *c = norm_case("layer_norm", PH_F32, DENSE, 2, 2, 0, 0.1f); /* constant rows: the bias, exactly */
  case_run_keep(c);
  for (int64_t i = 0; i < 3 * 5 * 33; i++)
    assert_true(case_got(c, 0, i) == ((const float *)c->memory[c->inputs[2]])[i % 33]);
  case_free(c);

  c = norm_case("layer_norm", PH_F32, DENSE, 2, 2, 1, 0); /* rows with NaN and infinities */
  case_set(c, c->inputs[0], 3, nan_);
  case_set(c, c->inputs[0], 33, inf_);
  case_set(c, c->inputs[0], 70, -inf_);
  case_run(c);

  c = case_new("rms_norm", "30000 equal squares");
  case_fill(c, case_input(c, PH_F32, DENSE, SHAPE(2, 30000)), 0.3f);
  case_absent(c);
  case_output(c, PH_F32, SHAPE(2, 30000));
  case_integer(c, "axis", 1);
  case_real(c, "eps", 0);
  case_run(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_matmul),
      cmocka_unit_test(test_heads),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_split_and_concat),
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_cache_write),
      cmocka_unit_test(test_cast),
      cmocka_unit_test(test_binary),
      cmocka_unit_test(test_unary),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_sinusoidal),
      cmocka_unit_test(test_rotary),
      cmocka_unit_test(test_norms),
  };
  if (!case_devices_open()) return 77; /* skipped */
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  case_devices_close();
  return failed;
}
