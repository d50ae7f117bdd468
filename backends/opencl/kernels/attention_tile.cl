/* Blocks of K and V, for attention on CPUs. */

/* Asks for `count` elements from a place on.  While one block is worked on little is read: the rows of the next one are
 * fetched meanwhile.  Asking for memory that is not there does nothing. */
#define FETCH_ALL(role, pointer, count)                                                                                \
  for (ulong x = 0; x < (count); x += 64 / sizeof(TYPE(role))) FETCH((pointer) + x);

/* Copies `rows` rows of `width` elements of any type to f32 rows of `pitch`, filled up with 0. */
#define DEFINE_COPY_TILE(NAME, role)                                                                                   \
  static void NAME(float *tile, int pitch, __global const TYPE(role) * from, ulong first, ulong stride, ulong column,  \
                   int rows, int width) {                                                                              \
    for (int i = 0; i < rows; i++) {                                                                                   \
      ulong at = first + (ulong)i * stride;                                                                            \
      int d = 0;                                                                                                       \
      for (; column == 1 && d + WIDTH <= width; d += WIDTH)                                                            \
        WIDE(vstore)(LOAD_WIDE(role, from, at + (ulong)d), 0, tile + i * pitch + d);                                   \
      for (; d < width; d++) tile[i * pitch + d] = LOAD(role, from, at + (ulong)d * column);                           \
      for (; d < pitch; d++) tile[i * pitch + d] = 0.0f;                                                               \
    }                                                                                                                  \
  }
DEFINE_COPY_TILE(copy_k, IN1)
DEFINE_COPY_TILE(copy_v, IN2)

/* Four rows, of a type of four, become four columns. */
#define TURN_FOUR(four, a, b, c, d)                                                                                    \
  {                                                                                                                    \
    four x = (four)(a.x, b.x, c.x, d.x), y = (four)(a.y, b.y, c.y, d.y);                                               \
    four z = (four)(a.z, b.z, c.z, d.z), w = (four)(a.w, b.w, c.w, d.w);                                               \
    a = x, b = y, c = z, d = w;                                                                                        \
  }
