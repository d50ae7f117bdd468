/* Element by element for CPUs: y = f(x) (-DFUNCTION) or y = a OPERATOR b, where elements lie beside each other in runs.
 * A work-item takes CHUNK elements, counted row by row, and walks them run by run: where a run lies is worked out once,
 * and in it vectors do the rest.  All operands have a step of 1 in a run, or 0: they repeat. */

#define CHUNK 8192

DEFINE_LOAD_PART(part_of_0, IN0)
DEFINE_STORE_PART(store_part, OUT0)

#ifdef FUNCTION
#define ERF(x)      erf(x)
#define EXP(x)      exp(x)
#define SOFTCAP(x)  (parameter * TANH((x) / parameter))
#define IDENTITY(x) (x)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
unary_runs(__global const TYPE(IN0) *restrict x, ulong x_first, __global TYPE(OUT0) *restrict y, ulong y_first,
           __global const long *axes, ulong axes_first, int rank, ulong count, ulong run, float parameter) {
  axes += axes_first;
  ulong i = get_global_id(0) * CHUNK, end = min(i + CHUNK, count);
  while (i < end) {
    ulong in_run = run - i % run, length = min(in_run, end - i);
    ulong x_at = x_first + offset_of(axes, rank, 0, i), y_at = y_first + offset_of(axes, rank, 1, i);
    for (ulong j = 0; j < length; j += WIDTH) {
      floats values = part_of_0(x, x_at + j, length - j, 0.0f);
      store_part(FUNCTION(values), y, y_at + j, length - j);
      ulong ahead = min(j + AHEAD, in_run);
      FETCH(x + x_at + ahead);
      FETCH(y + y_at + ahead);
    }
    i += length;
  }
}
#endif

#ifdef OPERATOR
DEFINE_LOAD_PART(part_of_1, IN1)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void binary_runs(__global const TYPE(IN0) * a, ulong a_first,
                                                                         __global const TYPE(IN1) * b, ulong b_first,
                                                                         __global TYPE(OUT0) * y, ulong y_first,
                                                                         __global const long *axes, ulong axes_first,
                                                                         int rank, ulong count, ulong run) {
  axes += axes_first;
  ulong a_step = step_of(axes, rank, 0), b_step = step_of(axes, rank, 1);
  ulong i = get_global_id(0) * CHUNK, end = min(i + CHUNK, count);
  while (i < end) {
    ulong in_run = run - i % run, length = min(in_run, end - i);
    ulong a_at = a_first + offset_of(axes, rank, 0, i), b_at = b_first + offset_of(axes, rank, 1, i);
    ulong y_at = y_first + offset_of(axes, rank, 2, i);
    floats a_repeats = (floats)(LOAD(IN0, a, a_at)), b_repeats = (floats)(LOAD(IN1, b, b_at));
    for (ulong j = 0; j < length; j += WIDTH) {
      floats a_values = a_step == 0 ? a_repeats : part_of_0(a, a_at + j, length - j, 1.0f);
      floats b_values = b_step == 0 ? b_repeats : part_of_1(b, b_at + j, length - j, 1.0f);
      store_part(a_values OPERATOR b_values, y, y_at + j, length - j);
      ulong ahead = min(j + AHEAD, in_run);
      FETCH(a + a_at + ahead * a_step);
      FETCH(b + b_at + ahead * b_step);
      FETCH(y + y_at + ahead);
    }
    i += length;
  }
}
#endif
