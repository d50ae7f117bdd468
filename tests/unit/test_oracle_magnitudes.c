/* The bound that the oracle's magnitudes make: plain f32 kernels, written here on their own, stay under half of it, and
 * gross faults exceed twice of it (NUMERICS section 3). */
#include "oracle_case.h"

#include "base/half.h"
#include "base/random.h"

static void fill_random(double *out, int64_t count, const char *name, double scale) {
  uint64_t key = ph_random_key(1, name);
  for (int64_t i = 0; i < count; i++) out[i] = (double)(float)(scale * ph_random_normal(key, (uint64_t)i));
}

static double ratio_of(const oracle_case *c, uint32_t output, const float *got, ph_dtype weight_type) {
  const ph_dtype stages[PH_STAGE_MAX] = {PH_F32, weight_type, PH_F32};
  ph_verdict verdict = ph_verdict_of(&c->results[output], got, stages, false);
  assert_int_equal(verdict.compared, c->results[output].count);
  return verdict.worst_ratio;
}

static void expect_right(const oracle_case *c, uint32_t output, const float *got) {
  double ratio = ratio_of(c, output, got, PH_F32);
  if (!(ratio < 0.5)) fail_msg("%s: a correct kernel is at %g of the bound", c->node.op, ratio);
}

static void expect_wrong(const oracle_case *c, uint32_t output, const float *got, const char *fault) {
  double ratio = ratio_of(c, output, got, PH_F32);
  if (!(ratio > 2)) fail_msg("%s: %s is only at %g of the bound", c->node.op, fault, ratio);
}

static void expect_scale_error_shows(const oracle_case *c, uint32_t output, float *got, int64_t count) {
  for (int64_t i = 0; i < count; i++) got[i] *= 1.01f;
  expect_wrong(c, output, got, "a scale error of 1 %");
}

/* ---- linear ---- */

static void test_linear(void **state) {
  (void)state;
  enum { ROWS = 4, DEPTH = 700, WIDTH = 16 };
  static double x[ROWS * DEPTH], w[WIDTH * DEPTH], bias[WIDTH];
  float y[ROWS * WIDTH], dropped[ROWS * WIDTH];
  fill_random(x, ROWS * DEPTH, "x", 1);
  fill_random(w, WIDTH * DEPTH, "w", .1);
  fill_random(bias, WIDTH, "bias", 1);
  oracle_case c;
  case_open(&c, "linear");
  case_input(&c, PH_F32, DIMS(ROWS, DEPTH), x);
  case_input(&c, PH_F32, DIMS(WIDTH, DEPTH), w);
  case_input(&c, PH_F32, DIMS(WIDTH), bias);
  case_text(&c, "layout", "out_in");
  case_output(&c, PH_F32, DIMS(ROWS, WIDTH));
  case_run(&c);
  for (int m = 0; m < ROWS; m++)
    for (int n = 0; n < WIDTH; n++) {
      float sum = 0;
      for (int k = 0; k < DEPTH; k++) {
        if (k == DEPTH - 1) dropped[m * WIDTH + n] = sum + (float)bias[n];
        sum += (float)x[m * DEPTH + k] * (float)w[n * DEPTH + k];
      }
      y[m * WIDTH + n] = sum + (float)bias[n];
    }
  expect_right(&c, 0, y);
  expect_wrong(&c, 0, dropped, "a dropped product");
  expect_scale_error_shows(&c, 0, y, ROWS * WIDTH);
  case_close(&c);
}

/* ---- attention ---- */

enum { HEADS = 4, SHARED = 2, QUERIES = 6, KEYS = 70, DEPTH = 24, WIDTH = 10 };

typedef struct setting {
  const char *name;
  bool causal, alibi;
  int64_t left, length; /* 0: none */
  float softcap, sink, bias;
} setting;

typedef enum fault { RIGHT, HALF_WEIGHTS, SCALE, DROPPED_KEY, HEAD_MAP, ZEROS, NO_SOFTCAP } fault;

static double q[HEADS * QUERIES * DEPTH], k[SHARED * KEYS * DEPTH], v[SHARED * KEYS * WIDTH];

