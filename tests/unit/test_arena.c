/* The arena: what lives at the same time never overlaps, what is dead makes room, limits hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/random.h"
#include "runtime/arena.h"

static void check_layout(const ph_arena_piece *pieces, uint32_t count, uint32_t alignment, const uint64_t *sizes,
                         uint32_t chunks) {
  for (uint32_t i = 0; i < count; i++) {
    const ph_arena_piece *a = &pieces[i];
    if (a->bytes == 0) continue;
    assert_true(a->chunk < chunks);
    assert_int_equal(a->offset % alignment, 0);
    assert_true(a->offset + a->bytes <= sizes[a->chunk]);
    for (uint32_t k = 0; k < i; k++) {
      const ph_arena_piece *b = &pieces[k];
      bool same_time = a->first <= b->last && b->first <= a->last;
      bool same_place = a->chunk == b->chunk && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
      assert_false(same_time && same_place && b->bytes > 0);
    }
  }
}

static void a_chain_needs_room_for_two(void **state) {
  (void)state;
  ph_arena_piece pieces[10];
  for (uint32_t i = 0; i < 10; i++) pieces[i] = (ph_arena_piece){.bytes = 4096, .first = i, .last = i + 1};
  uint64_t *sizes;
  uint32_t chunks;
  assert_int_equal(ph_arena_plan(pieces, 10, 128, UINT64_MAX, &sizes, &chunks, NULL), PH_OK);
  assert_int_equal(chunks, 1);
  assert_int_equal(sizes[0], 8192);
  check_layout(pieces, 10, 128, sizes, chunks);
  free(sizes);
}

/* R056: 1, 129 and 4096 bytes on a device that aligns to 1024 bits. */
static void offsets_are_aligned_in_bytes(void **state) {
  (void)state;
  ph_arena_piece pieces[] = {{.bytes = 1, .last = 9}, {.bytes = 129, .last = 9}, {.bytes = 4096, .last = 9}};
  uint64_t *sizes;
  uint32_t chunks;
  assert_int_equal(ph_arena_plan(pieces, 3, 128, UINT64_MAX, &sizes, &chunks, NULL), PH_OK);
  check_layout(pieces, 3, 128, sizes, chunks);
  assert_int_equal(sizes[0], 4096 + 256 + 1);
  free(sizes);
}

static void chunks_stay_below_the_largest_buffer(void **state) {
  (void)state;
  ph_arena_piece pieces[] = {{.bytes = 700, .last = 1}, {.bytes = 700, .last = 1}, {.bytes = 200, .last = 1}};
  uint64_t *sizes;
  uint32_t chunks;
  assert_int_equal(ph_arena_plan(pieces, 3, 64, 1000, &sizes, &chunks, NULL), PH_OK);
  assert_int_equal(chunks, 2);
  check_layout(pieces, 3, 64, sizes, chunks);
  free(sizes);
  ph_error error = PH_ERROR_INIT;
  pieces[0].bytes = 1001;
  assert_int_equal(ph_arena_plan(pieces, 3, 64, 1000, &sizes, &chunks, &error), PH_INVALID);
  assert_non_null(strstr(error.message, "1001 bytes"));
}

static void random_lives_never_overlap(void **state) {
  (void)state;
  for (uint64_t round = 0; round < 200; round++) {
    ph_arena_piece pieces[24] = {{0}};
    uint64_t key = ph_random_key(round, "arena");
    for (uint32_t i = 0; i < 24; i++) {
      pieces[i].bytes = ph_random_bits(key, 3 * i) % 5000;
      pieces[i].first = (uint32_t)(ph_random_bits(key, 3 * i + 1) % 20);
      pieces[i].last = pieces[i].first + (uint32_t)(ph_random_bits(key, 3 * i + 2) % 6);
    }
    uint64_t *sizes;
    uint32_t chunks;
    assert_int_equal(ph_arena_plan(pieces, 24, 64, 6000, &sizes, &chunks, NULL), PH_OK);
    check_layout(pieces, 24, 64, sizes, chunks);
    free(sizes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_needs_room_for_two),
      cmocka_unit_test(offsets_are_aligned_in_bytes),
      cmocka_unit_test(chunks_stay_below_the_largest_buffer),
      cmocka_unit_test(random_lives_never_overlap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
