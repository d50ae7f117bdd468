#include "conform/external_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

void ph_map_fail(ph_external_map *map, ph_status status, const char *format, ...) {
  if (map->status != PH_OK) return;
  char message[sizeof(map->error->message)];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  map->status = ph_fail(map->error, status, "%s", message);
}

static const char *format_text(ph_external_map *map, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  char *text = length < 0 ? NULL : ph_arena_alloc(&map->arena, (size_t)length + 1);
  if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  if (text == NULL) ph_map_fail(map, PH_OUT_OF_MEMORY, "out of host memory");
  return text != NULL ? text : "";
}

const char *ph_map_text(ph_external_map *map, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = format_text(map, format, arguments);
  va_end(arguments);
  return text;
}

/* A double-quoted scalar of YAML; what JSON escapes, YAML escapes alike. */
static void put_quoted(ph_text *out, const char *text) {
  ph_text_put(out, "\"", 1);
  for (const char *at = text; *at != '\0'; at++) {
    unsigned char c = (unsigned char)*at;
    if (c == '"' || c == '\\')
      ph_text_add(out, "\\%c", c);
    else if (c < ' ')
      ph_text_add(out, "\\x%02x", c);
    else
      ph_text_put(out, at, 1);
  }
  ph_text_put(out, "\"", 1);
}

/* ---- attributes ---- */

/* Marks it as read; NULL where it is null or not there. */
static const json_t *attribute(ph_external_map *map, const char *name) {
  const json_t *value = json_object_get(map->of->attributes, name);
  if (value != NULL) json_object_del(map->unread, name);
  return json_is_null(value) ? NULL : value;
}

static void refuse_type(ph_external_map *map, const char *name, const char *kind) {
  ph_map_fail(map, PH_INVALID, "the attribute %s must be %s", name, kind);
}

int64_t ph_map_int(ph_external_map *map, const char *name, int64_t absent) {
  const json_t *value = attribute(map, name);
  if (value == NULL) return absent;
  if (json_is_boolean(value)) return json_is_true(value);
  if (!json_is_integer(value)) refuse_type(map, name, "an integer");
  return json_integer_value(value);
}

double ph_map_real(ph_external_map *map, const char *name, double absent) {
  const json_t *value = attribute(map, name);
  if (value == NULL) return absent;
  if (!json_is_number(value)) refuse_type(map, name, "a number");
  return json_number_value(value);
}

const char *ph_map_choice(ph_external_map *map, const char *name, const char *absent) {
  const json_t *value = attribute(map, name);
  if (value == NULL) return absent;
  if (json_is_string(value)) return json_string_value(value);
  refuse_type(map, name, "a text");
  return "";
}

bool ph_map_ints(ph_external_map *map, const char *name, int64_t *out, uint32_t capacity, uint32_t *out_count) {
  const json_t *value = attribute(map, name);
  *out_count = 0;
  if (value == NULL) return false;
  if (!json_is_array(value) || json_array_size(value) > capacity) {
    refuse_type(map, name, "a list of integers");
    return false;
  }
  for (; *out_count < json_array_size(value); ++*out_count) {
    const json_t *item = json_array_get(value, *out_count);
    if (!json_is_integer(item)) refuse_type(map, name, "a list of integers");
    out[*out_count] = json_integer_value(item);
  }
  return true;
}

/* The decimal point of the thread's locale becomes the one of the language. */
static void put_number(ph_text *out, double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.17g", value);
  for (char *at = text; *at != '\0'; at++)
    if (*at == ',') *at = '.';
  ph_text_add(out, "%s", text);
}

const char *ph_map_number(ph_external_map *map, double value) {
  ph_text text = {0};
  put_number(&text, value);
  const char *copy = text.failed ? ph_map_text(map, "0") : ph_map_text(map, "%s", text.data);
  if (text.failed) ph_map_fail(map, PH_OUT_OF_MEMORY, "out of host memory");
  ph_text_free(&text);
  return copy;
}

const char *ph_map_real_attr(ph_external_map *map, const char *name, const char *ours) {
  double value = ph_map_real(map, name, (double)NAN);
  return isnan(value) ? "" : ph_map_text(map, ", %s: %s", ours, ph_map_number(map, value));
}

/* ---- tensors ---- */

static const ph_external_tensor *find(const ph_external_tensor *tensors, uint32_t count, const char *role) {
  for (uint32_t i = 0; i < count; i++)
    if (tensors[i].present && strcmp(tensors[i].role, role) == 0) return &tensors[i];
  return NULL;
}