static bool looks(const setting *s, int i, int j) {
  int position = i + KEYS - QUERIES;
  if (s->length > 0) position = i + (int)s->length - QUERIES;
  if (s->length > 0 && j >= s->length) return false;
  if (s->causal && j > position) return false;
  return s->left == 0 || j >= position - s->left;
}

static float biased(const setting *s, int h, int i, int j, float score) {
  int position = i + (s->length > 0 ? (int)s->length : KEYS) - QUERIES;
  if (s->bias != 0 && j % 3 == 0) score += s->bias;
  if (s->alibi) score -= exp2f(-2.0f * (float)(h + 1)) * (float)(position - j);
  return score;
}

/* One pass over the keys with a running maximum, in f32 throughout (Milakov and Gimelshein 2018). */
static void attend_row(const setting *s, fault f, int h, int i, float *y, float *lse) {
  int shared = f == HEAD_MAP ? h % SHARED : h / (HEADS / SHARED);
  float max = -INFINITY, sum = 0, scale = 1 / sqrtf(DEPTH) * (f == SCALE ? 1.01f : 1);
  for (int d = 0; d < WIDTH; d++) y[d] = 0;
  for (int j = 0; j < KEYS; j++) {
    if (!looks(s, i, j) || (f == DROPPED_KEY && j == (s->length > 0 ? s->length : KEYS) - 12)) continue;
    float score = 0;
    for (int d = 0; d < DEPTH; d++)
      score += (float)q[(h * QUERIES + i) * DEPTH + d] * (float)k[(shared * KEYS + j) * DEPTH + d];
    score *= scale;
    if (s->softcap > 0 && f != NO_SOFTCAP) score = s->softcap * tanhf(score / s->softcap);
    score = biased(s, h, i, j, score);
    float next = score > max ? score : max, rescale = expf(max - next), p = expf(score - next);
    if (f == HALF_WEIGHTS) p = (float)ph_f16_to_double(ph_double_to_f16(p));
    sum = sum * rescale + p;
    for (int d = 0; d < WIDTH; d++) y[d] = y[d] * rescale + p * (float)v[(shared * KEYS + j) * WIDTH + d];
    max = next;
  }
  if (s->sink != 0) sum += expf(s->sink - max);
  for (int d = 0; d < WIDTH; d++) y[d] = f == ZEROS ? 0 : y[d] / sum;
  *lse = max + logf(sum);
}

static void attend(const setting *s, fault f, float *y, float *lse) {
  for (int h = 0; h < HEADS; h++)
    for (int i = 0; i < QUERIES; i++) attend_row(s, f, h, i, y + (h * QUERIES + i) * WIDTH, lse + h * QUERIES + i);
}

static void open_attention(oracle_case *c, const setting *s) {
  double mask[KEYS];
  for (int j = 0; j < KEYS; j++) mask[j] = j % 3 == 0 ? (double)s->bias : 0;
  case_open(c, "attention");
  case_input(c, PH_F32, DIMS(1, HEADS, QUERIES, DEPTH), q);
  case_input(c, PH_F32, DIMS(1, SHARED, KEYS, DEPTH), k);
  case_input(c, PH_F32, DIMS(1, SHARED, KEYS, WIDTH), v);
  if (s->bias != 0)
    case_input(c, PH_F32, DIMS(1, 1, 1, KEYS), mask);
  else
    case_absent(c, 1);
  case_absent(c, 1);
  if (s->length > 0) {
    case_input(c, PH_I64, DIMS(1), REALS((double)s->length));
    case_input(c, PH_I64, DIMS(1), REALS((double)s->length - QUERIES));
  } else {
    case_absent(c, 2);
    case_text(c, "align", "bottom_right");
  }
  if (s->sink != 0)
    case_fill(c, PH_F32, DIMS(HEADS), s->sink);
  else
    case_absent(c, 1);
  case_integer(c, "causal", s->causal);
  case_integer(c, "alibi", s->alibi);
  if (s->left > 0) case_list(c, "window", 2, (const int64_t[]){s->left, -1});
  if (s->softcap > 0) case_real(c, "softcap", s->softcap);
  case_output(c, PH_F32, DIMS(1, HEADS, QUERIES, WIDTH));
  case_output(c, PH_F32, DIMS(1, HEADS, QUERIES));
  case_run(c);
}

