/* The layout of the plugin ABI, pinned to its number: who changes one without the other fails here (user-reports R080).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <polyhead/backend.h>

#define SIZE(type)           sizeof(type)
#define MEMBER(type, member) offsetof(type, member), sizeof(((type *)0)->member)

/* Every struct whose members a plugin and a host both touch, member by member. */
static const size_t layout[] = {
    SIZE(ph_error),
    MEMBER(ph_error, struct_size),
    MEMBER(ph_error, code),
    MEMBER(ph_error, node),
    MEMBER(ph_error, native_code),
    MEMBER(ph_error, where),
    MEMBER(ph_error, message),

    SIZE(ph_host),
    MEMBER(ph_host, struct_size),
    MEMBER(ph_host, abi_version),
    MEMBER(ph_host, user),
    MEMBER(ph_host, alloc),
    MEMBER(ph_host, free),
    MEMBER(ph_host, log),
    MEMBER(ph_host, log_level),
    MEMBER(ph_host, cache_dir),

    SIZE(ph_option),
    MEMBER(ph_option, key),
    MEMBER(ph_option, value),

    SIZE(ph_tensor_desc),
    MEMBER(ph_tensor_desc, struct_size),
    MEMBER(ph_tensor_desc, name),
    MEMBER(ph_tensor_desc, kind),
    MEMBER(ph_tensor_desc, dtype),
    MEMBER(ph_tensor_desc, rank),
    MEMBER(ph_tensor_desc, dims),
    MEMBER(ph_tensor_desc, strides),
    MEMBER(ph_tensor_desc, data),

    SIZE(ph_attr),
    MEMBER(ph_attr, name),
    MEMBER(ph_attr, kind),
    MEMBER(ph_attr, as.i64),
    MEMBER(ph_attr, as.f64),
    MEMBER(ph_attr, as.string),
    MEMBER(ph_attr, as.list.items),
    MEMBER(ph_attr, as.list.count),

    SIZE(ph_node),
    MEMBER(ph_node, struct_size),
    MEMBER(ph_node, op),
    MEMBER(ph_node, op_version),
    MEMBER(ph_node, id),
    MEMBER(ph_node, inputs),
    MEMBER(ph_node, input_count),
    MEMBER(ph_node, outputs),
    MEMBER(ph_node, output_count),
    MEMBER(ph_node, attrs),
    MEMBER(ph_node, attr_count),

    SIZE(ph_graph),
    MEMBER(ph_graph, struct_size),
    MEMBER(ph_graph, tensors),
    MEMBER(ph_graph, tensor_count),
    MEMBER(ph_graph, nodes),
    MEMBER(ph_graph, node_count),

    SIZE(ph_device_info),
    MEMBER(ph_device_info, struct_size),
    MEMBER(ph_device_info, kind),
    MEMBER(ph_device_info, caps),
    MEMBER(ph_device_info, platform_index),
    MEMBER(ph_device_info, device_index),
    MEMBER(ph_device_info, alignment),
    MEMBER(ph_device_info, memory_bytes),
    MEMBER(ph_device_info, max_buffer_bytes),
    MEMBER(ph_device_info, id),
    MEMBER(ph_device_info, name),
    MEMBER(ph_device_info, platform),
    MEMBER(ph_device_info, driver),

    SIZE(ph_support),
    MEMBER(ph_support, struct_size),
    MEMBER(ph_support, supported),
    MEMBER(ph_support, needs_dense),
    MEMBER(ph_support, stage_type),
    MEMBER(ph_support, variant),
    MEMBER(ph_support, reason),
    MEMBER(ph_support, shape_class),
    MEMBER(ph_support, order),

    SIZE(ph_binding),
    MEMBER(ph_binding, tensor),
    MEMBER(ph_binding, buffer),
    MEMBER(ph_binding, offset),
    SIZE(ph_node_time),
    MEMBER(ph_node_time, start_ns),
    MEMBER(ph_node_time, end_ns),

    SIZE(ph_peak),
    MEMBER(ph_peak, struct_size),
    MEMBER(ph_peak, flops),
    MEMBER(ph_peak, read_bytes),
    MEMBER(ph_peak, triad_bytes),

    SIZE(ph_backend),
    MEMBER(ph_backend, struct_size),
    MEMBER(ph_backend, abi_version),
    MEMBER(ph_backend, name),
    MEMBER(ph_backend, version),
    MEMBER(ph_backend, vendor),
    MEMBER(ph_backend, summary),
    MEMBER(ph_backend, open),
    MEMBER(ph_backend, close),
    MEMBER(ph_backend, device_count),
    MEMBER(ph_backend, device_info),
    MEMBER(ph_backend, device_open),
    MEMBER(ph_backend, device_limits),
    MEMBER(ph_backend, device_close),
    MEMBER(ph_backend, supports),
    MEMBER(ph_backend, buffer_create),
    MEMBER(ph_backend, buffer_destroy),
    MEMBER(ph_backend, program_create),
    MEMBER(ph_backend, program_destroy),
    MEMBER(ph_backend, plan_create),
    MEMBER(ph_backend, plan_destroy),
    MEMBER(ph_backend, queue_create),
    MEMBER(ph_backend, queue_destroy),
    MEMBER(ph_backend, write),
    MEMBER(ph_backend, read),
    MEMBER(ph_backend, execute),
    MEMBER(ph_backend, finish),
    MEMBER(ph_backend, buffer_map),
    MEMBER(ph_backend, buffer_unmap),
    MEMBER(ph_backend, device_peak),
    MEMBER(ph_backend, buffer_wrap),
    MEMBER(ph_backend, candidate),
};

