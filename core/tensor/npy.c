/* Reads and writes the header of .npy: a Python dict, in just the part of Python's grammar that NumPy writes. */
#include "tensor/npy.h"

#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"

enum { MAGIC_SIZE = 6, LARGEST_HEADER = 1 << 20, TYPE_NAME_SIZE = 16 };

static const struct {
  ph_dtype dtype;
  const char *name; /* without the byte order */
} types[] = {{PH_F32, "f4"}, {PH_F16, "f2"}, {PH_I64, "i8"}, {PH_I32, "i4"}, {PH_BOOL, "b1"}};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

ph_status ph_npy_header_size(const unsigned char *start, size_t size, size_t *out, ph_error *error) {
  if (size < PH_NPY_START) return ph_fail(error, PH_INVALID, "the file is cut off: %zu bytes are no .npy", size);
  if (memcmp(start, PH_NPY_MAGIC, MAGIC_SIZE) != 0)
    return ph_fail(error, PH_INVALID, "this is no .npy: it does not begin with \\x93NUMPY");
  unsigned major = start[6], minor = start[7];
  if (major < 1 || major > 3 || minor != 0)
    return ph_fail(error, PH_INVALID, "version %u.%u of .npy is not known: 1.0, 2.0 and 3.0 are", major, minor);
  size_t length = (size_t)start[8] | (size_t)start[9] << 8, before = 10;
  if (major > 1) {
    length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    before = 12;
  }
  if (length > size - before)
    return ph_fail(error, PH_INVALID, "the file is cut off: a header of %zu bytes in a file of %zu", length, size);
  if (length > LARGEST_HEADER)
    return ph_fail(error, PH_INVALID, "the header is %zu bytes long, more than the %d that are taken", length,
                   LARGEST_HEADER);
  if (length < 2) return ph_fail(error, PH_INVALID, "the header is %zu bytes long: too short for a dict", length);
  *out = before + length;
  return PH_OK;
}

/* ---- reading the dict -------------------------------------------------------------------------------------------- */

typedef struct cursor {
  const unsigned char *at, *end;
} cursor;

static void skip_space(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || (*c->at >= '\t' && *c->at <= '\r'))) c->at++;
}

/* Takes `byte` if it comes next, after space. */
static bool take(cursor *c, char byte) {
  skip_space(c);
  if (c->at == c->end || *c->at != (unsigned char)byte) return false;
  c->at++;
  return true;
}

static bool take_word(cursor *c, const char *word) {
  skip_space(c);
  size_t length = strlen(word);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
  c->at += length;
  return true;
}

/* A quoted text without escapes; cut to fit `size`, for none that we know is longer. */
static bool take_text(cursor *c, char *out, size_t size) {
  char quote = '\'';
  if (!take(c, quote) && !take(c, quote = '"')) return false;
  size_t length = 0;
  for (; c->at < c->end && *c->at != (unsigned char)quote; c->at++) {
    if (*c->at == '\\' || *c->at < ' ') return false;
    if (length + 1 < size) out[length++] = (char)*c->at;
  }
  out[length] = '\0';
  return take(c, quote);
}

static ph_status read_extent(cursor *c, int64_t *out, ph_error *error) {
  skip_space(c);
  if (c->at < c->end && *c->at == '-') return ph_fail(error, PH_INVALID, "'shape' has a negative extent");
  const unsigned char *first = c->at;
  *out = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
    if (!ph_mul_i64(*out, 10, out) || !ph_add_i64(*out, *c->at - '0', out))
      return ph_fail(error, PH_INVALID, "'shape' has an extent that does not fit 64 bits");
  if (c->at == first || (*first == '0' && c->at > first + 1))
    return ph_fail(error, PH_INVALID, "'shape' is not a tuple of integers");
  if (c->at < c->end && *c->at == 'L') c->at++; /* as Python 2 wrote them */
  return PH_OK;
}

static ph_status read_shape(cursor *c, ph_tensor *shape, ph_error *error) {
  if (!take(c, '(')) return ph_fail(error, PH_INVALID, "'shape' is not a tuple");
  bool comma = true;
  while (!take(c, ')')) {
    if (!comma) return ph_fail(error, PH_INVALID, "'shape' is not a tuple of integers");
    if (shape->rank == PH_MAX_RANK) return ph_fail(error, PH_INVALID, "'shape' has more than %d axes", PH_MAX_RANK);
    PH_TRY(read_extent(c, &shape->dims[shape->rank++], error));
    comma = take(c, ',');
  }
  if (shape->rank == 1 && !comma)
    return ph_fail(error, PH_INVALID, "'shape' is (%lld), which is a number and not a tuple: (%lld,) would be one",
                   (long long)shape->dims[0], (long long)shape->dims[0]);
  return PH_OK;
}

