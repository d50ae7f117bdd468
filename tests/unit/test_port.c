/* Ports between tensors and buffers: what is copied, what is wrapped, and what is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/port.h"
#include "tensor/storage.h"

/* ---- a backend that counts ---- */

enum { CREATED, WRAPPED, DESTROYED, WRITTEN, READ, MAPPED, UNMAPPED, COUNTS };
static int counts[COUNTS];
static bool wants_no_memory;

struct ph_buffer {
  unsigned char *bytes;
  bool lent;
};

static ph_status buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  (void)device, (void)error;
  counts[CREATED]++;
  *out = calloc(1, sizeof(**out));
  (*out)->bytes = calloc(1, bytes);
  return PH_OK;
}

static ph_status buffer_wrap(ph_device *device, void *memory, uint64_t bytes, ph_buffer **out, ph_error *error) {
  (void)device, (void)bytes, (void)error;
  if (wants_no_memory) return PH_UNSUPPORTED;
  counts[WRAPPED]++;
  *out = calloc(1, sizeof(**out));
  **out = (ph_buffer){.bytes = memory, .lent = true};
  return PH_OK;
}

static void buffer_destroy(ph_buffer *buffer) {
  counts[DESTROYED]++;
  if (!buffer->lent) free(buffer->bytes);
  free(buffer);
}

static ph_status write_bytes(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                             ph_error *error) {
  (void)queue, (void)error;
  counts[WRITTEN]++;
  memcpy(to->bytes + offset, from, bytes);
  return PH_OK;
}

static ph_status read_bytes(ph_queue *queue, void *to, ph_buffer *from, uint64_t offset, uint64_t bytes,
                            ph_error *error) {
  (void)queue, (void)error;
  counts[READ]++;
  memcpy(to, from->bytes + offset, bytes);
  return PH_OK;
}

static ph_status buffer_map(ph_queue *queue, ph_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t flags,
                            void **out, ph_error *error) {
  (void)queue, (void)bytes, (void)flags, (void)error;
  counts[MAPPED]++;
  *out = buffer->bytes + offset;
  return PH_OK;
}

static ph_status buffer_unmap(ph_queue *queue, ph_buffer *buffer, ph_error *error) {
  (void)queue, (void)buffer, (void)error;
  counts[UNMAPPED]++;
  return PH_OK;
}

static const ph_backend backend = {
    PH_BACKEND_HEADER,  .buffer_create = buffer_create, .buffer_destroy = buffer_destroy, .write = write_bytes,
    .read = read_bytes, .buffer_map = buffer_map,       .buffer_unmap = buffer_unmap,     .buffer_wrap = buffer_wrap};

/* A device that shares its memory with the host. */
static ph_open_device device;

static int set_up(void **state) {
  (void)state;
  memset(counts, 0, sizeof(counts));
  wants_no_memory = false;
  device = (ph_open_device){.backend = &backend, .limits = {.caps = PH_CAP_UNIFIED_MEMORY, .alignment = 128}};
  return 0;
}

static void assert_counts(int created, int wrapped, int destroyed, int written) {
  assert_int_equal(counts[CREATED], created);
  assert_int_equal(counts[WRAPPED], wrapped);
  assert_int_equal(counts[DESTROYED], destroyed);
  assert_int_equal(counts[WRITTEN], written);
}

enum { LARGE = 1 << 18, SMALL = 16 };

static ph_tensor *tensor_of(int64_t count) {
  ph_tensor *tensor;
  assert_int_equal(ph_tensor_create(PH_F32, 1, &count, &tensor, NULL), PH_OK);
  return tensor;
}

static void feed(ph_port *port, ph_tensor *tensor, uint64_t content) {
  assert_int_equal(ph_port_feed(port, &device, NULL, tensor, content, NULL), PH_OK);
}

/* ---- inputs ---- */

static void the_same_content_is_fed_once(void **state) {
  (void)state;
  ph_port port = {0};
  ph_tensor *small = tensor_of(SMALL), *large = tensor_of(LARGE);
  feed(&port, small, 1);
  feed(&port, small, 1);
  assert_counts(1, 0, 0, 1);
  feed(&port, small, 2);
  assert_counts(1, 0, 0, 2);
  feed(&port, small, PH_CONTENT_UNKNOWN);
  feed(&port, small, PH_CONTENT_UNKNOWN);
  assert_counts(1, 0, 0, 4);
  ph_port_close(&port, &device);

  set_up(NULL);
  feed(&port, large, 3);
  feed(&port, large, 3);
  assert_counts(0, 1, 0, 0);
  assert_ptr_equal(port.buffer->bytes, large->data);
  feed(&port, large, 4); /* a driver may have looked at the memory when it was wrapped, and never again */
  assert_counts(0, 2, 1, 0);
  ph_port_close(&port, &device);
  assert_counts(0, 2, 2, 0);
  assert_true(ph_tensor_is_sole(small) && ph_tensor_is_sole(large));
  ph_tensor_release(small);
  ph_tensor_release(large);
}

