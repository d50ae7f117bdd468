/* Reading SOURCE: {values} | {file} | {fill} | {random, seed}. */
#include <math.h>
#include <string.h>

#include "config/loader.h"

const char *ph_path_resolve(ph_loader *loader, const char *file) {
  if (file[0] == '/') return file;
  return ph_arena_text(loader->arena, "%s/%s", loader->model->folder, file);
}

/* true, false, a number, nan or inf: what values and fill take beside expressions. */
typedef struct element {
  double real;
  int64_t integer;
  bool is_integer, is_bool;
} element;

static bool read_special(const char *text, double *out) {
  bool negative = text[0] == '-';
  if (text[0] == '-' || text[0] == '+') text++;
  if (strcmp(text, "inf") == 0 || strcmp(text, ".inf") == 0)
    *out = negative ? -INFINITY : INFINITY;
  else if (!negative && (strcmp(text, "nan") == 0 || strcmp(text, ".nan") == 0))
    *out = NAN;
  else
    return false;
  return true;
}

/* False where it is none of them; a malformed number is an error. */
static ph_status read_element(ph_loader *loader, const ph_yaml *node, element *out, bool *out_found) {
  *out = (element){0};
  bool boolean;
  ph_number number;
  *out_found = true;
  if (ph_yaml_boolean(node, &boolean)) {
    *out = (element){.real = boolean, .integer = boolean, .is_integer = true, .is_bool = true};
  } else if (ph_yaml_number(node, &number)) {
    if (number.problem != NULL) return ph_fail_at(loader->error, node->place, "%s %s", node->text, number.problem);
    *out = (element){.real = number.real, .integer = number.integer, .is_integer = number.is_integer};
  } else {
    *out_found = node->kind == PH_YAML_SCALAR && node->plain && read_special(node->text, &out->real);
  }
  return PH_OK;
}

/* ---- values ---- */

typedef struct values_reader {
  ph_loader *loader;
  ph_source *source;
  double *reals;
  int64_t *integers;
  bool all_integer, some_bool, some_number;
} values_reader;

/* The shape is that of the first element of each list; the others are checked against it. */
static ph_status find_shape(values_reader *r, const ph_yaml *node, size_t *out_count) {
  ph_source *source = r->source;
  *out_count = 1;
  for (const ph_yaml *at = node; at->kind == PH_YAML_LIST; at = at->items[0]) {
    if (source->rank == PH_MAX_RANK)
      return ph_fail_at(r->loader->error, at->place, "values are nested deeper than the %d axes that a tensor may have",
                        PH_MAX_RANK);
    source->dims[source->rank++] = at->count;
    if (!ph_mul_size(*out_count, at->count, out_count)) *out_count = SIZE_MAX;
    if (at->count == 0) break;
  }
  return PH_OK;
}

static ph_status read_values(values_reader *r, const ph_yaml *node, uint32_t axis) {
  ph_source *source = r->source;
  ph_error *error = r->loader->error;
  if (axis < source->rank) {
    if (node->kind != PH_YAML_LIST)
      return ph_fail_at(error, node->place, "a list of %lld is expected, not %s", (long long)source->dims[axis],
                        ph_yaml_describe(node, &r->loader->scratch));
    if (node->count != source->dims[axis])
      return ph_fail_at(error, node->place, "this list has %u entries, but the first one beside it has %lld",
                        node->count, (long long)source->dims[axis]);
    for (uint32_t i = 0; i < node->count; i++) PH_TRY(read_values(r, node->items[i], axis + 1));
    return PH_OK;
  }
  element one;
  bool found;
  PH_TRY(read_element(r->loader, node, &one, &found));
  if (!found)
    return ph_fail_at(error, node->place, "a number, true, false, nan or inf is expected, not %s",
                      ph_yaml_describe(node, &r->loader->scratch));
  r->reals[source->value_count] = one.real;
  r->integers[source->value_count++] = one.integer;
  r->all_integer = r->all_integer && one.is_integer;
  r->some_bool = r->some_bool || one.is_bool;
  r->some_number = r->some_number || !one.is_bool;
  if (r->some_bool && r->some_number)
    return ph_fail_at(error, node->place, "values are numbers, or true and false, but not both");
  return PH_OK;
}