/* FNV-1a over the numbers. */
static uint64_t layout_hash(void) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < sizeof(layout) / sizeof(layout[0]); i++)
    for (int byte = 0; byte < 4; byte++) hash = (hash ^ (layout[i] >> (8 * byte) & 0xFF)) * 0x100000001b3u;
  return hash;
}

static void test_layout(void **state) {
  (void)state;
  if (sizeof(void *) != 8 || _Alignof(uint64_t) != 8) skip(); /* the hash is that of 64-bit machines */
  assert_int_equal(PH_ABI_VERSION, 1u << 16 | 1);
  assert_int_equal(layout_hash(), 0x2e47d136979901c3u);
}

/* Statuses and types cross the ABI as numbers: none is ever reused or moved. */
static void test_numbers(void **state) {
  (void)state;
  const int numbers[] = {PH_OK,
                         PH_INVALID,
                         PH_UNSUPPORTED,
                         PH_UNAVAILABLE,
                         PH_OUT_OF_MEMORY,
                         PH_INCOMPATIBLE,
                         PH_DEVICE_FAILED,
                         PH_IO,
                         PH_INTERNAL,
                         PH_DTYPE_NONE,
                         PH_F32,
                         PH_F16,
                         PH_BF16,
                         PH_F64,
                         PH_I32,
                         PH_I64,
                         PH_BOOL,
                         PH_TENSOR_INPUT,
                         PH_TENSOR_CONSTANT,
                         PH_TENSOR_STATE,
                         PH_TENSOR_INNER,
                         PH_TENSOR_OUTPUT,
                         PH_ATTR_I64,
                         PH_ATTR_F64,
                         PH_ATTR_STRING,
                         PH_ATTR_I64_LIST,
                         PH_ATTR_VARIES,
                         PH_DEVICE_CPU,
                         PH_DEVICE_GPU,
                         PH_DEVICE_OTHER,
                         PH_STAGE_SCORE,
                         PH_STAGE_WEIGHT,
                         PH_STAGE_ACCUM,
                         PH_STAGE_MAX};
  const int expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7,
                          1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 0, 1, 2, 4};
  assert_memory_equal(numbers, expected, sizeof(expected));
  assert_int_equal(sizeof(numbers), sizeof(expected));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_layout), cmocka_unit_test(test_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