static const setting settings[] = {
    {.name = "plain"},
    {.name = "causal", .causal = true},
    {.name = "window", .causal = true, .left = 20},
    {.name = "lengths", .causal = true, .length = 50},
    {.name = "softcap", .softcap = 2},
    {.name = "sink", .sink = 1.5f},
    {.name = "alibi", .causal = true, .alibi = true},
    {.name = "bias -1e4", .bias = -1e4f},
    {.name = "bias of all", .bias = 3, .softcap = 5, .causal = true},
};

static void test_attention(void **state) {
  (void)state;
  static float y[HEADS * QUERIES * WIDTH], lse[HEADS * QUERIES];
  for (int spread = 0; spread < 2; spread++) { /* scores about 1, then about 10 */
    fill_random(q, HEADS * QUERIES * DEPTH, "q", spread == 0 ? 1 : 10);
    fill_random(k, SHARED * KEYS * DEPTH, "k", 1);
    fill_random(v, SHARED * KEYS * WIDTH, "v", 1);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
      oracle_case c;
      open_attention(&c, &settings[i]);
      attend(&settings[i], RIGHT, y, lse);
      expect_right(&c, 0, y);
      expect_right(&c, 1, lse);
      attend(&settings[i], HALF_WEIGHTS, y, lse);
      double half = ratio_of(&c, 0, y, PH_F16);
      if (!(half < 0.5)) fail_msg("%s: weights in f16 are at %g of the bound", settings[i].name, half);
      for (fault f = SCALE; f <= ZEROS; f++) {
        attend(&settings[i], f, y, lse);
        expect_wrong(&c, 0, y, settings[i].name);
        if (f <= DROPPED_KEY) expect_wrong(&c, 1, lse, settings[i].name);
      }
      if (settings[i].softcap > 0) {
        attend(&settings[i], NO_SOFTCAP, y, lse);
        expect_wrong(&c, 0, y, "a softcap left out");
      }
      case_close(&c);
    }
  }
}

/* Where the softcap saturates, errors before it are damped but those of its own rounding are not: a bound that damps
 * both would refuse a correct kernel. */
static void test_attention_under_a_saturated_softcap(void **state) {
  (void)state;
  static float y[HEADS * QUERIES * WIDTH], lse[HEADS * QUERIES];
  const setting s = {.name = "saturated softcap", .softcap = 1000};
  fill_random(q, HEADS * QUERIES * DEPTH, "q", 5000);
  fill_random(k, SHARED * KEYS * DEPTH, "k", 1);
  fill_random(v, SHARED * KEYS * WIDTH, "v", 1);
  oracle_case c;
  open_attention(&c, &s);
  attend(&s, RIGHT, y, lse);
  expect_right(&c, 0, y);
  expect_right(&c, 1, lse);
  attend(&s, SCALE, y, lse);
  expect_wrong(&c, 0, y, "a scale error of 1 %");
  case_close(&c);
}

/* A scale error must show even where the weights are rounded to f16. */
static void test_attention_with_f16_weights_still_shows_faults(void **state) {
  (void)state;
  static float y[HEADS * QUERIES * WIDTH], lse[HEADS * QUERIES];
  fill_random(q, HEADS * QUERIES * DEPTH, "q", 1);
  fill_random(k, SHARED * KEYS * DEPTH, "k", 1);
  fill_random(v, SHARED * KEYS * WIDTH, "v", 1);
  oracle_case c;
  open_attention(&c, &settings[0]);
  for (fault f = SCALE; f <= ZEROS; f++) {
    attend(&settings[0], f, y, lse);
    assert_true(ratio_of(&c, 0, y, PH_F16) > 2);
  }
  attend(&settings[0], SCALE, y, lse);
  assert_true(ratio_of(&c, 0, y, PH_BF16) < 2); /* so the op table does not allow weights in bf16 */
  case_close(&c);
}

/* ---- softmax ---- */

