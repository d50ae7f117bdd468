/* The JSON Schema (draft 2020-12) of the config language, made from the op table: for completion in editors.  It covers
 * the whole language; what the loader alone can know (names, shapes) is left to the loader. */
#include <jansson.h>
#include <polyhead/polyhead.h>
#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

/* Jansson takes a NULL value as a failure, so that one look at the end finds out of memory. */
typedef struct writer {
  bool failed;
} writer;

static void put(writer *w, json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) != 0) w->failed = true;
}

static void append(writer *w, json_t *array, json_t *value) {
  if (json_array_append_new(array, value) != 0) w->failed = true;
}

static json_t *reference(const char *name) {
  return json_pack("{s:s+}", "$ref", "#/$defs/", name);
}

/* The parts that do not depend on the op table. */
static const char *const fixed_defs =
    "{"
    "'name': {'type': 'string', 'pattern': '^[A-Za-z_][A-Za-z0-9_]*$'},"
    "'names': {'type': 'array', 'items': {'$ref': '#/$defs/name'}},"
    "'texts': {'anyOf': [{'type': 'string'}, {'type': 'array', 'items': {'type': 'string'}, 'minItems': 1}]},"
    "'integer': {'type': ['integer', 'string'], 'description': 'an integer, or an expression over dims: 4 * model'},"
    "'real': {'type': ['number', 'string'], 'description': 'a number, or an expression over dims; sqrt() is there'},"
    "'shape': {'type': 'array', 'items': {'$ref': '#/$defs/integer'}, 'maxItems': 8},"
    "'dtype': {'enum': ['f32', 'f16', 'bf16', 'i64', 'i32', 'bool']},"
    "'value': {'type': ['string', 'number'], 'description': 'NAME, NODE.out, a number or =EXPRESSION'},"
    "'element': {'type': ['number', 'boolean', 'string']},"
    "'nested': {'anyOf': [{'$ref': '#/$defs/element'}, {'type': 'array', 'items': {'$ref': '#/$defs/nested'}}]},"
    "'source': {'oneOf': ["
    "  {'type': 'object', 'properties': {'values': {'$ref': '#/$defs/nested'}}, 'required': ['values'],"
    "   'additionalProperties': false},"
    "  {'type': 'object', 'properties': {'file': {'type': 'string'}}, 'required': ['file'],"
    "   'additionalProperties': false},"
    "  {'type': 'object', 'properties': {'fill': {'$ref': '#/$defs/element'}}, 'required': ['fill'],"
    "   'additionalProperties': false},"
    "  {'type': 'object', 'properties': {'random': {'enum': ['normal', 'uniform', 'xavier_uniform']},"
    "   'seed': {'type': 'integer', 'minimum': 0}}, 'required': ['random'], 'additionalProperties': false}]},"
    "'input': {'type': 'object', 'properties': {'shape': {'$ref': '#/$defs/shape'}, 'dtype': {'$ref': '#/$defs/dtype'},"
    "  'default': {'$ref': '#/$defs/source', 'description': 'absent: the input must be given'},"
    "  'hold': {'type': 'boolean', 'default': false}}, 'required': ['shape'], 'additionalProperties': false},"
    "'weight': {'anyOf': [{'type': 'string'}, {'type': 'object', 'properties': {'key': {'$ref': '#/$defs/texts'},"
    "  'shape': {'$ref': '#/$defs/shape'}, 'dtype': {'$ref': '#/$defs/dtype'}, 'init': {'$ref': '#/$defs/source'}},"
    "  'anyOf': [{'required': ['key']}, {'required': ['init']}], 'additionalProperties': false}]},"
    "'weights': {'type': 'object', 'propertyNames': {'$ref': '#/$defs/name'},"
    "  'additionalProperties': {'$ref': '#/$defs/weight'}},"
    "'states': {'type': 'object', 'propertyNames': {'$ref': '#/$defs/name'}, 'additionalProperties': {'type': 'object',"
    "  'properties': {'shape': {'$ref': '#/$defs/shape'}, 'dtype': {'$ref': '#/$defs/dtype'},"
    "  'init': {'$ref': '#/$defs/source'}, 'next': {'$ref': '#/$defs/value'}}, 'required': ['shape', 'next'],"
    "  'additionalProperties': false}},"
    "'outputs': {'anyOf': [{'type': 'array', 'items': {'type': 'string'}, 'minItems': 1}, {'type': 'object',"
    "  'propertyNames': {'$ref': '#/$defs/name'}, 'additionalProperties': {'$ref': '#/$defs/value'}, 'minProperties': "
    "1}]},"
    "'graph': {'type': 'array', 'items': {'$ref': '#/$defs/node'}},"
    "'block': {'type': 'object', 'properties': {'inputs': {'$ref': '#/$defs/names'},"
    "  'weights': {'$ref': '#/$defs/weights'}, 'state': {'$ref': '#/$defs/states'}, 'graph': {'$ref': '#/$defs/graph'},"
    "  'outputs': {'$ref': '#/$defs/outputs'}}, 'required': ['inputs', 'graph', 'outputs'],"
    "  'additionalProperties': false},"
    "'call': {'type': 'object', 'properties': {'name': {'$ref': '#/$defs/name'}, 'block': {'$ref': '#/$defs/name'},"
    "  'inputs': {'anyOf': [{'type': 'array', 'items': {'$ref': '#/$defs/value'}},"
    "    {'type': 'object', 'additionalProperties': {'$ref': '#/$defs/value'}}]},"
    "  'weights': {'type': 'string', 'description': 'put before the keys of the block; {i} is the round'},"
    "  'repeat': {'$ref': '#/$defs/integer'}, 'carry': {'type': 'object', 'additionalProperties': {'type': 'string'},"
    "    'description': '{input: output}: what feeds the next round; absent: the first output feeds the first input'},"
    "  'shared': {'type': 'boolean', 'description': 'every round reads the same weights'}},"
    "  'required': ['name', 'block'], 'additionalProperties': false},"
    "'token': {'type': ['string', 'integer']}"
    "}";

