/* cross_entropy and mse: first the parts, one work-item each, into the workspace; then one work-item takes their mean.
 * Sums are made of eight lanes and of blocks, so that their error stays small. */

#define BLOCK 512

/* y = sum(parts) / n, or 0 where n is 0. */
__kernel void finish(__global const float *parts, ulong parts_first, ulong count, ulong n, __global TYPE(OUT0) *y,
                     ulong y_first) {
  if (get_global_id(0) > 0) return;
  parts += parts_first;
  float sum = 0.0f;
  ulong whole = count / 8 * 8;
  for (ulong start = 0; start < whole; start += BLOCK) {
    float8 lanes = (float8)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, whole); i += 8) lanes += vload8(0, parts + i);
    sum += sum_of_eight(lanes);
  }
  for (ulong i = whole; i < count; i++) sum += parts[i];
  STORE(OUT0, n > 0 ? sum / convert_float(n) : 0.0f, y, y_first);
}

#ifdef ENTROPY
enum { LOGITS, TARGETS };

DEFINE_LOAD_EIGHT(eight_of_x, IN0)

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
  /* A safe address, as some drivers execute both sides of a condition. */
  ulong picked = inside ? (ulong)target * x_stride : 0;
  float chosen = NAN;
  if (inside) chosen = LOAD(IN0, x, x_line + picked);
  float8 maxima = (float8)(-INFINITY);
  bool bad = false;
  for (ulong i = 0; i < count; i += 8) {
    float8 values = eight_of_x(x, x_line + i * x_stride, x_stride, count - i, -INFINITY);
    bad = bad || any(isnan(values) || values == INFINITY);
    maxima = values > maxima ? values : maxima;
  }
  float maximum = max_of_eight(maxima), sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float8 lanes = (float8)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, count); i += 8) {
      float8 values = eight_of_x(x, x_line + i * x_stride, x_stride, count - i, -INFINITY);
      lanes += values == -INFINITY ? (float8)(0.0f) : exp(values - maximum);
    }
    sum += sum_of_eight(lanes);
  }
  float loss = bad ? NAN : log(sum) - (chosen - maximum);
  parts[parts_first + line] = chosen == -INFINITY ? INFINITY : loss;
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