static void test_softmax_over_many_keys(void **state) {
  (void)state;
  enum { COUNT = 30000 };
  static double x[COUNT];
  static float y[COUNT], logs[COUNT];
  fill_random(x, COUNT, "x", .01); /* nearly equal: a sum of one sign, whose errors do not cancel */
  float max = -INFINITY, sum = 0;
  for (int i = 0; i < COUNT; i++) max = fmaxf(max, (float)x[i]);
  for (int i = 0; i < COUNT; i++) sum += y[i] = expf((float)x[i] - max);
  for (int i = 0; i < COUNT; i++) {
    logs[i] = (float)x[i] - max - logf(sum);
    y[i] /= sum;
  }
  float lse = max + logf(sum);
  oracle_case c;
  case_open(&c, "softmax");
  case_input(&c, PH_F32, DIMS(COUNT), x);
  case_output(&c, PH_F32, DIMS(COUNT));
  case_output(&c, PH_F32, SCALAR);
  case_run(&c);
  expect_right(&c, 0, y);
  expect_right(&c, 1, &lse);
  expect_scale_error_shows(&c, 0, y, COUNT);
  expect_scale_error_shows(&c, 1, &lse, 1);
  case_close(&c);
  case_open(&c, "log_softmax");
  case_input(&c, PH_F32, DIMS(COUNT), x);
  case_output(&c, PH_F32, DIMS(COUNT));
  case_run(&c);
  expect_right(&c, 0, logs);
  expect_scale_error_shows(&c, 0, logs, COUNT);
  case_close(&c);
}

static void test_weighted_sum_and_scores(void **state) {
  (void)state;
  static double weights[HEADS * QUERIES * KEYS];
  static float y[HEADS * QUERIES * WIDTH], scores[HEADS * QUERIES * KEYS];
  fill_random(q, HEADS * QUERIES * DEPTH, "q", 1);
  fill_random(k, SHARED * KEYS * DEPTH, "k", 1);
  fill_random(v, SHARED * KEYS * WIDTH, "v", 1);
  fill_random(weights, HEADS * QUERIES * KEYS, "weights", 1);
  for (int row = 0; row < HEADS * QUERIES; row++)
    for (int j = 0; j < KEYS; j++)
      weights[row * KEYS + j] = j % 5 == 0 ? 0 : (float)fabs(weights[row * KEYS + j] / KEYS);
  for (int row = 0; row < HEADS * QUERIES; row++) {
    int shared = row / QUERIES / (HEADS / SHARED);
    for (int d = 0; d < WIDTH; d++) {
      float sum = 0;
      for (int j = 0; j < KEYS; j++) sum += (float)weights[row * KEYS + j] * (float)v[(shared * KEYS + j) * WIDTH + d];
      y[row * WIDTH + d] = sum;
    }
    for (int j = 0; j < KEYS; j++) {
      float sum = 0;
      for (int d = 0; d < DEPTH; d++) sum += (float)q[row * DEPTH + d] * (float)k[(shared * KEYS + j) * DEPTH + d];
      scores[row * KEYS + j] = sum / sqrtf(DEPTH);
    }
  }
  oracle_case c;
  case_open(&c, "weighted_sum");
  case_input(&c, PH_F32, DIMS(1, HEADS, QUERIES, KEYS), weights);
  case_input(&c, PH_F32, DIMS(1, SHARED, KEYS, WIDTH), v);
  case_output(&c, PH_F32, DIMS(1, HEADS, QUERIES, WIDTH));
  case_run(&c);
  expect_right(&c, 0, y);
  expect_scale_error_shows(&c, 0, y, HEADS * QUERIES * WIDTH);
  case_close(&c);
  case_open(&c, "scaled_scores");
  case_input(&c, PH_F32, DIMS(1, HEADS, QUERIES, DEPTH), q);
  case_input(&c, PH_F32, DIMS(1, SHARED, KEYS, DEPTH), k);
  case_output(&c, PH_F32, DIMS(1, HEADS, QUERIES, KEYS));
  case_run(&c);
  expect_right(&c, 0, scores);
  expect_scale_error_shows(&c, 0, scores, HEADS * QUERIES * KEYS);
  case_close(&c);
}

/* ---- norms ---- */