static const char *const fixed_properties =
    "{"
    "'polyhead': {'const': 1, 'description': 'the version of the language'},"
    "'name': {'type': 'string'},"
    "'description': {'type': 'string'},"
    "'dims': {'type': 'object', 'propertyNames': {'$ref': '#/$defs/name'},"
    "  'additionalProperties': {'$ref': '#/$defs/integer'}},"
    "'inputs': {'type': 'object', 'propertyNames': {'$ref': '#/$defs/name'},"
    "  'additionalProperties': {'$ref': '#/$defs/input'}},"
    "'weights': {'type': 'object', 'properties': {'file': {'$ref': '#/$defs/texts'}, 'prefix': {'$ref': "
    "'#/$defs/texts'},"
    "  'tensors': {'$ref': '#/$defs/weights'}}, 'additionalProperties': false},"
    "'state': {'$ref': '#/$defs/states'},"
    "'blocks': {'type': 'object', 'propertyNames': {'$ref': '#/$defs/name'},"
    "  'additionalProperties': {'$ref': '#/$defs/block'}},"
    "'graph': {'$ref': '#/$defs/graph'},"
    "'outputs': {'$ref': '#/$defs/outputs'},"
    "'labels': {'type': 'object', 'additionalProperties': {'anyOf': [{'type': 'array',"
    "  'items': {'type': ['string', 'number', 'boolean', 'null']}}, {'type': 'object',"
    "  'properties': {'ids': {'$ref': '#/$defs/name'}, 'vocabulary': {'type': 'string'}},"
    "  'required': ['ids', 'vocabulary'], 'additionalProperties': false}]}},"
    "'generate': {'type': 'object', 'properties': {'ids': {'$ref': '#/$defs/name'}, 'past': {'$ref': '#/$defs/name'},"
    "  'logits': {'type': 'string'}, 'source': {'$ref': '#/$defs/name'}, 'vocabulary': {'type': 'string'},"
    "  'source_vocabulary': {'type': 'string'}, 'start': {'$ref': '#/$defs/token'},"
    "  'stop': {'type': 'array', 'items': {'$ref': '#/$defs/token'}}},"
    "  'required': ['ids', 'past', 'logits', 'vocabulary', 'start'], 'additionalProperties': false}"
    "}";

