/* The YAML tree: kinds, places, typed scalars, and everything that is refused. */
#include "config/yaml.h"

#include "quick.h"
#include "scratch.h"

static ph_status parse(ph_arena *arena, const void *bytes, size_t size, ph_yaml **out, ph_error *error) {
  clock_t start = clock();
  ph_status status = ph_yaml_parse(arena, "f", bytes, size, out, error);
  assert_quick(start);
  return status;
}

static ph_yaml *tree(ph_arena *arena, const char *text) {
  ph_error error = PH_ERROR_INIT;
  ph_yaml *root;
  assert_ok(parse(arena, text, strlen(text), &root, &error), error);
  return root;
}

static void refused_bytes(const void *bytes, size_t size, const char *expected) {
  ph_arena arena = {0};
  ph_error error = PH_ERROR_INIT;
  ph_yaml *root;
  assert_int_equal(parse(&arena, bytes, size, &root, &error), PH_INVALID);
  assert_string_equal(error.message, expected);
  ph_arena_free(&arena);
}

static void refused(const char *text, const char *expected) {
  refused_bytes(text, strlen(text), expected);
}

static void assert_place(const ph_yaml *node, uint32_t line, uint32_t column) {
  assert_int_equal(node->place.line, line);
  assert_int_equal(node->place.column, column);
  assert_string_equal(node->place.file, "f");
}

static void nodes_know_their_places(void **state) {
  (void)state;
  ph_arena arena = {0};
  const ph_yaml *root = tree(&arena, "# first\na: [1, {b: 'x'}]\n小红: {很: 苹果, y: \"z\"}\nc:\n  - d\n  -\n");
  assert_int_equal(root->kind, PH_YAML_MAP);
  assert_place(root, 2, 1);
  assert_int_equal(root->count, 3);
  const ph_yaml *list = ph_yaml_get(root, "a"), *map = ph_yaml_get(root, "小红"), *block = ph_yaml_get(root, "c");
  assert_int_equal(list->kind, PH_YAML_LIST);
  assert_place(list, 2, 4);
  assert_place(list->items[0], 2, 5);
  assert_true(list->items[0]->plain);
  const ph_yaml *quoted = ph_yaml_get(list->items[1], "b");
  assert_place(quoted, 2, 12);
  assert_false(quoted->plain);
  assert_string_equal(quoted->text, "x");
  assert_place(ph_yaml_get(map, "y"), 3, 16); /* in characters, not bytes */
  assert_int_equal(ph_yaml_find(map, "y")->place.column, 13);
  assert_place(block->items[0], 5, 5);
  assert_true(ph_yaml_is_null(block->items[1]));
  assert_null(ph_yaml_find(root, "d"));
  assert_null(ph_yaml_get(root, "d"));
  assert_int_equal(list->size, 4);
  assert_int_equal(root->size, 1 + 4 + 3 + 3);
  ph_arena_free(&arena);
}

static void scalars_are_typed_by_us(void **state) {
  (void)state;
  ph_arena arena = {0};
  const ph_yaml *list = tree(&arena, "[null, ~, true, 'true', True, no, 3, '3', -2.5, 010, inf]");
  bool boolean;
  ph_number number;
  assert_true(ph_yaml_is_null(list->items[0]));
  assert_false(ph_yaml_is_null(list->items[1]));
  assert_true(ph_yaml_boolean(list->items[2], &boolean) && boolean);
  for (uint32_t i = 3; i <= 5; i++) assert_false(ph_yaml_boolean(list->items[i], &boolean));
  assert_true(ph_yaml_number(list->items[6], &number) && number.is_integer && number.integer == 3);
  assert_false(ph_yaml_number(list->items[7], &number));
  assert_true(ph_yaml_number(list->items[8], &number) && number.real == -2.5);
  assert_true(ph_yaml_number(list->items[9], &number) && number.problem != NULL);
  assert_false(ph_yaml_number(list->items[10], &number));
  ph_arena_free(&arena);
}

static void what_is_not_taken(void **state) {
  (void)state;
  refused("a: &x 1\nb: *x\n", "f:1:4: error: anchors are not taken: write '&x' out where it is used");
  refused("a: 1\nb: *x\n", "f:2:4: error: aliases are not taken: write out what '*x' stands for");
  refused("a: &x [*x]\n", "f:1:4: error: anchors are not taken: write '&x' out where it is used");
  refused("a: &x {b: 1}\n", "f:1:4: error: anchors are not taken: write '&x' out where it is used");
  refused("a: !!int 1\n", "f:1:4: error: tags are not taken: leave 'tag:yaml.org,2002:int' away");
  refused("a: ! x\n", "f:1:4: error: tags are not taken: leave '!' away");
  refused("a: !t [1]\n", "f:1:4: error: tags are not taken: leave '!t' away");
  refused("a: 1\n<<: {b: 1}\n", "f:2:1: error: merge keys are not taken: write the entries out");
  refused("a: 1\n---\nb: 1\n", "f:2:1: error: a second document begins here; a config is one");
  refused("? [a]\n: b\n", "f:1:3: error: a key must be a name");
  refused("a: 1\n'': b\n", "f:2:1: error: a key is empty");
  refused("a: \"x\\0y\"\n", "f:1:4: error: the text holds a NUL character");
}

