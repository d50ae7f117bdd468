/* Running one node on a device and on the oracle. */
#include "node_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "graph/op.h"
#include "oracle/tolerance.h"

enum { GUARD = 64, MOST_OPS = 64 };
static const unsigned char guard_byte = 0xa5;

/* ---- devices ---- */

typedef struct configuration {
  const char *name;
  ph_option options[2];
  uint32_t option_count;
  int64_t every; /* takes one case in so many; other than the first, of those in f32 alone */
  ph_device *device;
  ph_queue *queue;
  uint32_t alignment;
} configuration;

static configuration configurations[] = {
    {.name = "as it is", .every = 1},
    {.name = "variant=plain", .options = {{"variant", "plain"}}, .option_count = 1, .every = 1},
    {.name = "max_wg=1", .options = {{"max_wg", "1"}}, .option_count = 1, .every = 5},
    {.name = "max_wg=7,align_bits=32768",
     .options = {{"max_wg", "7"}, {"align_bits", "32768"}},
     .option_count = 2,
     .every = 7},
};
enum { CONFIGURATIONS = sizeof(configurations) / sizeof(configurations[0]) };

static const ph_backend *backend;
static ph_backend_context *context;
static int64_t cases_run;

static void log_line(void *user, ph_log_level level, const char *text) {
  (void)user;
  if (level <= PH_LOG_WARN) fprintf(stderr, "%s\n", text);
}

static ph_host host = {
    .struct_size = sizeof(host), .abi_version = PH_ABI_VERSION, .log = log_line, .log_level = PH_LOG_WARN};

static void check(ph_status status, const ph_error *error, const node_case *c) {
  if (status == PH_OK) return;
  fail_msg("%s, %s: %s (%s)", c != NULL ? c->node.op : "device", c != NULL ? c->title : "", error->message,
           error->where);
}

static uint32_t find_device(const char *wanted) {
  ph_error error = PH_ERROR_INIT;
  uint32_t count = 0;
  check(backend->device_count(context, &count, &error), &error, NULL);
  for (uint32_t i = 0; i < count; i++) {
    ph_device_info info = {.struct_size = sizeof(info)};
    check(backend->device_info(context, i, &info, &error), &error, NULL);
    if (ph_contains_ignoring_case(info.name, wanted) || ph_contains_ignoring_case(info.platform, wanted)) return i;
  }
  return PH_NONE;
}

bool case_devices_open(void) {
  ph_error error = PH_ERROR_INIT;
  const char *wanted = getenv("POLYHEAD_TEST_DEVICE");
  if (wanted == NULL) wanted = "Portable Computing Language";
  host.cache_dir = getenv("POLYHEAD_TEST_CACHE");
  backend = ph_backend_query(PH_ABI_VERSION);
  check(backend->open(&host, NULL, 0, &context, &error), &error, NULL);
  uint32_t index = find_device(wanted);
  if (index == PH_NONE) {
    printf("skipped: there is no OpenCL device '%s'\n", wanted);
    return false;
  }
  for (uint32_t i = 0; i < CONFIGURATIONS; i++) {
    configuration *at = &configurations[i];
    check(backend->device_open(context, index, at->options, at->option_count, &at->device, &error), &error, NULL);
    ph_device_info info = {.struct_size = sizeof(info)};
    check(backend->device_limits(at->device, &info, &error), &error, NULL);
    at->alignment = info.alignment;
    check(backend->queue_create(at->device, 0, &at->queue, &error), &error, NULL);
  }
  return true;
}

/* ---- what each op came to ---- */

static struct {
  char op[32], title[128];
  double ratio, expected, got;
  int64_t cases, elements;
} worst[MOST_OPS];

