/* The op table for people: names, one-line docs, and an op's whole entry as JSON. */
#include <jansson.h>
#include <polyhead/polyhead.h>
#include <stdlib.h>

#include "graph/op.h"

uint32_t ph_op_table_count(void) {
  return ph_op_count;
}
const char *ph_op_table_name(uint32_t index) {
  return index < ph_op_count ? ph_ops[index]->name : NULL;
}
const char *ph_op_table_doc(uint32_t index) {
  return index < ph_op_count ? ph_ops[index]->doc : NULL;
}

/* Jansson takes a NULL value as a failure, so that one look at the end finds out of memory. */
typedef struct writer {
  bool failed;
} writer;

static void put(writer *w, json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) != 0) w->failed = true;
}

static void put_text(writer *w, json_t *object, const char *key, const char *text) {
  if (text != NULL) put(w, object, key, json_string(text));
}

static void put_if(writer *w, json_t *object, const char *key, bool value) {
  if (value) put(w, object, key, json_true());
}

static void append(writer *w, json_t *array, json_t *value) {
  if (json_array_append_new(array, value) != 0) w->failed = true;
}

static json_t *texts(writer *w, const char *const *items) {
  json_t *array = json_array();
  for (uint32_t i = 0; items[i] != NULL; i++) append(w, array, json_string(items[i]));
  return array;
}

static json_t *role(writer *w, const ph_op_role *row) {
  json_t *object = json_object();
  put_text(w, object, "name", row->name);
  put_if(w, object, "optional", (row->flags & PH_ROLE_OPTIONAL) != 0);
  put_if(w, object, "by_name", (row->flags & PH_ROLE_NAMED) != 0);
  put_if(w, object, "one_or_more", (row->flags & PH_ROLE_VARIADIC) != 0);
  json_t *types = json_array();
  if (row->types & PH_TYPES_REAL) append(w, types, json_string("real"));
  if (row->types & PH_TYPES_INTEGER) append(w, types, json_string("integer"));
  if (row->types & PH_TYPES_BOOL) append(w, types, json_string("bool"));
  put(w, object, "types", types);
  put_text(w, object, "doc", row->doc);
  return object;
}

static const char *type_name(ph_attr_type type) {
  switch (type) {
  case PH_ATTR_TYPE_INTEGER:
    return "integer";
  case PH_ATTR_TYPE_REAL:
    return "real";
  case PH_ATTR_TYPE_BOOL:
    return "true or false";
  case PH_ATTR_TYPE_CHOICE:
    return "choice";
  case PH_ATTR_TYPE_AXIS:
    return "axis";
  case PH_ATTR_TYPE_AXES:
    return "list of axes";
  case PH_ATTR_TYPE_INTEGERS:
    return "list of integers";
  case PH_ATTR_TYPE_EXTENTS:
    return "mapping of names to extents";
  case PH_ATTR_TYPE_DTYPE:
    return "dtype";
  }
  return NULL;
}

static json_t *attribute(writer *w, const ph_op_attr *row) {
  json_t *object = json_object();
  put_text(w, object, "name", row->name);
  put_text(w, object, "type", type_name(row->type));
  if (row->choices != NULL) put(w, object, "choices", texts(w, row->choices));
  put_if(w, object, "required", row->initial == NULL && !row->may_be_absent);
  put_if(w, object, "may_be_absent", row->may_be_absent);
  put_text(w, object, "default", row->initial);
  put_text(w, object, "doc", row->doc);
  return object;
}

static json_t *output(writer *w, const ph_op_output *row) {
  json_t *object = json_object();
  put_text(w, object, "name", row->name);
  put_if(w, object, "only_if_wanted", row->optional);
  put_text(w, object, "doc", row->doc);
  return object;
}

static json_t *op_entry(writer *w, const ph_op *op) {
  json_t *object = json_object(), *roles = json_array(), *attributes = json_array(), *outputs = json_array();
  for (uint32_t i = 0; i < op->role_count; i++) append(w, roles, role(w, &op->roles[i]));
  for (uint32_t i = 0; i < op->attr_count; i++) append(w, attributes, attribute(w, &op->attrs[i]));
  for (uint32_t i = 0; i < op->output_count; i++) append(w, outputs, output(w, &op->outputs[i]));
  static const char *const none[] = {NULL};
  put_text(w, object, "name", op->name);
  put(w, object, "version", json_integer(op->version));
  put_text(w, object, "doc", op->doc);
  put(w, object, "source", op->source != NULL ? json_string(op->source) : json_null());
  put(w, object, "roles", roles);
  put(w, object, "attributes", attributes);
  put(w, object, "outputs", outputs);
  put(w, object, "inner", texts(w, op->inner_names != NULL ? op->inner_names : none));
  put(w, object, "composite", json_boolean(op->composite));
  return object;
}

char *ph_op_table_json(const char *name) {
  const ph_op *op = ph_op_find(name);
  if (op == NULL) return NULL;
  writer w = {0};
  json_t *entry = op_entry(&w, op);
  char *text = w.failed ? NULL : json_dumps(entry, JSON_INDENT(2));
  json_decref(entry);
  return text;
}