static ph_status read_type(cursor *c, ph_dtype *out, ph_error *error) {
  skip_space(c);
  if (c->at < c->end && *c->at == '[')
    return ph_fail(error, PH_INVALID, "it is a structured array: f32, f16, i64, i32 and bool are taken");
  char text[TYPE_NAME_SIZE];
  if (!take_text(c, text, sizeof(text))) return ph_fail(error, PH_INVALID, "'descr' is not a text");
  bool ordered = text[0] != '\0' && strchr("<>=|", text[0]) != NULL;
  const char *name = text + ordered;
  for (size_t i = 0; i < TYPES; i++) {
    if (strcmp(name, types[i].name) != 0) continue;
    if (text[0] == '>' && ph_dtype_size(types[i].dtype) > 1)
      return ph_fail(error, PH_INVALID, "type '%s' is big-endian: save it with .astype('<%s')", text, name);
    *out = types[i].dtype;
    return PH_OK;
  }
  if (strcmp(name, "f8") == 0)
    return ph_fail(error, PH_INVALID, "type '%s' is f64, which is not taken: save it with .astype('float32')", text);
  if (strcmp(name, "V2") == 0)
    return ph_fail(error, PH_INVALID, "type '%s' is not taken: bf16 values travel in .safetensors", text);
  return ph_fail(error, PH_INVALID, "type '%s' is not taken: f32, f16, i64, i32 and bool are", text);
}

/* One `key: value`; which keys were seen is in *seen. */
static ph_status read_pair(cursor *c, unsigned *seen, ph_npy_header *out, ph_error *error) {
  enum { DESCR = 1, FORTRAN_ORDER = 2, SHAPE = 4 };
  char key[TYPE_NAME_SIZE];
  if (!take_text(c, key, sizeof(key)) || !take(c, ':'))
    return ph_fail(error, PH_INVALID, "the header is not a dict of 'descr', 'fortran_order' and 'shape'");
  unsigned bit = strcmp(key, "descr") == 0           ? DESCR
                 : strcmp(key, "fortran_order") == 0 ? FORTRAN_ORDER
                 : strcmp(key, "shape") == 0         ? SHAPE
                                                     : 0;
  if (bit == 0) return ph_fail(error, PH_INVALID, "the header has an unknown key '%s'", key);
  if (*seen & bit) return ph_fail(error, PH_INVALID, "the header has '%s' twice", key);
  *seen |= bit;
  if (bit == DESCR) return read_type(c, &out->shape.dtype, error);
  if (bit == SHAPE) return read_shape(c, &out->shape, error);
  out->fortran_order = take_word(c, "True");
  if (out->fortran_order || take_word(c, "False")) return PH_OK;
  return ph_fail(error, PH_INVALID, "'fortran_order' is neither True nor False");
}

ph_status ph_npy_header_read(const unsigned char *bytes, size_t header_size, size_t size, ph_npy_header *out,
                             ph_error *error) {
  enum { ALL_SEEN = 7 };
  *out = (ph_npy_header){.size = header_size};
  cursor c = {bytes + (bytes[6] == 1 ? 10 : 12), bytes + header_size};
  unsigned seen = 0;
  bool comma = true;
  if (!take(&c, '{')) return ph_fail(error, PH_INVALID, "the header is not a dict");
  while (!take(&c, '}')) {
    if (!comma) return ph_fail(error, PH_INVALID, "the header is not a dict: a ',' or '}' is missing");
    PH_TRY(read_pair(&c, &seen, out, error));
    comma = take(&c, ',');
  }
  skip_space(&c);
  if (c.at != c.end) return ph_fail(error, PH_INVALID, "something follows the dict in the header");
  if (seen != ALL_SEEN) return ph_fail(error, PH_INVALID, "the header lacks 'descr', 'fortran_order' or 'shape'");
  PH_TRY(ph_tensor_measure(&out->shape, error));
  if (size - header_size != out->shape.bytes)
    return ph_fail(error, PH_INVALID, "%s: its shape needs %zu bytes, and there are %zu",
                   size - header_size < out->shape.bytes ? "the data is cut off" : "something follows the data",
                   out->shape.bytes, size - header_size);
  return PH_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

static const char *npy_type(ph_dtype dtype) {
  for (size_t i = 0; i < TYPES; i++)
    if (types[i].dtype == dtype) return types[i].name;
  return NULL;
}

ph_status ph_npy_header_write(const ph_tensor *tensor, ph_text *out, ph_error *error) {
  enum { LENGTH_AT = 8, DICT_AT = 10, MULTIPLE = 64 };
  const char *type = npy_type(tensor->dtype);
  if (type == NULL)
    return ph_fail(error, PH_INVALID, "NumPy's formats are not written for %s%s", ph_dtype_name(tensor->dtype),
                   tensor->dtype == PH_BF16 ? ": write a .safetensors" : "");
  size_t start = out->length;
  ph_text_put(out, PH_NPY_MAGIC "\x01\x00\x00\x00", DICT_AT);
  ph_text_add(out, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", tensor->dtype == PH_BOOL ? '|' : '<', type);
  for (uint32_t axis = 0; axis < tensor->rank; axis++)
    ph_text_add(out, axis == 0 ? "%lld," : axis == 1 ? " %lld" : ", %lld", (long long)tensor->dims[axis]);
  ph_text_add(out, "), }");
  size_t padding = MULTIPLE - (out->length - start + 1) % MULTIPLE;
  ph_text_add(out, "%*s\n", (int)(padding % MULTIPLE), "");
  if (out->failed) return ph_fail_memory(error);
  size_t length = out->length - start - DICT_AT; /* eight axes of 20 digits are far below 2^16 */
  out->data[start + LENGTH_AT] = (char)(length & 0xFF);
  out->data[start + LENGTH_AT + 1] = (char)(length >> 8);
  return PH_OK;
}
