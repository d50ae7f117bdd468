/* The host code against PoCL, and what it finds around it: the cache on disk, other processes, several devices, no
 * driver, kernels in a folder.  What wants an environment or a process of its own runs this program again. */
#define _GNU_SOURCE /* memmem */
#include "pocl_life.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opencl/cache.h"
#include "scratch.h"

/* ---- the cache on disk (R067, R068) ---- */

/* The one entry of a cache that one life filled. */
static char *entry_of(const char *folder) {
  char *path = NULL;
  DIR *open = opendir(folder);
  assert_non_null(open);
  for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    assert_null(path);
    size_t size = strlen(folder) + strlen(entry->d_name) + 2;
    path = malloc(size);
    assert_non_null(path);
    snprintf(path, size, "%s/%s", folder, entry->d_name);
  }
  closedir(open);
  assert_non_null(path);
  return path;
}

static size_t size_of(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return (size_t)status.st_size;
}

static void flip_byte(const char *path, long at) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  int byte = fgetc(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  assert_int_equal(fputc(byte ^ 0x55, file), byte ^ 0x55);
  assert_int_equal(fclose(file), 0);
}

/* An entry that is whole, but of another driver: our own with a byte of its key changed, and the sum made right again.
 */
static void rekey(const char *path) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  size_t size = size_of(path);
  unsigned char *bytes = malloc(size);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, size, file), size);
  enum { CHECK_AT = 32, KEY_AT = 40 };
  unsigned char *driver = memmem(bytes + KEY_AT, size - KEY_AT, "driver ", 7);
  assert_non_null(driver);
  driver[7] ^= 1;
  uint64_t check = cl_hash(CL_HASH_START, bytes + KEY_AT, size - KEY_AT);
  memcpy(bytes + CHECK_AT, &check, sizeof(check));
  rewind(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  free(bytes);
}

static void the_cache_is_used(void **state) {
  (void)state;
  char *folder = scratch_folder();
  free(live_well("", folder, NULL));
  char *path = entry_of(folder);
  struct stat before, after;
  assert_int_equal(stat(path, &before), 0);
  char *log = live_well("", folder, NULL);
  assert_string_equal(log, "");
  assert_int_equal(stat(path, &after), 0);
  assert_int_equal(before.st_ino, after.st_ino); /* not written again */
  free(log);
  free(path);
  scratch_remove(folder);
}

static void a_bad_entry_is_a_miss_with_a_notice(void **state) {
  (void)state;
  for (int damage = 0; damage < 8; damage++) {
    char *folder = scratch_folder();
    free(live_well("", folder, NULL));
    char *path = entry_of(folder);
    size_t size = size_of(path);
    if (damage == 0) assert_int_equal(truncate(path, 0), 0);
    if (damage == 1) assert_int_equal(truncate(path, 20), 0);
    if (damage == 2) assert_int_equal(truncate(path, (off_t)size - 1), 0);
    if (damage == 3) flip_byte(path, 0);
    if (damage == 4) flip_byte(path, 16);             /* a size */
    if (damage == 5) flip_byte(path, (long)size / 2); /* somewhere in the binary */
    if (damage == 6) rekey(path);
    if (damage == 7) { /* what cannot be read at all */
      assert_int_equal(unlink(path), 0);
      assert_int_equal(symlink("/dev", path), 0);
    }
    char *log = live_well("", folder, NULL);
    assert_has(log, "the cached program");
    assert_has(log, path);
    const char *notice = strstr(log, "made anew");
    assert_non_null(notice);
    assert_null(strstr(notice + 1, "made anew")); /* one notice */
    free(log);
    if (damage != 7) { /* the entry is good again */
      log = live_well("", folder, NULL);
      assert_string_equal(log, "");
      free(log);
    }
    free(path);
    scratch_remove(folder);
  }
}

static void a_cache_that_cannot_be_written_is_none(void **state) {
  (void)state;
  char *log = live_well("", "/proc/nowhere", NULL);
  assert_has(log, "compiled programs are not kept");
  free(log);
}

/* ---- processes of their own ---- */

/* Runs this program with `arguments` and gives what it printed, to be freed. */
static char *run_self(const char *environment, const char *arguments, int wanted_exit) {
  ph_text command = {0}, text = {0};
  ph_text_add(&command, "%s '%s' %s", environment, scratch_self(), arguments);
  assert_false(command.failed);
  FILE *pipe = popen(command.data, "r");
  assert_non_null(pipe);
  char part[1024];
  for (size_t length; (length = fread(part, 1, sizeof(part), pipe)) > 0;) ph_text_put(&text, part, length);
  int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted_exit)
    fail_msg("%s: %s", command.data, text.data != NULL ? text.data : "");
  ph_text_free(&command);
  assert_non_null(text.data);
  return text.data;
}