static void note(const node_case *c, const ph_verdict *verdict, const ph_oracle_output *expected, const void *got,
                 bool first) {
  uint32_t i = 0;
  while (worst[i].op[0] != '\0' && strcmp(worst[i].op, c->node.op) != 0) i++;
  assert_true(i < MOST_OPS);
  snprintf(worst[i].op, sizeof(worst[i].op), "%s", c->node.op);
  worst[i].cases += first;
  worst[i].elements += verdict->compared;
  if (verdict->worst_ratio <= worst[i].ratio) return;
  worst[i].ratio = verdict->worst_ratio;
  worst[i].expected =
      expected->real != NULL ? expected->real[verdict->worst] : (double)expected->integer[verdict->worst];
  worst[i].got = ph_read_real(expected->dtype, got, (size_t)verdict->worst);
  snprintf(worst[i].title, sizeof(worst[i].title), "%s", c->title);
}

void case_devices_close(void) {
  for (uint32_t i = 0; i < CONFIGURATIONS; i++) {
    if (configurations[i].queue != NULL) backend->queue_destroy(configurations[i].queue);
    if (configurations[i].device != NULL) backend->device_close(configurations[i].device);
    configurations[i].queue = NULL;
    configurations[i].device = NULL;
  }
  if (context != NULL) backend->close(context);
  context = NULL;
  for (uint32_t i = 0; i < MOST_OPS && worst[i].op[0] != '\0'; i++)
    printf("%-20s %4lld cases, %8lld elements, largest share of the bound %.3f (%s: %.9g for %.9g)\n", worst[i].op,
           (long long)worst[i].cases, (long long)worst[i].elements, worst[i].ratio, worst[i].title, worst[i].got,
           worst[i].expected);
}

/* ---- building a case ---- */

node_case *case_new(const char *op, const char *title, ...) {
  node_case *c = calloc(1, sizeof(*c));
  char *text = malloc(128);
  assert_true(c != NULL && text != NULL);
  va_list list;
  va_start(list, title);
  vsnprintf(text, 128, title, list);
  va_end(list);
  c->title = text;
  c->node = (ph_node){.struct_size = sizeof(ph_node),
                      .op = op,
                      .op_version = 1,
                      .id = op,
                      .inputs = c->inputs,
                      .outputs = c->outputs,
                      .attrs = c->attrs};
  return c;
}

void case_free(node_case *c) {
  for (uint32_t i = 0; i < c->tensor_count; i++) free(c->memory[i]);
  free((void *)c->title);
  free(c);
}

static int64_t span_of(const ph_tensor_desc *desc) {
  int64_t last = 0;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (desc->dims[i] == 0) return 0;
    last += (desc->dims[i] - 1) * desc->strides[i];
  }
  return last + 1;
}

/* The offset of element `index`, counted row by row. */
static size_t offset_of(const ph_tensor_desc *desc, int64_t index) {
  int64_t offset = 0;
  for (uint32_t i = desc->rank; i-- > 0;) {
    offset += index % desc->dims[i] * desc->strides[i];
    index /= desc->dims[i];
  }
  return (size_t)offset;
}

static uint32_t add_tensor(node_case *c, ph_tensor_kind kind, ph_dtype dtype, uint32_t rank, const int64_t *dims) {
  assert_true(c->tensor_count < CASE_TENSORS);
  ph_tensor_desc *desc = &c->tensors[c->tensor_count];
  *desc = (ph_tensor_desc){.struct_size = sizeof(*desc),
                           .name = kind == PH_TENSOR_INPUT ? "input" : "output",
                           .kind = kind,
                           .dtype = dtype,
                           .rank = rank};
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    desc->dims[i] = dims[i];
    desc->strides[i] = stride;
    stride *= dims[i] > 0 ? dims[i] : 1;
  }
  return c->tensor_count++;
}

int64_t case_count(const node_case *c, uint32_t tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < c->tensors[tensor].rank; i++) count *= c->tensors[tensor].dims[i];
  return count;
}

void case_set(node_case *c, uint32_t tensor, int64_t index, double value) {
  const ph_tensor_desc *desc = &c->tensors[tensor];
  if (ph_dtype_is_real(desc->dtype))
    ph_write_real(desc->dtype, c->memory[tensor], offset_of(desc, index), value);
  else
    ph_write_integer(desc->dtype, c->memory[tensor], offset_of(desc, index), (int64_t)value);
}

