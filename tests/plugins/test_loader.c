/* The loader: where plugins are sought, which win, and what is rejected for which reason. */
#include "scratch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything wrong at once: each is one entry with its own reason, and what is right beside it is loaded (user-reports
 * R076, R080). */
static void test_rejected(void **state) {
  (void)state;
  scratch_folder("p");
  static const struct {
    const char *module; /* NULL: made below */
    const char *file;
    ph_status status;
    const char *parts[2];
  } cases[] = {
      {"next_major", "next_major.so", PH_INCOMPATIBLE, {"plugin ABI 2.0", "has 1.1"}},
      {"last_major", "last_major.so", PH_INCOMPATIBLE, {"plugin ABI 0.9", "has 1.1"}},
      {"short_size", "short_size.so", PH_INCOMPATIBLE, {"struct_size is", "needs at least"}},
      {"tiny_size", "tiny_size.so", PH_INCOMPATIBLE, {"struct_size of 4 bytes", ""}},
      {"refuses_abi", "refuses_abi.so", PH_INCOMPATIBLE, {"cannot serve plugin ABI 1.1", ""}},
      {"null_entry", "null_entry.so", PH_INCOMPATIBLE, {"required entry 'supports' is NULL", ""}},
      {"odd_name", "odd_name.so", PH_INCOMPATIBLE, {"'Odd-Name'", "[a-z][a-z0-9_]*"}},
      {"named_auto", "named_auto.so", PH_INCOMPATIBLE, {"'auto'", ""}},
      {"unresolved", "unresolved.so", PH_INCOMPATIBLE, {"cannot be loaded", "undefined symbol: stub_is_nowhere"}},
      {"plain", "plain.so", PH_INCOMPATIBLE, {"no polyhead plugin", "undefined symbol: ph_backend_query"}},
      {"good", "writable.so", PH_INVALID, {"others may write to it", ""}},
      {"good", "later.so", PH_INVALID, {"'good' is already there", "p/good.so"}},
      {NULL, "text.so", PH_INCOMPATIBLE, {"cannot be loaded", "text.so: "}},
      {NULL, "empty.so", PH_INCOMPATIBLE, {"the file is empty", ""}},
      {NULL, "folder.so", PH_IO, {"no regular file", ""}},
      {NULL, "dangling.so", PH_IO, {"No such file", ""}},
  };
  enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };
  char name[64];
  for (int i = 0; i < CASE_COUNT; i++) {
    snprintf(name, sizeof(name), "p/%s", cases[i].file);
    if (cases[i].module != NULL) scratch_module(cases[i].module, name);
  }
  assert_int_equal(chmod(scratch_path("p/writable.so"), 0664), 0);
  scratch_write("p/text.so", "This is no library, whatever it is called.\n");
  scratch_write("p/empty.so", "");
  scratch_folder("p/folder.so");
  assert_int_equal(symlink("nowhere", scratch_path("p/dangling.so")), 0);
  scratch_module("good", "p/good.so");
  scratch_write("p/README", "not a module, not listed");

  ph_context *context;
  assert_int_equal(scratch_try(scratch_path("p"), NULL, &context), PH_OK);
  for (int i = 0; i < CASE_COUNT; i++) {
    const ph_plugin_info *info = scratch_plugin(context, cases[i].file);
    assert_int_equal(info->status, cases[i].status);
    assert_null(info->name);
    for (int j = 0; j < 2; j++) assert_contains(info->reason, cases[i].parts[j]);
    assert_null(strchr(info->reason, '\n'));
  }
  const ph_plugin_info *good = scratch_plugin(context, "good.so");
  assert_int_equal(good->status, PH_OK);
  assert_null(good->reason);
  assert_string_equal(good->name, "good");
  assert_string_equal(good->version, "0.0.1");
  assert_string_equal(good->vendor, "Stub Works");
  assert_int_equal(good->abi_version, PH_ABI_VERSION);

  const char *note;
  assert_string_equal(ph_context_folder(context, 0, &note), scratch_path("p"));
  assert_string_equal(note, "17 files");
  /* None of the rejected became a backend: the built-in one, ours, and the one beside the test. */
  for (uint32_t i = 0; i < ph_context_device_count(context); i++) {
    const char *backend = ph_context_device(context, i)->backend;
    assert_true(strcmp(backend, "reference") == 0 || strcmp(backend, "good") == 0 || strcmp(backend, "installed") == 0);
  }
  assert_int_equal(ph_context_problem_count(context), 0);
  ph_context_destroy(context);
}

