/* npy_close GOT EXPECTED LIMIT: do two f32 .npy files have one shape, and nowhere differ by more than LIMIT?
 * Exit: 0 yes, 1 no, 2 they cannot be compared. */
#include <polyhead/tensor.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ph_tensor *load(const char *path) {
  ph_error error = {.struct_size = sizeof error};
  ph_tensor_file *file = NULL;
  ph_tensor *tensor = NULL;
  if (ph_tensor_file_open(path, &file, &error) != PH_OK || ph_tensor_file_get(file, 0, &tensor, &error) != PH_OK)
    fprintf(stderr, "%s\n", error.message);
  else if (tensor->dtype != PH_F32)
    fprintf(stderr, "%s is not f32\n", path);
  ph_tensor_file_close(file);
  return tensor;
}

static float element(const ph_tensor *tensor, size_t index) {
  float value; /* copied, since data in a mapped file need not be aligned for a float */
  memcpy(&value, (const char *)tensor->data + index * sizeof value, sizeof value);
  return value;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  ph_tensor *got = load(argv[1]), *expected = load(argv[2]);
  int result = 2;
  if (!got || !expected || got->dtype != PH_F32 || expected->dtype != PH_F32) goto done;
  if (got->rank != expected->rank || memcmp(got->dims, expected->dims, got->rank * sizeof got->dims[0]) != 0 ||
      got->count == 0) {
    fprintf(stderr, "%s and %s differ in shape, or are empty\n", argv[1], argv[2]);
    goto done;
  }
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < got->count; i++) {
    double difference = fabs((double)element(got, i) - (double)element(expected, i));
    if (!(difference <= worst)) { /* NaN too */
      worst = difference;
      where = i;
    }
    if (isnan(worst)) break;
  }
  result = worst <= strtod(argv[3], NULL) ? 0 : 1;
  printf("%zu elements, largest difference %g, at element %zu: %.9g against %.9g\n", got->count, worst, where,
         (double)element(got, where), (double)element(expected, where));
done:
  ph_tensor_release(got);
  ph_tensor_release(expected);
  return result;
}