const ph_external_tensor *ph_map_find(ph_external_map *map, const char *role) {
  const ph_external_tensor *tensor = find(map->of->inputs, map->of->input_count, role);
  if (tensor != NULL) map->read[tensor - map->of->inputs] = true;
  return tensor;
}

const ph_external_tensor *ph_map_output(const ph_external_map *map, const char *role) {
  return find(map->of->outputs, map->of->output_count, role);
}

const ph_external_tensor *ph_map_need(ph_external_map *map, const char *role, uint32_t least, uint32_t most) {
  static const ph_external_tensor none = {.role = "none", .file = "", .type = "", .rank = PH_MAX_RANK};
  const ph_external_tensor *tensor = ph_map_find(map, role);
  if (tensor == NULL)
    ph_map_fail(map, PH_INVALID, "the input %s is needed and absent", role);
  else if (tensor->rank < least || tensor->rank > most)
    ph_map_fail(map, PH_INVALID, "the input %s has %u axes, but needs %u to %u", role, tensor->rank, least, most);
  else
    return tensor;
  return &none;
}

uint32_t ph_map_axis(ph_external_map *map, const ph_external_tensor *tensor, int64_t axis) {
  int64_t front = axis < 0 ? axis + tensor->rank : axis;
  if (front >= 0 && front < tensor->rank) return (uint32_t)front;
  ph_map_fail(map, PH_INVALID, "axis %" PRId64 " is outside the %u axes of %s", axis, tensor->rank, tensor->role);
  return 0;
}

static void put_declaration(ph_external_map *map, const char *name, ph_dtype dtype, uint32_t rank,
                            const int64_t *dims) {
  ph_text_add(&map->inputs, "  %s: {dtype: %s, shape: [", name, ph_dtype_name(dtype));
  for (uint32_t i = 0; i < rank; i++) ph_text_add(&map->inputs, "%s%" PRId64, i == 0 ? "" : ", ", dims[i]);
  ph_text_add(&map->inputs, "], default: ");
}

const char *ph_map_input(ph_external_map *map, const ph_external_tensor *tensor) {
  if (map->status != PH_OK) return "";
  bool *written = &map->written[tensor - map->of->inputs];
  if (*written) return tensor->role;
  *written = map->read[tensor - map->of->inputs] = true;
  put_declaration(map, tensor->role, tensor->dtype, tensor->rank, tensor->dims);
  ph_text_add(&map->inputs, "{file: ");
  put_quoted(&map->inputs, tensor->file);
  ph_text_add(&map->inputs, "}}\n");
  return tensor->role;
}

const char *ph_map_take(ph_external_map *map, const char *role) {
  return ph_map_input(map, ph_map_need(map, role, 0, PH_MAX_RANK));
}

ph_tensor *ph_map_new(ph_external_map *map, ph_dtype dtype, uint32_t rank, const int64_t *dims) {
  ph_tensor *tensor = NULL;
  if (map->status == PH_OK) map->status = ph_tensor_create(dtype, rank, dims, &tensor, map->error);
  return tensor;
}

static void put_element(ph_text *out, const ph_tensor *tensor, size_t index) {
  double value = ph_read_real(tensor->dtype, tensor->data, index);
  if (tensor->dtype == PH_BOOL)
    ph_text_add(out, value != 0 ? "true" : "false");
  else if (!ph_dtype_is_real(tensor->dtype))
    ph_text_add(out, "%" PRId64, ph_read_integer(tensor->dtype, tensor->data, index));
  else
    put_number(out, value);
}

/* Elements *next on, nested by the axes from `axis` on. */
static void put_nested(ph_text *out, const ph_tensor *tensor, uint32_t axis, size_t *next) {
  if (axis == tensor->rank) {
    put_element(out, tensor, (*next)++);
    return;
  }
  ph_text_add(out, "[");
  for (int64_t i = 0; i < tensor->dims[axis]; i++) {
    if (i > 0) ph_text_add(out, ", ");
    put_nested(out, tensor, axis + 1, next);
  }
  ph_text_add(out, "]");
}

const char *ph_map_computed(ph_external_map *map, const char *name, ph_tensor *tensor) {
  if (tensor == NULL) return "";
  size_t next = 0;
  put_declaration(map, name, tensor->dtype, tensor->rank, tensor->dims);
  ph_text_add(&map->inputs, "{values: ");
  put_nested(&map->inputs, tensor, 0, &next);
  ph_text_add(&map->inputs, "}}\n");
  ph_tensor_release(tensor);
  return name;
}