/* What differs from ours and is compatible all the same. */
static void test_loads(void **state) {
  (void)state;
  static const char *const modules[] = {"other_minor", "larger", "required_only", NULL};
  ph_context *context = scratch_load(modules);
  for (int i = 0; modules[i] != NULL; i++) {
    char file[64];
    snprintf(file, sizeof(file), "%s.so", modules[i]);
    const ph_plugin_info *info = scratch_plugin(context, file);
    if (info->status != PH_OK) fail_msg("%s: %s", file, info->reason);
    assert_string_equal(info->name, modules[i]);
  }
  assert_int_equal(scratch_plugin(context, "other_minor.so")->abi_version & 0xFFFF, 7 + PH_ABI_MINOR);
  ph_context_destroy(context);
}

/* Folders in the order given, the installation last; files by name; the first of a name wins. */
static void test_order(void **state) {
  (void)state;
  scratch_folder("first");
  scratch_folder("second");
  scratch_module("good", "first/z.so");
  scratch_module("good", "second/a.so");
  scratch_module("larger", "second/b.so");
  scratch_module("larger", "second/B.so");
  scratch_module("fake_installed", "second/c.so");
  char path[512];
  snprintf(path, sizeof(path), "%s:%s", scratch_path("first"), scratch_path("second"));
  ph_context *context;
  assert_int_equal(scratch_try(path, NULL, &context), PH_OK);
  static const char *const expected[] = {"(built in)", "z.so", "B.so", "a.so", "b.so", "c.so", "installed.so"};
  static const bool loaded[] = {true, true, true, false, false, true, false};
  assert_int_equal(ph_context_plugin_count(context), 7);
  for (uint32_t i = 0; i < 7; i++) {
    assert_ptr_equal(ph_context_plugin(context, i), scratch_plugin(context, expected[i]));
    assert_int_equal(ph_context_plugin(context, i)->status == PH_OK, loaded[i]);
  }
  assert_contains(scratch_plugin(context, "a.so")->reason, "first/z.so");
  assert_contains(scratch_plugin(context, "installed.so")->reason, "second/c.so");
  assert_null(ph_context_plugin(context, 7));
  ph_context_destroy(context);
}

static void assert_folder(const ph_context *context, uint32_t index, const char *path, const char *note) {
  const char *found;
  assert_string_equal(ph_context_folder(context, index, &found), path);
  assert_contains(found, note);
}

/* Never the current folder, by whatever way (R077); nothing in a place that others may write to. */
static void test_folders(void **state) {
  (void)state;
  scratch_folder("cwd");
  scratch_folder("cwd/relative");
  scratch_folder("open");
  scratch_folder("good");
  scratch_module("good", "cwd/one.so");
  scratch_module("good", "cwd/relative/two.so");
  scratch_module("good", "open/three.so");
  scratch_module("larger", "good/larger.so");
  scratch_write("file", "x");
  assert_int_equal(chmod(scratch_path("open"), 0777), 0);
  assert_int_equal(symlink("good", scratch_path("link")), 0);
  char path[4096];
  snprintf(path, sizeof(path), ":relative:.:%s:%s:%s:%s:%s:", scratch_path("open"), scratch_path("file"),
           scratch_path("nowhere"), scratch_path("link"), scratch_path("link"));
  char before[1024];
  assert_non_null(getcwd(before, sizeof(before)));
  assert_int_equal(chdir(scratch_path("cwd")), 0);
  ph_context *context;
  assert_int_equal(scratch_try(path, NULL, &context), PH_OK);
  assert_int_equal(chdir(before), 0);
  assert_folder(context, 0, "", "empty entry");
  assert_folder(context, 1, "relative", "not an absolute path");
  assert_folder(context, 2, ".", "not an absolute path");
  assert_folder(context, 3, scratch_path("open"), "others may write to it");
  assert_folder(context, 4, scratch_path("file"), "no folder");
  assert_folder(context, 5, scratch_path("nowhere"), "not there");
  assert_folder(context, 6, scratch_path("link"), "1 file");
  assert_folder(context, 7, scratch_path("link"), "searched already");
  assert_folder(context, 8, "", "empty entry");
  assert_int_equal(ph_context_folder_count(context), 10);
  const char *note;
  assert_contains(ph_context_folder(context, 9, &note), "/polyhead/plugins-1");
  assert_string_equal(note, "1 file");
  assert_null(ph_context_folder(context, 10, &note));
  assert_int_equal(ph_context_plugin_count(context), 3);
  assert_int_equal(scratch_plugin(context, "larger.so")->status, PH_OK);
  assert_int_equal(scratch_plugin(context, "installed.so")->status, PH_OK);
  ph_context_destroy(context);
}