/* JSON with ' for ", which C text would have to escape. */
static json_t *parse(writer *w, const char *text) {
  char *copy = strdup(text);
  for (char *at = copy; at != NULL && *at != '\0'; at++)
    if (*at == '\'') *at = '"';
  json_t *value = copy != NULL ? json_loads(copy, 0, NULL) : NULL;
  free(copy);
  if (value == NULL) w->failed = true;
  return value;
}

/* ---- attributes ---- */

static json_t *attribute_type(writer *w, const ph_op_attr *row) {
  json_t *type = json_object(), *choices;
  switch (row->type) {
  case PH_ATTR_TYPE_INTEGER:
  case PH_ATTR_TYPE_AXIS:
    put(w, type, "type", json_pack("[ss]", "integer", "string"));
    break;
  case PH_ATTR_TYPE_REAL:
    put(w, type, "type", json_pack("[ss]", "number", "string"));
    break;
  case PH_ATTR_TYPE_BOOL:
    put(w, type, "type", json_pack("[s]", "boolean"));
    break;
  case PH_ATTR_TYPE_AXES:
  case PH_ATTR_TYPE_INTEGERS:
    put(w, type, "type", json_pack("[s]", "array"));
    put(w, type, "items", reference("integer"));
    break;
  case PH_ATTR_TYPE_EXTENTS:
    put(w, type, "type", json_pack("[s]", "object"));
    put(w, type, "propertyNames", reference("name"));
    put(w, type, "additionalProperties", reference("integer"));
    put(w, type, "minProperties", json_integer(1));
    break;
  case PH_ATTR_TYPE_DTYPE:
    put(w, type, "$ref", json_string("#/$defs/dtype"));
    break;
  case PH_ATTR_TYPE_CHOICE:
    choices = json_array();
    for (uint32_t i = 0; row->choices[i] != NULL; i++) append(w, choices, json_string(row->choices[i]));
    if (row->may_be_absent) append(w, choices, json_null());
    put(w, type, "enum", choices);
  }
  json_t *types = json_object_get(type, "type");
  if (row->may_be_absent && types != NULL) append(w, types, json_string("null"));
  return type;
}

/* The default as JSON: numbers and true or false as such, other text as text. */
static json_t *default_value(const ph_op_attr *row) {
  json_t *value = row->type != PH_ATTR_TYPE_CHOICE ? json_loads(row->initial, JSON_DECODE_ANY, NULL) : NULL;
  return value != NULL ? value : json_string(row->initial);
}

static json_t *attribute(writer *w, const ph_op_attr *row) {
  json_t *schema = attribute_type(w, row);
  if (row->doc != NULL) put(w, schema, "description", json_string(row->doc));
  if (row->initial != NULL) put(w, schema, "default", default_value(row));
  return schema;
}

/* ---- inputs ---- */

static json_t *role(writer *w, const ph_op_role *row) {
  json_t *schema = json_object();
  if (row->flags & PH_ROLE_VARIADIC)
    put(w, schema, "anyOf",
        json_pack("[o{s:s,s:o}]", reference("value"), "type", "array", "items", reference("value")));
  else
    put(w, schema, "$ref", json_string("#/$defs/value"));
  if (row->doc != NULL) put(w, schema, "description", json_string(row->doc));
  return schema;
}

/* A prefix may stand for the role `weight`. */
static bool is_required(const ph_op_role *row) {
  return !(row->flags & PH_ROLE_OPTIONAL) && strcmp(row->name, "weight") != 0;
}

