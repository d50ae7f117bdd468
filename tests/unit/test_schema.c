/* The op table as JSON, and the JSON Schema made from it. */
#include <jansson.h>
#include <polyhead/polyhead.h>
#include <sys/wait.h>

#include "config_case.h"

static json_t *parse(char *text) {
  assert_non_null(text);
  json_t *value = json_loads(text, 0, NULL);
  assert_non_null(value);
  free(text);
  return value;
}

static const char *text_at(json_t *list, size_t index, const char *key) {
  return json_string_value(json_object_get(json_array_get(list, index), key));
}

static void entries_tell_the_whole_row(void **state) {
  (void)state;
  assert_int_equal(ph_op_table_count(), ph_op_count);
  assert_null(ph_op_table_name(ph_op_count));
  assert_null(ph_op_table_doc(ph_op_count));
  assert_null(ph_op_table_json("sofmax"));
  for (uint32_t i = 0; i < ph_op_count; i++) {
    const ph_op *op = ph_ops[i];
    assert_string_equal(ph_op_table_name(i), op->name);
    assert_string_equal(ph_op_table_doc(i), op->doc);
    json_t *entry = parse(ph_op_table_json(op->name));
    json_t *roles = json_object_get(entry, "roles"), *attributes = json_object_get(entry, "attributes");
    assert_string_equal(json_string_value(json_object_get(entry, "name")), op->name);
    assert_int_equal(json_integer_value(json_object_get(entry, "version")), op->version);
    assert_int_equal(json_array_size(roles), op->role_count);
    assert_int_equal(json_array_size(attributes), op->attr_count);
    assert_int_equal(json_array_size(json_object_get(entry, "outputs")), op->output_count);
    assert_int_equal(json_is_true(json_object_get(entry, "composite")), op->composite);
    for (uint32_t k = 0; k < op->role_count; k++) {
      assert_string_equal(text_at(roles, k, "name"), op->roles[k].name);
      bool optional = json_is_true(json_object_get(json_array_get(roles, k), "optional"));
      assert_int_equal(optional, (op->roles[k].flags & PH_ROLE_OPTIONAL) != 0);
    }
    for (uint32_t k = 0; k < op->attr_count; k++) {
      const char *initial = text_at(attributes, k, "default");
      assert_string_equal(text_at(attributes, k, "name"), op->attrs[k].name);
      if (op->attrs[k].initial != NULL)
        assert_string_equal(initial, op->attrs[k].initial);
      else
        assert_null(initial);
    }
    json_decref(entry);
  }
}

static void inner_values_and_sources(void **state) {
  (void)state;
  json_t *entry = parse(ph_op_table_json("multi_head_attention"));
  assert_string_equal(json_string_value(json_array_get(json_object_get(entry, "inner"), 0)), "q");
  assert_contains(json_string_value(json_object_get(entry, "source")), "Vaswani");
  json_decref(entry);
}

static void every_op_has_its_rules(void **state) {
  (void)state;
  json_t *schema = parse(ph_schema_json()), *defs = json_object_get(schema, "$defs");
  assert_string_equal(json_string_value(json_object_get(schema, "$schema")),
                      "https://json-schema.org/draft/2020-12/schema");
  for (uint32_t i = 0; i < ph_op_count; i++) {
    char name[128];
    snprintf(name, sizeof(name), "op_%s", ph_ops[i]->name);
    json_t *op = json_object_get(defs, name), *properties = json_object_get(op, "properties");
    if (op == NULL) fail_msg("%s", name);
    assert_string_equal(json_string_value(json_object_get(op, "description")), ph_ops[i]->doc);
    json_t *by_name = json_object_get(
        json_array_get(json_object_get(json_object_get(properties, "inputs"), "anyOf"), 1), "properties");
    for (uint32_t k = 0; k < ph_ops[i]->role_count; k++)
      assert_non_null(json_object_get(by_name, ph_ops[i]->roles[k].name));
    for (uint32_t k = 0; k < ph_ops[i]->attr_count; k++) {
      json_t *attribute = json_object_get(properties, ph_ops[i]->attrs[k].name);
      assert_non_null(attribute);
      if (ph_ops[i]->attrs[k].doc != NULL)
        assert_string_equal(json_string_value(json_object_get(attribute, "description")), ph_ops[i]->attrs[k].doc);
    }
  }
  json_t *layout = json_object_get(json_object_get(json_object_get(defs, "op_linear"), "properties"), "layout");
  assert_string_equal(json_string_value(json_object_get(layout, "default")), "out_in");
  assert_int_equal(json_array_size(json_object_get(layout, "enum")), 2);
  json_decref(schema);
}

/* Runs validate_schema.py over configs; what a config may be missing today is said there. */
static void validate(void **state, const char *configs) {
  char *schema = ph_schema_json(), command[4 * SCRATCH_PATH_SIZE];
  assert_non_null(schema);
  const char *path = scratch_file(state, "schema.json", schema, strlen(schema));
  free(schema);
  snprintf(command, sizeof(command), "python3 '%s/tests/unit/validate_schema.py' '%s' %s", TEST_SOURCE_DIR, path,
           configs);
  int result = system(command);
  assert_true(WIFEXITED(result));
  if (WEXITSTATUS(result) == 77 || WEXITSTATUS(result) == 127) skip();
  assert_int_equal(WEXITSTATUS(result), 0);
}

static void our_configs_are_valid(void **state) {
  validate(state, TEST_SOURCE_DIR "/configs/*.yaml");
}

/* bert.yaml is left out: `mean` and `l2_normalize` are not in the table. */
static void samples_are_valid(void **state) {
  static const char *const models[] = {"gpt2", "stories260k", "stories260k_plain", "transliteration", "vit"};
  const char *folder = shared_folder("configs");
  if (folder == NULL) skip();
  char configs[3 * SCRATCH_PATH_SIZE];
  int used = snprintf(configs, sizeof(configs), "%s/*.yaml", folder);
  for (size_t i = 0; i < 5; i++)
    used += snprintf(configs + used, sizeof(configs) - (size_t)used, " %s/models/%s.yaml", folder, models[i]);
  validate(state, configs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_tell_the_whole_row), cmocka_unit_test(inner_values_and_sources),
      cmocka_unit_test(every_op_has_its_rules),     cmocka_unit_test(our_configs_are_valid),
      cmocka_unit_test(samples_are_valid),
  };
  return cmocka_run_group_tests_name("schema", tests, scratch_create, scratch_remove);
}
