/* y = f(x), element by element.  FUNCTION names f (activations in common.cl); `parameter` is softcap's cap. */

#define ERF(x)     erf(x)
#define EXP(x)     exp(x)
#define SOFTCAP(x) (parameter * tanh_of((x) / parameter))

__kernel void unary(__global const TYPE(IN0) * x, ulong x_first, __global TYPE(OUT0) * y, ulong y_first,
                    __global const long *axes, ulong axes_first, int rank, ulong count, float parameter) {
  ulong i = get_global_id(0);
  if (i >= count) return;
  axes += axes_first;
  float value = LOAD(IN0, x, x_first + offset_of(axes, rank, 0, i));
  STORE(OUT0, FUNCTION(value), y, y_first + offset_of(axes, rank, 1, i));
}