/* A link leads out of a safe folder into one where anybody may have put the file. */
static void test_link_into_open_folder(void **state) {
  (void)state;
  scratch_folder("open");
  scratch_folder("safe");
  scratch_module("good", "open/good.so");
  assert_int_equal(chmod(scratch_path("open"), 0777), 0);
  assert_int_equal(symlink("../open/good.so", scratch_path("safe/good.so")), 0);
  ph_context *context;
  assert_int_equal(scratch_try(scratch_path("safe"), NULL, &context), PH_OK);
  assert_contains(scratch_plugin(context, "good.so")->reason, "others may write to it");
  ph_context_destroy(context);
}

static void test_foreign_owner(void **state) {
  (void)state;
  if (geteuid() != 0) skip(); /* only root can give files away */
  scratch_folder("p");
  scratch_folder("foreign");
  scratch_module("good", "p/good.so");
  scratch_module("larger", "foreign/larger.so");
  assert_int_equal(chown(scratch_path("p/good.so"), 12345, 12345), 0);
  assert_int_equal(chown(scratch_path("foreign"), 12345, 12345), 0);
  char path[512];
  snprintf(path, sizeof(path), "%s:%s", scratch_path("p"), scratch_path("foreign"));
  ph_context *context;
  assert_int_equal(scratch_try(path, NULL, &context), PH_OK);
  assert_contains(scratch_plugin(context, "good.so")->reason, "owned by neither root nor you");
  assert_folder(context, 1, scratch_path("foreign"), "owned by neither root nor you");
  ph_context_destroy(context);
}

/* --plugin: first of all, relative if one likes, and fatal. */
static void test_given(void **state) {
  (void)state;
  scratch_folder("p");
  scratch_module("good", "p/a.so");
  scratch_module("good", "given.so");
  scratch_module("next_major", "wrong.so");
  ph_context *context;
  assert_int_equal(scratch_try(scratch_path("p"), scratch_path("given.so"), &context), PH_OK);
  assert_int_equal(scratch_plugin(context, "given.so")->status, PH_OK);
  assert_contains(scratch_plugin(context, "a.so")->reason, "given.so");
  assert_string_equal(ph_context_plugin(context, 0)->path, "(built in)");
  ph_context_destroy(context);

  char before[1024];
  assert_non_null(getcwd(before, sizeof(before)));
  assert_int_equal(chdir(scratch_path("p")), 0);
  ph_status status = scratch_try(NULL, "a.so", &context);
  assert_int_equal(chdir(before), 0);
  assert_int_equal(status, PH_OK);
  assert_int_equal(scratch_plugin(context, "a.so")->status, PH_OK);
  ph_context_destroy(context);

  assert_int_equal(scratch_try(NULL, scratch_path("wrong.so"), &context), PH_INCOMPATIBLE);
  assert_null(context);
  assert_contains(scratch_error.message, "wrong.so: ");
  assert_contains(scratch_error.message, "plugin ABI 2.0");
  assert_int_equal(scratch_try(NULL, scratch_path("nowhere.so"), &context), PH_IO);
  assert_contains(scratch_error.message, "nowhere.so: No such file");
}

/* The reference is always there; as a module it takes the place of the one that is linked in. */
static void test_reference(void **state) {
  (void)state;
  ph_context *context;
  assert_int_equal(scratch_try(NULL, NULL, &context), PH_OK);
  assert_string_equal(ph_context_plugin(context, 0)->path, "(built in)");
  assert_string_equal(ph_context_plugin(context, 0)->name, "reference");
  assert_int_equal(ph_context_plugin(context, 0)->status, PH_OK);
  ph_context_destroy(context);

  assert_int_equal(scratch_try(NULL, TEST_REFERENCE, &context), PH_OK);
  assert_int_equal(ph_context_plugin(context, 0)->status, PH_INVALID);
  assert_contains(ph_context_plugin(context, 0)->reason, TEST_REFERENCE);
  assert_string_equal(scratch_plugin(context, "reference.so")->name, "reference");
  ph_context_destroy(context);

  /* Options that were never filled in are a mistake, and none at all are not. */
  const ph_context_options empty = {.struct_size = 0};
  assert_int_equal(ph_context_create(&empty, &context, &scratch_error), PH_INVALID);
  assert_int_equal(ph_context_create(NULL, &context, &scratch_error), PH_OK);
  ph_context_destroy(context);
  ph_context_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(int argc, char **argv) {
  /* A program's own path is what it was called by, and a test goes to another folder. */
  if (argc < 1 || argv[0][0] != '/') {
    fprintf(stderr, "call it by its absolute path\n");
    return 2;
  }
  const struct CMUnitTest tests[] = {
      TEST(test_rejected),
      TEST(test_loads),
      TEST(test_order),
      TEST(test_folders),
      TEST(test_link_into_open_folder),
      TEST(test_foreign_owner),
      TEST(test_given),
      TEST(test_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
