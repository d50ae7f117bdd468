/* polyhead ops: the op table. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "command.h"
#include "json.h"
#include "output.h"

static ph_status unknown_op(const char *name, ph_error *error) {
  uint32_t count = ph_op_table_count();
  const char **names = ph_new_array(count, sizeof(char *));
  if (names == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < count; i++) names[i] = ph_op_table_name(i);
  const char *nearest = ph_nearest(name, names, count);
  free(names);
  if (nearest != NULL) return ph_fail(error, PH_INVALID, "unknown op '%s'; did you mean '%s'?", name, nearest);
  return ph_fail(error, PH_INVALID, "unknown op '%s'; 'polyhead ops' lists those there are", name);
}

static ph_status load_op(const char *name, json_t **out, ph_error *error) {
  bool known = false;
  for (uint32_t i = 0; i < ph_op_table_count(); i++) known = known || strcmp(ph_op_table_name(i), name) == 0;
  if (!known) return unknown_op(name, error);
  char *text = ph_op_table_json(name);
  *out = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
  free(text);
  return *out != NULL ? PH_OK : ph_fail_memory(error);
}

/* A JSON value as one would say it: texts without quotes, lists with bars. */
static void add_value(ph_text *text, json_t *value) {
  if (json_is_string(value)) {
    ph_text_add(text, "%s", json_string_value(value));
  } else if (json_is_array(value)) {
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item) {
      ph_text_add(text, "%s", i > 0 ? " | " : "");
      add_value(text, item);
    }
  } else {
    char *other = json_dumps(value, JSON_ENCODE_ANY);
    if (other == NULL)
      text->failed = true;
    else
      ph_text_add(text, "%s", other);
    free(other);
  }
}

/* What else is known about a role or an attribute: "optional; default: 1e-5". */
static void add_facts(ph_text *text, json_t *entry) {
  const char *key;
  json_t *value;
  json_object_foreach(entry, key, value) {
    if (strcmp(key, "name") == 0 || strcmp(key, "doc") == 0 || json_is_false(value) || json_is_null(value)) continue;
    ph_text_add(text, "%s", text->length > 0 ? "; " : "");
    for (const char *c = key; *c != '\0'; c++) ph_text_put(text, *c == '_' ? " " : c, 1);
    if (json_is_true(value)) continue;
    ph_text_add(text, ": ");
    add_value(text, value);
  }
}

static ph_status print_entries(json_t *op, const char *member, ph_error *error) {
  json_t *entries = json_object_get(op, member), *entry;
  size_t i;
  cli_table table = {.columns = "lll"};
  if (json_array_size(entries) == 0) return PH_OK;
  printf("\n%s:\n", member);
  json_array_foreach(entries, i, entry) {
    char name[96];
    const char *doc = json_string_value(json_object_get(entry, "doc"));
    ph_text facts = {0};
    add_facts(&facts, entry);
    snprintf(name, sizeof(name), "  %s", json_string_value(json_object_get(entry, "name")));
    cli_table_add(&table, (const char *const[]){name, facts.data != NULL ? facts.data : "", doc != NULL ? doc : ""});
    table.failed = table.failed || facts.failed;
    ph_text_free(&facts);
  }
  return cli_table_print(&table, stdout, error);
}

static ph_status print_op(json_t *op, ph_error *error) {
  const char *source = json_string_value(json_object_get(op, "source"));
  printf("%s: %s\n", json_string_value(json_object_get(op, "name")), json_string_value(json_object_get(op, "doc")));
  if (source != NULL) printf("from: %s\n", source);
  PH_TRY(print_entries(op, "roles", error));
  PH_TRY(print_entries(op, "attributes", error));
  PH_TRY(print_entries(op, "outputs", error));
  json_t *inner = json_object_get(op, "inner");
  if (json_array_size(inner) == 0) return PH_OK;
  ph_text names = {0};
  add_value(&names, inner);
  printf("\ninner values: %s\n", names.data);
  ph_status status = names.failed ? ph_fail_memory(error) : PH_OK;
  ph_text_free(&names);
  return status;
}

static ph_status list_ops(ph_error *error) {
  cli_table table = {.columns = "ll"};
  for (uint32_t i = 0; i < ph_op_table_count(); i++)
    cli_table_add(&table, (const char *const[]){ph_op_table_name(i), ph_op_table_doc(i)});
  return cli_table_print(&table, stdout, error);
}

static ph_status list_ops_json(json_t *document, ph_error *error) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < ph_op_table_count(); i++) {
    json_t *op = NULL;
    ph_status status = load_op(ph_op_table_name(i), &op, error);
    array = cli_json_append(array, op);
    if (status != PH_OK) return status;
  }
  return cli_json_set(document, "ops", array, error);
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  if (options->arguments.count == 0) return result->json != NULL ? list_ops_json(result->json, error) : list_ops(error);
  json_t *op = NULL;
  PH_TRY(load_op(options->arguments.items[0], &op, error));
  ph_status status = PH_OK;
  if (result->json == NULL)
    status = print_op(op, error);
  else if (json_object_update(result->json, op) != 0)
    status = ph_fail_memory(error);
  json_decref(op);
  return status;
}

const cli_command cli_ops = {
    .name = "ops",
    .arguments = "[NAME]",
    .most = 1,
    .options = CLI_COMMON,
    .summary = "list the ops, or one op's roles, attributes and outputs",
    .text = "Lists the ops of the config language; with NAME: that op's roles, attributes, outputs and inner values.",
    .run = run,
};
