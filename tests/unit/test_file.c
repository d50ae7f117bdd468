/* Mapped files, and files that appear whole or not at all. */
#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "scratch.h"

static void assert_holds(const char *path, const char *text) {
  ph_error error = PH_ERROR_INIT;
  ph_file_map map;
  assert_ok(ph_file_map_open(path, &map, &error), error);
  assert_int_equal(map.size, strlen(text));
  assert_memory_equal(map.data, text, map.size);
  ph_file_map_close(&map);
  assert_null(map.data);
}

static ph_status write_text(const char *path, const char *text, ph_error *error) {
  ph_file_writer *writer;
  PH_TRY(ph_file_writer_create(path, &writer, error));
  ph_status status = ph_file_writer_put(writer, text, strlen(text), error);
  if (status == PH_OK) return ph_file_writer_commit(writer, error);
  ph_file_writer_abandon(writer);
  return status;
}

/* ---- reading -------------------------------------------------------------------------------------------------------
 */

static void maps_files(void **state) {
  assert_holds(scratch_file(state, "some", "hello", 5), "hello");
  ph_error error = PH_ERROR_INIT;
  ph_file_map map;
  assert_ok(ph_file_map_open(scratch_file(state, "empty", "", 0), &map, &error), error);
  assert_true(map.data == NULL && map.size == 0);
  ph_file_map_close(&map);
}

static void says_why_it_cannot_read(void **state) {
  ph_error error = PH_ERROR_INIT;
  ph_file_map map;
  const char *missing = scratch_path(state, "missing");
  assert_int_equal(ph_file_map_open(missing, &map, &error), PH_IO);
  assert_contains(error.message, missing);
  assert_contains(error.message, "No such file");
  assert_int_equal(error.native_code, ENOENT);
  assert_int_equal(ph_file_map_open(*state, &map, &error), PH_IO);
  assert_contains(error.message, "a folder");
  const char *pipe_path = scratch_path(state, "pipe");
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  assert_int_equal(ph_file_map_open(pipe_path, &map, &error), PH_IO); /* and does not wait for a writer */
  assert_contains(error.message, "not a regular file");
  assert_int_equal(ph_file_map_open(missing, &map, NULL), PH_IO);
}

/* ---- writing -------------------------------------------------------------------------------------------------------
 */

static void appears_at_commit_alone(void **state) {
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_path(state, "late");
  ph_file_writer *writer;
  assert_ok(ph_file_writer_create(path, &writer, &error), error);
  assert_ok(ph_file_writer_put(writer, "abc", 3, &error), error);
  assert_ok(ph_file_writer_put(writer, NULL, 0, &error), error);
  assert_int_equal(access(path, F_OK), -1);
  assert_ok(ph_file_writer_put(writer, "def", 3, &error), error);
  assert_ok(ph_file_writer_commit(writer, &error), error);
  assert_holds(path, "abcdef");
}

static void replaces_what_was_there(void **state) {
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_file(state, "old", "old", 3);
  ph_file_map before;
  assert_ok(ph_file_map_open(path, &before, &error), error);
  assert_ok(write_text(path, "new text", &error), error);
  assert_holds(path, "new text");
  assert_memory_equal(before.data, "old", 3); /* who read it still does */
  ph_file_map_close(&before);
}

static void abandoned_leaves_nothing(void **state) {
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_file(state, "kept", "kept", 4);
  int files = scratch_count(*state);
  ph_file_writer *writer;
  assert_ok(ph_file_writer_create(path, &writer, &error), error);
  assert_ok(ph_file_writer_put(writer, "abc", 3, &error), error);
  assert_int_equal(scratch_count(*state), files + 1);
  ph_file_writer_abandon(writer);
  assert_int_equal(scratch_count(*state), files);
  assert_holds(path, "kept");
  ph_file_writer_abandon(NULL);
}

