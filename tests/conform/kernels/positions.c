/* rotary (Su et al. 2021, section 3.2.2) and sinusoidal_position (Vaswani et al. 2017, section 3.5).  Frequencies in
 * double, as a host would make them; an angle is rounded once. */
#include "kernels.h"

/* Cosine and sine for pair m of row s in sample b. */
static void turn_of(const kernel_run *run, int64_t b, int64_t s, int64_t m, int64_t turned, float out[2]) {
  const kernel_array *positions = &run->inputs[1], *offset = &run->inputs[2];
  const kernel_array *cosines = &run->inputs[3], *sines = &run->inputs[4];
  int64_t position = s, pairs = turned / 2;
  if (positions->present) position = positions->integer[positions->rank == 2 ? b * positions->dims[1] + s : s];
  if (offset->present) position += offset->integer[offset->count > 1 ? b : 0];
  if (!cosines->present) {
    float angle =
        (float)((double)position * pow(ph_node_real(run->node, "base", 10000), -2.0 * (double)m / (double)turned));
    out[0] = cosf(angle);
    out[1] = sinf(angle);
    return;
  }
  int64_t row = cosines->rank == 3 ? b * cosines->dims[1] + s : position;
  bool inside = row >= 0 && row * pairs < cosines->count;
  out[0] = inside ? cosines->real[row * pairs + m] : NAN;
  out[1] = inside ? sines->real[row * pairs + m] : NAN;
}

ph_status kernel_rotary(kernel_run *run) {
  const kernel_array *x = &run->inputs[0];
  float *y = run->outputs[0].real;
  int64_t depth = x->dims[x->rank - 1], rows = x->dims[x->rank - 2], heads = x->rank == 4 ? x->dims[1] : 1;
  int64_t turned = ph_node_int(run->node, "rotary_dim", depth);
  bool interleaved = ph_node_is(run->node, "pairs", "interleaved");
  for (int64_t at = 0; at < x->count; at++) {
    int64_t d = at % depth, row = at / depth, s = row % rows, b = row / rows / heads;
    y[at] = x->real[at];
    if (d >= turned) continue;
    int64_t m = interleaved ? d / 2 : d % (turned / 2);
    bool first = interleaved ? d % 2 == 0 : d < turned / 2;
    int64_t other = first ? at + (interleaved ? 1 : turned / 2) : at - (interleaved ? 1 : turned / 2);
    float turn[2];
    turn_of(run, b, s, m, turned, turn);
    y[at] = first ? x->real[at] * turn[0] - x->real[other] * turn[1] : x->real[other] * turn[1] + x->real[at] * turn[0];
  }
  return PH_OK;
}

ph_status kernel_sinusoidal_position(kernel_run *run) {
  const kernel_array *positions = &run->inputs[0];
  int64_t size = ph_node_int(run->node, "size", 0), half = size / 2;
  bool interleaved = ph_node_is(run->node, "pairs", "interleaved");
  double base = ph_node_real(run->node, "base", 10000);
  double divisor = (double)(ph_node_int(run->node, "endpoint", 0) != 0 ? half - 1 : half);
  for (int64_t row = 0; row < positions->count; row++)
    for (int64_t m = 0; m < half; m++) {
      float angle = (float)((double)positions->integer[row] * (m == 0 ? 1 : pow(base, -(double)m / divisor)));
      float *y = run->outputs[0].real + row * size;
      y[interleaved ? 2 * m : m] = sinf(angle);
      y[interleaved ? 2 * m + 1 : half + m] = cosf(angle);
    }
  return PH_OK;
}