void case_fill(node_case *c, uint32_t tensor, double value) {
  for (int64_t i = 0; i < case_count(c, tensor); i++) case_set(c, tensor, i, value);
}

void case_scale(node_case *c, uint32_t tensor, double factor, double shift) {
  const ph_tensor_desc *desc = &c->tensors[tensor];
  int64_t span = span_of(desc);
  for (int64_t i = 0; i < span; i++)
    ph_write_real(desc->dtype, c->memory[tensor], (size_t)i,
                  ph_read_real(desc->dtype, c->memory[tensor], (size_t)i) * factor + shift);
}

/* Memory for an input: what lies between its elements is NaN, or an integer that is in no table. */
static uint32_t finish_input(node_case *c, uint32_t tensor) {
  const ph_tensor_desc *desc = &c->tensors[tensor];
  size_t span = (size_t)span_of(desc), size = ph_dtype_size(desc->dtype);
  c->memory[tensor] = malloc((span + 1) * size);
  assert_non_null(c->memory[tensor]);
  bool real = ph_dtype_is_real(desc->dtype);
  for (size_t i = 0; i < span; i++) {
    if (real)
      ph_write_real(desc->dtype, c->memory[tensor], i, (double)NAN);
    else
      ph_write_integer(desc->dtype, c->memory[tensor], i, 1000000);
  }
  uint64_t key = ph_random_key(tensor, c->node.op);
  for (int64_t i = 0; i < case_count(c, tensor); i++) {
    uint64_t bits = ph_random_bits(key, (uint64_t)i);
    case_set(c, tensor, i,
             real                     ? ph_random_normal(key, (uint64_t)i)
             : desc->dtype == PH_BOOL ? (double)(bits & 1)
                                      : (double)(bits % 19) - 9);
  }
  c->inputs[c->node.input_count++] = tensor;
  return tensor;
}

uint32_t case_input(node_case *c, ph_dtype dtype, case_layout layout, uint32_t rank, const int64_t *dims) {
  uint32_t tensor = add_tensor(c, PH_TENSOR_INPUT, dtype, rank, dims);
  ph_tensor_desc *desc = &c->tensors[tensor];
  int64_t stride = layout == GAPS ? 2 : 1;
  for (uint32_t i = 0; layout != DENSE && i < rank; i++) {
    uint32_t axis = layout == TURNED ? i : rank - 1 - i;
    desc->strides[axis] = stride;
    stride *= dims[axis] > 0 ? dims[axis] : 1;
    if (layout == GAPS) stride += 3;
  }
  return finish_input(c, tensor);
}

uint32_t case_input_repeated(node_case *c, ph_dtype dtype, uint32_t rank, const int64_t *dims, unsigned repeated) {
  uint32_t tensor = add_tensor(c, PH_TENSOR_INPUT, dtype, rank, dims);
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    bool repeats = (repeated >> i & 1u) != 0;
    c->tensors[tensor].strides[i] = repeats ? 0 : stride;
    if (!repeats) stride *= dims[i];
  }
  return finish_input(c, tensor);
}

void case_absent(node_case *c) {
  c->inputs[c->node.input_count++] = PH_NONE;
}

uint32_t case_output(node_case *c, ph_dtype dtype, uint32_t rank, const int64_t *dims) {
  uint32_t tensor = add_tensor(c, PH_TENSOR_OUTPUT, dtype, rank, dims);
  c->memory[tensor] = malloc((size_t)case_count(c, tensor) * ph_dtype_size(dtype) + 1);
  assert_non_null(c->memory[tensor]);
  c->outputs[c->node.output_count++] = tensor;
  return tensor;
}

void case_output_unwanted(node_case *c) {
  c->outputs[c->node.output_count++] = PH_NONE;
}

void case_in_place(node_case *c) {
  c->tensors[c->inputs[0]].kind = PH_TENSOR_STATE;
  c->outputs[c->node.output_count++] = c->inputs[0];
}