static void what_cannot_be_wrapped_is_copied(void **state) {
  for (int reason = 0; reason < 3; reason++) {
    set_up(state);
    if (reason == 0) wants_no_memory = true;
    if (reason == 1) device.limits.caps = 0;
    if (reason == 2) device.limits.alignment = 1u << 30; /* no memory lies like that, but by chance */
    ph_port port = {0};
    ph_tensor *large = tensor_of(LARGE);
    ((float *)large->data)[LARGE - 1] = 5;
    feed(&port, large, 1);
    assert_counts(1, 0, 0, 1);
    assert_memory_equal(port.buffer->bytes, large->data, large->bytes);
    ph_port_close(&port, &device);
    ph_tensor_release(large);
  }
}

static void nothing_is_made_for_a_tensor_without_elements(void **state) {
  (void)state;
  ph_port port = {0};
  ph_tensor *none = tensor_of(0);
  feed(&port, none, 1);
  assert_null(port.buffer);
  ph_type type = {.dtype = PH_F32, .rank = 1};
  ph_port out = {0};
  assert_int_equal(ph_port_open(&out, &device, &type, NULL), PH_OK);
  assert_int_equal(ph_port_fetch(&out, &device, NULL, NULL), PH_OK);
  assert_non_null(out.tensor);
  assert_counts(0, 0, 0, 0);
  ph_port_close(&port, &device);
  ph_port_close(&out, &device);
  ph_tensor_release(none);
}

/* ---- outputs ---- */

static void an_output_serves_again_unless_somebody_has_it(void **state) {
  (void)state;
  for (int64_t count = SMALL; count <= LARGE; count += LARGE - SMALL) {
    set_up(NULL);
    bool large = count == LARGE;
    ph_port port = {0};
    ph_type type = {.dtype = PH_F32, .rank = 1, .dims = {{.value = count}}};
    assert_int_equal(ph_port_open(&port, &device, &type, NULL), PH_OK);
    ph_tensor *first = port.tensor;
    assert_int_equal(ph_port_open(&port, &device, &type, NULL), PH_OK);
    assert_ptr_equal(port.tensor, first);
    ph_tensor_retain(first);
    assert_int_equal(ph_port_open(&port, &device, &type, NULL), PH_OK);
    assert_ptr_not_equal(port.tensor, first);
    assert_counts(large ? 0 : 1, large ? 2 : 0, large ? 1 : 0, 0);
    ph_tensor_release(first);

    memset(port.buffer->bytes, 7, port.tensor->bytes);
    assert_int_equal(ph_port_fetch(&port, &device, NULL, NULL), PH_OK);
    assert_int_equal(((unsigned char *)port.tensor->data)[port.tensor->bytes - 1], 7);
    assert_int_equal(counts[READ], large ? 0 : 1);
    assert_int_equal(counts[MAPPED], large ? 1 : 0);
    assert_int_equal(counts[UNMAPPED], counts[MAPPED]);
    ph_port_close(&port, &device);
  }
}

static void a_port_at_rest_keeps_no_tensor(void **state) {
  (void)state;
  ph_port port = {0};
  ph_tensor *small = tensor_of(SMALL);
  feed(&port, small, 1);
  ph_port_rest(&port, &device);
  assert_true(ph_tensor_is_sole(small));
  feed(&port, small, 1); /* fed anew, into the buffer that is there */
  assert_counts(1, 0, 0, 2);
  ph_port_close(&port, &device);
  ph_tensor_release(small);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, set_up)
  const struct CMUnitTest tests[] = {
      TEST(the_same_content_is_fed_once),
      TEST(what_cannot_be_wrapped_is_copied),
      TEST(nothing_is_made_for_a_tensor_without_elements),
      TEST(an_output_serves_again_unless_somebody_has_it),
      TEST(a_port_at_rest_keeps_no_tensor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