static void follows_a_link(void **state) {
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_file(state, "linked", "old", 3), *link = scratch_path(state, "link");
  assert_int_equal(symlink("linked", link), 0);
  assert_ok(write_text(link, "new", &error), error);
  struct stat about;
  assert_int_equal(lstat(link, &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  assert_holds(path, "new");
}

static void obeys_the_umask(void **state) {
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_path(state, "mode");
  mode_t before = umask(027);
  assert_ok(write_text(path, "x", &error), error);
  umask(before);
  struct stat about;
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_mode & 0777, 0640);
}

static void works_without_a_folder_in_the_path(void **state) {
  ph_error error = PH_ERROR_INIT;
  char before[SCRATCH_PATH_SIZE];
  assert_non_null(getcwd(before, sizeof(before)));
  assert_int_equal(chdir(*state), 0);
  ph_status status = write_text("bare", "x", &error);
  assert_int_equal(chdir(before), 0);
  assert_ok(status, error);
  assert_holds(scratch_path(state, "bare"), "x");
}

static void refuses_at_create(void **state) {
  ph_error error = PH_ERROR_INIT;
  ph_file_writer *writer;
  const char *path = scratch_path(state, "nowhere/y.npy");
  assert_int_equal(ph_file_writer_create(path, &writer, &error), PH_IO);
  assert_null(writer);
  assert_contains(error.message, path);
  assert_contains(error.message, "No such file");
  assert_int_equal(ph_file_writer_create(*state, &writer, &error), PH_IO);
  assert_contains(error.message, "a folder");
  assert_int_equal(ph_file_writer_create(scratch_path(state, "new/"), &writer, &error), PH_IO);
  assert_contains(error.message, "names no file");
  assert_int_equal(ph_file_writer_create("", &writer, &error), PH_IO);
  /* A rename would put a plain file in the place of the device. */
  assert_int_equal(ph_file_writer_create("/dev/null", &writer, &error), PH_IO);
  assert_contains(error.message, "not a regular file");
  char too_long[400];
  memset(too_long, 'x', sizeof(too_long) - 1);
  too_long[sizeof(too_long) - 1] = '\0';
  assert_int_equal(ph_file_writer_create(too_long, &writer, &error), PH_IO);
  assert_int_equal(error.native_code, ENAMETOOLONG);
}

static void refuses_what_is_read_only(void **state) {
  if (geteuid() == 0) {
    print_message("skipped: the superuser may write anywhere\n");
    skip();
  }
  ph_error error = PH_ERROR_INIT;
  ph_file_writer *writer;
  const char *folder = scratch_path(state, "shut");
  assert_int_equal(mkdir(folder, 0500), 0);
  assert_int_equal(ph_file_writer_create(scratch_path(state, "shut/x"), &writer, &error), PH_IO);
  assert_contains(error.message, "Permission denied");
  const char *file = scratch_file(state, "locked", "x", 1);
  assert_int_equal(chmod(file, 0400), 0);
  assert_int_equal(ph_file_writer_create(file, &writer, &error), PH_IO);
  assert_contains(error.message, "Permission denied");
}

/* A full disk, as far as a test can have one. */
static void a_failed_write_leaves_nothing(void **state) {
  ph_error error = PH_ERROR_INIT;
  const char *path = scratch_path(state, "large");
  int files = scratch_count(*state);
  struct rlimit before, small = {.rlim_cur = 1000};
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small.rlim_max = before.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  char *bytes = calloc(1, 100000);
  assert_non_null(bytes);
  static const size_t sizes[] = {2000, 100000}; /* the small one is buffered, and fails at commit */
  for (size_t i = 0; i < 2; i++) {
    ph_file_writer *writer;
    assert_ok(ph_file_writer_create(path, &writer, &error), error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ph_status status = ph_file_writer_put(writer, bytes, sizes[i], &error);
    if (status == PH_OK)
      status = ph_file_writer_commit(writer, &error);
    else
      ph_file_writer_abandon(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, PH_IO);
    assert_contains(error.message, path);
    assert_int_equal(error.native_code, EFBIG);
    assert_int_equal(scratch_count(*state), files);
  }
  free(bytes);
}

static void processes_do_not_meet(void **state) {
  enum { PROCESSES = 8, ROUNDS = 30, SIZE = 5000 };
  const char *path = scratch_path(state, "shared");
  int files = scratch_count(*state);
  pid_t children[PROCESSES];
  for (int p = 0; p < PROCESSES; p++) {
    children[p] = fork();
    assert_true(children[p] >= 0);
    if (children[p] > 0) continue;
    char text[SIZE + 1];
    memset(text, 'a' + p, SIZE);
    text[SIZE] = '\0';
    for (int round = 0; round < ROUNDS; round++)
      if (write_text(path, text, NULL) != PH_OK) _exit(1);
    _exit(0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    assert_int_equal(waitpid(children[p], &status, 0), children[p]);
    assert_int_equal(status, 0);
  }
  ph_error error = PH_ERROR_INIT;
  ph_file_map map;
  assert_ok(ph_file_map_open(path, &map, &error), error);
  assert_int_equal(map.size, SIZE);
  for (size_t i = 0; i < map.size; i++) assert_int_equal(map.data[i], map.data[0]);
  ph_file_map_close(&map);
  assert_int_equal(scratch_count(*state), files + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_files),
      cmocka_unit_test(says_why_it_cannot_read),
      cmocka_unit_test(appears_at_commit_alone),
      cmocka_unit_test(replaces_what_was_there),
      cmocka_unit_test(abandoned_leaves_nothing),
      cmocka_unit_test(follows_a_link),
      cmocka_unit_test(obeys_the_umask),
      cmocka_unit_test(works_without_a_folder_in_the_path),
      cmocka_unit_test(refuses_at_create),
      cmocka_unit_test(refuses_what_is_read_only),
      cmocka_unit_test(a_failed_write_leaves_nothing),
      cmocka_unit_test(processes_do_not_meet),
  };
  return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
