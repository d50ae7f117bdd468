/* Errors, memory and text. */
#include "base/memory.h"
#include "base/text.h"
#include "scratch.h"

/* ---- errors -------------------------------------------------------------------------------------------------------
 */

static void error_holds_code_place_and_message(void **state) {
  (void)state;
  ph_error error = PH_ERROR_INIT;
  assert_int_equal(ph_fail(&error, PH_IO, "cannot read '%s'", "x"), PH_IO);
  assert_int_equal(error.code, PH_IO);
  assert_int_equal(error.node, PH_NONE);
  assert_string_equal(error.message, "cannot read 'x'");
  assert_contains(error.where, "test_base.c:");
  ph_error_prefix(&error, "%s:%d: ", "a.yaml", 7);
  assert_string_equal(error.message, "a.yaml:7: cannot read 'x'");
  assert_int_equal(error.code, PH_IO);
  assert_int_equal(ph_fail(NULL, PH_INVALID, "nobody listens"), PH_INVALID);
  ph_error_prefix(NULL, "nobody listens");
}

/* True if the text ends with a whole UTF-8 character, for texts of the characters of the tests below. */
static bool ends_whole(const char *text, const char *character) {
  size_t length = strlen(text), size = strlen(character);
  return length >= size && strcmp(text + length - size, character) == 0;
}

static void long_message_is_cut_between_characters(void **state) {
  (void)state;
  static const char *const characters[] = {"a", "é", "红", "😀"};
  for (size_t c = 0; c < 4; c++)
    for (int before = 0; before < 4; before++) {
      char text[1024] = "";
      memset(text, '.', (size_t)before);
      while (strlen(text) < 900) strcat(text, characters[c]);
      ph_error error = PH_ERROR_INIT;
      assert_int_equal(ph_fail(&error, PH_INVALID, "%s", text), PH_INVALID);
      size_t length = strlen(error.message);
      assert_true(length < sizeof(error.message) && length + strlen(characters[c]) >= sizeof(error.message));
      assert_true(ends_whole(error.message, characters[c]));
      ph_error_prefix(&error, "xyz ");
      assert_memory_equal(error.message, "xyz ", 4);
      assert_true(ends_whole(error.message, characters[c]));
    }
}

static ph_status fail_on_the_way(int *reached) {
  PH_TRY(PH_OK);
  *reached = 1;
  PH_TRY(PH_IO);
  *reached = 2;
  return PH_OK;
}

static void try_leaves_with_the_status(void **state) {
  (void)state;
  int reached = 0;
  assert_int_equal(fail_on_the_way(&reached), PH_IO);
  assert_int_equal(reached, 1);
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

static void sizes_overflow_loudly(void **state) {
  (void)state;
  size_t size;
  int64_t number;
  assert_true(ph_mul_size(1u << 31, 2, &size) && size == (size_t)1 << 32);
  assert_false(ph_mul_size(SIZE_MAX / 2 + 1, 2, &size));
  assert_false(ph_add_size(SIZE_MAX, 1, &size));
  assert_false(ph_mul_i64(INT64_MIN, -1, &number));
  assert_false(ph_add_i64(INT64_MAX, 1, &number));
  ph_arena arena = {0};
  assert_null(ph_arena_array(&arena, SIZE_MAX / 4, 8));
  assert_null(ph_arena_alloc(&arena, SIZE_MAX - 8));
  ph_arena_free(&arena);
}

static void arrays_grow_with_zeros(void **state) {
  (void)state;
  int *items = NULL;
  size_t capacity = 0;
  for (size_t i = 0; i < 1000; i++) {
    assert_true(ph_grow(&items, &capacity, i + 1, sizeof(*items)));
    assert_true(capacity > i);
    for (size_t j = i; j < capacity; j++) assert_int_equal(items[j], 0);
    items[i] = (int)i + 1;
  }
  for (size_t i = 0; i < 1000; i++) assert_int_equal(items[i], i + 1);
  int *before = items;
  size_t capacity_before = capacity;
  assert_false(ph_grow(&items, &capacity, SIZE_MAX / 2, sizeof(*items)));
  assert_ptr_equal(items, before);
  assert_int_equal(capacity, capacity_before);
  free(items);
  void *nothing = ph_new_array(0, 16);
  assert_non_null(nothing);
  free(nothing);
}

static void arena_pieces_are_zeroed_aligned_and_apart(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 20000, 70000, 7, 300000, 16000, 16000, 16000, 16000, 16000};
  enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
  ph_arena arena = {0};
  unsigned char *pieces[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    pieces[i] = ph_arena_alloc(&arena, sizes[i]);
    assert_non_null(pieces[i]);
    assert_int_equal((uintptr_t)pieces[i] % 64, 0);
    for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(pieces[i][j], 0);
    memset(pieces[i], (int)i + 1, sizes[i]);
  }
  for (size_t i = 0; i < COUNT; i++)
    for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(pieces[i][j], i + 1);
  ph_arena_free(&arena);
  assert_null(arena.blocks);
}