static ph_attr *add_attr(node_case *c, const char *name, ph_attr_kind kind) {
  assert_true(c->node.attr_count < CASE_ATTRS);
  ph_attr *attr = &c->attrs[c->node.attr_count++];
  *attr = (ph_attr){.name = name, .kind = kind};
  return attr;
}

void case_integer(node_case *c, const char *name, int64_t value) {
  add_attr(c, name, PH_ATTR_I64)->as.i64 = value;
}
void case_real(node_case *c, const char *name, double value) {
  add_attr(c, name, PH_ATTR_F64)->as.f64 = value;
}
void case_text(node_case *c, const char *name, const char *value) {
  add_attr(c, name, PH_ATTR_STRING)->as.string = value;
}
void case_list(node_case *c, const char *name, uint32_t count, const int64_t *items) {
  ph_attr *attr = add_attr(c, name, PH_ATTR_I64_LIST);
  attr->as.list.items = items;
  attr->as.list.count = count;
}

/* ---- running ---- */

static size_t bytes_of(const node_case *c, uint32_t tensor) {
  return (size_t)span_of(&c->tensors[tensor]) * ph_dtype_size(c->tensors[tensor].dtype);
}

static uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

static void ask(configuration *at, const node_case *c, const ph_graph *graph, ph_support *support) {
  ph_error error = PH_ERROR_INIT;
  *support = (ph_support){.struct_size = sizeof(*support)};
  check(backend->supports(at->device, graph, 0, support, &error), &error, c);
  if (!support->supported) fail_msg("%s, %s, %s: refused: %s", c->node.op, c->title, at->name, support->reason);
}

/* All tensors in one buffer, each at an offset of its own with a guard band before and after it. */
static void execute(configuration *at, const node_case *c, const ph_graph *graph,
                    unsigned char *results[CASE_TENSORS]) {
  ph_error error = PH_ERROR_INIT;
  ph_program *program;
  ph_plan *plan;
  uint64_t workspace_bytes = 0, offsets[CASE_TENSORS], total = at->alignment;
  check(backend->program_create(at->device, graph, &program, &error), &error, c);
  check(backend->plan_create(program, graph, &plan, &workspace_bytes, &error), &error, c);

  for (uint32_t i = 0; i < c->tensor_count; i++) {
    offsets[i] = total;
    total = round_up(total + bytes_of(c, i) + GUARD, at->alignment);
  }
  ph_buffer *buffer, *scratch = NULL;
  check(backend->buffer_create(at->device, total, &buffer, &error), &error, c);
  if (workspace_bytes > 0) check(backend->buffer_create(at->device, workspace_bytes, &scratch, &error), &error, c);

  unsigned char *image = malloc(total), *after = malloc(total);
  assert_true(image != NULL && after != NULL);
  memset(image, guard_byte, total);
  ph_binding bindings[CASE_TENSORS];
  for (uint32_t i = 0; i < c->tensor_count; i++) {
    if (c->tensors[i].kind != PH_TENSOR_OUTPUT) memcpy(image + offsets[i], c->memory[i], bytes_of(c, i));
    bindings[i] = (ph_binding){.tensor = i, .buffer = bytes_of(c, i) > 0 ? buffer : NULL, .offset = offsets[i]};
  }
  ph_binding workspace = {.buffer = scratch};
  check(backend->write(at->queue, buffer, 0, image, total, &error), &error, c);
  check(backend->execute(at->queue, plan, bindings, c->tensor_count, scratch != NULL ? &workspace : NULL, NULL, &error),
        &error, c);
  check(backend->read(at->queue, after, buffer, 0, total, &error), &error, c);
  check(backend->finish(at->queue, &error), &error, c);

  for (uint32_t i = 0; i < c->tensor_count; i++) {
    if (results[i] == NULL) continue;
    memcpy(results[i], after + offsets[i], bytes_of(c, i));
    memcpy(after + offsets[i], image + offsets[i], bytes_of(c, i));
  }
  if (memcmp(image, after, total) != 0)
    fail_msg("%s, %s, %s: wrote outside its outputs", c->node.op, c->title, at->name);

  free(image);
  free(after);
  backend->buffer_destroy(buffer);
  backend->buffer_destroy(scratch);
  backend->plan_destroy(plan);
  backend->program_destroy(program);
}