static void test_norms(void **state) {
  (void)state;
  enum { ROWS = 5, COUNT = 768 };
  static double x[ROWS * COUNT], gain[COUNT], bias[COUNT];
  static float y[ROWS * COUNT];
  for (int centred = 0; centred < 2; centred++)
    for (int leaning = 0; leaning < 2; leaning++) {
      fill_random(x, ROWS * COUNT, "x", 1);
      fill_random(gain, COUNT, "gain", 1);
      fill_random(bias, COUNT, "bias", centred);
      for (int i = 0; i < ROWS * COUNT && leaning; i++) x[i] = (float)(x[i] + 50); /* a large mean */
      float means[ROWS], inverses[ROWS];
      for (int r = 0; r < ROWS; r++) {
        float sum = 0, squares = 0;
        for (int i = 0; i < COUNT; i++) sum += (float)x[r * COUNT + i];
        means[r] = centred ? sum / COUNT : 0;
        for (int i = 0; i < COUNT; i++) {
          float deviation = (float)x[r * COUNT + i] - means[r];
          squares += deviation * deviation;
        }
        inverses[r] = 1 / sqrtf(squares / COUNT + 1e-5f);
        for (int i = 0; i < COUNT; i++)
          y[r * COUNT + i] = ((float)x[r * COUNT + i] - means[r]) * inverses[r] * (float)gain[i] + (float)bias[i];
      }
      oracle_case c;
      case_open(&c, centred ? "layer_norm" : "rms_norm");
      case_input(&c, PH_F32, DIMS(ROWS, COUNT), x);
      case_input(&c, PH_F32, DIMS(COUNT), gain);
      if (centred) case_input(&c, PH_F32, DIMS(COUNT), bias);
      case_integer(&c, "axis", 1);
      case_output(&c, PH_F32, DIMS(ROWS, COUNT));
      if (centred) case_output(&c, PH_F32, DIMS(ROWS, 1));
      if (centred) case_output(&c, PH_F32, DIMS(ROWS, 1));
      case_run(&c);
      expect_right(&c, 0, y);
      expect_scale_error_shows(&c, 0, y, ROWS * COUNT);
      if (centred) {
        expect_right(&c, 1, means);
        expect_right(&c, 2, inverses);
        expect_scale_error_shows(&c, 1, means, ROWS);
        expect_scale_error_shows(&c, 2, inverses, ROWS);
      }
      case_close(&c);
    }
}

/* Where the elements of a row nearly cancel, the error of the mean hangs on their size, not on the mean: an element
 * near the mean, and near 0, has it as its own. */
static void test_layer_norm_where_the_mean_vanishes(void **state) {
  (void)state;
  enum { ROWS = 400, COUNT = 256, LANES = 8 };
  static double x[ROWS * COUNT];
  static float y[ROWS * COUNT];
  fill_random(x, ROWS * COUNT, "x", 1);
  for (int r = 0; r < ROWS; r++) {
    double *row = x + r * COUNT;
    double whole = 0;
    for (int i = 0; i < COUNT; i++) whole += row[i] = i == 0 ? 1e-3 * row[i] : row[i];
    row[COUNT - 1] = (float)(row[COUNT - 1] - whole);
    float lanes[LANES] = {0}, sum = 0, squares = 0; /* sums as a device with lanes makes them */
    for (int i = 0; i < COUNT; i++) lanes[i / (COUNT / LANES)] += (float)row[i];
    for (int i = 0; i < LANES; i++) sum += lanes[i];
    float mean = sum / COUNT;
    for (int i = 0; i < COUNT; i++) squares += ((float)row[i] - mean) * ((float)row[i] - mean);
    for (int i = 0; i < COUNT; i++) y[r * COUNT + i] = ((float)row[i] - mean) / sqrtf(squares / COUNT + 1e-5f);
  }
  oracle_case c;
  case_open(&c, "layer_norm");
  case_input(&c, PH_F32, DIMS(ROWS, COUNT), x);
  case_absent(&c, 2);
  case_integer(&c, "axis", 1);
  case_output(&c, PH_F32, DIMS(ROWS, COUNT));
  case_run(&c);
  expect_right(&c, 0, y);
  expect_scale_error_shows(&c, 0, y, ROWS * COUNT);
  case_close(&c);
}

/* ---- functions ---- */