static void arena_makes_texts_and_arrays(void **state) {
  (void)state;
  ph_arena arena = {0};
  assert_string_equal(ph_arena_text(&arena, "%s-%d", "a", 3), "a-3");
  assert_string_equal(ph_arena_copy(&arena, "abcdef", 3), "abc");
  int *items = NULL;
  uint32_t count = 0, capacity = 0;
  for (int i = 0; i < 100; i++) {
    int *item = ph_arena_push(&arena, &items, &count, &capacity, sizeof(*items));
    assert_non_null(item);
    assert_int_equal(*item, 0);
    *item = i;
  }
  assert_int_equal(count, 100);
  for (int i = 0; i < 100; i++) assert_int_equal(items[i], i);
  ph_arena_free(&arena);
}

/* ---- text ---------------------------------------------------------------------------------------------------------
 */

static void text_grows(void **state) {
  (void)state;
  ph_text text = {0};
  for (int i = 0; i < 1000; i++) ph_text_add(&text, "%d,", i);
  ph_text_put(&text, "end\0x", 3);
  assert_false(text.failed);
  assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4 + 3);
  assert_int_equal(strlen(text.data), text.length);
  assert_memory_equal(text.data, "0,1,2,", 6);
  assert_string_equal(text.data + text.length - 7, "999,end");
  ph_text_free(&text);
  assert_null(text.data);
}

static void nearest_name(void **state) {
  (void)state;
  static const char *const names[] = {"linear", "softmax", "softcap", "layer_norm", "add"};
  assert_string_equal(ph_nearest("Softmx", names, 5), "softmax");
  assert_string_equal(ph_nearest("layernorm", names, 5), "layer_norm");
  assert_string_equal(ph_nearest("adds", names, 5), "add");
  assert_string_equal(ph_nearest("softcapp", names, 5), "softcap");
  assert_string_equal(ph_nearest("amsk", (const char *const[]){"mask", "mean"}, 2), "mask"); /* neighbours swapped */
  assert_null(ph_nearest("rotary", names, 5));
  assert_null(ph_nearest("xyz", names, 5));
  assert_null(ph_nearest("add", names, 0));
}

static void part_of_a_name(void **state) {
  (void)state;
  assert_true(ph_contains_ignoring_case("NVIDIA H200", "h2"));
  assert_true(ph_contains_ignoring_case("abc", ""));
  assert_true(ph_contains_ignoring_case("aab", "ab"));
  assert_false(ph_contains_ignoring_case("abc", "abcd"));
  assert_false(ph_contains_ignoring_case("", "a"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(error_holds_code_place_and_message),
      cmocka_unit_test(long_message_is_cut_between_characters),
      cmocka_unit_test(try_leaves_with_the_status),
      cmocka_unit_test(sizes_overflow_loudly),
      cmocka_unit_test(arrays_grow_with_zeros),
      cmocka_unit_test(arena_pieces_are_zeroed_aligned_and_apart),
      cmocka_unit_test(arena_makes_texts_and_arrays),
      cmocka_unit_test(text_grows),
      cmocka_unit_test(nearest_name),
      cmocka_unit_test(part_of_a_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
