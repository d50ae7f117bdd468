/* cross_entropy and mse: first the parts, one work-item each, into the workspace; then one work-item takes their mean.
 * Sums are made of blocks, so that their error stays small. */

#define BLOCK 64

/* y = sum(parts) / n, or 0 where n is 0. */
__kernel void finish(__global const float *parts, ulong parts_first, ulong count, ulong n, __global TYPE(OUT0) *y,
                     ulong y_first) {
  if (get_global_id(0) > 0) return;
  parts += parts_first;
  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK, count); i++) part += parts[i];
    sum += part;
  }
  STORE(OUT0, n > 0 ? sum / convert_float(n) : 0.0f, y, y_first);
}

#ifdef ENTROPY
enum { LOGITS, TARGETS };

/* The loss of a line: log(sum of exp(x - max)) - (x[target] - max); of a class with -inf it is inf.  A target outside
 * the line gives NaN. */
__kernel void losses(__global const TYPE(IN0) *x, ulong x_first, __global const long *targets, ulong targets_first,
                     __global float *parts, ulong parts_first, __global const long *axes, ulong axes_first, int rank,
                     ulong lines, ulong count, ulong x_stride) {
  ulong line = get_global_id(0);
  if (line >= lines) return;
  axes += axes_first;
  ulong x_line = x_first + offset_of(axes, rank, LOGITS, line);
  long target = targets[targets_first + offset_of(axes, rank, TARGETS, line)];
  bool inside = target >= 0 && (ulong)target < count;
  float chosen = NAN, maximum = -INFINITY;
  bool bad = false;
  for (ulong i = 0; i < count; i++) {
    float value = LOAD(IN0, x, x_line + i * x_stride);
    bad = bad || isnan(value) || value == INFINITY;
    maximum = value > maximum ? value : maximum;
    chosen = i == (ulong)target ? value : chosen;
  }
  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK, count); i++) {
      float value = LOAD(IN0, x, x_line + i * x_stride);
      part += value == -INFINITY ? 0.0f : exp(value - maximum);
    }
    sum += part;
  }
  float loss = bad ? NAN : log(sum) - (chosen - maximum);
  loss = chosen == -INFINITY ? INFINITY : loss;
  parts[parts_first + line] = inside ? loss : NAN;
}
#endif

#ifdef SQUARES
enum { X, TARGET };

/* The sum of (x - target)^2 over elements line, line + lines, ..: neighbours read neighbours. */
__kernel void squares(__global const TYPE(IN0) *x, ulong x_first, __global const TYPE(IN1) *target, ulong target_first,
                      __global float *parts, ulong parts_first, __global const long *axes, ulong axes_first, int rank,
                      ulong lines, ulong count) {
  ulong line = get_global_id(0);
  if (line >= lines) return;
  axes += axes_first;
  float sum = 0.0f;
  for (ulong start = line; start < count; start += BLOCK * lines) {
    float part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK * lines, count); i += lines) {
      float distance = LOAD(IN0, x, x_first + offset_of(axes, rank, X, i)) -
                       LOAD(IN1, target, target_first + offset_of(axes, rank, TARGET, i));
      part += distance * distance;
    }
    sum += part;
  }
  parts[parts_first + line] = sum;
}
#endif
