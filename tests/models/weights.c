#include "weights.h"

#include <stdlib.h>
#include <string.h>

/* Numerical Recipes' generator: the test asks for nothing but variety. */
static double next_number(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) / (double)(1u << 23) - 1;
}

void weights_add(weights *w, const char *name, double centre, double spread, uint32_t rank, const int64_t *dims) {
  ph_error error = {.struct_size = sizeof(error)};
  if (w->count == WEIGHTS_MOST || ph_tensor_create(PH_F32, rank, dims, &w->tensors[w->count], &error) != PH_OK) {
    fprintf(stderr, "%s: no room: %s\n", name, error.message);
    exit(1);
  }
  uint32_t state = (uint32_t)w->count * 7919u + 1;
  float *data = w->tensors[w->count]->data;
  for (size_t i = 0; i < w->tensors[w->count]->count; i++) data[i] = (float)(centre + spread * next_number(&state));
  snprintf(w->names[w->count++], WEIGHTS_NAME, "%s", name);
}

static const char *joined(char room[WEIGHTS_NAME], const char *name, const char *tail) {
  snprintf(room, WEIGHTS_NAME, "%s%s", name, tail);
  return room;
}

void weights_add_linear(weights *w, const char *name, int64_t in, int64_t out, bool in_out) {
  char room[WEIGHTS_NAME];
  const int64_t dims[] = {in_out ? in : out, in_out ? out : in};
  weights_add(w, joined(room, name, ".weight"), 0, 0.5, 2, dims);
  weights_add(w, joined(room, name, ".bias"), 0, 0.5, 1, &out);
}

void weights_add_norm(weights *w, const char *name, int64_t size) {
  char room[WEIGHTS_NAME];
  weights_add(w, joined(room, name, ".weight"), 1, 0.5, 1, &size);
  weights_add(w, joined(room, name, ".bias"), 0, 0.5, 1, &size);
}

void weights_free(weights *w) {
  for (size_t i = 0; i < w->count; i++) ph_tensor_release(w->tensors[i]);
  w->count = 0;
}

const ph_tensor *weights_get(const weights *w, const char *name, const char *tail) {
  char room[WEIGHTS_NAME];
  joined(room, name, tail);
  for (size_t i = 0; i < w->count; i++)
    if (strcmp(w->names[i], room) == 0) return w->tensors[i];
  fprintf(stderr, "the test has no weight %s\n", room);
  exit(1);
}

static void spell(char out[2 * WEIGHTS_NAME], const char *name, const char *prefix, bool old_norms) {
  static const char *const endings[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                           {"LayerNorm.bias", "LayerNorm.beta"}};
  size_t length = strlen(name);
  snprintf(out, 2 * WEIGHTS_NAME, "%s%s", prefix, name);
  for (size_t i = 0; i < 2 && old_norms; i++) {
    size_t end = strlen(endings[i][0]);
    if (length >= end && strcmp(name + length - end, endings[i][0]) == 0)
      snprintf(out, 2 * WEIGHTS_NAME, "%s%.*s%s", prefix, (int)(length - end), name, endings[i][1]);
  }
}

ph_status weights_write(const weights *w, const char *path, const char *prefix, bool old_norms, ph_error *error) {
  static char spelt[WEIGHTS_MOST][2 * WEIGHTS_NAME];
  const char *names[WEIGHTS_MOST];
  for (size_t i = 0; i < w->count; i++) {
    spell(spelt[i], w->names[i], prefix, old_norms);
    names[i] = spelt[i];
  }
  return ph_tensor_file_write(path, names, (const ph_tensor *const *)w->tensors, w->count, error);
}