static ph_status read_nested(ph_loader *loader, const ph_yaml *node, ph_source *source) {
  values_reader r = {.loader = loader, .source = source, .all_integer = true};
  size_t count;
  PH_TRY(find_shape(&r, node, &count));
  if (count > node->size) /* more than there are nodes: some list is shorter than the first one beside it */
    count = node->size;
  r.reals = ph_arena_array(loader->arena, count, sizeof(*r.reals));
  r.integers = ph_arena_array(loader->arena, count, sizeof(*r.integers));
  if (r.reals == NULL || r.integers == NULL) return ph_fail_memory(loader->error);
  PH_TRY(read_values(&r, node, 0));
  source->reals = r.reals;
  source->integers = r.all_integer ? r.integers : NULL;
  source->all_bool = r.some_bool;
  return PH_OK;
}

/* ---- fill, random ---- */

static ph_status read_fill(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_source *source) {
  element one;
  bool found;
  PH_TRY(read_element(loader, node, &one, &found));
  if (found && (one.is_bool || !isfinite(one.real))) {
    source->fill_value = one.real;
    source->all_bool = one.is_bool;
    return PH_OK;
  }
  return ph_read_expr(loader, frame, node, "fill", &source->fill);
}

static ph_status read_random(ph_loader *loader, const ph_yaml *node, const ph_yaml *seed, ph_source *source) {
  static const char *const names[] = {"normal", "uniform", "xavier_uniform"};
  static const ph_distribution kinds[] = {PH_NORMAL, PH_UNIFORM, PH_XAVIER_UNIFORM};
  enum { COUNT = sizeof(names) / sizeof(names[0]) };
  const char *text;
  PH_TRY(ph_read_text(loader, node, "random", &text));
  size_t kind = 0;
  while (kind < COUNT && strcmp(text, names[kind]) != 0) kind++;
  if (kind == COUNT)
    return ph_fail_at(loader->error, node->place, "random is normal, uniform or xavier_uniform, not '%s'%s", text,
                      ph_loader_hint(loader, text, names, COUNT));
  source->distribution = kinds[kind];
  if (seed == NULL) return PH_OK;
  ph_number number;
  if (!ph_yaml_number(seed, &number) || number.problem != NULL || !number.is_integer || number.integer < 0)
    return ph_fail_at(loader->error, seed->place, "seed must be an integer of 0 or more, not %s",
                      ph_yaml_describe(seed, &loader->scratch));
  source->seed = (uint64_t)number.integer;
  return PH_OK;
}

ph_status ph_source_read(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_source *out) {
  static const char *const known[] = {"values", "file", "fill", "random", "seed"};
  PH_TRY(ph_read_map(loader, node, "a source"));
  PH_TRY(ph_check_keys(loader, node, "a source", known, 5));
  *out = (ph_source){.place = node->place};
  const ph_yaml *seed = ph_yaml_get(node, "seed"), *random = ph_yaml_get(node, "random");
  if (node->count != (seed != NULL ? 2u : 1u) || (seed != NULL && random == NULL))
    return ph_fail_at(loader->error, node->place,
                      "a source is one of {values: ..}, {file: ..}, {fill: ..} and {random: .., seed: ..}");
  if (random != NULL) {
    out->kind = PH_SOURCE_RANDOM;
    return read_random(loader, random, seed, out);
  }
  const ph_yaml *value = node->pairs[0].value;
  if (ph_yaml_find(node, "values") != NULL) {
    out->kind = PH_SOURCE_VALUES;
    return read_nested(loader, value, out);
  }
  if (ph_yaml_find(node, "fill") != NULL) {
    out->kind = PH_SOURCE_FILL;
    return read_fill(loader, frame, value, out);
  }
  const char *file;
  out->kind = PH_SOURCE_FILE;
  PH_TRY(ph_read_text(loader, value, "file", &file));
  out->file = ph_path_resolve(loader, file);
  return out->file != NULL ? PH_OK : ph_fail_memory(loader->error);
}