static void duplicate_keys(void **state) {
  (void)state;
  refused("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "f:5:3: error: 'c' stands here a second time; the first is at line 3");
  char text[2048] = "";
  for (int i = 0; i < 100; i++) sprintf(text + strlen(text), "k%d: %d\n", i, i);
  strcat(text, "k77: 1\nk3: 1\n");
  refused(text, "f:101:1: error: 'k77' stands here a second time; the first is at line 78");
}

static void bytes_that_are_no_text(void **state) {
  (void)state;
  refused("", "f:1:1: error: the file is empty");
  refused("\xEF\xBB\xBF", "f:1:1: error: the file is empty");
  refused("# nothing\n", "f:1:1: error: the file holds nothing but comments");
  refused("a: 1\nb: x\xff\n", "f:2:5: error: invalid leading UTF-8 octet (byte 0xff); a config is plain UTF-8 text");
  refused("小红: \xe5\xb0", "f:1:5: error: incomplete UTF-8 octet sequence (byte 0xe5); a config is plain UTF-8 text");
  refused("\xEF\xBB\xBF小: \x07\n",
          "f:1:4: error: control characters are not allowed (byte 0x07); a config is plain UTF-8 text");
  refused_bytes("a: b\0c\n", 7,
                "f:1:5: error: control characters are not allowed (byte 0x00); a config is plain UTF-8 text");
  refused_bytes("\xFF\xFE"
                "a\0",
                4, "f:1:1: error: invalid leading UTF-8 octet (byte 0xff); a config is plain UTF-8 text");
}

static void a_byte_order_mark_is_skipped(void **state) {
  (void)state;
  ph_arena arena = {0};
  const ph_yaml *root = tree(&arena, "\xEF\xBB\xBF"
                                     "a: 1\n");
  assert_place(ph_yaml_get(root, "a"), 1, 4);
  ph_arena_free(&arena);
}

static void syntax_errors_have_hints(void **state) {
  (void)state;
  refused("a: [b, c\n",
          "f:2:1: error: did not find expected ',' or ']', while parsing a flow sequence that begins at line 1");
  refused("a: 'x\n",
          "f:2:1: error: found unexpected end of stream, while scanning a quoted scalar that begins at line 1");
  refused("a:\n\t- b\n",
          "f:2:1: error: found character that cannot start any token, while scanning for the next token that "
          "begins at line 2; YAML takes no tabs for indentation");
  refused(
      "g:\n  - {weights: layers.{i}.x, a: 1}\n",
      "f:2:22: error: did not find expected ',' or '}', while parsing a flow mapping that begins at line 2; inside { } "
      "and [ ] text that holds braces needs quotes: \"layers.{i}.\"");
  refused(
      "g: {weights: {i}.x}\n",
      "f:1:17: error: did not find expected ',' or '}', while parsing a flow mapping that begins at line 1; inside { } "
      "and [ ] text that holds braces needs quotes: \"layers.{i}.\"");
  refused("a: 1\n  b: 2\n", "f:2:4: error: mapping values are not allowed in this context");
}

static void deep(const char *part, size_t times, const char *expected) {
  size_t length = strlen(part);
  char *text = malloc(length * times);
  assert_non_null(text);
  for (size_t i = 0; i < times; i++) memcpy(text + i * length, part, length);
  refused_bytes(text, length * times, expected);
  free(text);
}

static void size_and_depth_are_bounded(void **state) {
  (void)state;
  deep("[", 10000, "f:1:65: error: nested deeper than 64 levels");
  deep("- ", 10000, "f:1:129: error: nested deeper than 64 levels");
  deep("{a: ", 10000, "f:1:257: error: nested deeper than 64 levels");
  deep("[", PH_YAML_MAX_BYTES, "f:1:65: error: nested deeper than 64 levels");
  deep("x", PH_YAML_MAX_BYTES + 1,
       "f: error: the file has 4194305 bytes, and a config at most 4194304; keep tensors in .npy files");
  ph_arena arena = {0};
  char text[200] = "";
  memset(text, '[', 64);
  memset(text + 64, ']', 64);
  assert_int_equal(tree(&arena, text)->size, 64);
  ph_arena_free(&arena);
}

static void large_files_take_linear_time(void **state) {
  (void)state;
  ph_arena arena = {0};
  size_t size = 0;
  char *text = malloc(PH_YAML_MAX_BYTES);
  assert_non_null(text);
  for (int i = 0; i < 100000; i++) size += (size_t)sprintf(text + size, "key%d: %d\n", i, i);
  ph_error error = PH_ERROR_INIT;
  ph_yaml *root;
  assert_ok(parse(&arena, text, size, &root, &error), error);
  assert_int_equal(root->count, 100000);
  free(text);
  ph_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_know_their_places),
      cmocka_unit_test(scalars_are_typed_by_us),
      cmocka_unit_test(what_is_not_taken),
      cmocka_unit_test(duplicate_keys),
      cmocka_unit_test(bytes_that_are_no_text),
      cmocka_unit_test(a_byte_order_mark_is_skipped),
      cmocka_unit_test(syntax_errors_have_hints),
      cmocka_unit_test(size_and_depth_are_bounded),
      cmocka_unit_test(large_files_take_linear_time),
  };
  return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