static void eight_processes_share_a_cache(void **state) {
  (void)state;
  char *folder = scratch_folder();
  pid_t children[8];
  for (int i = 0; i < 8; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      execl(scratch_self(), scratch_self(), "live", folder, (char *)NULL);
      _exit(127);
    }
    assert_true(children[i] > 0);
  }
  for (int i = 0; i < 8; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  free(entry_of(folder)); /* one entry, and nothing left beside it */
  char *log = live_well("", folder, NULL);
  assert_string_equal(log, "");
  free(log);
  scratch_remove(folder);
}

static void two_devices_of_one_platform(void **state) {
  (void)state;
  char *text = run_self("POCL_DEVICES='pthread basic'", "list", 0);
  unsigned first_platform, first_device, second_platform, second_device;
  char first_id[64], second_id[64];
  assert_int_equal(sscanf(text, "2 devices\n%u:%u %63s right\n%u:%u %63s right\n", &first_platform, &first_device,
                          first_id, &second_platform, &second_device, second_id),
                   6);
  assert_int_equal(first_platform, second_platform);
  assert_int_equal(first_device, 0);
  assert_int_equal(second_device, 1);
  assert_string_not_equal(first_id, second_id);
  char *again = run_self("POCL_DEVICES='pthread basic'", "list", 0);
  assert_string_equal(text, again); /* ids, too, are the same in every run */
  free(again);
  free(text);
  text = run_self("POCL_DEVICES='basic basic'", "list", 0);
  assert_int_equal(sscanf(text, "2 devices\n%u:%u %63s right\n%u:%u %63s right\n", &first_platform, &first_device,
                          first_id, &second_platform, &second_device, second_id),
                   6);
  assert_string_not_equal(first_id, second_id);
  free(text);
}

static void no_driver_is_no_error(void **state) {
  (void)state;
  char *text = run_self("OCL_ICD_VENDORS=/nonexistent", "list", 0);
  assert_string_equal(text, "0 devices\n");
  free(text);
}

static void put_file(const char *folder, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* R071, with a compiler that has something to say; and kernels come from the folder, not from the library. */
static void kernels_from_a_folder(void **state) {
  (void)state;
  char *folder = scratch_folder(), *cache = scratch_folder();
  ph_text environment = {0}, arguments = {0};
  ph_text_add(&environment, "POLYHEAD_KERNEL_DIR='%s'", folder);
  ph_text_add(&arguments, "live '%s' 2>&1", cache);
  put_file(folder, "common.cl", "");
  put_file(folder, "fast.cl", "kernel void mix_first() { this_is_no_c; }\n");
  put_file(folder, "careful.cl", "kernel void mix_first(global float *x) { int unused; x[0] = no_such_name; }\n");
  char *text = run_self(environment.data, arguments.data, 1);
  static const char *const parts[] = {"fast.cl:1:",
                                      "this_is_no_c",
                                      "careful.cl:1:",
                                      "no_such_name",
                                      "driver:",
                                      "-cl-std=CL1.2 -DIN0=F32",
                                      "CL_BUILD_PROGRAM_FAILURE in clBuildProgram",
                                      "log in"};
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) assert_has(text, parts[i]);
  free(text);
  ph_text_free(&arguments);
  ph_text_free(&environment);
  scratch_remove(folder);
  scratch_remove(cache);
}

/* The program as a child. */
static int list(void) {
  toy_host host;
  toy_host_init(&host, NULL);
  toy_life life = {.count = COUNT, .runs = 1};
  toy_live(toy_backend(true), &host, &life);
  printf("%u devices\n", (unsigned)life.device_count);
  for (uint32_t i = 0; i < life.device_count; i++) {
    life = (toy_life){.count = COUNT, .runs = 1, .device = i};
    toy_live(toy_backend(true), &host, &life);
    printf("%u:%u %s %s\n", (unsigned)life.limits.platform_index, (unsigned)life.limits.device_index, life.limits.id,
           life.status == PH_OK && life.right ? "right" : life.error.message);
  }
  toy_host_free(&host);
  return 0;
}

static int live_once(const char *cache_dir) {
  toy_host host;
  toy_life life = live("", cache_dir, &host);
  if (life.status != PH_OK) fprintf(stderr, "%s\n", life.error.message);
  fputs(host.log.data, stderr);
  toy_host_free(&host);
  return life.status == PH_OK && life.right ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "list") == 0) return list();
  if (argc > 2 && strcmp(argv[1], "live") == 0) return live_once(argv[2]);
  int missing = without_pocl();
  if (missing >= 0) return missing;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cache_is_used),
      cmocka_unit_test(a_bad_entry_is_a_miss_with_a_notice),
      cmocka_unit_test(a_cache_that_cannot_be_written_is_none),
      cmocka_unit_test(eight_processes_share_a_cache),
      cmocka_unit_test(two_devices_of_one_platform),
      cmocka_unit_test(no_driver_is_no_error),
      cmocka_unit_test(kernels_from_a_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
