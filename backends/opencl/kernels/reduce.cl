/* What reduces lines along one axis, or makes such lines: mean, argmax, l2_normalize, one_hot; one work-item per line.
 * Sums are made of blocks, so that their error stays small over long lines. */

#define BLOCK 64

#ifdef MEAN
#ifndef HAS_MASK
#define IN1 BOOL
#endif

enum { X, Y, MASK }; /* operands of the axes */

/* y = sum(x) / n over what the mask lets through; 0 where that is nothing. */
__kernel void mean(__global const TYPE(IN0) *x, ulong x_first, __global const TYPE(IN1) *mask, ulong mask_first,
                   __global TYPE(OUT0) *y, ulong y_first, __global const long *axes, ulong axes_first, int rank,
                   ulong lines, ulong count, ulong x_stride, ulong mask_stride) {
  ulong line = get_global_id(0);
  if (line >= lines) return;
  axes += axes_first;
  ulong x_line = x_first + offset_of(axes, rank, X, line);
  ulong n = count;
#ifdef HAS_MASK
  ulong mask_line = mask_first + offset_of(axes, rank, MASK, line);
  n = 0;
#endif
  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK, count); i++) {
      float value = LOAD(IN0, x, x_line + i * x_stride);
#ifdef HAS_MASK
      bool counts = mask[mask_line + i * mask_stride] != 0;
      value = counts ? value : 0.0f;
      n += counts ? 1 : 0;
#endif
      part += value;
    }
    sum += part;
  }
  STORE(OUT0, n > 0 ? sum / convert_float(n) : 0.0f, y, y_first + offset_of(axes, rank, Y, line));
}
#endif

#ifdef ARGMAX
enum { X, Y };

/* The first maximum; NaN counts as the maximum; 0 in a line of -inf. */
__kernel void argmax(__global const TYPE(IN0) *x, ulong x_first, __global long *y, ulong y_first,
                     __global const long *axes, ulong axes_first, int rank, ulong lines, ulong count, ulong x_stride) {
  ulong line = get_global_id(0);
  if (line >= lines) return;
  axes += axes_first;
  ulong x_line = x_first + offset_of(axes, rank, X, line);
  float maximum = LOAD(IN0, x, x_line);
  long winner = 0;
  for (ulong i = 1; i < count; i++) {
    float value = LOAD(IN0, x, x_line + i * x_stride);
    bool better = !isnan(maximum) && (isnan(value) || value > maximum);
    maximum = better ? value : maximum;
    winner = better ? (long)i : winner;
  }
  y[y_first + offset_of(axes, rank, Y, line)] = winner;
}
#endif

#ifdef NORMALIZE
enum { X, Y };

/* y = x / max(sqrt(sum of squares), eps).  Squares are those of x times a power of two that brings the largest near 1, so
 * that none of them leaves f32's range. */
__kernel void l2_normalize(__global const TYPE(IN0) *x, ulong x_first, __global TYPE(OUT0) *y, ulong y_first,
                           __global const long *axes, ulong axes_first, int rank, ulong lines, ulong count,
                           ulong x_stride, ulong y_stride, float eps) {
  ulong line = get_global_id(0);
  if (line >= lines) return;
  axes += axes_first;
  ulong x_line = x_first + offset_of(axes, rank, X, line), y_line = y_first + offset_of(axes, rank, Y, line);
  float largest = 0.0f;
  for (ulong i = 0; i < count; i++) largest = fmax(largest, fabs(LOAD(IN0, x, x_line + i * x_stride)));
  /* Within +-100 the power and its inverse are normal numbers, and squares stay far from either end. */
  int exponent = largest > 0.0f && isfinite(largest) ? clamp(-ilogb(largest), -100, 100) : 0;
  float scale = ldexp(1.0f, exponent);

  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float part = 0.0f;
    for (ulong i = start; i < min(start + BLOCK, count); i++) {
      float value = LOAD(IN0, x, x_line + i * x_stride) * scale;
      part += value * value;
    }
    sum += part;
  }
  float norm = sqrt(sum), least = eps * scale;
  norm = norm < least ? least : norm; /* not fmax, which would lose a NaN */
  for (ulong i = 0; i < count; i++) {
    float value = LOAD(IN0, x, x_line + i * x_stride) * scale;
    STORE(OUT0, norm == 0.0f ? 0.0f : value / norm, y, y_line + i * y_stride);
  }
}
#endif

#ifdef ONE_HOT
enum { IDS, Y };

/* y[line, i] = 1 where i is the line's id, else 0; an id that is outside gives zeros. */
__kernel void one_hot(__global const long *ids, ulong ids_first, __global float *y, ulong y_first,
                      __global const long *axes, ulong axes_first, int rank, ulong lines, ulong size, ulong y_stride) {
  ulong i = get_global_id(0), line = get_global_id(1);
  if (i >= size || line >= lines) return;
  axes += axes_first;
  long id = ids[ids_first + offset_of(axes, rank, IDS, line)];
  y[y_first + offset_of(axes, rank, Y, line) + i * y_stride] = id == (long)i ? 1.0f : 0.0f;
}
#endif
