/* A bench as a chart: over the one number in which its cases differ, or as bars. */
#include <polyhead/polyhead.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "draw/chart.h"

/* "s=64" in "recurrence.steps/s=64,model=256": where the value begins, its end in *out_end; NULL where the name has no
 * such key. */
static const char *find_value(const char *name, const char *key, size_t length, const char **out_end) {
  const char *at = strchr(name, '/');
  while (at != NULL && *at != '\0') {
    at++;
    const char *end = at + strcspn(at, ",");
    if (strncmp(at, key, length) == 0 && at[length] == '=') {
      *out_end = end;
      return at + length + 1;
    }
    at = *end == ',' ? end : NULL;
  }
  return NULL;
}

static bool number_of(const char *name, const char *key, size_t length, double *out) {
  const char *end, *value = find_value(name, key, length, &end);
  char *stop;
  if (value == NULL) return false;
  *out = strtod(value, &stop);
  return stop == end && stop > value && *out > 0;
}

/* All cases have it, as a number, and it is not the same in all. */
static bool is_axis(const ph_bench *bench, const char *key, size_t length) {
  double first = 0, value;
  bool differs = false;
  for (uint32_t i = 0; i < ph_bench_case_count(bench); i++) {
    if (!number_of(ph_bench_case_name(bench, i), key, length, &value)) return false;
    if (i == 0) first = value;
    differs = differs || value != first;
  }
  return differs;
}

/* The one key that can be an axis, as text of the arena; NULL where there is none or there are several. */
static const char *find_axis(const ph_bench *bench, ph_arena *arena) {
  const char *name = ph_bench_case_name(bench, 0), *found = NULL;
  size_t found_length = 0;
  const char *at = strchr(name, '/');
  while (at != NULL) {
    at++;
    size_t length = strcspn(at, "=,");
    if (at[length] == '=' && is_axis(bench, at, length)) {
      if (found != NULL) return NULL;
      found = at;
      found_length = length;
    }
    at = strchr(at, ',');
  }
  return found == NULL ? NULL : ph_arena_copy(arena, found, found_length);
}

/* The case's name without the axis, and the device where there are several. */
static const char *series_name(const ph_bench *bench, uint32_t index, uint32_t device, const char *axis,
                               ph_arena *arena) {
  const char *name = ph_bench_case_name(bench, index), *end = NULL;
  const char *value = axis != NULL ? find_value(name, axis, strlen(axis), &end) : NULL;
  const char *spec = ph_bench_device_count(bench) > 1 ? ph_bench_device(bench, device)->spec : "";
  const char *on = spec[0] != '\0' ? " on " : "";
  if (value == NULL) return ph_arena_text(arena, "%s%s%s", name, on, spec);
  const char *start = value - strlen(axis) - 2; /* the "/" or "," before the key */
  bool last = *end == '\0', first = *start == '/';
  return ph_arena_text(arena, "%.*s%s%s%s%s", (int)(start - name), name, first && !last ? "/" : "",
                       first && !last ? end + 1 : end, on, spec);
}

static ph_status draw(const ph_bench *bench, ph_arena *arena, char **out, size_t *out_size, ph_error *error) {
  uint32_t cases = ph_bench_case_count(bench), devices = ph_bench_device_count(bench), count = 0;
  const char *axis = find_axis(bench, arena);
  ph_chart_point *points = ph_arena_array(arena, (size_t)cases * devices, sizeof(*points));
  if (points == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < cases; i++)
    for (uint32_t d = 0; d < devices; d++) {
      const ph_bench_result *result = ph_bench_result_of(bench, i, d);
      ph_chart_point point = {.series = series_name(bench, i, d, axis, arena), .y = result->run.median};
      if (point.series == NULL) return ph_fail_memory(error);
      if (axis != NULL) (void)number_of(ph_bench_case_name(bench, i), axis, strlen(axis), &point.x);
      if (result->status == PH_OK && point.y > 0) points[count++] = point;
    }
  const char *title =
      devices > 1 ? "time of one run" : ph_arena_text(arena, "time of one run on %s", ph_bench_device(bench, 0)->spec);
  if (title == NULL) return ph_fail_memory(error);
  return ph_chart_draw(title, axis, points, count, out, out_size, error);
}

ph_status ph_bench_draw(const ph_bench *bench, char **out, size_t *out_size, ph_error *error) {
  ph_arena arena = {0};
  ph_status status = draw(bench, &arena, out, out_size, error);
  ph_arena_free(&arena);
  return status;
}