/* ---- nodes and outputs ---- */

const char *ph_map_node(ph_external_map *map, const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ph_text_add(&map->graph, "  - {name: %s, op: %s}\n", name, format_text(map, format, arguments));
  va_end(arguments);
  return name;
}

static void declare(ph_external_map *map, const ph_external_tensor *stored, const char *alias, const char *value) {
  ph_external_answer *answer =
      ph_arena_push(&map->arena, &map->answers, &map->answer_count, &map->answer_capacity, sizeof(*answer));
  if (answer == NULL)
    ph_map_fail(map, PH_OUT_OF_MEMORY, "out of host memory");
  else
    *answer = (ph_external_answer){.alias = alias, .stored = stored};
  ph_text_add(&map->outputs, "%s%s: %s", map->answer_count > 1 ? ", " : "", alias, value);
}

void ph_map_answer(ph_external_map *map, const ph_external_tensor *stored, const char *alias, const char *value,
                   ph_dtype dtype) {
  if (stored == NULL) return;
  if (stored->dtype != dtype)
    value = ph_map_node(map, ph_map_text(map, "%s_stored", alias), "cast, inputs: [%s], to: %s", value,
                        ph_dtype_name(stored->dtype));
  declare(map, stored, alias, value);
}

void ph_map_keep(ph_external_map *map, const char *alias, const char *value) {
  declare(map, NULL, alias, value);
}

/* ---- the whole ---- */

const ph_external_op *ph_external_op_find(const char *name) {
  const ph_external_op *const lists[] = {ph_external_attention_ops, ph_external_ort_ops, ph_external_other_ops};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
    for (const ph_external_op *op = lists[i]; op->name != NULL; op++)
      if (strcmp(op->name, name) == 0) return op;
  return NULL;
}

static bool is_answered(const ph_external_map *map, const ph_external_tensor *stored) {
  for (uint32_t i = 0; i < map->answer_count; i++)
    if (map->answers[i].stored == stored) return true;
  return false;
}

/* Nothing that the case says may be left out in silence. */
static void check_all_used(ph_external_map *map) {
  const ph_external_case *of = map->of;
  const char *name;
  json_t *value;
  json_object_foreach(map->unread, name, value) {
    if (!json_is_null(value)) ph_map_fail(map, PH_UNSUPPORTED, "the attribute %s of op %s is not mapped", name, of->op);
  }
  for (uint32_t i = 0; i < of->input_count; i++)
    if (of->inputs[i].present && !map->read[i])
      ph_map_fail(map, PH_UNSUPPORTED, "the input %s of op %s is not mapped", of->inputs[i].role, of->op);
  for (uint32_t i = 0; i < of->output_count; i++)
    if (of->outputs[i].present && !is_answered(map, &of->outputs[i]))
      ph_map_fail(map, PH_UNSUPPORTED, "the output %s of op %s is not mapped", of->outputs[i].role, of->op);
  if (map->answer_count == 0) ph_map_fail(map, PH_INVALID, "the case stores no output: there is nothing to compare");
}

ph_status ph_external_map_case(const ph_external_case *of, ph_external_map *map, ph_error *error) {
  *map = (ph_external_map){.of = of, .error = error};
  const ph_external_op *op = ph_external_op_find(of->op);
  if (op == NULL) return ph_fail(error, PH_UNSUPPORTED, "op %s is not mapped", of->op);
  map->unread = json_copy((json_t *)of->attributes);
  map->read = ph_arena_array(&map->arena, of->input_count, sizeof(*map->read));
  map->written = ph_arena_array(&map->arena, of->input_count, sizeof(*map->written));
  if (map->unread == NULL || map->read == NULL || map->written == NULL) return ph_fail_memory(error);
  op->map(map);
  check_all_used(map);
  if (map->inputs.failed || map->graph.failed || map->outputs.failed)
    ph_map_fail(map, PH_OUT_OF_MEMORY, "out of host memory");
  return map->status;
}

void ph_external_map_free(ph_external_map *map) {
  ph_text_free(&map->inputs);
  ph_text_free(&map->graph);
  ph_text_free(&map->outputs);
  json_decref(map->unread);
  ph_arena_free(&map->arena);
}

void ph_external_map_text(const ph_external_map *map, const char *name, ph_text *out) {
  ph_text_add(out, "polyhead: 1\nname: ");
  put_quoted(out, name);
  ph_text_add(out, "\ninputs:\n%sgraph:\n%soutputs: {%s}\n", map->inputs.data, map->graph.data, map->outputs.data);
}
