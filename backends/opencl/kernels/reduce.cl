/* What reduces lines along one axis, or makes such lines: mean, argmax, l2_normalize, one_hot; one work-item per line.
 * Lines are read eight elements at a time; sums are made of eight lanes and of blocks, so that their error stays small. */

#define BLOCK 512

#ifdef MEAN
enum { X, Y, MASK }; /* operands of the axes */

DEFINE_LOAD_EIGHT(eight_of_x, IN0)

/* 1 where the mask lets an element count. */
static float8 eight_of_mask(__global const TYPE(IN1) *mask, ulong index, ulong stride, ulong left) {
  float values[8];
  for (int j = 0; j < 8; j++) {
    bool counts = mask[index + min((ulong)j, left - 1) * stride] != 0;
    values[j] = (ulong)j < left && counts ? 1.0f : 0.0f;
  }
  return vload8(0, values);
}

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
    float8 lanes = (float8)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, count); i += 8) {
      float8 values = eight_of_x(x, x_line + i * x_stride, x_stride, count - i, 0.0f);
#ifdef HAS_MASK
      float8 counts = eight_of_mask(mask, mask_line + i * mask_stride, mask_stride, count - i);
      values = counts != 0.0f ? values : (float8)(0.0f);
      n += convert_ulong(sum_of_eight(counts));
#endif
      lanes += values;
    }
    sum += sum_of_eight(lanes);
  }
  STORE(OUT0, n > 0 ? sum / convert_float(n) : 0.0f, y, y_first + offset_of(axes, rank, Y, line));
}
#endif

#ifdef ARGMAX
enum { X, Y };

DEFINE_LOAD_EIGHT(eight_of_x, IN0)

/* The first maximum; NaN counts as the maximum; 0 in a line of -inf. */
__kernel void argmax(__global const TYPE(IN0) *x, ulong x_first, __global long *y, ulong y_first,
                     __global const long *axes, ulong axes_first, int rank, ulong lines, ulong count, ulong x_stride) {
  ulong line = get_global_id(0);
  if (line >= lines) return;
  axes += axes_first;
  ulong x_line = x_first + offset_of(axes, rank, X, line);
  float maximum = -INFINITY;
  long winner = 0;
  for (ulong i = 0; i < count; i += 8) {
    float values[8];
    vstore8(eight_of_x(x, x_line + i * x_stride, x_stride, count - i, -INFINITY), 0, values);
    for (int j = 0; j < 8; j++) {
      bool better = !isnan(maximum) && (isnan(values[j]) || values[j] > maximum);
      maximum = better ? values[j] : maximum;
      winner = better ? (long)(i + j) : winner;
    }
  }
  y[y_first + offset_of(axes, rank, Y, line)] = winner;
}
#endif

#ifdef NORMALIZE
enum { X, Y };

DEFINE_LOAD_EIGHT(eight_of_x, IN0)
DEFINE_STORE_EIGHT(store_eight, OUT0)

/* y = x / max(sqrt(sum of squares), eps).  Squares are those of x times a power of two that brings the largest near 1, so
 * that none of them leaves f32's range. */
__kernel void l2_normalize(__global const TYPE(IN0) *x, ulong x_first, __global TYPE(OUT0) *y, ulong y_first,
                           __global const long *axes, ulong axes_first, int rank, ulong lines, ulong count,
                           ulong x_stride, ulong y_stride, float eps) {
  ulong line = get_global_id(0);
  if (line >= lines) return;
  axes += axes_first;
  ulong x_line = x_first + offset_of(axes, rank, X, line), y_line = y_first + offset_of(axes, rank, Y, line);
  float8 sizes = (float8)(0.0f);
  for (ulong i = 0; i < count; i += 8)
    sizes = fmax(sizes, fabs(eight_of_x(x, x_line + i * x_stride, x_stride, count - i, 0.0f)));
  float largest = max_of_eight(sizes);
  /* Within +-100 the power and its inverse are normal numbers, and squares stay far from either end. */
  int exponent = largest > 0.0f && isfinite(largest) ? clamp(-ilogb(largest), -100, 100) : 0;
  float scale = ldexp(1.0f, exponent);

  float sum = 0.0f;
  for (ulong start = 0; start < count; start += BLOCK) {
    float8 lanes = (float8)(0.0f);
    for (ulong i = start; i < min(start + BLOCK, count); i += 8) {
      float8 values = eight_of_x(x, x_line + i * x_stride, x_stride, count - i, 0.0f) * scale;
      lanes += values * values;
    }
    sum += sum_of_eight(lanes);
  }
  float norm = sqrt(sum), least = eps * scale;
  norm = norm < least ? least : norm; /* not fmax, which would lose a NaN */
  for (ulong i = 0; i < count; i += 8) {
    float8 values = eight_of_x(x, x_line + i * x_stride, x_stride, count - i, 0.0f) * scale;
    store_eight(norm == 0.0f ? (float8)(0.0f) : values / norm, y, y_line + i * y_stride, y_stride, count - i);
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