static void judge(const node_case *c, const configuration *at, const ph_support *support, uint32_t slot,
                  const ph_oracle_output *expected, const void *got, bool exact) {
  ph_verdict verdict = ph_verdict_of(expected, got, support->stage_type, exact);
  note(c, &verdict, expected, got, slot == 0 && at == configurations);
  if (verdict.pass) return;
  int64_t bad = verdict.first_bad < 0 ? 0 : verdict.first_bad;
  fail_msg(
      "%s, %s, %s (%s): output %u, element %lld of %lld: %.9g, expected %.9g within %.3g; %lld bad, largest ratio %.3g",
      c->node.op, c->title, at->name, support->variant, slot, (long long)bad, (long long)expected->count,
      expected->count > 0 ? ph_read_real(expected->dtype, got, (size_t)bad) : 0,
      expected->real != NULL ? expected->real[bad] : (double)expected->integer[bad],
      ph_tolerance(expected, bad, support->stage_type, exact), (long long)verdict.bad, verdict.worst_ratio);
}

static bool is_f32_only(const node_case *c) {
  for (uint32_t i = 0; i < c->tensor_count; i++)
    if (c->tensors[i].dtype == PH_F16 || c->tensors[i].dtype == PH_BF16) return false;
  return true;
}

void case_run_keep(node_case *c) {
  const ph_tensor_desc *tensors[CASE_TENSORS];
  const void *data[CASE_TENSORS];
  for (uint32_t i = 0; i < c->tensor_count; i++) {
    tensors[i] = &c->tensors[i];
    data[i] = c->memory[i];
  }
  const ph_node *nodes[] = {&c->node};
  const ph_graph graph = {.struct_size = sizeof(graph),
                          .tensors = tensors,
                          .tensor_count = c->tensor_count,
                          .nodes = nodes,
                          .node_count = 1};
  ph_error error = PH_ERROR_INIT;
  ph_oracle_output expected[CASE_TENSORS] = {0};
  check(ph_oracle_node(&graph, 0, data, true, expected, &error), &error, c);
  const ph_op *op = ph_op_find(c->node.op);
  assert_non_null(op);

  cases_run += is_f32_only(c);
  ph_support first;
  for (uint32_t k = 0; k < CONFIGURATIONS; k++) {
    configuration *at = &configurations[k];
    if (k > 0 && (!is_f32_only(c) || cases_run % at->every != 0)) continue;
    ph_support support;
    ask(at, c, &graph, &support);
    if (k == 0) first = support;
    if (k == 1 && strcmp(support.variant, first.variant) == 0) continue; /* it was the plain one already */

    unsigned char *results[CASE_TENSORS] = {0};
    for (uint32_t i = 0; i < c->node.output_count; i++)
      if (c->outputs[i] != PH_NONE) assert_non_null(results[c->outputs[i]] = malloc(bytes_of(c, c->outputs[i]) + 1));
    execute(at, c, &graph, results);
    for (uint32_t i = 0; i < c->node.output_count; i++)
      if (c->outputs[i] != PH_NONE) judge(c, at, &support, i, &expected[i], results[c->outputs[i]], op->exact);
    for (uint32_t i = 0; i < c->tensor_count; i++) {
      if (k == 0 && results[i] != NULL && c->tensors[i].kind == PH_TENSOR_OUTPUT)
        memcpy(c->memory[i], results[i], bytes_of(c, i));
      free(results[i]);
    }
  }
  ph_oracle_outputs_free(expected, c->node.output_count);
}

double case_got(const node_case *c, uint32_t output, int64_t index) {
  uint32_t tensor = c->outputs[output];
  return ph_read_real(c->tensors[tensor].dtype, c->memory[tensor], (size_t)index);
}

void case_run(node_case *c) {
  case_run_keep(c);
  case_free(c);
}