static json_t *inputs(writer *w, const ph_op *op) {
  json_t *by_name = json_object(), *required = json_array(), *positional = json_object();
  bool variadic = false;
  json_int_t most = 0;
  for (uint32_t i = 0; i < op->role_count; i++) {
    put(w, by_name, op->roles[i].name, role(w, &op->roles[i]));
    if (is_required(&op->roles[i])) append(w, required, json_string(op->roles[i].name));
    variadic = variadic || (op->roles[i].flags & PH_ROLE_VARIADIC);
    most += !(op->roles[i].flags & PH_ROLE_NAMED);
  }
  put(w, positional, "type", json_string("array"));
  put(w, positional, "items", reference("value"));
  if (!variadic) put(w, positional, "maxItems", json_integer(most));
  return json_pack("{s:[o{s:s,s:o,s:o,s:b}]}", "anyOf", positional, "type", "object", "properties", by_name, "required",
                   required, "additionalProperties", 0);
}

/* ---- nodes ---- */

static json_t *op_node(writer *w, const ph_op *op) {
  json_t *properties = json_object(), *required = json_pack("[ss]", "name", "op"), *schema = json_object();
  bool needs_inputs = false, has_weight = ph_op_role_index(op, "weight") != PH_NONE;
  for (uint32_t i = 0; i < op->role_count; i++) needs_inputs = needs_inputs || is_required(&op->roles[i]);
  put(w, properties, "name", reference("name"));
  put(w, properties, "op", json_pack("{s:s}", "const", op->name));
  put(w, properties, "inputs", inputs(w, op));
  if (has_weight)
    put(w, properties, "weights",
        json_pack("{s:s,s:s}", "type", "string", "description",
                  "PREFIX: fills the inputs weight and bias from PREFIXweight and PREFIXbias"));
  if (needs_inputs) append(w, required, json_string("inputs"));
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const ph_op_attr *row = &op->attrs[i];
    put(w, properties, row->name, attribute(w, row));
    if (row->initial == NULL && !row->may_be_absent) append(w, required, json_string(row->name));
  }
  put(w, schema, "type", json_string("object"));
  if (op->doc != NULL) put(w, schema, "description", json_string(op->doc));
  put(w, schema, "properties", properties);
  put(w, schema, "required", required);
  put(w, schema, "additionalProperties", json_false());
  return schema;
}

/* `if` the node is of an op `then` that op's rules: messages stay about the node at hand. */
static json_t *node(writer *w, json_t *defs) {
  json_t *names = json_array(), *rules = json_array();
  for (uint32_t i = 0; i < ph_op_count; i++) {
    const ph_op *op = ph_ops[i];
    append(w, names, json_pack("{s:s,s:s}", "const", op->name, "description", op->doc != NULL ? op->doc : op->name));
    json_t *full_name = json_sprintf("op_%s", op->name);
    put(w, defs, json_string_value(full_name), op_node(w, op));
    append(w, rules,
           json_pack("{s:{s:{s:{s:s}},s:[s]},s:o}", "if", "properties", "op", "const", op->name, "required", "op",
                     "then", reference(json_string_value(full_name))));
    json_decref(full_name);
  }
  append(w, rules, json_pack("{s:{s:[s]},s:o}", "if", "required", "block", "then", reference("call")));
  return json_pack("{s:s,s:{s:o,s:{s:o},s:o},s:[s],s:[{s:[s]}{s:[s]}],s:o}", "type", "object", "properties", "name",
                   reference("name"), "op", "oneOf", names, "block", reference("name"), "required", "name", "oneOf",
                   "required", "op", "required", "block", "allOf", rules);
}

char *ph_schema_json(void) {
  writer w = {0};
  json_t *defs = parse(&w, fixed_defs), *properties = parse(&w, fixed_properties);
  put(&w, defs, "node", node(&w, defs));
  json_t *schema =
      json_pack("{s:s,s:s,s:s,s:o,s:[sss],s:b,s:o}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
                "Polyhead config", "type", "object", "properties", properties, "required", "polyhead", "graph",
                "outputs", "additionalProperties", 0, "$defs", defs);
  char *text = w.failed || schema == NULL ? NULL : json_dumps(schema, JSON_INDENT(2));
  json_decref(schema);
  return text;
}
