/* positions, sinusoidal_position (Vaswani et al. 2017, section 3.5), rotary (Su et al. 2021, section 3.2.2). */
#include "oracle/ops.h"

ph_status ph_oracle_positions(const ph_oracle_call *call) {
  ph_view offset = ph_call_input(call, 1);
  ph_oracle_output *y = ph_call_output(call, 0);
  int64_t start = ph_call_integer(call, "start", 0), extent = ph_call_output_desc(call, 0)->dims[1];
  for (int64_t i = 0; i < y->count; i++) {
    int64_t first = ph_add_clamped(start, ph_view_per_sample(&offset, i / extent, 0));
    y->integer[i] = ph_add_clamped(first, i % extent);
  }
  return PH_OK;
}

ph_status ph_oracle_sinusoidal_position(const ph_oracle_call *call) {
  ph_view positions = ph_call_input(call, 0);
  ph_oracle_output *y = ph_call_output(call, 0);
  const ph_tensor_desc *desc = ph_call_output_desc(call, 0);
  int64_t size = desc->dims[desc->rank - 1], half = size / 2;
  double base = ph_call_real(call, "base", 10000);
  double divisor = (double)(ph_call_integer(call, "endpoint", 0) != 0 ? half - 1 : half);
  bool interleaved = ph_call_is(call, "pairs", "interleaved");
  int64_t index[PH_MAX_RANK] = {0};
  for (int64_t row = 0; row < positions.count; row++) {
    double position = (double)ph_view_integer(&positions, ph_view_at(&positions, positions.rank, index));
    for (int64_t m = 0; m < half; m++) {
      double angle = position * pow(base, m == 0 ? 0 : -(double)m / divisor);
      for (int64_t part = 0; part < 2; part++) { /* the sine, then the cosine */
        int64_t to = row * size + (interleaved ? 2 * m + part : part * half + m);
        double value = part == 0 ? sin(angle) : cos(angle);
        y->real[to] = value;
        if (y->magnitude[PH_MAGNITUDE_WEIGHT] == NULL) continue;
        y->magnitude[PH_MAGNITUDE_WEIGHT][to] = fabs(angle) + fabs(value);
        y->magnitude[PH_MAGNITUDE_BUILTIN][to] = PH_ULPS_SIN * fabs(value);
      }
    }
    ph_index_next(positions.rank, positions.dims, index);
  }
  return PH_OK;
}

/* ---- rotary ---- */

typedef struct rotary {
  ph_view positions, offset, cosines, sines;
  double base;
  int64_t turned; /* elements that take part */
} rotary;

typedef struct turn {
  double c, s, angle; /* angle: 0 where cosine and sine were given */
} turn;

/* Where row s of sample b stands. */
static int64_t position_of(const rotary *r, int64_t b, int64_t s) {
  if (!r->positions.present) return ph_add_clamped(ph_view_per_sample(&r->offset, b, 0), s);
  const int64_t *strides = r->positions.strides;
  return ph_view_integer(&r->positions, r->positions.rank == 1 ? s * strides[0] : b * strides[0] + s * strides[1]);
}

static turn turn_of(const rotary *r, int64_t b, int64_t s, int64_t m) {
  if (r->cosines.present && r->cosines.rank == 3) {
    int64_t index[] = {b, s, m};
    return (turn){.c = ph_view_real(&r->cosines, ph_view_at(&r->cosines, 3, index)),
                  .s = ph_view_real(&r->sines, ph_view_at(&r->sines, 3, index))};
  }
  int64_t position = position_of(r, b, s);
  if (r->cosines.present) {
    if (position < 0 || position >= r->cosines.dims[0]) return (turn){.c = (double)NAN, .s = (double)NAN};
    int64_t index[] = {position, m};
    return (turn){.c = ph_view_real(&r->cosines, ph_view_at(&r->cosines, 2, index)),
                  .s = ph_view_real(&r->sines, ph_view_at(&r->sines, 2, index))};
  }
  double angle = (double)position * pow(r->base, -2.0 * (double)m / (double)r->turned);
  return (turn){.c = cos(angle), .s = sin(angle), .angle = angle};
}

/* Turns the pair of elements `first` and `second` of the output, which holds x. */
static void turn_pair(ph_oracle_output *y, int64_t first, int64_t second, turn t, bool computed) {
  double x1 = y->real[first], x2 = y->real[second];
  y->real[first] = x1 * t.c - x2 * t.s;
  y->real[second] = x1 * t.s + x2 * t.c;
  if (y->magnitude[PH_MAGNITUDE_WEIGHT] == NULL) return;
  double factor = computed ? 1 : fmax(1, fmax(fabs(t.c), fabs(t.s))); /* given tables may hold a scale */
  int64_t both[] = {first, second};
  for (uint32_t i = 0; i < 2; i++) {
    y->magnitude[PH_MAGNITUDE_WEIGHT][both[i]] = fabs(t.angle) * hypot(x1, x2);
    y->magnitude[PH_MAGNITUDE_ACCUM][both[i]] = factor * (fabs(x1) + fabs(x2));
    if (computed)
      y->magnitude[PH_MAGNITUDE_BUILTIN][both[i]] =
          PH_ULPS_SIN * (i == 0 ? fabs(x1 * t.c) + fabs(x2 * t.s) : fabs(x1 * t.s) + fabs(x2 * t.c));
  }
}

ph_status ph_oracle_rotary(const ph_oracle_call *call) {
  ph_view x = ph_call_input(call, 0);
  ph_oracle_output *y = ph_call_output(call, 0);
  rotary r = {.positions = ph_call_input(call, 1),
              .offset = ph_call_input(call, 2),
              .cosines = ph_call_input(call, 3),
              .sines = ph_call_input(call, 4),
              .base = ph_call_real(call, "base", 10000)};
  if (y->count == 0) return PH_OK;
  int64_t depth = x.dims[x.rank - 1], rows = x.dims[x.rank - 2];
  int64_t batch = x.rank >= 3 ? x.dims[0] : 1, heads = x.rank == 4 ? x.dims[1] : 1;
  r.turned = ph_call_integer(call, "rotary_dim", depth);
  if (r.turned > depth)
    return ph_fail(call->error, PH_INVALID, "node '%s': rotary_dim is larger than the head size", call->node->id);
  bool interleaved = ph_call_is(call, "pairs", "interleaved");
  ph_view_read(&x, y->real);
  for (int64_t b = 0; b < batch; b++)
    for (int64_t s = 0; s < rows; s++)
      for (int64_t m = 0; m < r.turned / 2; m++) {
        turn t = turn_of(&r, b, s, m);
        for (int64_t h = 0; h < heads; h++) {
          int64_t row = ((b * heads + h) * rows + s) * depth;
          int64_t first = row + (interleaved ? 2 * m : m), second = interleaved ? first + 1 : first + r.turned / 2;
          turn_pair(y, first, second, t, !r.cosines.present);
        }
      }
  return PH_OK;
}