static float f32_sigmoid(float x) {
  return 1 / (1 + expf(-x));
}
static float f32_silu(float x) {
  return x / (1 + expf(-x));
}
static float f32_gelu_erf(float x) {
  return fabsf(x) >= 16 ? fmaxf(x, 0) : 0.5f * x * (1 + erff(x * (float)M_SQRT1_2));
}
static float f32_gelu_tanh(float x) {
  if (fabsf(x) >= 16) return fmaxf(x, 0);
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
static float f32_softcap(float x) {
  return 5 * tanhf(x / 5);
}

static void test_functions(void **state) {
  (void)state;
  enum { COUNT = 4001 };
  const struct {
    const char *op, *form;
    float (*function)(float);
  } rows[] = {{"tanh", NULL, tanhf},         {"sigmoid", NULL, f32_sigmoid},  {"silu", NULL, f32_silu},
              {"gelu", "erf", f32_gelu_erf}, {"gelu", "tanh", f32_gelu_tanh}, {"erf", NULL, erff},
              {"exp", NULL, expf},           {"softcap", NULL, f32_softcap}};
  static double x[COUNT];
  static float y[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = (float)((i - COUNT / 2) * .01 + 1e-4); /* -20 .. 20 */
  for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
    oracle_case c;
    case_open(&c, rows[row].op);
    case_input(&c, PH_F32, DIMS(COUNT), x);
    if (rows[row].form != NULL)
      case_text(&c, "form", rows[row].form);
    else
      case_real(&c, "cap", 5);
    case_output(&c, PH_F32, DIMS(COUNT));
    case_run(&c);
    for (int i = 0; i < COUNT; i++) y[i] = rows[row].function((float)x[i]);
    expect_right(&c, 0, y);
    expect_scale_error_shows(&c, 0, y, COUNT);
    case_close(&c);
  }
}

static void test_angles(void **state) {
  (void)state;
  enum { ROWS = 300, SIZE = 16 };
  static double x[ROWS * SIZE], positions[ROWS];
  static float turned[ROWS * SIZE], signal[ROWS * SIZE];
  fill_random(x, ROWS * SIZE, "x", 1);
  for (int s = 0; s < ROWS; s++) {
    positions[s] = s;
    for (int m = 0; m < SIZE / 2; m++) {
      /* Frequencies come from the host in double, so the angle is rounded once. */
      float angle = (float)(s * pow(10000, -2.0 * m / SIZE)), c = cosf(angle), sine = sinf(angle);
      float x1 = (float)x[s * SIZE + 2 * m], x2 = (float)x[s * SIZE + 2 * m + 1];
      turned[s * SIZE + 2 * m] = x1 * c - x2 * sine;
      turned[s * SIZE + 2 * m + 1] = x1 * sine + x2 * c;
      signal[s * SIZE + 2 * m] = sine;
      signal[s * SIZE + 2 * m + 1] = c;
    }
  }
  oracle_case c;
  case_open(&c, "rotary");
  case_input(&c, PH_F32, DIMS(1, 1, ROWS, SIZE), x);
  case_text(&c, "pairs", "interleaved");
  case_output(&c, PH_F32, DIMS(1, 1, ROWS, SIZE));
  case_run(&c);
  expect_right(&c, 0, turned);
  expect_scale_error_shows(&c, 0, turned, ROWS * SIZE);
  case_close(&c);
  case_open(&c, "sinusoidal_position");
  case_input(&c, PH_I64, DIMS(ROWS), positions);
  case_integer(&c, "size", SIZE);
  case_text(&c, "pairs", "interleaved");
  case_output(&c, PH_F32, DIMS(ROWS, SIZE));
  case_run(&c);
  expect_right(&c, 0, signal);
  expect_scale_error_shows(&c, 0, signal, ROWS * SIZE);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_attention_under_a_saturated_softcap),
      cmocka_unit_test(test_attention_with_f16_weights_still_shows_faults),
      cmocka_unit_test(test_softmax_over_many_keys),
      cmocka_unit_test(test_weighted_sum_and_scores),
      cmocka_unit_test(test_norms),
      cmocka_unit_test(test_layer_norm_where_the_mean_vanishes),
      cmocka_unit_test(test_functions),
      cmocka_unit_test(test_angles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
